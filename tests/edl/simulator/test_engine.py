"""One thing that happens in a world, and what becomes of it."""

from datetime import timedelta
from math import inf

import pytest
from msgspec.structs import replace

from edl.model import ClusterState, Demand, JobKey, PodPhase, Taint
from edl.planner.decision_limits import Limits
from edl.planner.plan import Plan
from edl.planner.policies import POLICIES
from edl.simulator import (
    CONSTANT,
    ENDLESS,
    Amdahl,
    Change,
    Elastic,
    NodeEvent,
    Plain,
    Result,
    Service,
    Simulation,
    Timing,
    Watcher,
    WorkloadRole,
    from_state,
    length,
    simulate,
)
from edl.simulator.scenario import START
from edl.simulator.timeline import Track
from tests.edl.simulator.worlds import ALL, FAIR, node, nodes, shape, training, world


def tracks(result: Result) -> dict[str, Track]:
    return {job.key.name: job.track for job in result.jobs}


def test_a_job_takes_its_length_at_any_size_and_the_time_to_start() -> None:
    settings = Timing(start_up=5, shut_down=1)
    found = simulate(
        world(*nodes(2), training("one", 1, 8, 100, curve=CONSTANT), settings=settings), FAIR
    )
    assert tracks(found)["one"].running == 5
    assert tracks(found)["one"].ended == 105


@pytest.mark.parametrize(("serial", "seconds"), [(0.0, 100), (0.5, 250), (1.0, 400)])
def test_work_is_done_faster_as_its_curve_says(serial: float, seconds: float) -> None:
    found = simulate(world(node("a"), training("one", 4, 4, 400, curve=Amdahl(serial))), FAIR)
    assert tracks(found)["one"].ended == seconds


def test_jobs_shrink_for_a_new_job_and_grow_after_its_end() -> None:
    first, second = training("first", 1, 4, 1000), training("second", 1, 2, 100, at=50)
    found = tracks(simulate(world(node("a"), first, second), FAIR))
    assert found["first"].size.at(40) == 4
    assert found["first"].size.at(60) < 4
    assert found["second"].running == pytest.approx(50, abs=2)
    assert found["first"].size.at(200) == 4


def test_without_elasticity_a_new_job_waits_for_the_running_one() -> None:
    first, second = training("first", 1, 4, 400), training("second", 1, 2, 100, at=50)
    found = tracks(simulate(world(node("a"), first, second), Plain()))
    assert found["second"].running == found["first"].ended == 100


def test_a_framework_that_restarts_loses_what_came_after_its_checkpoint() -> None:
    limits = replace(ALL, restart_cooldown=timedelta(seconds=30))
    first = training("first", 1, 4, 4000, framework="tensorflow", checkpoint=40)
    second = training("second", 1, 1, 500, at=100)
    given = world(node("a"), first, second, settings=Timing(start_up=0, shut_down=2))
    found = tracks(simulate(given, Elastic(POLICIES["fair"], limits)))["first"]
    # It stops at 100 to make room: since 80, four replicas have worked.
    assert found.stops >= 1
    assert found.lost_work >= 20 * 4
    assert found.speed.at(101) == 0
    assert found.speed.at(110) == 3


def test_a_job_that_saves_on_sigterm_loses_no_work() -> None:
    first = training("first", 1, 4, 4000, framework="tensorflow")
    second = training("second", 1, 1, 500, at=100)
    found = tracks(simulate(world(node("a"), first, second), FAIR))["first"]
    assert found.stops >= 1
    assert found.lost_work == 0


def test_horovods_launcher_begins_when_its_workers_are_ready() -> None:
    roles = [WorkloadRole("launcher", 1, 1, shape(0.5)), WorkloadRole("worker", 2, 3, shape())]
    job = training("ring", 2, 3, 90, framework="horovod", roles=roles)
    settings = Timing(start_up=4, shut_down=1)
    found = tracks(simulate(world(node("a"), job, settings=settings), FAIR))["ring"]
    assert found.placed is not None
    # Workers start, are listed in the launcher's gate, then the launcher starts.
    assert found.running == pytest.approx(8, abs=2)
    assert found.ended == pytest.approx(8 + 90 / 3, abs=12)


def test_pieces_of_work_are_done_one_after_another() -> None:
    job = training("sweep", 1, 3, 10, framework="none", items=7)
    found = tracks(simulate(world(node("a"), job), FAIR))["sweep"]
    assert found.size.at(5) == 3
    assert found.ended == pytest.approx(30, abs=2)


