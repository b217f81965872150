"""How PaddlePaddle EDL sizes jobs: from the cluster's sums and the trainers' parallelism.

Behaviour, defects included, of `pkg/autoscaler.go` in https://github.com/PaddlePaddle/edl at commit
310764e (2018-03-07); the rules are those of the published experiments, which ran the same file in
PaddlePaddle/cloud at 27ed9f0 (2017-11-08). Nothing of its text is used. Kept as it was:

- Passes go over all jobs, one trainer a job up, then one a job down, until a pass changes nothing.
  The order is by fulfilment as it was before the plan: it does not follow the plan's own changes.
- A growth asks whether some node could hold one trainer, then adds the trainer to what is idle on
  that node instead of taking it away: one place admits any number.
- CPU is filled up to the ceiling, GPUs up to all of them, but both are shrunk above the ceiling.
  Between the two the passes of a job that asks for GPUs never end: `NeverEnds` here.
- Only jobs all of whose trainers run may change, or, while one job has nothing but pending trainers
  (or none at all yet), every job.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

LOAD_CEILING: Final = 0.97
"""The default of EDL's flag `max_load_desired`."""
PERIOD: Final = 5.0
"""The seconds between two plans; a job that is added or removed causes one at once."""


def megabytes(number: int) -> int:
    """The bytes as megabytes, rounded up like quantities."""
    return -(-number // 10**6)


class NeverEnds(Exception):
    """The passes repeat without end, in which the original would loop for ever."""


@dataclass(frozen=True, slots=True)
class Trainers:
    """One job's trainer Job. A trainer requests `cpu` thousandths, `memory` megabytes (10^6)."""

    name: str
    min: int
    max: int
    parallelism: int
    cpu: int
    memory: int
    gpus: int = 0

    @property
    def elastic(self) -> bool:
        return self.min < self.max

    @property
    def fulfilment(self) -> float:
        """0 at min, 1 at max."""
        return (self.parallelism - self.min) / (self.max - self.min) if self.elastic else 1.0


@dataclass(frozen=True, slots=True)
class Pods:
    """One job's trainer pods that the API server still has; `total` includes terminating ones."""

    total: int
    running: int
    pending: int


@dataclass(slots=True)
class Idle:
    """The unrequested capacity of a node: thousandths of a CPU, megabytes."""

    cpu: int
    memory: int


@dataclass(slots=True)
class Room:
    """Sums over the cluster: thousandths of a CPU, megabytes and GPUs; plans change them.

    `cpu`, `memory` and `gpus` are the requests of all pods that have not ended, including pending
    and terminating ones.
    """

    cpu_total: int = 0
    cpu: int = 0
    memory_total: int = 0
    memory: int = 0
    gpu_total: int = 0
    gpus: int = 0
    nodes: Sequence[Idle] = ()


def decide(
    jobs: Iterable[tuple[Trainers, Pods]], room: Room, ceiling: float = LOAD_CEILING
) -> dict[str, int]:
    """The new parallelism of each job that is to be resized. Raises NeverEnds."""
    considered = {job.name: job for job in reschedulable(jobs)}
    changes = plan(considered.values(), room, ceiling)
    return {
        name: considered[name].parallelism + change for name, change in changes.items() if change
    }


def reschedulable(jobs: Iterable[tuple[Trainers, Pods]]) -> list[Trainers]:
    """The jobs whose trainers all run; all jobs if one has only pending trainers, or none."""
    known = list(jobs)
    starved = any(pods.total == pods.pending for _, pods in known)
    return [job for job, pods in known if starved or pods.total == pods.running]


def plan(jobs: Iterable[Trainers], room: Room, ceiling: float = LOAD_CEILING) -> dict[str, int]:
    """The change in the number of trainers of each elastic job. Raises NeverEnds."""
    order = in_order(job for job in jobs if job.elastic)
    changes = {job.name: 0 for job in order}
    seen = set()
    while True:
        before = dict(changes)
        moved = [_step(job, changes, room, growth(job, changes, room, ceiling)) for job in order]
        moved += [
            _step(job, changes, room, shrink(job, changes, room, ceiling))
            for job in reversed(order)
        ]
        if not any(moved):
            return changes
        passed = (*before.values(), *(_assignable(room, job) is not None for job in order))
        if passed in seen:
            raise NeverEnds(f"CPU {room.cpu}/{room.cpu_total}, GPUs {room.gpus}/{room.gpu_total}")
        seen.add(passed)


def in_order(jobs: Iterable[Trainers]) -> list[Trainers]:
    """The order of growth: by fulfilment, then by requests of GPU, CPU and memory, lowest first.

    The original leaves the order of equal jobs open; here their names decide.
    """
    return sorted(jobs, key=lambda job: (job.fulfilment, job.gpus, job.cpu, job.memory, job.name))


def growth(job: Trainers, changes: dict[str, int], room: Room, ceiling: float) -> int:
    """The change of a job in a growth pass: 1, 0, or back to its max at once."""
    planned = job.parallelism + changes[job.name]
    if planned >= job.max:
        return job.max - planned
    node = _assignable(room, job)
    if room.memory_total - room.memory <= job.memory or node is None:
        return 0
    fits = int(room.cpu_total * ceiling) - room.cpu >= job.cpu
    if job.gpus:
        fits = fits and room.gpu_total - room.gpus >= job.gpus
    if fits:  # the sign is the original's
        node.cpu, node.memory = node.cpu + job.cpu, node.memory + job.memory
    return int(fits)


def shrink(job: Trainers, changes: dict[str, int], room: Room, ceiling: float) -> int:
    """The change in a shrink pass: -1 above the max, or above the min in a crowded cluster."""
    planned = job.parallelism + changes[job.name]
    crowded = room.gpus > int(room.gpu_total * ceiling) or room.cpu > int(room.cpu_total * ceiling)
    return -int(planned > job.max or (crowded and planned > job.min))


def _step(job: Trainers, changes: dict[str, int], room: Room, more: int) -> bool:
    changes[job.name] += more
    room.gpus += job.gpus * more
    room.cpu += job.cpu * more
    room.memory += job.memory * more
    return more != 0


def _assignable(room: Room, job: Trainers) -> Idle | None:
    """A node that could hold one trainer; the plan does not depend on which one it is."""
    fit = (node for node in room.nodes if job.cpu <= node.cpu and job.memory <= node.memory)
    return next(fit, None)
