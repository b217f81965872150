"""One simulated role: its pods, and which of them the Job controller creates or deletes."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from msgspec.structs import replace

from edl.model import EndCondition, JobEnd, Pod, PodPhase, Role
from edl.model.pods import SchedulingStatus
from edl.spec.allowed_sizes import with_work


class PodTally(NamedTuple):
    """Counts of pods that have neither ended nor are terminating, and of what has succeeded."""

    live: int
    bound: int
    ready: int
    done: int
    """Succeeded pods, or ended ranks: their pods are never recreated."""


@dataclass(slots=True)
class SimulatedRole:
    """One role of a simulated training job: its Job, and its pods by name."""

    role: Role
    gates: tuple[str, ...] = ()
    """The scheduling gates of new pods."""
    pods: dict[str, Pod] = field(default_factory=dict)
    unseen: bool = True
    """The Job controller may have pods to create or delete."""
    makes_from: float = 0
    """The end of the Job controller's back-off: until then it creates no pod."""
    _made: int = 0
    _moved: bool = False
    _count: PodTally | None = None

    def value(self) -> Role:
        """The role as it would be observed; the same object while nothing changes."""
        if self._moved:
            status = replace(self.role.status, pods=tuple(self.pods.values()))
            self.role = replace(self.role, status=status)
            self._moved = False
        return self.role

    def write(self, role: Role) -> None:
        """Store a change of its Job."""
        self.role, self.unseen = role, True

    def end(self, how: JobEnd, now: datetime) -> None:
        self.write(self.role.changed(ending=how, end_condition=EndCondition(now)))

    def sync(self, now: datetime) -> None:
        """Update the Job's status; 0/0 completes an Indexed Job at once (docs/kubernetes.md 10).

        Pods of a suspended Job do not count as active once they are deleted.
        """
        status = self.role.status
        if status.ending is None and status.deadline_passed:
            self.end(JobEnd.FAILED, now)
        elif status.ending is None and self.role.spec.indexed and not status.size:
            self.end(JobEnd.COMPLETE, now)
        if status.settled is not status.suspended:
            self.role = self.role.changed(settled=status.suspended)

    def put(self, pod: Pod) -> None:
        """Store a new or changed pod."""
        self.pods[pod.name] = pod
        self._moved, self._count = True, None

    def remove(self, name: str) -> Pod:
        self._moved, self._count, self.unseen = True, None, True
        return self.pods.pop(name)

    def live(self) -> list[Pod]:
        """Pods that have neither ended nor are terminating."""
        return [pod for pod in self.pods.values() if not (pod.terminating or pod.ended)]

    def done(self) -> list[Pod]:
        return [pod for pod in self.pods.values() if pod.phase is PodPhase.SUCCEEDED]

    def ended_ranks(self) -> frozenset[int]:
        return self.role.status.finished_indexes.union(pod.index for pod in self.done())

    @property
    def count(self) -> PodTally:
        if self._count is None:
            live = self.live()
            bound, ready = [1 for pod in live if pod.node], [1 for pod in live if pod.ready]
            done = self.ended_ranks() if self.role.spec.indexed else self.done()
            self._count = PodTally(len(live), len(bound), len(ready), len(done))
        return self._count

    @property
    def bound(self) -> int:
        return self.count.bound

    @property
    def ready(self) -> int:
        return self.count.ready

    @property
    def runs(self) -> bool:
        return not self.role.status.suspended and self.role.status.ending is None

    @property
    def wanted(self) -> int:
        """The number of pods that the Job controller keeps."""
        return with_work(self.role, self.role.status.size) if self.runs else 0

    def surplus(self) -> list[Pod]:
        """The pods to delete: the highest indexes, else in the Job controller's order."""
        live = self.live()
        if self.role.spec.indexed:
            return [pod for pod in live if pod.index >= self.wanted]
        live.sort(key=lambda pod: (bool(pod.node), pod.ready, -pod.created_at.timestamp()))
        return live[: max(len(live) - self.wanted, 0)]

    def missing(self) -> list[int]:
        """The indexes of pods to create; -1 for pods without an index."""
        if not self.role.spec.indexed:
            return [-1] * max(self.wanted - self.count.live, 0)
        there = self.ended_ranks().union(pod.index for pod in self.live())
        return [index for index in range(self.wanted) if index not in there]

    def make(self, index: int, now: datetime) -> Pod:
        """Create a pending pod."""
        self._made += 1
        number = "" if index < 0 else f"-{index}"
        pod = Pod(
            name=f"{self.role.job}{number}-{self._made}",
            index=index,
            node="",
            phase=PodPhase.PENDING,
            ready=False,
            terminating=False,
            created_at=now,
            version="1",
            scheduling=SchedulingStatus(self.gates),
        )
        self.put(pod)
        return pod
