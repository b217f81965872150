"""Selects the training jobs of a command: by name, by selector, or all."""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final, TypeVar

import click

from edl.errors import EdlError
from edl.kube.option_group import argument, group, option, option_group, shared_option
from edl.model import JobKey
from kubectl_edl.cli.command_errors import Refused
from kubectl_edl.cli.completion_candidates import job_names
from kubectl_edl.cli.context import CliContext, Scope
from kubectl_edl.cli.interaction import confirmed
from kubectl_edl.cli.options import SELECTOR
from kubectl_edl.output.cell_quantities import counted
from kubectl_edl.output.table import nothing_in

_Item = TypeVar("_Item")
_NAMED: Final = 5
"""Training jobs that a question names."""


@option_group
class JobSelection:
    """The selection; exactly one of the three must be given."""

    names: tuple[str, ...] = argument(metavar="[JOB]...", nargs=-1, shell_complete=job_names)
    selector: str = shared_option(SELECTOR, "")
    everything: bool = option(
        "--all", help="Select all training jobs of the namespace; with -A, of all namespaces."
    )


selection_options: Final = group(JobSelection, "choice")
"""`JOB... | -l SELECTOR | --all`, as `choice`."""


def check(choice: JobSelection, scope: Scope) -> None:
    """Raise click.UsageError unless exactly one way to select is used.

    As in kubectl, `--all-namespaces` alone selects nothing, and a name needs one namespace.
    """
    given = [bool(choice.names), bool(choice.selector), choice.everything]
    if not any(given):
        raise click.UsageError("Specify training jobs by name, -l SELECTOR or --all.")
    if given.count(True) > 1:
        raise click.UsageError(
            "Names, a selector (-l) and --all exclude each other: leave two out."
        )
    if scope.all_namespaces and choice.names:
        raise click.UsageError(
            "A name belongs to one namespace: with -A, use -l SELECTOR or --all."
        )


def partly_matched(key: JobKey, unmatched: Iterable[str]) -> Refused:
    """The error for a training job of which a selector matches some Jobs, and not these."""
    return Refused(
        f"{key}: -l matches some of its Jobs, and not {', '.join(sorted(unmatched))}; all of "
        "them would change together: give its name instead"
    )


def shown(key: JobKey, scope: Scope) -> str:
    """`mnist`, or `team-a/mnist` if all namespaces are selected."""
    return str(key) if scope.all_namespaces else key.name


def agreed(
    cli: CliContext, scope: Scope, verb: str, pod_counts: Mapping[JobKey, int], jobs: int
) -> bool:
    """Ask before these training jobs change; `pod_counts` has the number of active pods of each.

    Raises Refused if stdin is not a terminal.
    """
    if confirmed(cli, _question(scope, verb, pod_counts, jobs)):
        return True
    cli.warn(f"nothing was {verb.lower()}d")
    return False


def _question(scope: Scope, verb: str, pod_counts: Mapping[JobKey, int], jobs: int) -> str:
    more = len(pod_counts) - _NAMED
    first = [shown(key, scope) for key in list(pod_counts)[:_NAMED]]
    names = ", ".join([*first, *([f"{more} more"] if more > 0 else [])])
    noun = "training job" if len(pod_counts) == 1 else f"{len(pod_counts)} training jobs:"
    where = ""
    if scope.all_namespaces:
        where = f" in {counted(len({key.namespace for key in pod_counts}), 'namespace')}"
    pods = f"{sum(pod_counts.values())} active pods"
    return f"{verb} {noun} {names} ({counted(jobs, 'Job')}{where}, {pods})?"


def flags(key: JobKey, scope: Scope) -> str:
    """Options for a suggested `kubectl edl` command on one training job."""
    return (scope.within(key.namespace) if scope.all_namespaces else scope).job_flags


def each(cli: CliContext, items: Iterable[_Item], do: Callable[[_Item], None]) -> None:
    """Process items one by one, as kubectl does: a failure does not stop the others.

    Raises the last error; earlier ones are printed.
    """
    errors: list[EdlError] = []
    for item in items:
        try:
            do(item)
        except EdlError as error:
            errors.append(error)
    for earlier in errors[:-1]:
        cli.warn(f"error: {earlier}")
    if errors:
        raise errors[-1]


def none_found(cli: CliContext, namespace: str, chosen: Collection[object]) -> bool:
    """Whether the selection is empty, which is reported but is not an error."""
    if not chosen:
        cli.warn(nothing_in(namespace, "training jobs found"))
    return not chosen
