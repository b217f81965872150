"""The outcome of a resize, for `kubectl edl scale --wait`."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain
from typing import Final

from edl import contract
from edl.annotations.job_history import HistoryEntry, Operation, entries
from edl.durations import duration_text
from edl.errors import ClusterError
from edl.kube.cluster import ListOptions
from edl.model import JobKey, Role, TrainingJob
from edl.phases import ending
from kubectl_edl.cli.command_errors import Missing, Refused, Reverted, TimedOut
from kubectl_edl.cli.context import CliContext, ClusterConnection
from kubectl_edl.client.cluster_view import survey_training
from kubectl_edl.client.lookup import only
from kubectl_edl.client.reconciler_lease import Lead, leadership

_GRACE: Final = timedelta(seconds=15)
"""Wait after the timeout, in which the reconciler reverts the scale-up.

It is long enough to replace a reconciler that has died.
"""


@dataclass(frozen=True, slots=True)
class Goal:
    """The awaited state: `size` ready pods of a role, and none of the removed ones."""

    job: JobKey
    role: str
    size: int | None
    removed: frozenset[str]
    limited: bool
    """It is a scale-up that is reverted when the timeout passes."""
    timeout: timedelta | None
    known: tuple[HistoryEntry, ...]
    """The role's history before the change."""


def wait(world: CliContext, connection: ClusterConnection, goal: Goal) -> str:
    """Wait; returns a sentence on the outcome. Raises Reverted, TimedOut, Missing, Refused."""
    begun = world.now()
    limit = _TimeLimit(world, connection, goal)
    selection = ListOptions("Job", goal.job.namespace, contract.FRAMEWORK)
    changes = world.changes(connection.cluster, selection, limit.deadlines)
    for _ in chain((None,), changes):
        now = world.now()
        found = only(goal.job, survey_training(connection, "", now))
        if found is None:
            raise Missing(f"{goal.job.name} was deleted meanwhile")
        if (outcome := _outcome(found, goal)) is not None:
            return outcome
        limit.check(now - begun, now)
    raise TimedOut(f"{goal.job.name}: not followed any more")


def _outcome(job: TrainingJob, goal: Goal) -> str | None:
    """The sentence on the outcome; None while the resize is in progress."""
    role = next((role for role in job.roles if role.name == goal.role), None)
    if role is None:
        raise Missing(f"the Job of {goal.role} was deleted meanwhile")
    new = entries(role.record.history)
    if failed := _failed(new, goal):
        raise Reverted(f"{goal.job.name}: {goal.role}: {failed.message}")
    if ending(job) is not None:
        raise Refused(f"{goal.job.name} has ended meanwhile")
    if role.request.replicas != goal.size:
        now = (
            "sized automatically"
            if role.request.replicas is None
            else f"set to {role.request.replicas}"
        )
        raise Refused(f"{goal.job.name}: another client has changed it: {goal.role} is {now}")
    names = {pod.name for pod in role.status.pods}
    if role.request.removing or names & goal.removed or not _is_there(role, goal):
        return None
    return f"{goal.job.name}: {goal.role} has {role.status.size}, all of them ready"


def _failed(history: Sequence[HistoryEntry], goal: Goal) -> HistoryEntry | None:
    """The history entry that reverts this scale-up; entries known before concern others."""
    if not goal.limited:
        return None
    new = [entry for entry in history if entry not in goal.known]
    back = (
        entry for entry in new if entry.operation is Operation.FAILED and entry.before == goal.size
    )
    return next(back, None)


def _is_there(role: Role, goal: Goal) -> bool:
    """Whether the role has the goal's size with all pods ready; without a size, its current one."""
    limited = role.request.scaling is not None and role.request.scaling.timeout is not None
    if limited or role.status.suspended or role.status.size != (goal.size or role.status.size):
        return False
    return sum(pod.ready and not pod.terminating for pod in role.status.pods) >= role.status.size


def _is_lost(connection: ClusterConnection, now: datetime) -> bool:
    """Whether no reconciler leads or is about to: a released Lease soon has a new holder."""
    try:
        found = leadership(connection, now)
    except ClusterError:
        return False
    return found.stalled and found.lead is not Lead.RELEASED


class _TimeLimit:
    """The limit of `--timeout`; a scale-up gets additional time in which it is reverted."""

    def __init__(self, world: CliContext, connection: ClusterConnection, goal: Goal) -> None:
        self._world = world
        self._connection = connection
        self._goal = goal
        self._extended = False

    @property
    def deadlines(self) -> tuple[timedelta, ...]:
        timeout = self._goal.timeout
        if timeout is None:
            return ()
        return (timeout, timeout + _GRACE) if self._goal.limited else (timeout,)

    def check(self, waited: timedelta, now: datetime) -> None:
        """Raise TimedOut if the time is over; at once if no reconciler can revert a scale-up."""
        timeout = self._goal.timeout
        if timeout is None or waited < timeout:
            return
        goal, limit = self._goal, duration_text(timeout)
        late = f"{goal.job.name}: {goal.role} is not at {goal.size} after {limit}"
        if not goal.limited:
            raise TimedOut(late)
        if waited >= timeout + _GRACE or _is_lost(self._connection, now):
            raise TimedOut(f"{late}; it was not reverted: is a reconciler running?")
        if not self._extended:
            self._world.warn(f"{late}; waiting for the reconciler to revert it")
            self._extended = True
