"""What a cluster is asked for at least: by all minimums at once, and by pods of others.

It does not depend on which jobs run, so it stays the same while jobs start and stop.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from edl import phases
from edl.model import ClusterState, Shape
from edl.planner.snapshot.role_allocation import start_size


def least_demand(state: ClusterState) -> Mapping[str, int]:
    """Amounts by resource."""
    found: Counter[str] = Counter()
    for shape, pods in _pods_by_shape(state):
        for resource, amount in shape.requests:
            found[resource] += amount * pods
    for amounts in state.team_usage.values():
        for resource, amount in amounts:
            found[resource] += amount
    return found


def _pods_by_shape(state: ClusterState) -> Iterable[tuple[Shape, int]]:
    # By identity: most pods of one shape share the value, and to hash one costs far more.
    pods: defaultdict[int, int] = defaultdict(int)
    shapes: dict[int, Shape] = {}
    for job in state.jobs:
        for role in () if job.paused or phases.ending(job) else job.live:
            shapes[id(role.template.shape)] = role.template.shape
            pods[id(role.template.shape)] += start_size(role)
    yield from ((shapes[key], count) for key, count in pods.items())
    yield from ((demand.shape, demand.count) for demand in state.demands)
