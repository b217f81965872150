"""Pods of a minimum that were lost, until the Job controller makes them again.

It waits longer after each failure of a Job, and neither says nor records how long.
"""

from datetime import timedelta
from typing import Final

from edl import reasons
from edl.model import PodPhase, Reason, Role, TrainingJob

_FIRST: Final = timedelta(seconds=10)
_LONGEST: Final = timedelta(minutes=10)
"""`DefaultJobPodFailureBackOff` and `MaxJobPodFailureBackOff` of kube-controller-manager."""
_DOUBLINGS: Final = 6
"""This many are beyond the longest."""


def lost_pods(role: Role) -> int:
    """How many pods of its minimum were lost since its start and are not made again yet."""
    status, least = role.status, min(role.spec.min, role.status.size)
    if status.suspended or status.ending or not _failures(role):
        return 0
    there = [pod for pod in status.pods if not (pod.terminating or pod.phase is PodPhase.FAILED)]
    if role.spec.indexed and all(pod.index >= 0 for pod in there):
        present = {pod.index for pod in there} | status.completed_indexes
        return sum(index not in present for index in range(least))
    if status.remaining is not None:
        least = min(least, status.remaining)
    return max(least - len(there), 0)


def recreated_within(role: Role) -> timedelta:
    """The Job controller's back-off after the failures since its start."""
    return min(_FIRST * (1 << min(_failures(role) - 1, _DOUBLINGS)), _LONGEST)


def longest_wait(job: TrainingJob) -> timedelta:
    """How long pods of its minimum may be missing; zero where none is."""
    waits = (recreated_within(role) for role in job.live if lost_pods(role))
    return max(waits, default=timedelta())


def why_missing(job: TrainingJob) -> Reason | None:
    """What keeps its minimum from being whole, if that is lost pods."""
    lost = sum(map(lost_pods, job.live))
    of = sum(min(role.spec.min, role.status.size) for role in job.live)
    return reasons.missing(lost, of, longest_wait(job)) if lost else None


def _failures(role: Role) -> int:
    return max(role.status.failures - role.record.failures_at_start, 0)
