"""Places a gang's shapes in several orders: one shape may use up the nodes of another."""

from collections.abc import Iterator, Sequence
from itertools import islice, pairwise, permutations
from typing import Final

from edl.feasibility.eligibility import Ints
from edl.feasibility.horizon import FUTURE_IDLE, IDLE, Horizon
from edl.planner.packing.pod_class import PodSetRequest, pack

_ORDERS: Final = 6
"""Most orders that are tried: all permutations of three shapes."""


def pack_orders(requests: Sequence[PodSetRequest]) -> Iterator[tuple[int, ...]]:
    """The orders to try, the given one first; requests with pod affinity to others stay last."""
    follows = [request.pod_class.follows_others for request in requests]
    orders = permutations(range(len(requests)))
    return islice((order for order in orders if _is_ascending(follows, order)), _ORDERS)


def _is_ascending(values: Sequence[bool], order: Sequence[int]) -> bool:
    return all(values[before] <= values[after] for before, after in pairwise(order))


def pack_in_best_order(
    room: Ints, requests: Sequence[PodSetRequest], horizon: Horizon
) -> list[int]:
    """How many pods of each request fit into `room`, in the order that places the most."""
    total, best = sum(request.pods for request in requests), [0] * len(requests)
    for order in pack_orders(requests):
        placed = pack(room, [requests[index] for index in order], horizon)
        if sum(placed) > sum(best):
            best = [placed[order.index(index)] for index in range(len(requests))]
        if sum(best) == total:
            break
    return best


def reserve_idle(requests: Sequence[PodSetRequest]) -> list[list[int]] | None:
    """Reserve idle capacity for all pods; the nodes of each request's pods.

    None, and nothing is reserved, if they do not all fit.
    """
    for order in pack_orders(requests):
        nodes = _reserve_in_order([requests[index] for index in order])
        if nodes is not None:
            return [nodes[order.index(index)] for index in range(len(requests))]
    return None


def reserve_nodes(
    requests: Sequence[PodSetRequest], nodes: Sequence[Sequence[int]], horizon: Horizon = IDLE
) -> bool:
    """Reserve capacity for each request's pods on these nodes.

    False, and nothing is reserved, if one of them does not fit.
    """
    pairs = zip(requests, nodes, strict=True)
    pods = [(request.pod_class, node) for request, there in pairs for node in there]
    for count, (pod_class, node) in enumerate(pods):
        if not pod_class.at(horizon).admits(node):
            for earlier, reserved in pods[:count]:
                earlier.at(horizon).unreserve(reserved)
            return False
        pod_class.at(horizon).reserve(node)
    return True


def reserve_nodes_in_some_order(
    requests: Sequence[PodSetRequest], nodes: Sequence[Sequence[int]]
) -> bool:
    """`reserve_nodes`, where pods with rules may need others to be placed first."""
    return any(
        reserve_nodes([requests[index] for index in order], [nodes[index] for index in order])
        for order in pack_orders(requests)
    )


def reserve_idle_part(requests: Sequence[PodSetRequest], nodes: Sequence[Sequence[int]]) -> None:
    """Reserve what is already idle of the future idle capacity that is reserved for these pods.

    Otherwise this plan creates a replica on it, if as much becomes idle there later.
    """
    for request, there in zip(requests, nodes, strict=True):
        pod_class = request.pod_class
        for node in there:
            pod_class.future_idle.release(node)
            pod_class.at(IDLE if pod_class.idle.fits(node) else FUTURE_IDLE).reserve(node)


def _reserve_in_order(requests: Sequence[PodSetRequest]) -> list[list[int]] | None:
    positions = [request.pod_class.idle.position() for request in requests]
    reserved: list[list[int]] = []
    for request in requests:
        reserved.append(request.pod_class.idle.reserve_pods(request.pods))
        if len(reserved[-1]) < request.pods:
            break
    else:
        return reserved
    if not any(reserved):  # nothing to undo, so the next search goes on where this one ended
        return None
    for request, nodes in zip(requests, reserved, strict=False):
        request.pod_class.idle.unreserve_pods(nodes)
    for request, position in zip(requests, positions, strict=True):
        request.pod_class.idle.restore(position)
    return None
