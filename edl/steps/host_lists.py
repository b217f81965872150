"""Host lists for launchers: published after scale-ups, and before scale-downs.

Horovod reads the list every second, must never see it empty, and blacklists a host that dies while
it is listed. So a host is listed once its pod is ready, and removed before the pod is deleted.
Horovod notifies its first worker once per change: a host that is added before that worker listens
is never used.
"""

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

import msgspec

from edl import contract, reasons
from edl.annotations import leaving_workers
from edl.annotations.time_text import timestamp
from edl.frameworks import FRAMEWORKS, mode_of
from edl.model import Leaving, Pod, Role, TrainingJob
from edl.planner.plan import Resize
from edl.spec import addresses
from edl.steps.pod_removal import pods_to_remove, removal_reason, requested_removals
from edl.steps.preconditioned_patches import pod_patch, spec_without_gate
from edl.writes import Patch

LEAVE: Final = timedelta(seconds=3)
"""Time between a worker's removal from the list and its deletion; Horovod needs 1 s."""
JOIN: Final = timedelta(seconds=30)
"""How long ready workers wait for unready ones, so that one change of the list adds them all."""
SETTLE: Final = timedelta(seconds=20)
"""Time from a ready launcher to a first worker that listens, which Horovod does not report."""
CONFIRM: Final = timedelta(seconds=1.5)
"""Time from a publication to the patch that makes the kubelet sync it (docs/kubernetes.md 8)."""
LATE: Final = timedelta(seconds=2)
"""A reminder after this time would leave workers too little time until `LEAVE`: both begin anew."""
FORGET: Final = timedelta(seconds=90)
"""Within this time a kubelet syncs each of its pods anyway."""
_NOW: Final = timedelta()
_INDEX: Final = re.compile(r"[0-9]{1,9}")


class Publication(msgspec.Struct, frozen=True):
    """Patches of host lists, and how long a scale-down must wait for launchers to read them."""

    writes: tuple[Patch, ...] = ()
    wait: timedelta | None = None
    recheck: timedelta | None = None


class _Workers(msgspec.Struct, frozen=True):
    """The listed role: the indexes of ready pods below `size`, and the time left to join."""

    role: Role
    size: int
    leaving: Leaving
    """The pods that are to leave, whether or not they are off the list already."""
    ready: frozenset[int]
    joining: timedelta | None

    @property
    def leave(self) -> bool:
        return self.size < self.role.status.size or bool(pods_to_remove(self.role))


def publish(job: TrainingJob, resizes: Sequence[Resize], now: datetime) -> Publication:
    """The launchers' host lists for the sizes after these resizes."""
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
    unchanged = [(pod, _time_to_confirm(pod, now)) for pod, indexes in lists if indexes is None]
    writes += [_reminder(job, pod, now) for pod, left in unchanged if left == _NOW]
    rechecks = [workers.joining, *(left for _, left in unchanged)]
    rechecks += [_time_to_settle(pod, now) for pod in launchers if workers.ready - _listed(pod)]
    return Publication(tuple(writes), wait, min(filter(None, rechecks), default=None))


def _workers(job: TrainingJob, resizes: Sequence[Resize], now: datetime) -> _Workers | None:
    name = _published(job)
    role = next((role for role in job.live if name and role.name == name), None)
    if role is None:
        return None
    resize = next((resize for resize in resizes if resize.role == role.name), None)
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
    why = removal_reason(role) if requested_removals(role) else before
    return Leaving(names, size, resize.reason if resize else why)


def _published(job: TrainingJob) -> str:
    return FRAMEWORKS[job.framework].publishes or newcomer_role(job)


def _staying(job: TrainingJob, role: Role, size: int) -> list[Pod]:
    """The active pods that stay at this size, except those that already left the list."""
    unlisted = job.leaving.pods if job.leaving else frozenset[str]()
    gone = {pod.name for pod in pods_to_remove(role)} | unlisted
    return [
        pod
        for pod in role.status.pods
        if 0 <= pod.index < size and pod.active and pod.name not in gone
    ]


def leaves_no_worker(job: TrainingJob, resize: Resize) -> bool:
    """Whether a scale-down, together with the named pods to delete, would leave no ready worker.

    Then only the named pods are deleted, and the resize waits for their replacements.
    """
    if _published(job) != resize.role or resize.after > resize.before:
        return False
    role = next(role for role in job.roles if role.name == resize.role)
    if not pods_to_remove(role) or any(pod.ready for pod in _staying(job, role, resize.after)):
        return False
    return any(pod.ready for pod in _staying(job, role, role.status.size))


def _is_gated(pod: Pod) -> bool:
    return contract.HOSTS_GATE in pod.scheduling.gates


def _next_list(pod: Pod, workers: _Workers, now: datetime) -> frozenset[int] | None:
    """The indexes to list for this launcher now; None if its list need not change.

    Leaving workers are removed at once. Joining ones are added together, once the launcher
    listens. The list never becomes empty.
    """
    if _is_gated(pod):
        complete = not workers.joining and len(workers.ready) >= workers.role.spec.min
        return workers.ready if complete else None
    listed = _listed(pod)
    held = workers.joining or _time_to_settle(pod, now)
    wanted = listed & workers.ready if held else workers.ready
    return wanted if wanted and wanted != listed else None


