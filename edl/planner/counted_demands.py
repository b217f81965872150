"""The pending pods of other owners that jobs scale down for."""

from msgspec.structs import replace

from edl.model import ClusterState
from edl.planner.decision_limits import Limits


def with_counted_demands(state: ClusterState, limits: Limits) -> ClusterState:
    """The state without pods of schedulers that have queues of their own.

    These may wait for a quota of their queue: capacity that is kept for them stays idle.
    """
    queueing = limits.schedulers_with_queues
    demands = tuple(demand for demand in state.demands if demand.scheduler not in queueing)
    return state if len(demands) == len(state.demands) else replace(state, demands=demands)
