"""Queue heads: gangs that have waited `queue_patience`, and that no later gang may delay.

A gang delays a head if it could take what the head needs on the same nodes. A resource that only
the head requests, such as its GPUs, cannot be taken: a gang may start before a head that lacks GPUs
while the head's nodes keep the CPU and memory for the pods that their GPUs suffice for. As in
Kueue's StrictFIFO, a gang waits only for a head that uses the same capacity.
"""

from collections.abc import Hashable
from dataclasses import dataclass, field

import numpy as np

from edl.feasibility.eligibility import Ints
from edl.feasibility.horizon import FUTURE_IDLE
from edl.planner.gangs.gang import Gang
from edl.planner.packing.node_capacity import by_scarcest_resource
from edl.planner.packing.pod_class import PodSetRequest, pack
from edl.planner.passes.admission.claim_sources import ClaimSources


@dataclass(slots=True)
class QueueHeads:
    """The heads of one plan, in order of the queue."""

    sources: ClaimSources
    _heads: dict[Hashable, Gang] = field(default_factory=dict)
    """The first of each kind: what delays an equal one delays it, too."""
    _delays: dict[Hashable, tuple[int, bool]] = field(default_factory=dict)
    """By the requests of a gang and a head: changes of capacity at the time, and the answer."""
    _returning: dict[Hashable, Ints] = field(default_factory=dict)

    def add(self, head: Gang) -> None:
        team = head.quota_request.team
        self._heads.setdefault((head.signature, head.job.priority, team and team.team), head)

    def delayed_by(self, gang: Gang) -> Gang | None:
        """The first head that the gang would delay; None if it may start before all of them."""
        return next((head for head in self._heads.values() if self._waits_for(gang, head)), None)

    def _waits_for(self, gang: Gang, head: Gang) -> bool:
        """A gang that its team's guarantee covers passes another team's head that borrows."""
        mine, theirs, sources = gang.quota_request.team, head.quota_request.team, self.sources
        if mine and theirs and mine.team != theirs.team and sources.is_covered(gang):
            return sources.is_covered(head) and self._is_delayed(head, gang)
        return self._is_delayed(head, gang)

    def _is_delayed(self, head: Gang, gang: Gang) -> bool:
        key, changes = (
            (head.requests, gang.requests),
            len(self.sources.snapshot.capacity.changed_nodes),
        )
        before, found = self._delays.get(key, (-1, False))
        # A gang that starts only takes more, so that a head which is delayed stays so.
        if not found and before != changes:
            found = self._competes(head, gang)
            self._delays[key] = (changes, found)
        return found or _takes_quota(gang, head)

    def _competes(self, head: Gang, gang: Gang) -> bool:
        """Whether the gang could take what the head needs on some node, or break its rules."""
        pairs = [
            (own.pod_class, other.pod_class) for own in head.requests for other in gang.requests
        ]
        if not any(own.competes_with(other) for own, other in pairs):
            return False
        only = _rows(head).difference(_rows(gang))
        bare = all(own.is_unconstrained and other.is_unconstrained for own, other in pairs)
        return not (only and bare and self._leaves_enough(head, gang, frozenset(only)))

    def _leaves_enough(self, head: Gang, gang: Gang, only: frozenset[int]) -> bool:
        """Whether the head fits once the resources that `only` it requests are idle.

        Wherever the gang's pods are: kube-scheduler may place them.
        """
        sources, allocatable = self.sources, self.sources.snapshot.capacity.allocatable
        room = sources.reclaimable.capacity.with_idle(sources.full_scope(head))
        left = room + self._held_with(only)
        for other in gang.requests:
            _take(left, other, other.pod_class.pods_by_resources(room), frozenset())
        rest = []
        for own in head.requests:
            rows = [(row, amount) for row, amount in own.pod_class.amounts if row in only]
            if not rows:
                rest.append(own)
                continue
            most = by_scarcest_resource(allocatable[row] // amount for row, amount in rows)
            _take(left, own, np.where(own.pod_class.large_enough, most, 0), only)
        shared = [row for row in _rows(head) if row not in only]
        there = np.logical_or.reduce([other.pod_class.large_enough for other in gang.requests])
        if (left[shared][:, there] < 0).any():
            return False
        return pack(np.maximum(left, 0), rest, FUTURE_IDLE) == [own.pods for own in rest]

    def _held_with(self, only: frozenset[int]) -> Ints:
        """What the minimum of running jobs holds beside such resources, and returns with them.

        int64[resources, nodes]
        """
        sources = self.sources
        key = (only, len(sources.results.suspended))
        if key not in self._returning:
            found, least = (
                np.zeros_like(sources.snapshot.capacity.idle),
                sources.reclaimable.min_replicas,
            )
            for one in sources.snapshot.allocations:
                if any(row in only for row, _ in one.pod_class.amounts):
                    kept = one.placements[: least(one)] if one.resizable else one.placements
                    one.pod_class.release_in(found, [placement.node for placement in kept])
            self._returning[key] = found
        return self._returning[key]


def _rows(gang: Gang) -> set[int]:
    """The rows of the resources that its pods request."""
    return {row for one in gang.requests for row, _ in one.pod_class.amounts}


def _take(room: Ints, request: PodSetRequest, pods: Ints, without: frozenset[int]) -> None:
    """Subtract up to `pods` pods, int64[nodes], on each node, but no rows of `without`."""
    most = np.minimum(pods, request.pods)
    for row, amount in request.pod_class.amounts:
        if row not in without:
            room[row] -= most * amount


def _takes_quota(gang: Gang, head: Gang) -> bool:
    """Whether a gang leaves too little of a quota of both."""
    mine = head.quota_request
    return any(
        quota.future_remaining - cost < mine.amount(quota)
        for quota, cost in gang.quota_request.amounts
        if mine.amount(quota)
    )