def _ready_worker_wait(pod: Pod, workers: _Workers, now: datetime) -> timedelta | None:
    """How long to keep leaving workers while no remaining worker is both ready and listed."""
    held = workers.joining or _time_to_settle(pod, now)
    if _is_gated(pod) or workers.ready & _listed(pod):
        return None
    return held


def _time_to_settle(pod: Pod, now: datetime) -> timedelta | None:
    """How much longer a ready launcher may be starting its workers; None before and after."""
    if _is_gated(pod) or pod.ready_since is None:
        return None
    return _left(SETTLE, pod.ready_since, now)


def _time_to_confirm(pod: Pod, now: datetime) -> timedelta | None:
    """The time until the kubelet needs the reminder of the last publication; None if not."""
    if (
        _is_gated(pod)
        or pod.published.published_at is None
        or pod.published.confirmed_at == pod.published.published_at
    ):
        return None
    age = now - pod.published.published_at
    return (_left(CONFIRM, pod.published.published_at, now) or _NOW) if age < FORGET else None


def _listed(pod: Pod) -> frozenset[int]:
    """The listed indexes; empty for a malformed list (users may patch pods), which is replaced."""
    hosts = (pod.published.hosts or "").split()
    indexes = [host.partition(".")[0].rpartition("-")[2] for host in hosts]
    if not all(_INDEX.fullmatch(index) for index in indexes):
        return frozenset()
    return frozenset(map(int, indexes))


def _time_to_leave(pod: Pod, published: frozenset[int] | None, now: datetime) -> timedelta | None:
    """How much longer unlisted pods must be kept (`LEAVE`); None if that has passed."""
    if published is not None or pod.published.published_at is None or _is_reminded_late(pod, now):
        return LEAVE
    return _left(LEAVE, pod.published.published_at, now)


def _left(wait: timedelta, since: datetime, now: datetime) -> timedelta | None:
    """The rest of a wait; None when it is over.

    Also None if `since` is further in the future than `wait`: then one of two clocks is wrong.
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
        contract.PUBLISHED_AT: timestamp(now),
    }
    if workers.leaving.pods or pod.published.leaving:
        leaves = workers.leaving.pods and leaving_workers.leaving_text(workers.leaving)
        annotations[contract.LEAVING] = leaves or None
    if newcomer_role(job):
        annotations[contract.WORKER_HOSTS] = "".join(f"{host}\n" for host in hosts)
    if not _is_gated(pod):
        return pod_patch(job.key, pod, annotations)
    return pod_patch(job.key, pod, annotations, spec_without_gate(pod, contract.HOSTS_GATE))


def _is_reminded_late(pod: Pod, now: datetime) -> bool:
    """Whether the reminder is due since long ago: no round took place meanwhile."""
    since = pod.published.published_at
    return since is not None and _time_to_confirm(pod, now) == _NOW and now - since > LATE


def _reminder(job: TrainingJob, pod: Pod, now: datetime) -> Patch:
    """A patch that makes the kubelet sync the pod's files, in case it missed the publication."""
    if _is_reminded_late(pod, now):
        moment = timestamp(now)
        return pod_patch(
            job.key, pod, {contract.PUBLISHED_AT: moment, contract.CONFIRMED_AT: moment}
        )
    published_at = timestamp(pod.published.published_at) if pod.published.published_at else ""
    return pod_patch(job.key, pod, {contract.CONFIRMED_AT: published_at})


# NEW_WORKER says whether a worker joins a running training; it must be known before it starts.
#
# MXNet's elastic fork reads it from each worker's environment. All pods of a Job have the same
# template, so a scheduling gate holds them until the value is in an annotation of the pod.


def newcomer_role(job: TrainingJob) -> str:
    """The role whose pods get NEW_WORKER; "" if none do."""
    mode = mode_of(job)
    return mode.newcomers if mode else ""


def new_worker_patches(job: TrainingJob) -> tuple[Patch, ...]:
    """For each gated worker, a patch with NEW_WORKER and the number of workers."""
    name = newcomer_role(job)
    leaders = [pod for role in job.roles if role.spec.is_leader for pod in role.status.pods]
    began = any(pod.published.hosts is not None for pod in leaders if not pod.terminating)
    return tuple(
        _admit_worker(job, role, pod, new=began)
        for role in job.live
        if role.name == name
        for pod in role.status.pods
        if contract.HOSTS_GATE in pod.scheduling.gates and not (pod.unplaced or pod.terminating)
    )


def _admit_worker(job: TrainingJob, role: Role, pod: Pod, *, new: bool) -> Patch:
    annotations = {contract.NEW_WORKER: str(int(new)), contract.WORKERS: str(role.status.size)}
    return pod_patch(job.key, pod, annotations, spec_without_gate(pod, contract.HOSTS_GATE))