def test_a_services_pods_come_first_and_give_the_room_back() -> None:
    web = Service("web", shape(), ((0, 0), (100, 3), (200, 0)), priority=10)
    found = simulate(world(node("a"), training("one", 1, 4, 2000), web), FAIR)
    one = tracks(found)["one"]
    assert [one.size.at(at) for at in (90, 150, 300)] == [4, 1, 4]
    assert found.timeline.services["web"].at(110) == 3


def test_a_lost_node_takes_its_pods_along_and_they_come_again() -> None:
    given = world(*nodes(2), training("one", 2, 8, 3200))
    lost = NodeEvent(100, Change.LOST, given.nodes[0])
    back = NodeEvent(200, Change.ADDED, given.nodes[0])
    found = tracks(simulate(replace(given, events=(lost, back)), FAIR))["one"]
    assert found.pod_stops >= 4
    # After four failures the Job controller makes the next pods 80 s later.
    assert [found.size.at(at) for at in (99, 150, 182, 300)] == [8, 4, 4, 8]


def test_a_lost_pod_restarts_those_who_cannot_go_on_without_it() -> None:
    job = training("one", 3, 3, 600, framework="tensorflow", checkpoint=1000)
    given = world(*nodes(2), job)
    lost = NodeEvent(100, Change.LOST, given.nodes[0])
    found = tracks(simulate(replace(given, events=(lost,)), FAIR))["one"]
    assert found.lost_work == pytest.approx(300, abs=5)
    # Three pods were lost: the Job controller makes the next ones 40 s later.
    assert found.ended == pytest.approx(340, abs=5)


def test_a_cordoned_node_gets_no_pod_and_its_pods_move_one_after_another() -> None:
    given = world(*nodes(2), training("one", 2, 2, 400), settings=Timing(1, 1))
    events = tuple(NodeEvent(50, Change.CORDONED, one) for one in given.nodes[:1])
    simulation = Simulation(replace(given, events=events), FAIR, Watcher())
    simulation.run(100)
    pods = [pod for role in simulation.state().jobs[0].roles for pod in role.status.pods]
    assert {pod.node for pod in pods} == {"node-1"}


def test_a_taint_that_ends_pods_drives_them_elsewhere() -> None:
    given = world(*nodes(2), training("one", 2, 2, 400), settings=Timing(1, 1))
    taint = Taint("karpenter.sh/disrupted", "", "NoSchedule")
    events = (NodeEvent(50, Change.TAINTED, given.nodes[0], taint),)
    simulation = Simulation(replace(given, events=events), FAIR, Watcher())
    simulation.run(60)
    pods = [pod for role in simulation.state().jobs[0].roles for pod in role.status.pods]
    assert {pod.node for pod in pods} == {"node-1"}


def test_a_new_node_lets_a_queued_job_start() -> None:
    given = world(node("small", 1), training("large", 2, 2, 10, cpu=2))
    added = NodeEvent(60, Change.ADDED, node("big", 8))
    found = tracks(simulate(replace(given, events=(added,)), FAIR))["large"]
    assert found.running == 60


def test_a_higher_priority_starts_first() -> None:
    jobs = [training("low", 4, 4, 40, at=1), training("high", 4, 4, 40, at=2, priority=5)]
    found = tracks(simulate(world(node("a"), training("first", 4, 4, 40), *jobs), FAIR))
    assert (found["high"].running or inf) < (found["low"].running or 0)


def test_decisions_are_shown_with_the_state_that_they_were_made_from() -> None:
    seen: list[tuple[float, int]] = []
    passed: list[float] = []

    def decided(now: float, state: ClusterState, plan: Plan) -> None:
        assert (state.observed_at - given.start).total_seconds() == now
        seen.append((now, len(plan.admissions)))

    given = world(node("a"), training("one", 1, 4, 40, at=7))
    simulate(given, FAIR, watcher=Watcher(decided=decided, passed=passed.append))
    assert (7, 1) in seen
    assert passed == sorted(passed)


def test_a_simulation_goes_on_where_it_stood() -> None:
    given = world(node("a"), training("one", 1, 4, 400), training("two", 1, 4, 400, at=10))
    simulation = Simulation(given, FAIR, Watcher())
    for until in (5.0, 42.0, inf):
        simulation.run(until)
    ends = [job.track.ended for job in simulation.result().jobs]
    assert ends == [job.track.ended for job in simulate(given, FAIR).jobs]


def test_what_runs_in_an_observed_cluster_goes_on_there() -> None:
    jobs = (training("one", 2, 2, 1000), training("two", 4, 4, 100, at=5))
    simulation = Simulation(world(node("a"), *jobs), FAIR, Watcher())
    simulation.run(50)
    seen = simulation.state()
    again = from_state(seen, Limits(), lambda job: length(30) if job.key.name == "one" else None)
    assert again.nodes[0].used.get("cpu") == 0
    found = tracks(simulate(again, FAIR, 1000))
    assert found["one"].ended == 30
    # The room is free at 30, and pods start for 5 seconds.
    assert found["two"].running == pytest.approx(35, abs=1)
    assert found["two"].ended is None


