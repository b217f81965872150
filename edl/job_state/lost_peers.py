"""The one rule by which a training job restarts as a whole: pods wait for a peer that is gone.

Pods that need each other (`frameworks.interdependent`) form a group once all of them run. If one of
its processes ends, the others wait for it for ever, and whatever takes its place cannot join. A
process that ends before the group can have formed is not missed: its successor joins. Peers that
failed during the same run as the process do not wait: they form the next group with its successor.
Starts of containers and creations of pods tell all this, whenever the reconciler looks.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from operator import itemgetter
from typing import Final, NamedTuple

from edl import reasons
from edl.backoff import Backoff
from edl.frameworks import interdependent
from edl.job_state.lost_pods import CALM, missing_pods
from edl.model import Pod, Reason, Role, TrainingJob

_FORMING: Final = timedelta(seconds=30)
"""A container that fails this soon after its peers began may have failed for lack of them."""
_BOUND: Final = timedelta(seconds=5)
"""A gated pod that is created this soon after its peers began may replace one that got no node."""
_WAIT: Final = timedelta(seconds=10)
"""The kubelet's back-off before the third run of a container; it doubles with each further run."""


class LostPeer(NamedTuple):
    """Why a whole job is to restart, and when that happened."""

    reason: Reason
    at: datetime
    early: bool = False
    """Whether its container `failed_early`, perhaps before the group has formed."""


def lost_peer(job: TrainingJob) -> LostPeer | None:
    """The last loss since the start; None while all pods can train together."""
    started, roles, pods = job.started_at, interdependent(job), group(job)
    if started is None:
        return None
    lost = list(filter(None, (_replaced(role, pods) for role in roles)))
    if lost or any(role.has_new_failures and missing_pods(role) for role in roles):
        return LostPeer(reasons.POD_LOST, max((started, *lost)))
    formed = formed_at(pods, started)
    # Fast path: after a failure of all of them no container is left that ran before it.
    first = min(filter(None, (pod.trains_since for pod in pods)), default=None)
    failed = [(end, pod) for pod in pods if (end := pod.failed_at) and first and first < end]
    for end, pod in sorted(failed, key=itemgetter(0), reverse=True):
        began = max(filter(None, (formed, pod.containers.runs.failed_run_began)), default=None)
        if _still_wait([peer for peer in pods if peer is not pod], end, began, _FORMING):
            return LostPeer(reasons.CONTAINER_RESTARTED, end, failed_early(pod, formed))
    return None


def group(job: TrainingJob) -> list[Pod]:
    """The active pods that all need each other."""
    return [pod for role in interdependent(job) for pod in role.status.pods if pod.active]


def formed_at(pods: Sequence[Pod], started: datetime | None = None) -> datetime | None:
    """When the last of them first began to train, as far as that is known; else the start."""
    return max(filter(None, (pod.first_trained for pod in pods)), default=started)


def failed_early(pod: Pod, formed: datetime | None) -> bool:
    """Whether its container may have failed first less than `CALM` after its group had formed.

    Only its last failed run is known: those of `further` failures count as equally long. The
    kubelet's waits between them add up to about the next one.
    """
    runs, end = pod.containers.runs, pod.failed_at
    if formed is None or end is None:
        return False
    further = runs.restarts - (runs.began is not None)
    run = min(abs(end - (runs.failed_run_began or end)), CALM)
    waits = Backoff(_WAIT, (further + 1) * CALM).after(further) - _WAIT
    return end - formed < CALM + further * run + waits


def _replaced(role: Role, pods: Sequence[Pod]) -> datetime | None:
    """When a pod of the role was last created after all older pods had begun to train.

    Without a counted failure, a pod of the start may have been created late.
    """
    patience = _BOUND if role.template.gated and role.has_new_failures else _FORMING
    created = {pod.created_at for pod in role.status.pods if pod.active}
    for moment in sorted(created, reverse=True) if role.may_have_replacements else ():
        older = [other for other in pods if other.created_at < moment]
        if _still_wait(older, moment, formed_at(older), patience):
            return moment
    return None


def _still_wait(
    peers: Sequence[Pod], moment: datetime, began: datetime | None, patience: timedelta
) -> bool:
    """Whether all peers had begun to train this long before, and one of them waits.

    Those that failed since, or less than `CALM` before, wait for no pod that was in their group;
    those that failed soon after `began` had only lacked the others.
    """
    waiting = [peer for peer in peers if (t := peer.trains_since) and moment - t >= patience]
    return any(
        not (end := peer.failed_at) or moment - end >= CALM or (began and end - began <= _FORMING)
        for peer in waiting
    ) and all(
        moment - first >= patience if (first := peer.first_trained) else peer.failed_at
        for peer in peers
    )
