"""The plugin's own errors, the exit codes, and the one line in which each error is printed.

| code | meaning |
|---|---|
| 0 | done, also when there was nothing to show |
| 1 | error: refused by the plugin or the API server, or no answer; `doctor`: a failed check (✗) |
| 2 | usage error |
| 3 | training job, Job, node or namespace not found |
| 4 | `scale --wait`: the scale-up was reverted: not ready in time, or its script failed |
| 5 | `scale --wait`, `status --for`, `install`, `upgrade`, `uninstall`, `delete`: timed out |
| 6 | `status --for`: the training job reached a different terminal phase |
| 7 | `convert`: fields or objects were not converted, as stderr says |
| 130 | interrupted (Ctrl-C) |
"""

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Final

from edl import contract
from edl.errors import ClusterError, Denied, EdlError, Forbidden, NotFound
from edl.similar_names import did_you_mean
from kubectl_edl.cli.context import ClusterConnection


class Exit(IntEnum):
    DONE = 0
    REFUSED = 1
    USAGE = 2
    NOT_FOUND = 3
    REVERTED = 4
    TIMED_OUT = 5
    ENDED_OTHERWISE = 6
    NOT_CONVERTED = 7
    INTERRUPTED = 130


_USUAL: Final[Mapping[Exit, str]] = {
    Exit.DONE: "done",
    Exit.REFUSED: "error",
    Exit.USAGE: "usage error",
    Exit.INTERRUPTED: "interrupted",
}


def exit_codes(specific: Mapping[Exit, str] | None = None) -> str:
    """The line on exit codes at the end of a command's help.

    `specific` are those that only this command has, or that mean more there.
    """
    meanings = {**_USUAL, **(specific or {})}
    return f"Exit codes: {', '.join(f'{code} {meanings[code]}' for code in sorted(meanings))}."


EXIT_CODES_HELP: Final = exit_codes()
EXIT_CODES_NAMED_HELP: Final = exit_codes({Exit.NOT_FOUND: "not found"})
"""For commands that take the name of an object, or create one in a namespace."""
_SUGGESTIONS: Final = 3


class Refused(EdlError):
    """A valid command that the object's state does not allow; the message names the remedy."""


class Misused(Refused):
    """A command line that is invalid, independent of the cluster."""


class MisusedOptions(Denied):
    """An invalid command line, with one finding per option."""


class Missing(EdlError):
    """No such training job or Job; `name` is that of a training job that was asked for."""

    def __init__(self, message: str, name: str = "") -> None:
        self.name = name
        super().__init__(message)


class Reverted(EdlError):
    """A scale-up that was not ready in time and was reverted to the previous size."""


class TimedOut(EdlError):
    """The awaited state was not reached in time, but may still be."""


class EndedOtherwise(EdlError):
    """The awaited state can no longer be reached: the training job has ended."""


_CODES: Final[Mapping[type[EdlError], Exit]] = {
    Misused: Exit.USAGE,
    MisusedOptions: Exit.USAGE,
    Missing: Exit.NOT_FOUND,
    NotFound: Exit.NOT_FOUND,
    Reverted: Exit.REVERTED,
    TimedOut: Exit.TIMED_OUT,
    EndedOtherwise: Exit.ENDED_OTHERWISE,
}


def exit_code(error: EdlError) -> Exit:
    return next((code for kind, code in _CODES.items() if isinstance(error, kind)), Exit.REFUSED)


def no_such_job(name: str, names: Sequence[str], connection: ClusterConnection) -> Missing:
    """The error for an unknown training job; suggests the closest of `names`.

    Namespaces that have a job of this name are suggested instead, if the user may read that.
    """
    where = f"in namespace {connection.namespace}" if connection.namespace else "in any namespace"
    what = f'no training job "{name}" {where}'
    scope = connection.scope
    elsewhere = _namespaces_of(name, connection) if connection.namespace else []
    if elsewhere:
        return Missing(f"{what}; it is in: {', '.join(f'-n {place}' for place in elsewhere)}", name)
    flags = scope.job_flags if elsewhere is None else f" -A{scope.edl_flags}"
    every = f"kubectl edl status{flags}"
    return Missing(f"{what}; {_meant(name, names)}all of them: {every}", name)


def _namespaces_of(name: str, connection: ClusterConnection) -> list[str] | None:
    """The first namespaces with a training job of this name; None if that may not be read."""
    from edl.dns_names import is_label_value
    from edl.kube.cluster import ListOptions

    if not is_label_value(name):
        return []
    selector = f"{contract.FRAMEWORK},{contract.JOB}={name}"
    try:
        jobs = connection.cluster.list(ListOptions("Job", labels=selector)).manifests()
    except Forbidden:
        return None
    except ClusterError:
        return []
    return sorted({job["metadata"]["namespace"] for job in jobs})[:_SUGGESTIONS]


def no_such_plain_job(name: str, names: Sequence[str], connection: ClusterConnection) -> Missing:
    """The error for an unknown Job; suggests the closest of `names`, all Jobs there."""
    what = f'no Job "{name}" in namespace {connection.namespace}'
    every = f"kubectl get jobs -A{connection.scope.cluster_flags}"
    return Missing(f"{what}; {_meant(name, names)}all of them: {every}")


def no_such_job_in(where: str, name: str, names: Sequence[str]) -> Missing:
    """The error for a Job missing from files; suggests the closest of their names (`names`)."""
    close = _meant(name, names).strip()
    return Missing(f'{where} has no Job "{name}"{f"; {close}" if close else ""}')


def _meant(name: str, names: Sequence[str]) -> str:
    meant = did_you_mean(name, names, 0.5, most=_SUGGESTIONS)
    return meant and f"{meant} "


def not_elastic(name: str, connection: ClusterConnection, warnings: Sequence[str] = ()) -> Refused:
    """The error for a Job that exists without our label; `warnings` are errors in other labels."""
    what = f"it has no label {contract.FRAMEWORK}{''.join(f'; {warning}' for warning in warnings)}"
    return Refused(
        f'Job "{name}" is not elastic: {what}; kubectl edl adopt '
        f"{name}{connection.scope.job_flags} --framework … --min 1 --max … --recreate"
    )
