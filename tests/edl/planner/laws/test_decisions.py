"""What holds of the decision behind a plan."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from edl.model import ClusterState, Pod, TrainingJob
from edl.planner.decide import run_passes
from edl.planner.decision import Decision
from edl.planner.plan_builder import build_plan
from tests.edl.packed_draws import Draw, packed
from tests.edl.planner.clusters import states
from tests.edl.planner.states import at, pod
from tests.edl.planner.ways import WAYS, Way, law
from tests.edl.reached import Reached, drawn

pytestmark = pytest.mark.laws


@packed
def pressed(draw: Draw) -> ClusterState:
    """Running jobs with pods that have no node, beside jobs of a higher priority that wait."""
    state = draw.of(states(runs=(True, True, False), spare=(0.0, 0.5), others=(0,)))
    return replace(state, jobs=tuple(_pressed(draw, one) for one in state.jobs))


def _pressed(draw: Draw, one: TrainingJob) -> TrainingJob:
    if all(role.status.suspended for role in one.roles):
        return replace(one, priority=3)
    roles = tuple(role.changed(pods=_late(draw, role.status.pods)) for role in one.roles)
    return replace(one, roles=roles)


def _late(draw: Draw, pods: Sequence[Pod]) -> tuple[Pod, ...]:
    return tuple(
        pod(one.index, created_at=at(-draw.one_of(5, 400))) if draw.between(0, 3) == 0 else one
        for one in pods
    )


@drawn(state=pressed())
def test_no_job_that_is_stopped_is_in_the_plan(reached: Reached, state: ClusterState) -> None:
    way = WAYS["preempting"]
    decision = run_passes(state, way.policy, way.limits)
    snapshot, stopped = decision.snapshot, decision.results.suspended.keys()
    reached(stopped)
    assert stopped.isdisjoint(job.key for job in snapshot.jobs)
    assert stopped.isdisjoint(role.job.key for role in snapshot.allocations)
    assert stopped.isdisjoint(role.job.key for role in snapshot.unsettled)


@law(pressed())
def test_no_plan_changes_the_decision_that_it_is_built_of(way: Way, state: ClusterState) -> None:
    decision = run_passes(state, way.policy, way.limits)
    before = _facts(decision)
    plan = build_plan(decision)
    assert _facts(decision) == before
    assert build_plan(decision) == plan


def _facts(decision: Decision) -> tuple[object, ...]:
    snapshot, results = decision.snapshot, decision.results
    roles = [(role, [*role.placements], role.changed, role.reason) for role in snapshot.allocations]
    waits = (results.wait_reasons.copy(), results.wait_ends.copy(), [*results.queue])
    return roles, waits, [*snapshot.clock.rechecks], snapshot.capacity.future_idle.tolist()
