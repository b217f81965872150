"""What holds in every world, under every policy and without us."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from edl.contract import Provision
from edl.model import ClusterState, Node, NodePoolHeadroom, Provisioning
from edl.planner.decide import decide
from edl.planner.decision_limits import Limits
from edl.planner.plan import Plan
from edl.planner.published_settings import Settings
from edl.simulator import (
    ControlMode,
    Elastic,
    Result,
    Scenario,
    Simulation,
    Watcher,
    from_state,
    simulate,
)
from tests.edl.planner.clusters import ALL_RUN, states
from tests.edl.simulator.worlds import LEDS, LONG, MANNERS, POOLED, worlds

pytestmark = pytest.mark.laws

_FAIR = Elastic(Settings().policy_to_apply(), Settings().limits)
_SLOW = settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@given(worlds(), LEDS)
@_SLOW
def test_every_job_that_fits_an_empty_cluster_ends(given: Scenario, control_mode: Elastic) -> None:
    result = simulate(given, control_mode, until=LONG)
    assert [job.key.name for job in result.jobs if job.track.ended is None] == []
    assert result.until == LONG


@given(POOLED, LEDS)
@_SLOW
def test_every_job_ends_on_nodes_that_come_for_it_and_they_all_go(
    given: Scenario, control_mode: Elastic
) -> None:
    result = simulate(given, control_mode, until=LONG)
    assert [job.key.name for job in result.jobs if job.track.ended is None] == []
    assert result.timeline.nodes.at(LONG) == {}


@given(st.one_of(worlds(), POOLED), MANNERS)
@_SLOW
def test_the_same_world_gives_the_same_result(given: Scenario, control_mode: ControlMode) -> None:
    assert _figures(simulate(given, control_mode, LONG)) == _figures(
        simulate(given, control_mode, LONG)
    )


def _figures(result: Result) -> list[object]:
    tracks = (job.track for job in result.jobs)
    lines = result.timeline.used
    return [
        *((one.running, one.ended, one.size.times, one.size.values) for one in tracks),
        (lines.times, lines.values),
    ]


@given(st.one_of(worlds(), POOLED), MANNERS)
@_SLOW
def test_no_node_is_overcommitted_and_its_use_is_what_its_pods_ask_for(
    given: Scenario, control_mode: ControlMode
) -> None:
    simulation = Simulation(given, control_mode, Watcher())
    while simulation.next <= LONG:
        simulation.run(simulation.next)
        state = simulation.state()
        for found in state.nodes:
            assert _over(found) == []
            assert found.used.get("cpu") >= _asked(state, found)


def _over(node: Node) -> list[str]:
    return [name for name, amount in node.used if amount > node.allocatable.get(name)]


def _asked(state: ClusterState, node: Node) -> int:
    return sum(
        role.template.shape.requests.get("cpu")
        for job in state.jobs
        for role in job.roles
        for pod in role.status.pods
        if pod.node == node.name and not pod.ended
    )


@given(worlds(), LEDS)
@_SLOW
def test_sizes_are_from_min_to_max_or_nothing_is_started(
    given: Scenario, control_mode: Elastic
) -> None:
    wrong: list[object] = []

    def decided(now: float, state: ClusterState, _: Plan) -> None:
        wrong.extend(
            (now, role)
            for job in state.jobs
            for role in job.live
            if role.spec.indexed
            and not role.status.suspended
            and not role.spec.min <= role.status.size <= role.spec.max
        )

    simulate(given, control_mode, LONG, Watcher(decided=decided))
    assert wrong == []


@given(st.one_of(worlds(), POOLED), MANNERS)
@_SLOW
def test_work_is_conserved(given: Scenario, control_mode: ControlMode) -> None:
    """What the replicas did is what the job had to do and what it did twice."""
    result = simulate(given, control_mode, LONG)
    work = {one.key: one.work for one in given.trainings}
    items = {one.key for one in given.trainings if one.items}
    for job in result.jobs:
        if job.track.ended is None or job.key in items:
            continue
        ready = job.track.speed.spans(job.track.arrived, job.track.ended)
        done = sum((end - begin) * speed for begin, end, speed in ready)
        # To the millisecond, at the speed of all of them.
        slack = 0.001 * max(job.track.speed.values) + 1e-6
        assert abs(done - work[job.key].seconds - job.track.lost_work) <= slack


@given(states(4, runs=ALL_RUN), st.booleans(), st.booleans())
@_SLOW
def test_a_cluster_as_it_stands_is_decided_about_as_by_the_reconciler(
    state: ClusterState,
    autoscaled: bool,  # noqa: FBT001 - hypothesis draws it
    pooled: bool,  # noqa: FBT001
) -> None:
    """But for nodes to come; pods of others that wait may find a node before."""
    pools = (NodePoolHeadroom(),) if pooled else ()
    given = replace(state, demands=(), autoscaled=autoscaled, node_pools=pools)
    decided: list[Plan] = []
    watcher = Watcher(decided=lambda _now, _state, plan: decided.append(plan))
    Simulation(from_state(given, Limits()), _FAIR, watcher).run(0)
    asks_never = tuple(
        replace(job, provisioning=Provisioning(Provision.NEVER)) for job in given.jobs
    )
    plan = decide(replace(given, jobs=asks_never), _FAIR.policy, _FAIR.limits)
    assert decided[:1] == [plan]
