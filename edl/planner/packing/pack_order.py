"""Orders in which to place a gang's shapes: one shape may take all that another could use."""

from collections.abc import Iterator, Sequence
from itertools import islice, permutations
from typing import Final

from edl.feasibility.horizon import Horizon
from edl.planner.packing.node_capacity import Ints
from edl.planner.packing.pod_class import PodSetRequest, pack

_ORDERS: Final = 6
"""All of them for three shapes."""


def pack_orders(requests: Sequence[PodSetRequest]) -> Iterator[tuple[int, ...]]:
    """In which they are tried, as given first; requests that follow others stay behind them."""
    if len(requests) == 1:
        return iter([(0,)])

    def follow(order: tuple[int, ...]) -> list[bool]:
        return [requests[at].pod_class.follows_others for at in order]

    every = permutations(range(len(requests)))
    return islice((one for one in every if follow(one) == sorted(follow(one))), _ORDERS)


def pack_in_best_order(
    room: Ints, requests: Sequence[PodSetRequest], horizon: Horizon
) -> list[int]:
    """How many pods of each request find a place, in the best of these orders."""
    every, best = sum(request.pods for request in requests), [0] * len(requests)
    for order in pack_orders(requests):
        found = pack(room, [requests[at] for at in order], horizon)
        if sum(found) > sum(best):
            best = [found[order.index(at)] for at in range(len(requests))]
        if sum(best) == every:
            break
    return best
