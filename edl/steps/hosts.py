"""Host lists for launchers: published after growing, and before shrinking.

Horovod reads the list every second, must never see it empty, and blacklists a host that dies
while it is listed. So a host is listed once its pod is ready, and not longer than it stays.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from edl import addresses, contract
from edl.frameworks import FRAMEWORKS
from edl.model import Pod, Role, TrainingJob
from edl.steps import patches
from edl.writes import Patch

LEAVE: Final = timedelta(seconds=3)
"""What workers get between the list without them and their end; Horovod needs 1 s."""
JOIN: Final = timedelta(seconds=30)
"""How long those that are ready wait for those that are not, so that one list says it all."""
_INDEX: Final = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True, slots=True)
class Publication:
    """What is to be written for the launchers, and how long a shrink has to wait for it."""

    writes: tuple[Patch, ...] = ()
    wait: timedelta | None = None
    recheck: timedelta | None = None


@dataclass(frozen=True, slots=True)
class _Workers:
    """The published role: who is ready among the first `size`, and how long others may join."""

    role: Role
    size: int
    ready: frozenset[int]
    joining: timedelta | None

    @property
    def leave(self) -> bool:
        return self.size < self.role.size


def publish(job: TrainingJob, targets: Mapping[str, int], now: datetime) -> Publication:
    """The launchers' lists as they should be when the roles have these target sizes."""
    workers = _workers(job, targets, now)
    if workers is None:
        return Publication()
    launchers = [
        pod
        for role in job.roles
        if role.decides
        for pod in role.pods
        if not pod.ended and not pod.terminating
    ]
    if not launchers:
        return Publication()
    lists = [(pod, _next_list(pod, workers)) for pod in launchers]
    writes = tuple(
        _patch(job, pod, workers.role, indexes, now)
        for pod, indexes in lists
        if indexes is not None
    )
    waits = [_time_to_leave(pod, indexes, now) for pod, indexes in lists if not _is_gated(pod)]
    wait = max(filter(None, waits), default=None) if workers.leave else None
    return Publication(writes, wait, workers.joining)


def _workers(job: TrainingJob, targets: Mapping[str, int], now: datetime) -> _Workers | None:
    name = FRAMEWORKS[job.framework].publishes
    role = next((role for role in job.live if name and role.name == name), None)
    if role is None:
        return None
    size = min(targets.get(role.name, role.size), role.size)
    wanted = [
        pod for pod in role.pods if 0 <= pod.index < size and not pod.terminating and not pod.ended
    ]
    ready = frozenset(pod.index for pod in wanted if pod.ready)
    left = [JOIN - (now - pod.created_at) for pod in wanted if not pod.ready]
    # A pod that the Job controller has yet to create joins as well, but a quota may forbid it.
    since = role.resized_at or job.started_at
    missing = [JOIN - (now - since)] if since and len(wanted) < size else []
    joining = min((time for time in left + missing if time > timedelta()), default=None)
    return _Workers(role, size, ready, joining)


def _is_gated(pod: Pod) -> bool:
    return contract.HOSTS_GATE in pod.gates


def _next_list(pod: Pod, workers: _Workers) -> frozenset[int] | None:
    """The indexes that this launcher should read now, None where nothing is to be written.

    Who leaves goes at once; who joins waits for the others that join; it is never empty.
    """
    if _is_gated(pod):
        complete = not workers.joining and len(workers.ready) >= workers.role.min
        return workers.ready if complete else None
    listed = _listed(pod)
    wanted = listed & workers.ready if workers.joining else workers.ready
    return wanted if wanted and wanted != listed else None


def _listed(pod: Pod) -> frozenset[int]:
    """Nothing for a list that is not ours (who may patch pods may write any): it is replaced."""
    hosts = (pod.hosts or "").split()
    indexes = [host.partition(".")[0].rpartition("-")[2] for host in hosts]
    if not all(_INDEX.fullmatch(index) for index in indexes):
        return frozenset()
    return frozenset(map(int, indexes))


def _time_to_leave(pod: Pod, published: frozenset[int] | None, now: datetime) -> timedelta | None:
    """How long the pods that are no longer listed still need; None when they had their time."""
    if published is not None or pod.published_at is None:
        return LEAVE
    left = LEAVE - (now - pod.published_at)
    return left if left > timedelta() else None


def _patch(
    job: TrainingJob, pod: Pod, workers: Role, indexes: frozenset[int], now: datetime
) -> Patch:
    service, namespace = job.key.name, job.key.namespace
    hosts = [addresses.host(workers.job, index, service, namespace) for index in sorted(indexes)]
    annotations = {
        contract.HOSTFILE: "".join(f"{host}:{workers.slots}\n" for host in hosts),
        contract.MPI_HOSTFILE: "".join(f"{host} slots={workers.slots}\n" for host in hosts),
        contract.PUBLISHED_AT: patches.timestamp(now),
    }
    if not _is_gated(pod):
        return patches.pod(job.key, pod, annotations)
    gates = [{"name": gate} for gate in pod.gates if gate != contract.HOSTS_GATE]
    return patches.pod(job.key, pod, annotations, {"schedulingGates": gates})