def test_pending_pods_of_schedulers_with_queues_of_their_own_are_not_simulated() -> None:
    """They would be placed, or make jobs shrink, although their queue keeps them waiting."""
    queued, other = (
        Demand(shape(), 0, 2, "web/queued", scheduler="volcano"),
        Demand(shape(), 0, 2, "web/other"),
    )
    state = ClusterState(START, (node("a"),), (), demands=(queued, other))
    assert [one.name for one in from_state(state, Limits()).services] == ["other"]
    both = from_state(state, Limits(queueing_schedulers=""))
    assert [one.name for one in both.services] == ["queued", "other"]


def test_an_observed_job_that_is_nearly_over_is_ended_by_its_steps() -> None:
    roles = [
        WorkloadRole("chief", 1, 1, shape()),
        WorkloadRole("ps", 1, 1, shape()),
        WorkloadRole("worker", 1, 1, shape()),
    ]
    job = training("one", 1, 1, 50, framework="tensorflow", roles=roles)
    simulation = Simulation(world(node("a"), job, settings=Timing(1, 5)), FAIR, Watcher())
    simulation.run(52)
    state = simulation.state()
    chief = state.jobs[0].roles[0]
    assert chief.status.ending is not None
    rest = Simulation(from_state(state, Limits()), FAIR, Watcher())
    rest.run(100)
    assert rest.state().jobs == ()
    assert rest.state().nodes[0].used.get("cpu") == 0


def test_a_pod_that_starts_when_observed_gets_ready() -> None:
    simulation = Simulation(
        world(node("a"), training("one", 2, 2, 50), settings=Timing(30, 5)), FAIR, Watcher()
    )
    simulation.run(10)
    pods = simulation.state().jobs[0].roles[0].status.pods
    assert {pod.phase for pod in pods} == {PodPhase.PENDING}
    found = tracks(simulate(from_state(simulation.state(), Limits(), lambda _: length(9)), FAIR))
    assert found["one"].ended == pytest.approx(5 + 9)


def test_a_reported_progress_reaches_the_planner() -> None:
    seen: list[float | None] = []

    def decided(_now: float, state: ClusterState, _plan: Plan) -> None:
        seen.extend(job.progress for job in state.jobs if job.key.name == "one")

    first = replace(training("one", 1, 4, 400), tells=True)
    later = [training(f"job-{at}", 1, 1, 5, at=at) for at in (25, 50, 75)]
    simulate(world(node("a", 9), first, *later), FAIR, watcher=Watcher(decided=decided))
    assert {0.25, 0.5, 0.75} <= set(seen)


def test_a_gang_that_the_scheduler_spreads_begins_with_us_and_never_without() -> None:
    """Small pods on every node leave none for the large one."""
    roles = [WorkloadRole("ps", 4, 4, shape(1)), WorkloadRole("worker", 1, 1, shape(4))]
    job = training("tight", 1, 1, 100, framework="tensorflow", roles=roles)
    given = world(*nodes(2, 4), job)
    assert simulate(given, FAIR, 3600).ended == 1
    assert simulate(given, Plain(), 3600).ended == 0


def test_endless_jobs_run_until_the_horizon() -> None:
    found = simulate(
        world(node("a"), replace(training("one", 1, 4, 1), work=ENDLESS)), FAIR, until=500
    )
    assert (found.ended, found.until, found.makespan) == (0, 500, inf)


def test_pods_of_one_name_in_two_namespaces_are_two() -> None:
    """Of each job a pod waits for a node when one of the jobs ends."""
    first, second = training("one", 1, 2, 9999, cpu=2), training("one", 1, 2, 100, at=1)
    second = replace(second, job=replace(second.job, key=JobKey("other", "one")))
    larger = NodeEvent(200, Change.ADDED, node("b"))
    given = replace(world(node("a", 3), first, second), events=(larger,))
    found = {job.key.namespace: job.track for job in simulate(given, Plain()).jobs}
    assert found["other"].ended == 101
    assert [found["default"].size.at(at) for at in (150, 250)] == [1, 2]


def test_limits_are_the_planners() -> None:
    limits = Limits(load_ceiling=0.5)
    found = simulate(
        world(node("a", 8), training("one", 1, 8, 100)), Elastic(POLICIES["fair"], limits)
    )
    assert max(tracks(found)["one"].size.values) == 4


def test_a_job_needs_work_above_zero() -> None:
    with pytest.raises(ValueError, match="above 0"):
        length(0)
