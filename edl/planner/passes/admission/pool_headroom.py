"""What Karpenter's NodePools may still add, against what a gang needs on new nodes.

The sizes of nodes, DaemonSets, and the pools that the pods may use are ignored: what exceeds the
limits here cannot start, but a gang that does not exceed them may still be impossible.
"""

from collections.abc import Iterable, Mapping, Sequence

from edl.feasibility.eligibility import Ints
from edl.model import NodePoolHeadroom
from edl.model.causes.scarcity import NodePoolLimit
from edl.planner.gangs.gang import Gang
from edl.planner.packing.missing_pods import still_missing
from edl.planner.packing.pod_class import PodSetRequest
from edl.quantities import Resources


def total(pools: Sequence[NodePoolHeadroom]) -> Mapping[str, int]:
    """What all pools together may add, of the resources that each of them limits."""
    limited = [dict(pool.limited) for pool in pools]
    names = set(limited[0]).intersection(*limited[1:]) if limited else ()
    return {name: sum(amounts[name] for amounts in limited) for name in sorted(names)}


def needed(gang: Gang, room: Ints) -> list[PodSetRequest]:
    """The pods of its minimum that need new nodes at least; room: int64[resources, nodes].

    Each pod set counts as if the others used no capacity, and constraints between pods as met.
    """
    fitting = (int(pod_class.pods_by_resources(room).sum()) for pod_class, _ in gang.requests)
    return still_missing(gang.requests, fitting)


def exceeded(
    headroom: Mapping[str, int], requests: Iterable[PodSetRequest]
) -> NodePoolLimit | None:
    """The first resource of which the pods request more than the headroom, if there is one."""
    if not headroom:
        return None
    needs = sum((pod_class.shape.requests * pods for pod_class, pods in requests), Resources())
    limits = (NodePoolLimit(name, needs.get(name), add) for name, add in headroom.items())
    return next((limit for limit in limits if limit.needs > limit.add), None)
