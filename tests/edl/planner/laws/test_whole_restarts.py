"""A training job that is stopped for a new size starts at that size."""

from typing import Any

import pytest
from msgspec.structs import replace

from edl.model import ClusterState, JobKey, Node, ResizePolicy, Role, Taint, TrainingJob
from edl.model.nodes import CORDONED
from edl.planner.plan import Plan
from edl.quantities import Resources
from edl.spec.allowed_sizes import manual_size
from tests.edl.packed_draws import Draw, packed
from tests.edl.planner.acting import act
from tests.edl.planner.clusters import ROOMY, states
from tests.edl.planner.states import at
from tests.edl.planner.ways import Way, law, wait
from tests.edl.reached import Reached

pytestmark = pytest.mark.laws


@packed
def changed_clusters(draw: Draw) -> ClusterState:
    """Jobs that restart to resize, on nodes that have changed since they started.

    The plan places all pods, so that kube-scheduler takes no node from a job that restarts.
    """
    state = draw.of(states(runs=(*[True] * 7, False), spare=ROOMY[1:], others=(0,)))
    nodes = tuple(_changed(draw, one) for one in state.nodes)
    jobs = tuple(_restarting(draw, one) for one in state.jobs)
    return replace(state, nodes=nodes, jobs=jobs)


def _changed(draw: Draw, one: Node) -> Node:
    cordon: dict[str, Any] = {"cordoned": True, "taints": (Taint(CORDONED, "", "NoSchedule"),)}
    smaller = one.allocatable - Resources.parse({"cpu": 1})
    changes: list[dict[str, Any]] = [
        *({} for _ in range(4)),
        cordon,
        {"taints": (Taint("new", "", "NoSchedule"),)},
        {"allocatable": smaller},
        {"labels": {"zone": "c"}},
        {"ready": False},
    ]
    return replace(one, **draw.one_of(*changes))


def _restarting(draw: Draw, one: TrainingJob) -> TrainingJob:
    roles = tuple(_raised(draw, role) for role in one.roles)
    started = one.started_at and at(-3000)
    return replace(
        one, framework="paddle", mode="collective", roles=roles, started_at=started, paused=False
    )


def _raised(draw: Draw, role: Role) -> Role:
    """Its minimum may be larger than its size."""
    fixed = role.spec.max == role.spec.min
    resizing = ResizePolicy.FIXED if fixed else ResizePolicy.RESTART
    least = draw.one_of(role.spec.min, role.spec.min, min(role.status.size + 2, role.spec.max))
    return role.changed(
        resizing=resizing,
        indexed=True,
        gated=True,
        progress=None,
        min=role.spec.min if fixed else least,
    )


def stopped(state: ClusterState, plan: Plan) -> dict[JobKey, dict[str, int]]:
    """The sizes that running jobs are stopped for."""
    new = {(one.job, one.role): one.after for one in plan.resizes}
    return {
        one.key: {
            role.name: min(
                new.get((one.key, role.name), role.status.size), manual_size(role) or role.spec.max
            )
            for role in one.roles
        }
        for one in state.jobs
        if one.key in {resize.job for resize in plan.resizes if resize.restart}
    }


@law(changed_clusters())
def test_no_plan_stops_a_running_job_for_a_size_at_which_it_could_not_start(
    reached: Reached, way: Way, state: ClusterState
) -> None:
    plan = way.plan(state)
    sizes = stopped(state, plan)
    reached(sizes)
    later = way.plan(act(state, plan, after=wait(plan)))
    found = {one.job: dict(one.sizes) for one in later.admissions}
    assert [key for key, least in sizes.items() if not _reaches(found.get(key, {}), least)] == []


def _reaches(found: dict[str, int], least: dict[str, int]) -> bool:
    """Whether each role starts, with extras or without."""
    return all(found.get(name, 0) >= size for name, size in least.items())
