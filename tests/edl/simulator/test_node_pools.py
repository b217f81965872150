"""Nodes come for pods that wait and go when they are empty, and cost what they cost meanwhile."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from edl.model import CapacityRequest, ClusterState, JobKey, ProvisionalPod, Provisioning
from edl.planner.decision_limits import GrowthMode, Limits, Provisioner, ProvisionerSettings
from edl.planner.plan import Plan
from edl.planner.policies import POLICIES
from edl.simulator import (
    CONSTANT,
    Amdahl,
    Change,
    Elastic,
    NodeEvent,
    Plain,
    Result,
    Service,
    SimulatedNodePool,
    Simulation,
    Timing,
    Watcher,
    Work,
    WorkloadRole,
    from_state,
    simulate,
)
from edl.simulator.scenario import START
from tests.edl.simulator.worlds import FAIR, node, shape, training, world

REQUEST = CapacityRequest("r", "r", "atomic", START)
POOL = SimulatedNodePool("pool", node("", 4), limit=4, start_up=60, price=2.0, idle=30)
ANY_NODE = Elastic(POLICIES["fair"], Limits(load_ceiling=1, growth=GrowthMode.ANY_NODE))
NEEDED = Elastic(POLICIES["fair"], Limits(load_ceiling=1, idle_node_after=timedelta(seconds=20)))


def counts(result: Result, pool: str = "pool") -> list[tuple[float, int]]:
    """(time, nodes) of each change."""
    line = result.timeline.nodes
    found = [(at, there.get(pool, 0)) for at, there in zip(line.times, line.values, strict=True)]
    return [
        pair for pair, before in zip(found, [(0, 0), *found], strict=False) if pair[1] != before[1]
    ]


def test_a_gang_gets_exactly_the_nodes_of_its_minimum_and_they_go_after_it() -> None:
    gang = training("gang", 8, 40, 100, curve=CONSTANT)
    found = simulate(world(gang, pools=(POOL,)), FAIR)
    (job,) = found.jobs
    assert job.track.running == pytest.approx(71, abs=3)
    assert job.track.size.at(100) == 8, "extras grow on nodes that the minimum needs"
    assert job.track.ended is not None
    assert counts(found) == [(10, 2), (job.track.ended + 30, 0)]
    assert found.node_hours == pytest.approx(2 * (job.track.ended + 20) / 3600)
    assert found.cost == pytest.approx(2.0 * found.node_hours)


def test_nodes_come_as_late_where_a_provisioning_request_asks_for_them() -> None:
    gang = training("gang", 8, 40, 100, curve=CONSTANT)
    requests = ProvisionerSettings(Provisioner.REQUEST)
    limits = (Limits(provisioning=one) for one in (ProvisionerSettings(), requests))
    control_modes = (Elastic(POLICIES["fair"], one) for one in limits)
    given = world(gang, pools=(POOL,))
    (pods, request) = (
        simulate(given, control_mode).jobs[0].track.running for control_mode in control_modes
    )
    assert request == pods
    assert request is not None


def test_gangs_request_nodes_for_as_long_and_as_many_at_once_as_the_limits_say() -> None:
    gangs = [training(name, 4, 4, 100, curve=CONSTANT) for name in ("a", "b")]

    def reached(timeout: float, parallelism: int) -> tuple[float, float | None]:
        """Node-hours, and when the second gang runs."""
        requests = ProvisionerSettings(
            provisioning_timeout=timedelta(seconds=timeout), provisioning_parallelism=parallelism
        )
        limits = Limits(load_ceiling=1, provisioning=requests)
        found = simulate(world(*gangs, pools=(POOL,)), Elastic(POLICIES["fair"], limits))
        return found.node_hours, found.jobs[1].track.running

    assert reached(30, 1) != reached(600, 1), "nodes take 60 s"
    assert reached(600, 1) != reached(600, 2)


@pytest.mark.parametrize(
    ("pods", "cpu", "reason"),
    [(17, 1, "NodePools may add 16 more CPU: needs 17"), (2, 5, "not provisioned in time")],
)
def test_a_gang_that_gets_no_nodes_says_so_and_others_pass(
    pods: int, cpu: int, reason: str
) -> None:
    giant = training("giant", pods, pods, 100, cpu=cpu)
    small = training("small", 3, 3, 100, at=5)
    found = simulate(world(giant, small, pools=(POOL,)), FAIR)
    tracks = {job.key: job.track for job in found.jobs}
    waits, passes = tracks[JobKey("default", "giant")], tracks[JobKey("default", "small")]
    assert waits.running is None
    assert reason in waits.reason
    assert max(count for _, count in counts(found)) <= POOL.limit
    assert passes.ended is not None


def test_the_cheapest_pool_for_a_pod_is_used_up_to_its_limit() -> None:
    large = SimulatedNodePool("large", node("", 16), limit=1, price=4.0)
    found = simulate(world(training("gang", 18, 18, 100), pools=(POOL, large)), FAIR)
    assert max(count for _, count in counts(found, "large")) == 1
    assert max(count for _, count in counts(found)) == 1


def test_extras_keep_no_node_alive_unless_they_may_grow_on_any() -> None:
    """A gang ends soon: its nodes go, or a job that gains little from them grows onto them."""
    gang, elastic = training("gang", 8, 8, 4000), training("elastic", 1, 12, 2000, at=5)
    slow = replace(elastic, work=Work(2000, Amdahl(0.8)))
    given = world(gang, slow, pools=(POOL,))
    needed, anywhere = (simulate(given, control_mode) for control_mode in (NEEDED, ANY_NODE))
    assert needed.ended == anywhere.ended == 2
    assert needed.cost < 0.8 * anywhere.cost
    assert needed.completions.mean < 1.2 * anywhere.completions.mean
    assert [count for _, count in counts(needed)][-2:] == [1, 0]


def test_a_node_is_removed_after_its_movable_pods_move() -> None:
    gang, elastic = training("gang", 8, 8, 400), training("elastic", 1, 12, 6000, at=90)
    found = simulate(world(gang, elastic, pools=(POOL,)), NEEDED)
    (_, track) = (job.track for job in found.jobs)
    assert counts(found)[-2][1] == 1
    assert track.size.at(300) == 4
    assert track.ended is not None


def test_a_node_goes_when_room_for_its_extras_comes_on_a_node_of_no_pool() -> None:
    elastic = training("elastic", 1, 2, 4000, at=50)
    services = [
        Service("large", shape(6), ((0.0, 1), (400.0, 0))),
        Service("small", shape(1), ((0.0, 1), (5000.0, 0))),
        Service("short", shape(3), ((10.0, 1), (150.0, 0))),
    ]
    found = simulate(world(node("fixed", 8), *services, elastic, pools=(POOL,)), ANY_NODE)
    assert [count for _, count in counts(found)] == [1, 0]
    assert counts(found)[-1][0] == pytest.approx(460, abs=10)


def test_a_node_with_a_minimum_stays_though_its_pods_would_fit_elsewhere() -> None:
    short = Service("short", shape(3), ((0.0, 1), (300.0, 0)))
    web = Service("web", shape(1), ((0.0, 1), (2000.0, 0)))
    elastic = training("elastic", 2, 3, 3000, at=100)
    found = simulate(world(elastic, short, web, pools=(POOL,)), NEEDED)
    assert [count for _, count in counts(found)][:2] == [1, 2]
    assert found.pod_stops == 0
    assert found.timeline.nodes.at(1000) == {"pool": 2}


def test_a_node_of_a_pool_has_a_name_of_its_own() -> None:
    found = simulate(world(node("pool-0", 0.5), training("gang", 4, 4, 60), pools=(POOL,)), FAIR)
    (job,) = found.jobs
    assert job.track.nodes == {"worker": ("pool-1",) * 4}


def test_pods_of_others_take_the_room_of_provisional_ones() -> None:
    slow = replace(POOL, limit=2)
    web = Service("web", shape(4), ((100.0, 1), (300.0, 0)))
    gang = training("gang", 8, 8, 50, at=200)
    found = simulate(
        world(gang, web, pools=(slow,), settings=Timing(start_up=0, shut_down=0)), FAIR
    )
    assert found.timeline.services["web"].at(250) == 1
    (job,) = found.jobs
    assert job.track.running is not None
    assert job.track.running >= 300


def test_a_lost_node_is_replaced() -> None:
    lost = NodeEvent(100, Change.LOST, node("pool-0"))
    gang = training("gang", 4, 4, 400, framework="tensorflow")
    found = simulate(world(gang, pools=(POOL,), events=(lost,)), FAIR)
    assert found.ended == 1
    assert [count for _, count in counts(found)] == [1, 0, 1, 0]


def test_a_minimum_leaves_a_cordoned_node_for_one_that_is_made_for_it() -> None:
    cordoned = NodeEvent(100, Change.CORDONED, node("pool-0"))
    gang = training("gang", 4, 4, 4000, curve=CONSTANT)
    given = world(gang, pools=(POOL,), events=(cordoned,), settings=Timing(1, 1))
    found = simulate(given, FAIR)
    (job,) = found.jobs
    assert [count for _, count in counts(found)] == [1, 2, 1, 0]
    assert job.track.pod_stops == 4, "each worker moves once"
    assert found.ended == 1


def test_the_room_of_each_worker_is_held_until_it_begins_to_leave_a_cordoned_node() -> None:
    """Workers of Horovod leave in two steps: off the host list first."""
    held: list[int] = []

    def decided(_now: float, state: ClusterState, plan: Plan) -> None:
        (job,) = state.jobs
        begun = job.leaving.pods if job.leaving else frozenset[str]()
        held.extend(
            len(job.provisioning.bound) for one in plan.drains if not begun.intersection(one.pods)
        )

    roles = [WorkloadRole("launcher", 1, 1, shape()), WorkloadRole("worker", 7, 7, shape())]
    gang = training("gang", 1, 1, 4000, framework="horovod", roles=roles)
    cordoned = NodeEvent(100, Change.CORDONED, node("pool-1"))
    given = world(gang, pools=(POOL,), events=(cordoned,), settings=Timing(1, 1))
    Simulation(given, FAIR, Watcher(decided=decided)).run(600)
    assert held == [4, 3, 2, 1]


def test_without_us_pods_get_nodes_one_by_one() -> None:
    gang = training("gang", 2, 20, 100)
    found = simulate(world(gang, pools=(POOL,)), Plain())
    assert max(count for _, count in counts(found)) == 4


def test_a_cluster_as_it_stands_has_no_provisional_pods() -> None:
    """Nothing is known of its autoscaler: what they hold is free."""
    waiting = training("gang", 3, 3, 60).job
    pod = ProvisionalPod("p", "p", "worker", "a", START, shape(3).requests)
    asked = replace(waiting, provisioning=Provisioning(pods=(pod,)))
    asked = replace(asked, provisioning=replace(asked.provisioning, requests=(REQUEST,)))
    held = replace(node("a", 4), used=shape(3).requests, evictable_pods=1)
    found = from_state(
        ClusterState(START, (held,), (asked,)), Limits(), lambda _job: Work(60, CONSTANT)
    )
    assert found.nodes == (node("a", 4),)
    assert not found.trainings[0].job.provisioning.has_requests
    assert simulate(found, FAIR).jobs[0].track.ended == pytest.approx(65, abs=2)
