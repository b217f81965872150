"""Marks pods before they are ended, where a `podFailurePolicy` may take their end for a failure.

The Job controller also compares the exit codes of pods that it deletes for a smaller size or a
suspension: a program that answers SIGTERM with exit code 1 fails its whole Job, if a rule with the
action FailJob has that code (docs/kubernetes.md 32). A rule before it that ignores the condition
`DisruptionTarget` spares pods that have this mark.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Final

from msgspec.structs import replace

from edl import messages
from edl.annotations.time_text import timestamp
from edl.model import Code, JobKey, ObjectRef, Pod, Reason, Role
from edl.model.pods import DisruptionMark
from edl.spec.failure_policy import FAILS
from edl.spec.job_spec import DISRUPTION_TARGET
from edl.steps.pod_removal import pods_to_remove
from edl.writes import ConditionPatch, Patch

_RUNS_ON: Final = "the pod is not ended after all"
_SETTLED_AFTER: Final = timedelta(seconds=30)
"""By then the write that followed the mark is known, and its pods are terminating."""


def marks_for_stop(
    key: JobKey, roles: Iterable[Role], reason: Reason, now: datetime
) -> tuple[Patch, ...]:
    """The marks of all pods of roles that are stopped."""
    pods = (pod for role in roles if _spares_marked(role) for pod in role.status.pods)
    return tuple(_marks(key, pods, reason, now))


def marks_for_size(
    key: JobKey, role: Role, size: int, reason: Reason, now: datetime
) -> tuple[Patch, ...]:
    """The marks of the pods that a role loses: those named for removal, and those above `size`.

    Without ranks the Job controller chooses, and any pod may be one of those: among pods that
    became ready in the same second its choice is arbitrary. So all are marked.
    """
    if not _spares_marked(role):
        return ()
    named = pods_to_remove(role)
    names, chooses = {pod.name for pod in named}, size + len(named) < _active(role)
    above = (
        pod
        for pod in role.status.pods
        if pod.name not in names and (pod.index >= size if role.spec.indexed else chooses)
    )
    return tuple(_marks(key, (*named, *above), reason, now))


def withdrawn_marks(key: JobKey, role: Role, now: datetime) -> tuple[Patch, ...]:
    """Withdraws the marks of pods that run on: their stop failed, or others were chosen.

    A marked pod that fails by itself would be spared by its `podFailurePolicy`. One that has
    changed meanwhile is left to a later decision: another component may have marked it.
    """
    return tuple(
        _condition(key, pod, "False", (mark.reason, _RUNS_ON), now)
        for pod, mark in _marked(role)
        if now - mark.at >= _SETTLED_AFTER
    )


def withdrawal_due(role: Role, now: datetime) -> timedelta | None:
    """The time until a mark of a pod that runs on is withdrawn."""
    return min((_SETTLED_AFTER - (now - mark.at) for _, mark in _marked(role)), default=None)


def _marked(role: Role) -> Iterator[tuple[Pod, DisruptionMark]]:
    """Marked pods that the role keeps at its present size."""
    if role.status.suspended or not _spares_marked(role):
        return
    size, spare = role.status.size, _active(role) > role.status.size
    for pod in role.status.pods:
        leaves = pod.index >= size if role.spec.indexed else spare
        if pod.deletion.mark and pod.active and not leaves:
            yield pod, pod.deletion.mark


def _active(role: Role) -> int:
    return sum(pod.active for pod in role.status.pods)


def _spares_marked(role: Role) -> bool:
    """Whether an exit code of a pod would fail the Job, unless the pod is marked."""
    rules = role.spec.failure_rules.by_exit_code
    return any(rule.action == FAILS and rule.spares_disrupted for rule in rules)


def _marks(key: JobKey, pods: Iterable[Pod], reason: Reason, now: datetime) -> Iterator[Patch]:
    """Pods without a node have no container that could end.

    Those that an interrupted step has marked are left out, so that each try goes on with the rest.
    A pod that has ended by itself gets no mark: its exit code counts.
    """
    why = (reason.code, messages.message(reason))
    for pod in pods:
        if pod.active and pod.node and not pod.deletion.mark:
            yield replace(_condition(key, pod, "True", why, now), unless_changed={})


def _condition(key: JobKey, pod: Pod, status: str, why: tuple[Code, str], now: datetime) -> Patch:
    condition = {
        "type": DISRUPTION_TARGET,
        "status": status,
        "reason": why[0],
        "message": why[1],
        "lastTransitionTime": timestamp(now),
    }
    target = ObjectRef("Pod", key.namespace, pod.name)
    return ConditionPatch(target, pod.version, condition, optional=True)
