"""Started training jobs that claims may preempt, and the capacity of each."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

import numpy as np

from edl.model import TrainingJob
from edl.planner.packing.node_capacity import Ints
from edl.planner.packing.pod_class import PodClass
from edl.planner.snapshot.role_allocation import NO_NODE, Placement, RoleAllocation, start_size
from edl.planner.teams.team_balance import TeamBalance, TeamCharge


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
    evicted: list[tuple[RoleAllocation, Placement, bool]] = field(default_factory=list)
    """Evicted replicas in order; the flag says whether it was an extra."""

    def charge(self, balance: TeamBalance) -> TeamCharge:
        """What it counts in its team, without extras."""
        return self._charge(balance, [one.size - one.extras for one in self.allocations])

    def charge_of_return(self, balance: TeamBalance) -> TeamCharge:
        """What it would count in its team if it were queued again."""
        return self._charge(balance, [start_size(one.role) for one in self.allocations])

    def _charge(self, balance: TeamBalance, sizes: Sequence[int]) -> TeamCharge:
        total: Counter[int] = Counter()
        for one, size in zip(self.allocations, sizes, strict=True):
            pod = one.quota_request.team
            for at, amount in pod.amounts if pod else ():
                total[at] += amount * size
        return balance.charge_at(self.allocations[0].team, total)

    @property
    def order(self) -> tuple[int, bool, int]:
        first = self.allocations[0]
        return self.job.priority, first.hold.nearly_done, -first.queue_rank


def victim_candidates(
    allocations: Iterable[RoleAllocation], movable: AbstractSet[RoleAllocation]
) -> Iterator[Victim]:
    """Completely started jobs, in the total order."""
    started = [found for found in allocations if not (found.starts or found.job.problem)]
    started.sort(key=lambda found: found.rank)
    for _, group in groupby(started, key=lambda found: found.queue_rank):
        roles = list(group)
        if not any(role.status.suspended for role in roles[0].job.live):
            yield Victim(
                roles[0].job, roles, [_held(one, reclaimable=one in movable) for one in roles]
            )


def _held(allocation: RoleAllocation, *, reclaimable: bool) -> PodsByNode:
    placements = (
        allocation.placements[: allocation.min_replicas] if reclaimable else allocation.placements
    )
    nodes = [placement.node for placement in placements if placement.node != NO_NODE]
    return PodsByNode(
        allocation.pod_class, *np.unique(np.array(nodes, dtype=np.int64), return_counts=True)
    )


def add_holdings(room: Ints, victim: Victim, sign: int) -> None:
    """Add a victim's capacity to `room`, int64[resources, nodes]; sign -1 subtracts it."""
    for held in victim.holdings:
        for resource, amount in held.pod_class.amounts:
            room[resource, held.nodes] += sign * amount * held.pods
