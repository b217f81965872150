"""The one rule by which a training job restarts as a whole: pods wait for a peer that is gone.

Pods that need each other (`frameworks.interdependent`) form a group once all of them run. If one of
its processes ends, the others wait for it for ever, and whatever takes its place cannot join. A
process that ends before the group can have formed is not missed: its successor joins. Peers that
failed during the same run as the process do not wait: they form the next group with its successor.
Starts of containers and creations of pods tell all this, whenever the reconciler looks.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from operator import itemgetter
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
    often: bool = False
    """Whether its container `fails_often`, perhaps before the group has formed."""


def lost_peer(job: TrainingJob) -> LostPeer | None:
    """The last loss since the start; None while all pods can train together."""
    started = job.started_at
    # Fast path: most jobs have lost nothing since their start.
    suspect = job.restarted_in_place or any(role.may_have_replacements for role in job.live)
    if started is None or not suspect:
        return None
    roles = interdependent(job)
    pods = [pod for role in roles for pod in role.status.pods if pod.active]
    lost = [created_at for role in roles if (created_at := next(_replaced(role, pods), None))]
    if lost or any(role.has_new_failures and missing_pods(role) for role in roles):
        return LostPeer(reasons.POD_LOST, max((started, *lost)))
    failed = next(_failed(pods), None)
    return failed and LostPeer(reasons.CONTAINER_RESTARTED, failed[0], fails_often(job, failed[1]))


def fails_often(job: TrainingJob, pod: Pod) -> bool:
    """Whether its container has failed more often than every `CALM` since its job trains."""
    began, end, restarts = job.trains_since, pod.failed_at, pod.containers.runs.restarts
    return bool(began and end and end - began < restarts * CALM)


def _replaced(role: Role, pods: Sequence[Pod]) -> Iterator[datetime]:
    """When pods of the role were created after all older pods had begun to train, the last first.

    Without a counted failure, a pod of the start may have been created late.
    """
    counted = role.template.gated and role.has_new_failures
    patience = _BOUND if counted else _FORMING
    created = {pod.created_at for pod in role.status.pods if pod.active}
    for moment in sorted(created, reverse=True) if role.may_have_replacements else ():
        older = [other for other in pods if other.created_at < moment]
        if _still_wait(older, moment - patience, moment - CALM):
            yield moment


def _failed(pods: Sequence[Pod]) -> Iterator[tuple[datetime, Pod]]:
    """When containers failed while the others trained, and their pods, the last first.

    Peers that failed in the same run, less than `CALM` before, or since, do not wait for them.
    """
    # Fast path: after a failure of all of them no container is left that ran before it.
    first = min(filter(None, (pod.trains_since for pod in pods)), default=None)
    failed = [(end, pod) for pod in pods if (end := pod.failed_at) and first and first < end]
    for end, pod in sorted(failed, key=itemgetter(0), reverse=True):
        others = [other for other in pods if other is not pod]
        began, calm = pod.containers.runs.failed_run_began, end - CALM
        since = max(began + _FORMING, calm) if began else calm
        if _still_wait(others, end - _FORMING, since):
            yield end, pod


def _still_wait(peers: Sequence[Pod], formed: datetime, since: datetime) -> bool:
    """Whether all peers had begun to train by `formed`, and one runs on that did so.

    Those that failed after `since` wait for no pod that was in their group.
    """
    waiting = [peer for peer in peers if peer.trains_since and peer.trains_since <= formed]
    return any(not (peer.failed_at and peer.failed_at > since) for peer in waiting) and all(
        peer.first_trained and peer.first_trained <= formed for peer in peers
    )
