"""Pods that were lost and that the Job controller has not recreated yet.

The Job controller doubles its back-off after each failure of a Job, and reports the delay nowhere.
Only a pod that succeeds, or a new leader of kube-controller-manager, resets the count of failures:
suspending the Job does not (docs/kubernetes.md 16).
"""

from datetime import datetime, timedelta
from typing import Final

from edl import reasons
from edl.backoff import Backoff
from edl.frameworks import needs_minimum
from edl.model import Code, Pod, PodPhase, Reason, Role, TrainingJob
from edl.spec.allowed_sizes import with_work

CALM: Final = timedelta(minutes=10)
"""Pods that have run this long recovered; the kubelet resets container back-offs after this too."""
LONGEST_BACKOFF: Final = timedelta(minutes=10)
_BACKOFF: Final = Backoff(timedelta(seconds=10), LONGEST_BACKOFF)
"""`DefaultJobPodFailureBackOff` and `MaxJobPodFailureBackOff` of kube-controller-manager."""
_MOVES: Final = frozenset(
    {Code.NODE_TERMINATING, Code.NODE_UNSCHEDULABLE, Code.NODE_UNNEEDED, Code.NODE_FULL}
)
"""Reasons for deleting a pod to move it: no failure is counted, so it is recreated without
delay."""


def lost_pods(role: Role) -> int:
    """How many pods of the role's minimum were lost and are not recreated yet."""
    return _lost_of(role, _least(role))


def missing_pods(role: Role) -> int:
    """How many pods of the role, extras included, were lost and are not recreated yet."""
    return _lost_of(role, role.status.size)


def _lost_of(role: Role, replicas: int) -> int:
    """How many of this number of replicas were lost and are not recreated yet."""
    status = role.status
    if status.suspended or status.ending or not has_lost_any(role):
        return 0
    there = _there(role)
    if role.spec.indexed and all(pod.index >= 0 for pod in there):
        present = {pod.index for pod in there} | status.finished_indexes
        return sum(index not in present for index in range(replicas))
    return max(with_work(role, replicas) - len(there), 0)


def delayed_until(role: Role, now: datetime) -> datetime | None:
    """Until when the Job controller may create no pods of a started role; None: no pod is lost.

    An upper bound, as the time of the last failure is not known.
    """
    if not missing_pods(role):
        return None
    recorded, latest = role.record.delayed_until, now + recreated_within(role)
    return latest if recorded is None or role.has_new_failures else min(recorded, latest)


def recorded_delay(role: Role, now: datetime) -> datetime | None:
    """Until when at the latest a recorded back-off lasts, whether or not a pod is missing.

    None if it is over: a pod that was created since the last start or resize shows that, too.
    """
    until, changed = role.record.delayed_until, role.record.resized_at
    if until is None or not _may_last(until, now):
        return None
    created = changed and any(pod.created_at > changed for pod in role.status.pods)
    return None if created else until


def pods_delayed_until(job: TrainingJob, now: datetime) -> datetime | None:
    """Until when at the latest the Job controller creates no pod of some role; None: at once.

    A suspended role has recorded it when it was stopped.
    """
    times = (
        role.record.delayed_until if role.status.suspended else delayed_until(role, now)
        for role in job.live
    )
    return max((until for until in times if until and _may_last(until, now)), default=None)


def _may_last(until: datetime, now: datetime) -> bool:
    """Whether a back-off until then may be in progress: one of a wrong clock would last longer."""
    return now < until <= now + LONGEST_BACKOFF


def recreated_within(role: Role) -> timedelta:
    """The longest back-off that the Job controller can be in after this number of failures."""
    return _BACKOFF.after(role.status.failures)


def recreation_delay(role: Role) -> tuple[datetime, timedelta] | None:
    """From when, and how long, the Job controller may create none of the role's missing pods.

    Its back-off counts from the last failure, which it writes to the Job's status at once, or from
    the end of a pod that terminates. It may be the longest one where a podFailurePolicy leaves
    failures uncounted. None if unknown, or if an ended pod is yet to be counted.
    """
    pods, status = role.status.pods, role.status
    leaving = [pod.deletion.due_at for pod in pods if pod.terminating and not pod.ended]
    due = [moment for moment in leaving if moment]
    uncounted = any(pod.ended and not pod.untracked for pod in pods)
    if role.reported_at is None or uncounted or len(due) < len(leaving):
        return None
    longest = LONGEST_BACKOFF if status.ignores else recreated_within(role)
    return max((role.reported_at, *due)), longest


def longest_wait(job: TrainingJob, *, extras: bool = False) -> timedelta:
    """How long pods of the job's minimum, or any pods, may be missing; zero if none is missing."""
    missing = missing_pods if extras else lost_pods
    waits = (recreated_within(role) for role in job.live if missing(role))
    return max(waits, default=timedelta())


def why_missing(job: TrainingJob) -> Reason | None:
    """The reason for pods missing from the job's minimum; None if the others suffice for it."""
    if not any(map(_lacks_minimum, job.live)):
        return None
    lost = sum(map(lost_pods, job.live))
    return reasons.missing(lost, _minimum(job), longest_wait(job))


def why_any_missing(job: TrainingJob) -> Reason | None:
    """The reason for missing pods, of the minimum or extras; None if no pod was lost."""
    lost = sum(map(missing_pods, job.live))
    if not lost:
        return None
    size, longest = sum(role.status.size for role in job.live), longest_wait(job, extras=True)
    return why_missing(job) or reasons.missing(lost, size, longest, extras=True)


def why_role_lacks(role: Role) -> Reason | None:
    """The reason for missing pods of one role; None if none was lost."""
    lost = missing_pods(role)
    if not lost:
        return None
    return reasons.missing(lost, role.status.size, recreated_within(role), extras=True)


def stands_still(job: TrainingJob) -> bool:
    """Whether the job cannot train until its lost pods are recreated."""
    return needs_minimum(job) and any(map(_lacks_minimum, job.live))


def why_returns(job: TrainingJob, *, confined: bool = False) -> Reason:
    """Why a gang that cannot train goes back to the queue.

    `confined`: its topology domain lost too many nodes.
    """
    lost = sum(map(lost_pods, job.live))
    return reasons.lost_minimum(lost, _minimum(job), longest_wait(job), confined=confined)


def has_lost_any(role: Role) -> bool:
    """Whether pods were lost since the start, or before it and the back-off continued."""
    if role.record.reason in _MOVES:
        return False
    return role.record.delayed_until is not None or role.has_new_failures


def _there(role: Role) -> list[Pod]:
    pods = role.replicas
    return [pod for pod in pods if not (pod.terminating or pod.phase is PodPhase.FAILED)]


def _lacks_minimum(role: Role) -> bool:
    """Whether lost pods leave it fewer than its minimum, whatever their indexes."""
    return lost_pods(role) > 0 and len(_there(role)) < _least(role)


def _least(role: Role) -> int:
    return min(role.spec.min, role.status.size)


def _minimum(job: TrainingJob) -> int:
    return sum(map(_least, job.live))
