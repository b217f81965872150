"""The pending pods of other owners that jobs scale down for, as decisions read them."""

from collections.abc import Set as AbstractSet

from msgspec.structs import replace

from edl.model import ClusterState, Demand
from edl.planner.decision_limits import Limits
from edl.quantities import Resources


def with_counted_demands(state: ClusterState, limits: Limits) -> ClusterState:
    """The state without pods of schedulers that have queues of their own, or with too many rules.

    The former may wait for a quota of their queue: capacity that is kept for them stays idle.
    """
    queueing = limits.schedulers_with_queues
    demands = tuple(
        demand for demand in state.demands if demand.scheduler not in queueing and not demand.excess
    )
    return state if len(demands) == len(state.demands) else replace(state, demands=demands)


def with_offered_names(state: ClusterState) -> ClusterState:
    """The state with demands that name at most one resource that no node offers.

    One suffices to fit nowhere. Decisions have a row of numbers about all nodes for each name, and
    any user may make up names.
    """
    unknown = {name for one in state.demands for name, _ in one.shape.requests}
    for node in state.nodes:
        unknown.difference_update(name for name, _ in node.allocatable)
        if not unknown:
            return state
    first = min(unknown, default="")
    demands = tuple(_naming(demand, unknown, first) for demand in state.demands)
    return replace(state, demands=demands)


def _naming(demand: Demand, unknown: AbstractSet[str], first: str) -> Demand:
    """The demand with the first resource that no node offers instead of all of them."""
    requests = dict(demand.shape.requests)
    offered = {name: amount for name, amount in requests.items() if name not in unknown}
    if len(offered) == len(requests):
        return demand
    shape = replace(demand.shape, requests=Resources.of({**offered, first: 1}))
    return replace(demand, shape=shape)
