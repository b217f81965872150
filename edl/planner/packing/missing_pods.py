"""Requests less the pods that are placed, and the resources that pods lack."""

from collections.abc import Iterable, Sequence, Sized

import numpy as np

from edl.feasibility.eligibility import Ints, Mask
from edl.planner.packing.node_capacity import by_scarcest_resource
from edl.planner.packing.pod_class import PodSetRequest


def still_missing(
    requests: Iterable[PodSetRequest], placed: Iterable[Sized | int]
) -> list[PodSetRequest]:
    """The requests less the pods that are placed; `placed`: per request their count or nodes."""
    counts = (nodes if isinstance(nodes, int) else len(nodes) for nodes in placed)
    pairs = zip(requests, counts, strict=True)
    return [PodSetRequest(pod_class, max(pods - count, 0)) for (pod_class, pods), count in pairs]


def lacking_resources(room: Ints, requests: Sequence[PodSetRequest]) -> set[int]:
    """The rows of `room` that lack capacity for some request, on its large enough nodes.

    If each row suffices by itself, but not on the same nodes: all rows of that request.
    """
    lacking: set[int] = set()
    for pod_class, pods in requests:
        large, amounts = pod_class.large_enough, pod_class.amounts
        short = {row for row, amount in amounts if not _suffices(room, large, pods, (row, amount))}
        if not (short or _suffices(room, large, pods, *amounts)):
            short = {row for row, _ in amounts}
        lacking |= short
    return lacking


def _suffices(room: Ints, nodes: Mask, pods: int, *amounts: tuple[int, int]) -> bool:
    """Whether these amounts of `room` suffice for this many pods on these nodes."""
    for row, amount in amounts:
        nodes = nodes & (room[row] >= amount)
    if (there := np.count_nonzero(nodes)) >= pods or not there:
        return bool(there >= pods)
    most = by_scarcest_resource(room[row, nodes] // amount for row, amount in amounts)
    return bool(most.sum() >= pods)
