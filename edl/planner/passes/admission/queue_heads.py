"""Queue heads: gangs that have waited `queue_patience`, and that no later gang may delay.

A gang delays a head if it could take what the head needs on the same nodes. It cannot take a
resource that only the head requests, such as its GPUs: a gang starts before a head that lacks GPUs
if each node keeps idle CPU and memory for as many of the head's pods as its GPUs suffice for.
As in Kueue's StrictFIFO, a gang waits only for a head that uses the same capacity.
"""

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import NamedTuple, Self

import numpy as np

from edl.feasibility.horizon import FUTURE_IDLE
from edl.planner.gangs.gang import Gang
from edl.planner.packing.node_capacity import by_scarcest_resource
from edl.planner.packing.pod_class import PodSetRequest, pack
from edl.planner.passes.admission.claim_sources import ClaimSources


class _Kind(NamedTuple):
    """What is equal for heads that the same gangs delay."""

    signature: Hashable
    priority: int
    team: int | None

    @classmethod
    def of(cls, gang: Gang) -> Self:
        charge = gang.quota_request.team
        return cls(gang.signature, gang.job.priority, charge.team if charge else None)


@dataclass(slots=True)
class QueueHeads:
    """The heads of one plan, in order of the queue."""

    sources: ClaimSources
    _heads: dict[_Kind, Gang] = field(default_factory=dict)
    """The first of each kind."""
    _waiting: Counter[_Kind] = field(default_factory=Counter)
    """How many gangs of these kinds have waited for long."""
    _delays: dict[Hashable, tuple[int, bool]] = field(default_factory=dict)
    """By a kind, how many wait, and what a gang requests: capacity changes before, the answer."""

    def add(self, head: Gang) -> None:
        kind = _Kind.of(head)
        self._heads.setdefault(kind, head)
        self._waiting[kind] += 1

    def add_behind(self, gang: Gang) -> None:
        """Count a gang that has waited for long, too, if a head is of its kind."""
        kind = _Kind.of(gang)
        self._waiting[kind] += kind in self._heads

    def delayed_by(self, gang: Gang) -> Gang | None:
        """The first head that the gang would delay; None if it may start before all of them."""
        return next(
            (head for kind, head in self._heads.items() if self._would_delay(gang, kind)), None
        )

    def _would_delay(self, gang: Gang, kind: _Kind) -> bool:
        """A gang that its team's guarantee covers passes another team's head that borrows."""
        head, sources = self._heads[kind], self.sources
        charge = gang.quota_request.team
        if charge and kind.team not in (None, charge.team) and sources.is_covered(gang):
            return sources.is_covered(head) and self._is_delayed(kind, gang)
        return self._is_delayed(kind, gang)

    def _is_delayed(self, kind: _Kind, gang: Gang) -> bool:
        head, waiting = self._heads[kind], self._waiting[kind]
        key = (kind, waiting, gang.requests)
        changes = len(self.sources.snapshot.capacity.changed_nodes)
        before, delayed = self._delays.get(key, (-1, False))
        # A gang that starts only takes more, so that a head which is delayed stays so.
        if not delayed and before != changes:
            delayed = self._competes(head, waiting, gang)
            self._delays[key] = (changes, delayed)
        return delayed or _takes_quota(gang, head)

    def yielded_before(self, gang: Gang, head: Gang) -> bool:
        """Whether jobs yielded to a gang in the last moments before a head had waited for long.

        If it then waited for the head, they would have yielded for nothing, and would grow back.
        """
        snapshot, job = self.sources.snapshot, gang.job
        clock, limits = snapshot.clock, snapshot.limits
        since = head.job.waiting_since + limits.queue_patience
        # Fast path: all roles are read for a short time only.
        if clock.now - since >= limits.gang_limit:
            return False
        yields = snapshot.latest_yields
        times = (yields.get(job.key), *(yields.get(role.uid) for role in job.roles))
        last = max(filter(None, times), default=None)
        return bool(last and last < since) and not clock.elapsed_or_recheck(last, limits.gang_limit)

    def _competes(self, head: Gang, waiting: int, gang: Gang) -> bool:
        """Whether the gang could take what heads need on some node, or break their rules."""
        pairs = [
            (request.pod_class, other.pod_class)
            for request in head.requests
            for other in gang.requests
        ]
        if not any(pod_class.competes_with(other) for pod_class, other in pairs):
            return False
        taken = {row for one in gang.requests for row in one.pod_class.beside}
        unshared = frozenset(_rows(head) - _rows(gang) - taken)
        constrained = not all(pod_class.is_unconstrained for pair in pairs for pod_class in pair)
        return not unshared or constrained or not self._leaves_enough(head, waiting, gang, unshared)

    def _leaves_enough(
        self, head: Gang, waiting: int, gang: Gang, unshared: frozenset[int]
    ) -> bool:
        """Whether all resources but the `unshared` ones suffice for `waiting` heads of this kind.

        On each node, for as many pods as would fit if it were empty; and wherever the gang's pods
        are, because kube-scheduler may place them.
        """
        scope, capacity = self.sources.full_scope(head), self.sources.snapshot.capacity
        if self.sources.keeping_teams(scope):  # extras do not count as they are
            return False
        room = self.sources.reclaimable.capacity.with_idle(scope)
        left = room.copy()
        for request in gang.requests:
            pods = np.minimum(request.pod_class.pods_by_resources(room), request.pods)
            request.pod_class.subtract(left, pods)
        others = []
        for pod_class, count in head.requests:
            if unshared.isdisjoint(row for row, _ in pod_class.amounts):
                others.append(PodSetRequest(pod_class, count * waiting))
                continue
            most = by_scarcest_resource(
                capacity.allocatable[row] // amount for row, amount in pod_class.amounts
            )
            most = np.where(pod_class.eligible, np.minimum(most, count * waiting), 0)
            pod_class.subtract(left, most)
        shared = [row for row in _rows(head) if row not in unshared]
        reach = np.logical_or.reduce([request.pod_class.large_enough for request in gang.requests])
        if (left[shared][:, reach] < 0).any() or (others and head.job.topology.required):
            return False
        return pack(np.maximum(left, 0), others, FUTURE_IDLE) == [
            request.pods for request in others
        ]


def _rows(gang: Gang) -> set[int]:
    """The rows of the resources that its pods request."""
    return {row for request in gang.requests for row, _ in request.pod_class.amounts}


def _takes_quota(gang: Gang, head: Gang) -> bool:
    """Whether a gang leaves too little of a quota of both."""
    mine = head.quota_request
    return any(
        quota.future_remaining - cost < mine.amount(quota)
        for quota, cost in gang.quota_request.amounts
        if mine.amount(quota)
    )
