"""Work items that a plan deleted by name, before the watch reports their deletion.

The response to the reconciler's own write of the smaller size comes first: then the Job has more
pods than its size.
"""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from edl.model import ClusterState, ResizePolicy, TrainingJob
from edl.planner.decision_limits import Limits
from edl.planner.plan import Plan
from tests.edl.planner.acting import act
from tests.edl.planner.plans import plan_for, started
from tests.edl.planner.states import at, cluster, node, shape, worker
from tests.roles import changed_pod

NODES = [node(name, 8) for name in "abcd"]
LIMITS = Limits(growth_cooldown=timedelta(seconds=3))


def items(name: str, low: int, high: int, cpu: float, **fields: object) -> TrainingJob:
    kind = {"resizing": ResizePolicy.ITEMS, "indexed": False, "shape": shape(cpu)}
    return replace(worker(name, low, high, **kind, **fields), framework="none")


SWEEP = items("sweep", 1, 8, 3, on=[*"abcd"] * 2)
GANG = worker("gang", 3, 3, shape=shape(8), queued=0)
SMALL = items("small", 2, 3, 1, queued=0)


def decided(state: ClusterState) -> Plan:
    return plan_for(state, LIMITS)


def with_sweep(*others: TrainingJob, reported: int) -> ClusterState:
    """The state right after it has yielded: so many of the deletions are known."""
    (part,) = SWEEP.roles
    plan = decided(cluster(*NODES, SWEEP, *others))
    ((resize,), (drain,)) = plan.resizes, plan.drains
    assert (resize.after, len(drain.pods)) == (2, 6)
    pods = [
        changed_pod(one, finalizers=()) if one.name in drain.pods else one
        for one in part.status.pods
        if one.name not in drain.pods[:reported]
    ]
    smaller = part.changed(size=2, pods=tuple(pods), resized_at=at(0), last=resize.reason)
    return cluster(*NODES, replace(SWEEP, roles=(smaller,)), *others, seconds=0.4)


@pytest.mark.parametrize("reported", range(7))
@pytest.mark.parametrize("others", [(GANG,), (GANG, SMALL)])
def test_a_job_yields_once_however_late_the_deletions_of_its_pods_are_reported(
    others: tuple[TrainingJob, ...], reported: int
) -> None:
    plan = decided(with_sweep(*others, reported=reported))
    assert (plan.resizes, plan.drains) == ((), ())
    assert list(started(plan)) == (["gang"] if reported == 6 else [])


@pytest.mark.parametrize("spreading", [False, True])
@pytest.mark.parametrize("seen", range(5))
def test_a_small_job_that_is_seen_later_than_the_gang_costs_no_second_scale_down(
    seen: int,
    spreading: bool,  # noqa: FBT001
) -> None:
    """The two Jobs arrive in two requests: any number of decisions may lie between them."""
    state, yielded, begun = cluster(*NODES, SWEEP, GANG), list[tuple[int, int]](), list[str]()
    for number in range(12):
        if number == seen:
            state = replace(state, jobs=(*state.jobs, SMALL))
        plan = decided(state)
        yielded += [(one.before, one.after) for one in plan.resizes if one.job == SWEEP.key]
        begun += started(plan)
        state = act(state, plan, after=timedelta(seconds=1), lingering=True, spreading=spreading)
    assert (yielded, begun) == ([(8, 2)], ["gang", "small"])
