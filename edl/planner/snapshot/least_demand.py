"""The least demand on a cluster: the sum of all jobs' minimums and of other owners' pods.

It does not depend on which jobs run, so it stays the same while jobs start and stop. A training job
that does not fit into the empty cluster is left out.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from edl.job_state import phases
from edl.model import ClusterState, Shape
from edl.spec.allowed_sizes import start_pods


def least_demand(
    state: ClusterState, totals: Mapping[str, int], largest: Mapping[str, int]
) -> Mapping[str, int]:
    """Amounts by resource. `totals`: sums of schedulable nodes; `largest`: maximum of any node."""
    wanted = [(demand.shape, demand.count) for demand in state.demands]
    for job in state.jobs:
        if not (job.paused or job.problem or phases.ending(job)):
            pods = [(role.template.shape, start_pods(role)) for role in job.live]
            wanted += pods if _could_run(pods, largest, totals) else ()
    total: Counter[str] = Counter()
    for shape, count in wanted:
        for resource, amount in shape.counted:
            total[resource] += amount * count
    for amounts in state.team_usage.values():
        for resource, amount in amounts:
            total[resource] += amount
    return total


def _could_run(
    roles: Iterable[tuple[Shape, int]], largest: Mapping[str, int], totals: Mapping[str, int]
) -> bool:
    """Whether each pod fits on the largest node, and all pods into all nodes, by amounts."""
    used: dict[str, int] = {}
    for shape, pods in roles:
        for resource, amount in shape.requests.items:
            used[resource] = used.get(resource, 0) + amount * pods
            if amount > largest.get(resource, 0) or used[resource] > totals.get(resource, 0):
                return False
    return True
