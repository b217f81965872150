"""Which replica a claim takes next, and the node that it clears for its next pod.

If a pod needs the capacity of several replicas, only a few nodes are compared; otherwise each claim
would evict, and restore, a replica on every node before one has enough.

A scaled-down Job loses its youngest pods, wherever they run, so making room for one large pod could
evict most of a role. Replicas that process work items are interchangeable: the plan chooses the
node, the pods there are deleted, and the smaller size keeps the Job from recreating them.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from edl.feasibility.eligibility import Mask
from edl.feasibility.horizon import Horizon
from edl.model import Pod
from edl.planner.packing.node_capacity import Ints, NodeCapacity
from edl.planner.packing.pod_class import PodClass, PodSetRequest
from edl.planner.plan import Drain
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.existing_placements import keeping_order
from edl.planner.snapshot.extras.minimum_nodes import leaves_by_name
from edl.planner.snapshot.extras.reclaimable import Reclaimable, YieldQueue
from edl.planner.snapshot.role_allocation import NO_NODE, Placement, RoleAllocation
from edl.planner.teams.reclaim_priority import ReclaimScope

_NODES_COMPARED: Final = 32
"""Nodes to choose from for a pod that needs the capacity of several extras."""
_DEEPEST: Final = 32
"""The most replicas of one role to evict for one that is on a chosen node."""
_Extra: TypeAlias = tuple[RoleAllocation, int]
"""A role, and the position of one of its extras or its distance from the last."""


def move_last(allocation: RoleAllocation, position: int) -> None:
    """Make the replica at this position the last one, which is evicted next."""
    placements = allocation.placements
    placements[position], placements[-1] = placements[-1], placements[position]


def lack(capacity: NodeCapacity, pod_class: PodClass, nodes: Ints) -> NDArray[np.float64]:
    """How much future idle capacity each node lacks for one more pod, in fractions of the pod.

    The fractions are summed over resources. int64[nodes] -> float64[nodes].
    """
    soon, found = capacity.future_idle, np.zeros(len(nodes))
    for row, amount in pod_class.amounts:
        found += np.maximum(amount - soon[row, nodes], 0) / amount
    return found


def lacking_least(
    capacity: NodeCapacity, room: Ints, pod_class: PodClass, among: Ints | None = None
) -> int:
    """The node of `among` (None: any) that lacks least for one more pod, or NO_NODE.

    Only nodes on which one fits into `room`: what is idle if extras are evicted.
    """
    helps = pod_class.pods_per_node(room, Horizon.EMPTY) > 0
    nodes = np.flatnonzero(helps) if among is None else among[helps[among]]
    return int(nodes[np.argmin(lack(capacity, pod_class, nodes))]) if nodes.size else NO_NODE


def clearing(
    capacity: NodeCapacity, pod_class: PodClass, node: int, extras: Iterable[_Extra]
) -> list[_Extra]:
    """The first of a node's extras that clear it for one more pod; [] if all do not suffice."""
    soon, found = capacity.future_idle, list[_Extra]()
    lacks = {row: amount - int(soon[row, node]) for row, amount in pod_class.amounts}
    for one in extras:
        amounts = dict(one[0].pod_class.amounts)
        if any(lacks[row] > 0 for row in lacks.keys() & amounts):
            found.append(one)
            lacks = {row: amount - amounts.get(row, 0) for row, amount in lacks.items()}
        if max(lacks.values(), default=0) <= 0:
            return found
    return []


class _Extras(dict[int, dict[int, None]]):
    """By node, the positions of a role's extras; updated while extras are removed."""

    def __init__(self, placements: Sequence[Placement], least: int) -> None:
        for position in range(least, len(placements)):
            self.setdefault(placements[position].node, {})[position] = None

    def leave(self, position: int, node: int) -> None:
        """Remove the extra at `position`, which is on `node`."""
        del self[node][position]
        if not self[node]:
            del self[node]

    def move(self, position: int, node: int, to: int) -> None:
        """Renumber the extra at `position`, which is on `node`."""
        self[node][to] = None
        del self[node][position]


