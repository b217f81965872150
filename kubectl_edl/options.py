"""The flags that commands share, in kubectl's spelling, each group as one value."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import wraps
from typing import Final

import click

from kubectl_edl.completions import namespaces
from kubectl_edl.world import Scope

Command = Callable[..., None]
Decorator = Callable[[Command], Command]

FORMS: Final = ("table", "wide", "json", "yaml", "name")
DRY_RUNS: Final = ("none", "client", "server")

_SCOPE: Final = (
    click.option(
        "-n",
        "--namespace",
        shell_complete=namespaces,
        help="Namespace; default: the context's.",
    ),
    click.option("-A", "--all-namespaces", is_flag=True, help="All namespaces."),
    click.option("--context", help="Context of the kubeconfig."),
    click.option("--kubeconfig", help="Path of the kubeconfig."),
)
_ONE_NAMESPACE: Final = (_SCOPE[0], *_SCOPE[2:])

FILENAMES: Final[Decorator] = click.option(
    "-f",
    "--filename",
    "filenames",
    multiple=True,
    required=True,
    type=click.Path(exists=True, allow_dash=True),
    help="A manifest, a folder with all below it, - for stdin; may be repeated.",
)


@dataclass(frozen=True, slots=True)
class Reading:
    """How a list is chosen and printed."""

    output: str
    watch: bool
    selector: str = ""


@dataclass(frozen=True, slots=True)
class Writing:
    """How a change is made and reported; an empty `output` is a sentence for people."""

    dry_run: str
    output: str = ""


def everywhere(function: Command) -> Command:
    """`-n -A --context --kubeconfig`, as `scope`."""
    return bundled(Scope, "scope", _SCOPE)(function)


def one_namespace(function: Command) -> Command:
    """`-n --context --kubeconfig`, as `scope`."""
    return bundled(Scope, "scope", _ONE_NAMESPACE)(function)


def reading(function: Command) -> Command:
    """`-l -o -w`, as `reading`."""
    options = (
        click.option("-l", "--selector", help="Label selector, e.g. team=vision."),
        click.option(
            "-o",
            "--output",
            type=click.Choice(FORMS),
            default="table",
            help="Form of the answer.",
        ),
        click.option("-w", "--watch", is_flag=True, help="Go on and show what changes."),
    )
    return bundled(Reading, "reading", options)(function)


def writing(function: Command) -> Command:
    """`--dry-run -o`, as `writing`."""
    options = (
        click.option(
            "--dry-run",
            type=click.Choice(DRY_RUNS),
            default="none",
            help="client: send nothing. server: let the API server check, change nothing.",
        ),
        click.option(
            "-o",
            "--output",
            type=click.Choice(("name", "json", "yaml")),
            help="Print the changed objects instead of a sentence.",
        ),
    )
    return bundled(Writing, "writing", options)(function)


def bundled(kind: Callable[..., object], name: str, options: Sequence[Decorator]) -> Decorator:
    """Declare the options, and hand what they were given to the command as one `kind`.

    What was not given is left to the defaults of `kind`.
    """
    known = {field.name for field in fields(kind)}  # type: ignore[arg-type]

    def decorate(function: Command) -> Command:
        @wraps(function)
        def call(*args: object, **given: object) -> None:
            mine = {key: given.pop(key) for key in known & given.keys()}
            said = {key: value for key, value in mine.items() if value is not None}
            function(*args, **given, **{name: kind(**said)})

        decorated: Command = call
        for option in reversed(options):
            decorated = option(decorated)
        return decorated

    return decorate
