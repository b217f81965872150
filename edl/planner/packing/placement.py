"""The placement of a replica, and the capacity that it takes there."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import lru_cache, partial
from operator import attrgetter
from typing import Final, NamedTuple

from edl.feasibility.eligibility import Ints
from edl.feasibility.horizon import FUTURE_IDLE, IDLE, Horizon
from edl.model import Pod
from edl.planner.packing.node_capacity import NO_NODE, ResourceAmounts
from edl.planner.packing.pod_class import PodClass

_node: Final = attrgetter("node")


class Placement(NamedTuple):
    """The placement of one replica; on NO_NODE it uses no capacity.

    A replica that holds idle capacity is new (`on_idle`), or has a pod that is not bound yet. One
    that does not is new (`pipelined`), or has a pod that is bound, or waits for capacity, or ended.
    """

    node: int
    holds_idle: bool
    """Evicting it frees idle capacity at once; False: future idle capacity only."""
    is_new: bool
    """The replica is created by this plan."""
    counts_in_quota: bool = True
    """Whether it counts in quotas; False if it has succeeded or has no work left."""
    taken: ResourceAmounts | None = None
    """What it takes of its node, if it is known to hold devices; None: as much as a new pod."""
    stranded: bool = False
    """Its node would not take its pod again, if that were placed anew."""

    @property
    def horizon(self) -> Horizon:
        """The horizon from which its capacity is reserved, and to which eviction returns it."""
        return IDLE if self.holds_idle else FUTURE_IDLE

    @property
    def quota_horizon(self) -> Horizon:
        """The horizon to which eviction returns its quota: an existing pod counts until deleted."""
        return IDLE if self.is_new and self.holds_idle else FUTURE_IDLE


class Unscheduled(NamedTuple):
    """A replica without a node; `since` is None while it does not wait for scheduling."""

    position: int
    since: datetime | None
    pod: Pod | None = None
    """Its pod, if it exists."""
    is_spare: bool = False
    """Other ranks that have not ended make up the minimum, and run."""


DONE: Final = Placement(NO_NODE, holds_idle=False, is_new=False, counts_in_quota=False)
"""The placement of a replica whose rank has ended: it gets no further pod."""
# Cached, because a plan may create 100,000 of them.
on_idle: Final = lru_cache(maxsize=2**16)(partial(Placement, holds_idle=True, is_new=True))
pipelined: Final = lru_cache(maxsize=2**16)(partial(Placement, holds_idle=False, is_new=True))


def first_placement(
    pod_class: PodClass,
    nodes: Iterable[int] | None = None,
    horizons: Sequence[Horizon] = (IDLE, FUTURE_IDLE),
) -> Placement | None:
    """The first of `nodes` (None: any) that fits an existing replica, at the first horizon."""
    for horizon in horizons:
        view = pod_class.at(horizon)
        node = view.find() if nodes is None else next(filter(view.admits, nodes), NO_NODE)
        if node != NO_NODE:
            return Placement(node, horizon is IDLE, is_new=False)
    return None


def by_class(
    pod_class: PodClass, placements: Iterable[Placement]
) -> Iterable[tuple[PodClass, list[int]]]:
    """The nodes of replicas of one class, by what the replicas take there."""
    if not pod_class.claims_devices:
        return ((pod_class, list(map(_node, placements))),)
    nodes: defaultdict[PodClass, list[int]] = defaultdict(list)
    for placement in placements:
        nodes[pod_class.with_amounts(placement.taken)].append(placement.node)
    return nodes.items()


def release_in(pod_class: PodClass, room: Ints, placements: Iterable[Placement]) -> None:
    """Add what these replicas take to `room`, int64[resources, nodes]; NO_NODE is skipped."""
    for variant, nodes in by_class(pod_class, placements):
        variant.release_in(room, nodes)


def reserve_in(pod_class: PodClass, room: Ints, placements: Iterable[Placement]) -> None:
    """Undo `release_in`."""
    for variant, nodes in by_class(pod_class, placements):
        variant.reserve_in(room, nodes)


def taken_by(pod_class: PodClass, placement: Placement) -> dict[int, int]:
    """What a replica takes of its node, by row."""
    if not pod_class.claims_devices:
        return dict(pod_class.amounts)
    variant = pod_class.with_amounts(placement.taken)
    by_row = dict(variant.amounts)
    for row, amounts in variant.beside.items() if placement.node != NO_NODE else ():
        by_row[row] = by_row.get(row, 0) + int(amounts[placement.node])
    return by_row
