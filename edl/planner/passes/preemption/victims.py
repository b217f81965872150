"""Started training jobs that claims may preempt, and the choice of few that suffice."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from edl.feasibility.eligibility import Ints
from edl.feasibility.horizon import Horizon
from edl.frameworks import restarts_together
from edl.model import TrainingJob
from edl.planner.packing.placement import Placement, by_class
from edl.planner.packing.pod_class import PodClass, PodSetRequest, pack
from edl.planner.snapshot.growth_gates import has_succeeded_pods
from edl.planner.snapshot.role_allocation import NO_NODE, RoleAllocation, by_job
from edl.planner.teams.team_balance import TeamBalance
from edl.planner.teams.team_charge import TeamCharge
from edl.spec.allowed_sizes import start_pods


class PodsByNode(NamedTuple):
    """Pods of one class on their nodes; both arrays are int64[distinct nodes]."""

    pod_class: PodClass
    nodes: Ints
    pods: Ints


@dataclass(slots=True, eq=False)
class Victim:
    """One started training job, a candidate for preemption."""

    job: TrainingJob
    allocations: list[RoleAllocation]
    holdings: list[PodsByNode]
    """Its pods without extras, which claims may reclaim anyway."""
    evicted: list[tuple[RoleAllocation, Placement]] = field(default_factory=list)
    """Evicted replicas in order."""

    def charge(self, balance: TeamBalance) -> TeamCharge:
        """What it counts in its team, without extras."""
        return self._charge(balance, [role.size - role.extras for role in self.allocations])

    def charge_of_return(self, balance: TeamBalance) -> TeamCharge:
        """What it would count in its team if it were queued again."""
        return self._charge(
            balance, [start_pods(allocation.role) for allocation in self.allocations]
        )

    def _charge(self, balance: TeamBalance, sizes: Sequence[int]) -> TeamCharge:
        total: Counter[int] = Counter()
        for allocation, size in zip(self.allocations, sizes, strict=True):
            pod = allocation.quota_request.team
            for index, amount in pod.amounts if pod else ():
                total[index] += amount * size
        return balance.charge_at(self.allocations[0].team, total)

    def release_in(self, room: Ints, sign: int = 1) -> None:
        """Add what its holdings request to `room`, int64[resources, nodes]; -1 undoes it."""
        for held in self.holdings:
            for row, amount in held.pod_class.amounts:
                room[row, held.nodes] += sign * amount * held.pods
            for row, amounts in held.pod_class.beside.items():
                room[row, held.nodes] += sign * amounts[held.nodes] * held.pods


def victim_candidates(
    allocations: Iterable[RoleAllocation], movable: AbstractSet[RoleAllocation]
) -> Iterator[Victim]:
    """Completely started jobs that may be suspended, in total order."""
    started = (
        allocation
        for allocation in allocations
        if not (allocation.starts or allocation.job.problem or _must_run_on(allocation.job))
    )
    for roles in by_job(started):
        if not any(role.status.suspended for role in roles[0].job.live):
            yield Victim(
                roles[0].job,
                roles,
                [held for role in roles for held in _held(role, reclaimable=role in movable)],
            )


def _must_run_on(job: TrainingJob) -> bool:
    """Whether it cannot be stopped, or would come back without ranks for which the others wait.

    The Job controller recreates no pod of an index that has succeeded (docs/kubernetes.md 35).
    """
    return job.keeps_running or (restarts_together(job) and has_succeeded_pods(job))


def _held(allocation: RoleAllocation, *, reclaimable: bool) -> Iterator[PodsByNode]:
    placements = (
        allocation.placements[: allocation.min_replicas] if reclaimable else allocation.placements
    )
    for pod_class, nodes in by_class(allocation.pod_class, placements):
        there = np.array([node for node in nodes if node != NO_NODE], dtype=np.int64)
        yield PodsByNode(pod_class, *np.unique(there, return_counts=True))


class FreedCapacity:
    """Whether requests fit while victims are evicted or restored one by one.

    A change recounts only the victim's own nodes, so its cost does not depend on other victims.
    """

    def __init__(self, room: Ints, requests: Sequence[PodSetRequest]) -> None:
        self._available, self._requests = room, requests
        self._capacity = [request.pod_class.pods_by_resources(room) for request in requests]
        self._total = [int(pods.sum()) for pods in self._capacity]
        self._exact = len(requests) == 1 and requests[0].pod_class.is_unconstrained

    def evict(self, victim: Victim) -> None:
        victim.release_in(self._available)
        self._recount(victim)

    def restore(self, victim: Victim) -> None:
        victim.release_in(self._available, -1)
        self._recount(victim)

    def _recount(self, victim: Victim) -> None:
        for held in victim.holdings:
            for index, request in enumerate(self._requests):
                capacity = self._capacity[index]
                pods = request.pod_class.pods_by_resources(
                    self._available[:, held.nodes], held.nodes
                )
                self._total[index] += int(pods.sum()) - int(capacity[held.nodes].sum())
                capacity[held.nodes] = pods

    def may_suffice(self) -> bool:
        """Whether each request by itself fits: necessary, and cheap to check."""
        return all(
            total >= request.pods
            for total, request in zip(self._total, self._requests, strict=True)
        )

    def suffices(self) -> bool:
        if self._exact or not self.may_suffice():
            return self.may_suffice()
        placed = pack(self._available, self._requests, Horizon.EMPTY)
        return placed == [request.pods for request in self._requests]


class TriedCapacity(NamedTuple):
    """Checks the claim by evicting and restoring victims in the snapshot itself."""

    evict: Callable[[Victim], None]
    restore: Callable[[Victim], None]
    suffices: Callable[[], bool]

    def may_suffice(self) -> bool:
        return True


def select_victims(
    victims: Sequence[Victim], relief: FreedCapacity | TriedCapacity
) -> list[Victim]:
    """The shortest sufficient prefix of the victims, less those that can be reprieved.

    The highest in order are reprieved first, as in kube-scheduler's preemption.
    """
    chosen = victims[: _prefix(victims, relief)]
    needed: list[Victim] = []
    count, step = len(chosen), 1
    while count > 0:
        batch = chosen[max(count - step, 0) : count]
        for victim in batch:
            relief.restore(victim)
        spares = relief.suffices()
        if not spares:
            for victim in batch:
                relief.evict(victim)
        if spares or step == 1:
            count -= len(batch)
            needed += [] if spares else batch
        step = 2 * step if spares else max(step // 2, 1)
    return needed[::-1]


def _prefix(victims: Sequence[Victim], relief: FreedCapacity | TriedCapacity) -> int:
    """The length of the shortest prefix that suffices; on return, just that prefix is evicted."""
    length, count, step = 0, len(victims), 1
    while length < count and not (length and relief.may_suffice()):
        length = _move(victims, relief, length, length + 1)
    low = high = length
    while high < count and not relief.suffices():
        low, high, step = high + 1, min(high + step, count), 2 * step
        length = _move(victims, relief, length, high)
    while low < high:
        middle = (low + high) // 2
        length = _move(victims, relief, length, middle)
        if relief.suffices():
            high = middle
        else:
            low = middle + 1
    return _move(victims, relief, length, high)


def _move(
    victims: Sequence[Victim], relief: FreedCapacity | TriedCapacity, length: int, to: int
) -> int:
    for victim in victims[length:to]:
        relief.evict(victim)
    for victim in victims[to:length]:
        relief.restore(victim)
    return to
