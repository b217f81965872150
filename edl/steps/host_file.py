"""Host lists for launchers: published after growing, and before shrinking.

Horovod reads the list every second, must never see it empty, and blacklists a host that dies
while it is listed. So a host is listed once its pod is ready, and not longer than it stays. It
tells its first worker of a change, once: one that joins before that one listens is never used.
"""

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

import msgspec

from edl import contract, reasons
from edl.annotations import host_list_marks
from edl.frameworks import FRAMEWORKS
from edl.model import Leaving, Pod, Role, TrainingJob
from edl.planner.plan import Resize
from edl.spec import addresses
from edl.steps import preconditioned_patches
from edl.steps.pod_removal import going, reason
from edl.writes import Patch

LEAVE: Final = timedelta(seconds=3)
"""Time between a worker's removal from the list and its end; Horovod needs 1 s."""
JOIN: Final = timedelta(seconds=30)
"""How long those that are ready wait for those that are not, so that one list says it all."""
SETTLE: Final = timedelta(seconds=20)
"""From a launcher that is ready to a first worker that listens; Horovod itself cannot say when."""
CONFIRM: Final = timedelta(seconds=1.5)
"""From a publication to the patch that reminds the kubelet of it (docs/kubernetes.md 8)."""
FORGET: Final = timedelta(seconds=90)
"""After that long a kubelet looks at each of its pods anyway."""
_NOW: Final = timedelta()
_INDEX: Final = re.compile(r"[0-9]{1,9}")


class Publication(msgspec.Struct, frozen=True):
    """Host lists to publish to launchers, and how long a scale-down has to wait for them."""

    writes: tuple[Patch, ...] = ()
    wait: timedelta | None = None
    recheck: timedelta | None = None


class _Workers(msgspec.Struct, frozen=True):
    """The published role: its ready pods among the first `size`, and how long others may join."""

    role: Role
    size: int
    leaving: Leaving
    """The pods that are to leave, whether or not a list says so yet."""
    ready: frozenset[int]
    joining: timedelta | None

    @property
    def leave(self) -> bool:
        return self.size < self.role.status.size or bool(going(self.role))


def publish(job: TrainingJob, resizes: Sequence[Resize], now: datetime) -> Publication:
    """The launchers' lists as they should be when these resizes are done."""
    workers = _workers(job, resizes, now)
    if workers is None:
        return Publication()
    launchers = [
        pod
        for role in job.roles
        if role.spec.is_leader
        for pod in role.status.pods
        if pod.active and not pod.unplaced
    ]
    if not launchers:
        return Publication()
    lists = [(pod, _next_list(pod, workers, now)) for pod in launchers]
    writes = [
        _patch(job, pod, workers, indexes, now) for pod, indexes in lists if indexes is not None
    ]
    waits = [_time_to_leave(pod, indexes, now) for pod, indexes in lists if not _is_gated(pod)]
    waits += [_ready_worker_wait(pod, workers, now) for pod in launchers]
    wait = max(filter(None, waits), default=None) if workers.leave else None
    told = [(pod, _time_to_confirm(pod, now)) for pod, indexes in lists if indexes is None]
    writes += [_reminder(job, pod) for pod, left in told if left == _NOW]
    rechecks = [workers.joining, *(left for _, left in told)]
    rechecks += [_time_to_settle(pod, now) for pod in launchers if workers.ready - _listed(pod)]
    return Publication(tuple(writes), wait, min(filter(None, rechecks), default=None))


def _workers(job: TrainingJob, resizes: Sequence[Resize], now: datetime) -> _Workers | None:
    name = _published(job)
    role = next((role for role in job.live if name and role.name == name), None)
    if role is None:
        return None
    resize = next((one for one in resizes if one.role == role.name), None)
    size = min(resize.after, role.status.size) if resize else role.status.size
    wanted = _staying(job, role, size)
    ready = frozenset(pod.index for pod in wanted if pod.ready)
    left = [_left(JOIN, pod.created_at, now) for pod in wanted if not pod.ready]
    # A pod that the Job controller has yet to create joins as well, but a quota may forbid it.
    since = role.record.resized_at or job.started_at
    missing = [_left(JOIN, since, now)] if since and len(wanted) < size else []
    joining = min(filter(None, left + missing), default=None)
    return _Workers(role, size, _leaving(job, role, size, resize), ready, joining)


def _leaving(job: TrainingJob, role: Role, size: int, resize: Resize | None) -> Leaving:
    staying = {pod.name for pod in _staying(job, role, size)}
    names = frozenset(
        pod.name for pod in role.status.pods if pod.active and pod.name not in staying
    )
    before = job.leaving.reason if job.leaving else reasons.UNKNOWN
    why = reason(role) if role.request.removing else before
    return Leaving(names, size, resize.reason if resize else why)


def _published(job: TrainingJob) -> str:
    return FRAMEWORKS[job.framework].publishes or role_of(job)


def _staying(job: TrainingJob, role: Role, size: int) -> list[Pod]:
    """The pods that are there and shall be at this size, but none that a list has left out."""
    gone = {pod.name for pod in going(role)} | (job.leaving.pods if job.leaving else frozenset())
    return [
        pod
        for pod in role.status.pods
        if 0 <= pod.index < size and pod.active and pod.name not in gone
    ]


def leaves_no_worker(job: TrainingJob, resize: Resize) -> bool:
    """Whether a shrink would end workers beside the named pods that are to go.

    Then these go first, and it is decided again once their replacements are there.
    """
    if _published(job) != resize.role or resize.after > resize.before:
        return False
    role = next(role for role in job.roles if role.name == resize.role)
    if not going(role) or any(pod.ready for pod in _staying(job, role, resize.after)):
        return False
    return any(pod.ready for pod in _staying(job, role, role.status.size))


