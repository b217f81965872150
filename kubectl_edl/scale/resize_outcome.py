"""The outcome of a resize, for `kubectl edl scale --wait`."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain
from typing import Final

from edl import contract
from edl.annotations.job_history import HistoryEntry, Operation, entries
from edl.durations import duration_text
from edl.errors import ClusterError
from edl.job_state.phases import ending
from edl.kube.cluster import ListOptions
from edl.messages import QUEUE_CLOSED
from edl.model import Code, JobKey, Role, TrainingJob, job_of
from edl.spec.allowed_sizes import with_work
from kubectl_edl.cli.command_errors import Missing, Refused, Reverted, TimedOut
from kubectl_edl.cli.context import CliContext, ClusterConnection, Scope
from kubectl_edl.client.cluster_view import read_survey
from kubectl_edl.client.reconciler_lease import Lead, leadership
from kubectl_edl.scale.resize_target import ResizeTarget

_GRACE: Final = timedelta(seconds=15)
"""Wait after the timeout, in which the reconciler reverts the scale-up.

It is long enough to replace a reconciler that has died.
"""

_REVERTS: Final = (Code.SCALE_FAILED, Code.UNSCHEDULABLE, None)
"""Reasons of a revert; replicas that a scale-down gives to others stay requested."""


def wait(
    cli: CliContext,
    connection: ClusterConnection,
    resize: ResizeTarget,
    timeout: timedelta | None,
) -> str:
    """Wait until the role has the new size with all pods ready, and removed pods are gone.

    Returns a sentence on the outcome. Raises Reverted, TimedOut, Missing, Refused.
    """
    begun, job = cli.now(), resize.job.key
    limit = _TimeLimit(cli, connection, resize, timeout)
    selection = ListOptions("Job", job.namespace, contract.FRAMEWORK)
    changes = cli.changes(connection.cluster, selection, limit.deadlines)
    for _ in chain((None,), changes):
        now = cli.now()
        current = job_of(read_survey(connection, now).jobs, job)
        if current is None:
            raise Missing(f"{job.name} was deleted meanwhile")
        if (outcome := _outcome(current, resize, connection.scope)) is not None:
            return outcome
        limit.check(now - begun, now)
    raise TimedOut(f"{job.name}: no longer followed")


def _outcome(job: TrainingJob, resize: ResizeTarget, scope: Scope) -> str | None:
    """The sentence on the outcome; None while the resize is in progress."""
    name, role_name, wanted = job.key.name, resize.role.name, resize.manual_size
    role = job.role(role_name)
    if role is None:
        raise Missing(f"the Job of {role_name} was deleted meanwhile")
    if failed := _failed(role, resize):
        stays = _earlier_size(job.key, resize, failed, scope)
        raise Reverted(f"{name}: {role_name}: {failed.message}{stays}")
    if ending(job) is not None:
        raise Refused(f"{name} has ended meanwhile")
    if role.request.replicas != wanted:
        manual = role.request.replicas
        now = "sized automatically" if manual is None else f"set to {manual}"
        raise Refused(f"{name}: another client has changed it: {role_name} is {now}")
    size = with_work(role, role.status.size)
    if role.queue_closed:  # its Job counts a removed pod later than the list of pods
        size = min(size, sum(pod.active for pod in role.status.pods))
    if role.queue_closed and size != wanted and not resize.removed:
        raise Refused(f"{name}: {role_name} has {size}, not {wanted}: {QUEUE_CLOSED}")
    leaving = {pod.name for pod in role.status.pods} & {pod.name for pod in resize.removed}
    if role.request.removing or leaving or not (role.queue_closed or _has_size(role, wanted)):
        return None
    state = QUEUE_CLOSED if role.queue_closed else "all of them ready"
    return f"{name}: {role_name} has {size}, {state}"


def _failed(role: Role, resize: ResizeTarget) -> HistoryEntry | None:
    """The history entry that reverts this scale-up; entries known before concern others."""
    if not resize.limited:
        return None
    earlier = entries(resize.role.record.history)
    new = (entry for entry in entries(role.record.history) if entry not in earlier)
    back = (
        entry
        for entry in new
        if entry.operation is Operation.FAILED
        and entry.before == resize.manual_size
        and entry.code in _REVERTS
    )
    return next(back, None)


def _earlier_size(job: JobKey, resize: ResizeTarget, failed: HistoryEntry, scope: Scope) -> str:
    """The end of a sentence: an earlier manual size, also not reached, is requested again."""
    if resize.fallback in (None, failed.after):
        return ""
    role = f"{scope.within(job.namespace).job_flags} --role {resize.role.name}"
    automatic = f"kubectl edl scale {job.name}{role} --auto"
    return f"; its earlier manual size {resize.fallback} stays requested; to remove it: {automatic}"


def _has_size(role: Role, size: int | None) -> bool:
    """Whether the role has this size with all pods ready; without a size, its current one."""
    limited = role.request.scaling is not None and role.request.scaling.timeout is not None
    if limited or role.status.suspended or role.status.size != (size or role.status.size):
        return False
    return sum(pod.ready and not pod.terminating for pod in role.status.pods) >= with_work(
        role, role.status.size
    )


def _is_lost(connection: ClusterConnection, now: datetime) -> bool:
    """Whether no reconciler leads or is about to: a released Lease soon has a new holder."""
    try:
        lease = leadership(connection, now)
    except ClusterError:
        return False
    return lease.stalled and lease.lead is not Lead.RELEASED


@dataclass(slots=True)
class _TimeLimit:
    """The limit of `--timeout`; a scale-up gets additional time in which it is reverted."""

    cli: CliContext
    connection: ClusterConnection
    resize: ResizeTarget
    timeout: timedelta | None
    extended: bool = False

    @property
    def deadlines(self) -> tuple[timedelta, ...]:
        timeout = self.timeout
        if timeout is None:
            return ()
        return (timeout, timeout + _GRACE) if self.resize.limited else (timeout,)

    def check(self, waited: timedelta, now: datetime) -> None:
        """Raise TimedOut if the time is over; at once if no reconciler can revert a scale-up."""
        timeout = self.timeout
        if timeout is None or waited < timeout:
            return
        late = (
            f"{self.resize.name} is not at {self.resize.manual_size} after {duration_text(timeout)}"
        )
        if not self.resize.limited:
            raise TimedOut(late)
        if waited >= timeout + _GRACE or _is_lost(self.connection, now):
            raise TimedOut(f"{late}; it was not reverted: is a reconciler running?")
        if not self.extended:
            self.cli.warn(f"{late}; waiting for the reconciler to revert it")
            self.extended = True