@dataclass(slots=True)
class RemovalChoice:
    """Chooses which replica of a role is removed next for the pods of one claim."""

    capacity: NodeCapacity
    reclaimable: Reclaimable
    scope: ReclaimScope
    _extras: dict[RoleAllocation, _Extras] = field(default_factory=dict)
    """Cached by role, since a claim may remove thousands of its replicas."""
    _node: int = NO_NODE
    """The node that is being cleared."""
    _request: PodSetRequest | None = None
    """The pods for which `_node` is being cleared."""

    def bring_last(self, allocation: RoleAllocation, missing: PodSetRequest) -> None:
        """Reorder so that the last replica is on the node that lacks least for a missing pod.

        Nothing changes if removing the current last replica suffices. Nor if it has no work left:
        the Job would recreate another pod that is deleted before it. Nor if this plan creates it:
        its pod would be free to take the capacity that the claim needs.
        """
        last = allocation.placements[-1]
        if last.is_new or not last.counts_in_quota:
            return
        if _needs_more_than_one(missing.pod_class, allocation.pod_class):
            self.reclaimable.named.add(allocation)
        extras = self._extras.get(allocation)
        if extras is None:
            least = self.reclaimable.min_replicas(allocation)
            extras = self._extras[allocation] = _Extras(allocation.placements, least)
        end, node = allocation.size - 1, self._leaves(allocation, last.node, extras, missing)
        position = end if node == last.node else next(reversed(extras[node]))
        extras.leave(position, node)
        if position != end:
            extras.move(end, last.node, position)
            move_last(allocation, position)

    def _leaves(
        self, allocation: RoleAllocation, last: int, extras: _Extras, missing: PodSetRequest
    ) -> int:
        """The node from which to remove a replica; `last` if no other is better."""
        pod_class = missing.pod_class
        if last != NO_NODE and self._makes_room(allocation, pod_class, last):
            return last
        if self._node not in extras or self._request != missing:
            self._node, self._request = self._best(pod_class, extras), missing
        return last if self._node == NO_NODE else self._node

    def _makes_room(self, allocation: RoleAllocation, pod_class: PodClass, node: int) -> bool:
        left = dict(allocation.pod_class.amounts)
        soon = self.capacity.future_idle
        return bool(pod_class.eligible[node]) and all(
            soon[row, node] + left.get(row, 0) >= amount for row, amount in pod_class.amounts
        )

    def _best(self, pod_class: PodClass, extras: _Extras) -> int:
        """The node that lacks least for one more pod, if evicting extras suffices, or NO_NODE."""
        room = self.reclaimable.capacity.with_idle(self.scope)
        nodes = np.array(sorted(extras.keys() - {NO_NODE}), dtype=np.int64)
        return lacking_least(self.capacity, room, pod_class, nodes)


def _needs_more_than_one(pod_class: PodClass, evicted: PodClass) -> bool:
    """Whether a pod needs more than what one evicted replica frees, wherever that was."""
    freed = dict(evicted.amounts)
    return any(amount > freed.get(row, 0) for row, amount in pod_class.amounts)


def drains_of_removals(snapshot: Snapshot) -> Iterator[Drain]:
    """Pods to delete for scale-downs where the Job controller would delete others, or might.

    It deletes the youngest, in no order where several became ready within the same second.
    """
    names, named = snapshot.capacity.index, snapshot.moves.named
    for allocation in snapshot.allocations:
        if not (leaves_by_name(allocation) and allocation.reason and allocation.size > 0):
            continue
        pods = keeping_order(allocation.role.status.pods)
        stays = Counter(one.node for one in allocation.placements if not one.is_new)
        last = Counter(names.get(pod.node, NO_NODE) for pod in pods[: stays.total()])
        if len(pods) > stays.total() and (allocation in named or last != stays):
            leaving = tuple(pod.name for pod in _beyond(pods, stays, names))
            yield Drain(allocation.job.key, allocation.role.name, leaving, allocation.reason)


def _beyond(pods: Iterable[Pod], stays: Counter[int], names: dict[str, int]) -> Iterator[Pod]:
    """The pods on each node beyond the number that stays there; `pods` in keeping order."""
    for pod in pods:
        node = names.get(pod.node, NO_NODE)
        if stays[node] > 0:
            stays[node] -= 1
        else:
            yield pod


