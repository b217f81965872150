"""Confirmation prompts, waiting with a time limit, and the report of a change."""

from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from time import process_time
from typing import Final, TypeVar

from edl.kube.cluster import RESOURCES
from edl.writes import Json
from kubectl_edl.cli.command_errors import Refused
from kubectl_edl.cli.context import CliContext
from kubectl_edl.output.safe_text import harmless
from kubectl_edl.output.serialize import STREAMS

_PAUSE: Final = timedelta(seconds=0.2)
_Missing = TypeVar("_Missing")
_Item = TypeVar("_Item")


def confirmed(cli: CliContext, question: str) -> bool:
    """Ask the user. Raises Refused if stdin is not a terminal."""
    if not cli.stdin.isatty():
        raise Refused(f"{question} No terminal can answer: add --yes")
    cli.err.write(f"{harmless(question)} [y/N] ")
    cli.err.flush()
    return cli.stdin.readline().strip().lower() in ("y", "yes")


def waited(cli: CliContext, missing: Callable[[], _Missing], timeout: timedelta) -> _Missing:
    """Poll `missing` until its result is empty or the time is up; returns its last result."""
    until = cli.now() + timeout
    result = missing()
    for _ in range(round(timeout / _PAUSE)):
        if not result or cli.now() >= until:
            break
        cli.sleep(_PAUSE.total_seconds())
        result = missing()
    return result


def waited_gone(
    cli: CliContext, items: Sequence[_Item], is_there: Callable[[_Item], bool], timeout: timedelta
) -> list[_Item]:
    """Poll until the items are gone or the time is up; returns those that are still there."""
    left = list(items)

    def still() -> list[_Item]:
        left[:] = [item for item in left if is_there(item)]
        return left

    return waited(cli, still, timeout)


PATIENCE: Final = timedelta(seconds=5)
"""Processor time of an estimate; a large cluster with many jobs may need more."""
LONGEST_WAIT: Final = timedelta(seconds=15)
"""The same in time, for machines that are busy with other processes."""


def time_limit(
    cli: CliContext, processor: Callable[[], float] = process_time
) -> Callable[[], bool]:
    """A function that tells whether PATIENCE or LONGEST_WAIT has passed since this call."""
    begun, worked = cli.now(), processor()

    def is_over() -> bool:
        spent = timedelta(seconds=processor() - worked)
        return spent > PATIENCE or cli.now() - begun > LONGEST_WAIT

    return is_over


def print_changed(
    cli: CliContext,
    output: str,
    sentences: Iterable[str],
    manifests: Sequence[Json],
    hints: Sequence[str] = (),
) -> None:
    """Print the sentences, or with `-o` the changed objects; hints go to stderr."""
    cli.warn(*hints)
    if not output:
        cli.say(*sentences)
    elif output == "name":
        cli.say(*(qualified_name(one["kind"], one["metadata"]["name"]) for one in manifests))
    else:
        cli.out.write(STREAMS[output]([_shown(manifest) for manifest in manifests]))


def qualified_name(kind: str, name: str) -> str:
    """`deployment.apps/edl-webhook`, kubectl's format."""
    group = RESOURCES[kind].group
    return f"{kind.lower()}{'.' if group else ''}{group}/{name}"


def _shown(manifest: Json) -> Json:
    """The object without `metadata.managedFields`, as kubectl shows it."""
    metadata = {
        name: value for name, value in manifest["metadata"].items() if name != "managedFields"
    }
    return manifest | {"metadata": metadata}