def _is_gated(pod: Pod) -> bool:
    return contract.HOSTS_GATE in pod.gates


def _next_list(pod: Pod, workers: _Workers, now: datetime) -> frozenset[int] | None:
    """The indexes that this launcher should read now, None where nothing is to be written.

    A worker that leaves goes at once; one that joins waits for the others that join,
    and until the launcher takes note; the list is never empty.
    """
    if _is_gated(pod):
        complete = not workers.joining and len(workers.ready) >= workers.role.spec.min
        return workers.ready if complete else None
    listed = _listed(pod)
    held = workers.joining or _time_to_settle(pod, now)
    wanted = listed & workers.ready if held else workers.ready
    return wanted if wanted and wanted != listed else None


def _ready_worker_wait(pod: Pod, workers: _Workers, now: datetime) -> timedelta | None:
    """How long leaving workers may be needed: those that stay are yet to be ready, or listed."""
    held = workers.joining or _time_to_settle(pod, now)
    if _is_gated(pod) or workers.ready & _listed(pod):
        return None
    return held


def _time_to_settle(pod: Pod, now: datetime) -> timedelta | None:
    """How long a launcher may still be starting its workers, None before and after."""
    if _is_gated(pod) or pod.ready_since is None:
        return None
    return _left(SETTLE, pod.ready_since, now)


def _time_to_confirm(pod: Pod, now: datetime) -> timedelta | None:
    """How long until the kubelet is reminded of the last publication, None if it need not be."""
    if _is_gated(pod) or pod.published.at is None or pod.published.confirmed_at == pod.published.at:
        return None
    age = now - pod.published.at
    return (_left(CONFIRM, pod.published.at, now) or _NOW) if age < FORGET else None


def _listed(pod: Pod) -> frozenset[int]:
    """Nothing for a list that is not ours (users may patch pods): it is replaced."""
    hosts = (pod.published.hosts or "").split()
    indexes = [host.partition(".")[0].rpartition("-")[2] for host in hosts]
    if not all(_INDEX.fullmatch(index) for index in indexes):
        return frozenset()
    return frozenset(map(int, indexes))


def _time_to_leave(pod: Pod, published: frozenset[int] | None, now: datetime) -> timedelta | None:
    """How long the pods that are no longer listed still need; None when they had their time."""
    if published is not None or pod.published.at is None:
        return LEAVE
    return _left(LEAVE, pod.published.at, now)


def _left(wait: timedelta, since: datetime, now: datetime) -> timedelta | None:
    """Remaining wait; None when it is over.

    So it is for a moment that lies still further ahead: one of two clocks is wrong, and the wait
    would be too long.
    """
    left = wait - (now - since)
    return left if _NOW < left <= 2 * wait else None


def _patch(
    job: TrainingJob, pod: Pod, workers: _Workers, indexes: frozenset[int], now: datetime
) -> Patch:
    service, namespace, role = job.key.name, job.key.namespace, workers.role
    hosts = [addresses.host(role.job, index, service, namespace) for index in sorted(indexes)]
    annotations: dict[str, str | None] = {
        contract.HOSTFILE: "".join(f"{host}:{role.spec.slots}\n" for host in hosts),
        contract.MPI_HOSTFILE: "".join(f"{host} slots={role.spec.slots}\n" for host in hosts),
        contract.PUBLISHED_AT: preconditioned_patches.timestamp(now),
    }
    if workers.leaving.pods or pod.published.leaving:
        leaves = workers.leaving.pods and host_list_marks.leaving_text(workers.leaving)
        annotations[contract.LEAVING] = leaves or None
    if role_of(job):
        annotations[contract.WORKER_HOSTS] = "".join(f"{host}\n" for host in hosts)
    if not _is_gated(pod):
        return preconditioned_patches.pod(job.key, pod, annotations)
    return preconditioned_patches.pod(
        job.key, pod, annotations, preconditioned_patches.ungated(pod, contract.HOSTS_GATE)
    )


def _reminder(job: TrainingJob, pod: Pod) -> Patch:
    """Any change of a pod makes the kubelet write its files, with whatever it had missed."""
    told = preconditioned_patches.timestamp(pod.published.at) if pod.published.at else ""
    return preconditioned_patches.pod(job.key, pod, {contract.CONFIRMED_AT: told})


# NEW_WORKER: whether a worker joins a training that already runs, known before it starts.
#
# MXNet's elastic fork reads it from each worker's environment. A Job's pods are all alike, so
# they wait behind their scheduling gate until the value is in an annotation of the pod.


def role_of(job: TrainingJob) -> str:
    """The role whose pods are told, empty where none are."""
    mode = FRAMEWORKS[job.framework].mode(job.mode, [role.name for role in job.roles])
    return mode.newcomers if mode else ""


def told(job: TrainingJob) -> tuple[Patch, ...]:
    """For each worker that waits: whether it is new, and how many there are with it."""
    name = role_of(job)
    deciders = [pod for role in job.roles if role.spec.is_leader for pod in role.status.pods]
    began = any(pod.published.hosts is not None for pod in deciders if not pod.terminating)
    return tuple(
        _let_in(job, role, pod, new=began)
        for role in job.live
        if role.name == name
        for pod in role.status.pods
        if contract.HOSTS_GATE in pod.gates and not (pod.unplaced or pod.terminating)
    )


def _let_in(job: TrainingJob, role: Role, pod: Pod, *, new: bool) -> Patch:
    annotations = {contract.NEW_WORKER: str(int(new)), contract.WORKERS: str(role.status.size)}
    return preconditioned_patches.pod(
        job.key, pod, annotations, preconditioned_patches.ungated(pod, contract.HOSTS_GATE)
    )