@dataclass(slots=True)
class NodeSearch:
    """Searches a queue for roles whose next replica is of use to a claim."""

    reclaimable: Reclaimable
    scope: ReclaimScope
    is_useful: Callable[[RoleAllocation], bool]
    nodes: Mask | None = None
    """The nodes on which extras are of use; None: all. bool[nodes]"""
    missing: Callable[[], PodSetRequest | None] | None = None
    """The pods for which to clear one of `nodes`; None: useful roles are taken in order."""
    queue: YieldQueue = field(init=False)
    """All roles that may be of use."""
    _begun: set[int] = field(default_factory=set)
    """Nodes on which replicas were evicted since the last pod of the claim was placed."""
    _most: int = _NODES_COMPARED
    _due: list[RoleAllocation] = field(default_factory=list)
    """Roles to take a replica of each, the next one last: so a node is cleared."""
    _aside: list[RoleAllocation] = field(default_factory=list)
    _taken: dict[RoleAllocation, None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        found = self.reclaimable
        self.queue = found.queue if self.nodes is None else found.queue_on(self.nodes)

    def next(self) -> RoleAllocation | None:
        """Remove and return the role to evict a replica of, or None."""
        while not self._due and (allocation := self._next_in_order()):
            if self.is_useful(allocation):
                return allocation
            self._aside.append(allocation)
            self._begun.discard(allocation.placements[-1].node)
        if not self._due:
            return None
        self.queue.remove(self._due[-1])
        return self._due.pop()

    def evicted(self, allocation: RoleAllocation, node: int, *, placed: bool) -> None:
        """Queue a role again whose replica on `node` was evicted; `placed`: for pods there."""
        if placed:
            self._begun, self._most, self._due = set(), _NODES_COMPARED, []
        elif self.missing and node != NO_NODE:
            self._begun.add(node)
        self._taken[allocation] = None
        self.queue.requeue(allocation)

    def close(self) -> None:
        """Queue all roles again that the search has passed over or changed."""
        for allocation in self._aside:
            self.queue.requeue(allocation)
        for allocation in self._taken if self.queue is not self.reclaimable.queue else ():
            self.reclaimable.queue.requeue(allocation)

    def _next_in_order(self) -> RoleAllocation | None:
        """The role that yields next; once nodes are many, on these, and then on the chosen one.

        None, and `_due` is filled, if a node is cleared that holds no role's last replica.
        """
        if len(self._begun) >= self._most:
            holders = dict.fromkeys(self.reclaimable.holders(self._begun))
            last = (one for one in holders if one.placements[-1].node in self._begun)
            if found := self.queue.first_of(last, self.scope):
                self._begun, self._most = {found.placements[-1].node}, 1
                return found
            if self.nodes is not None and (missing := self.missing and self.missing()):
                self._due = self._fewest(missing.pod_class, np.flatnonzero(self.nodes))
            if self._due:
                return None
            self._most = 2 * max(self._most, _NODES_COMPARED)
        return self.queue.next(self.scope)

    def _fewest(self, pod_class: PodClass, nodes: Ints) -> list[RoleAllocation]:
        """The fewest replicas whose eviction clears some node for a pod; or []."""
        lacks = lack(self.reclaimable.nodes, pod_class, nodes)
        least = nodes[np.argsort(lacks, kind="stable")[:_NODES_COMPARED]]
        compared = self._begun.union(least.tolist())
        by_node: defaultdict[int, list[_Extra]] = defaultdict(list)
        for one in dict.fromkeys(self.reclaimable.holders(sorted(compared))):
            if leaves_by_name(one) or not self.queue.may_yield(one, self.scope):
                continue
            first = max(self.reclaimable.min_replicas(one), one.size - _DEEPEST)
            for depth, placement in enumerate(reversed(one.placements[first:]), 1):
                if placement.node in compared:
                    by_node[placement.node].append((one, depth))
        found = (
            dict(clearing(self.reclaimable.nodes, pod_class, node, sorted(extras, key=_shallowest)))
            for node, extras in sorted(by_node.items())
        )
        depths = min(filter(None, found), key=lambda depths: sum(depths.values()), default={})
        return [one for one, depth in depths.items() for _ in range(depth)]


def _shallowest(extra: _Extra) -> tuple[int, int]:
    return extra[1], -extra[0].rank
