"""The one rule by which a training job restarts as a whole: pods wait for a peer that is gone.

Pods that need each other (`frameworks.interdependent`) form a group once per start. If one of its
processes ends, the others wait for it for ever, and whatever takes its place cannot join. A process
that ends before the group can have formed is not missed: its successor joins. The group can form
once all peers have run for a while; those that failed in the same run as their peer do not wait.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from edl import reasons
from edl.frameworks import interdependent
from edl.lost_pods import CALM, missing_pods
from edl.model import Pod, Reason, Role, TrainingJob

_FORMING: Final = timedelta(seconds=30)
"""A container that fails this soon after its peers began may have failed for lack of them."""
_BOUND: Final = timedelta(seconds=5)
"""A gated pod that is created this soon after its peers began may replace one that got no node."""


class LostPeer(NamedTuple):
    """Why a whole job is to restart, and when that happened."""

    reason: Reason
    at: datetime


def lost_peer(job: TrainingJob) -> LostPeer | None:
    """The last loss since the start; None while all pods can train together."""
    started = job.started_at
    # Fast path: most jobs have lost nothing since their start.
    suspect = job.restarted_in_place or any(role.may_have_replacements for role in job.live)
    if started is None or not suspect:
        return None
    roles = interdependent(job)
    pods = [pod for role in roles for pod in role.status.pods if pod.active]
    lost = [pod.created_at for role in roles for pod in _replacements(role, pods)]
    if lost or any(role.has_new_failures and missing_pods(role) for role in roles):
        return LostPeer(reasons.POD_LOST, max((started, *lost)))
    failed = [
        pod.failed_at
        for pod in pods
        if pod.failed_at and _all_ran(_peers(pod, pod.failed_at, pods), pod.failed_at - _FORMING)
    ]
    return LostPeer(reasons.CONTAINER_RESTARTED, max(failed)) if failed else None


def _replacements(role: Role, pods: Sequence[Pod]) -> Iterator[Pod]:
    """The role's pods that were created after all older pods had begun to train.

    Without a counted failure, a pod of the start may have been created late.
    """
    counted = role.template.gated and role.has_new_failures
    patience = _BOUND if counted else _FORMING
    for pod in role.status.pods if role.may_have_replacements else ():
        older = (other for other in pods if other.created_at < pod.created_at)
        if pod.active and _all_ran(older, pod.created_at - patience):
            yield pod


def _peers(pod: Pod, failed_at: datetime, pods: Sequence[Pod]) -> Iterator[Pod]:
    """The other pods without those that failed in the same run, less than `CALM` before, or since.

    The begin of a run that its kubelet has forgotten is taken to be `_FORMING` before its end.
    """
    began = pod.containers.runs.failed_run_began or failed_at - _FORMING
    since = max(began, failed_at - CALM)
    return (
        other
        for other in pods
        if other is not pod and not (other.failed_at and other.failed_at > since)
    )


def _all_ran(pods: Iterable[Pod], moment: datetime) -> bool:
    """Whether there are pods, and all have trained since before this moment."""
    times = [pod.trains_since for pod in pods]
    return bool(times) and all(since and since <= moment for since in times)
