"""Pods of gated roles wait for a node of the plan, and go to no other."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import partial
from typing import Final

import pytest
from msgspec.structs import replace

from edl import contract
from edl.model import ClusterState, JobKey, Pod, Role, Taint, Topology, TrainingJob
from edl.planner.decision_limits import Limits
from edl.planner.plan import Admission, Drain, NodeAssignment, Plan, Suspension
from edl.planner.plan_cache import PlanCache
from edl.planner.policies import POLICIES, Policy
from edl.simulator import (
    Change,
    Elastic,
    NodeEvent,
    Plain,
    Scenario,
    Service,
    Simulation,
    Timing,
    Training,
    Watcher,
    Workload,
    WorkloadRole,
    from_state,
    length,
    queued,
    simulate,
)
from edl.simulator.scenario import START
from tests.edl.simulator.test_feasibility import ALONE, host, ruled
from tests.edl.simulator.worlds import node, nodes, shape, world
from tests.reasons import because

GANG: Final = JobKey("default", "gang")
PLACEMENT, HOSTS = contract.PLACEMENT_GATE, contract.HOSTS_GATE
GATED = Workload("tensorflow", "ps")

Decision = Callable[[TrainingJob], Plan]


def gang(
    cpu: float = 1, *, roles: list[WorkloadRole] | None = None, kind: Workload = GATED
) -> Training:
    """A parameter server and two workers; 100 seconds long."""
    usual = [WorkloadRole("ps", 1, 1, shape()), WorkloadRole("worker", 2, 2, shape(cpu))]
    return Training(queued("gang", kind, roles or usual), length(100))


def started(job: TrainingJob, **nodes: tuple[str, ...]) -> Plan:
    sizes = tuple((role.name, role.spec.min) for role in job.roles)
    return Plan(admissions=(Admission(job.key, sizes, because("room"), nodes=(*nodes.items(),)),))


def stopped(job: TrainingJob) -> Plan:
    return Plan(suspensions=(Suspension(job.key, because("no room")),))


def placed(nodes: Mapping[str, list[str]], job: TrainingJob) -> Plan:
    """The nodes of pods that wait for one, by index; empty: it waits on."""
    found = {
        role.name: tuple(
            (pod.name, node)
            for pod in role.status.pods
            for node in nodes.get(role.name, [])[pod.index : pod.index + 1]
            if node and PLACEMENT in pod.scheduling.gates
        )
        for role in job.roles
    }
    return Plan(
        node_assignments=tuple(NodeAssignment(job.key, role, pods) for role, pods in found.items())
    )


def on(**nodes: list[str]) -> Decision:
    return partial(placed, nodes)


def ended(role: str, index: int, job: TrainingJob) -> Plan:
    (pod,) = (
        pod
        for one in job.roles
        if one.name == role
        for pod in one.status.pods
        if pod.index == index
    )
    return Plan(drains=(Drain(job.key, role, (pod.name,), because("no room there")),))


class Script:
    """Decides what is written down for a second, about the gang; else nothing."""

    def __init__(self, given: Scenario, plans: Mapping[int, Decision]) -> None:
        self._plans = plans
        elastic = Elastic(POLICIES["fair"], decide=self._decide)
        self.simulation = Simulation(given, elastic, Watcher())

    def _decide(self, state: ClusterState, _by: Policy, _limits: Limits, _last: PlanCache) -> Plan:
        decision = self._plans.get(round(self.simulation.now, 3))  # type: ignore[call-overload]
        jobs = [job for job in state.jobs if job.key == GANG]
        plan = decision(jobs[0]) if decision and jobs else Plan()
        return replace(plan, recheck_after=timedelta(seconds=1))

    def roles(self, second: float) -> tuple[Role, ...]:
        """As they stand at that second."""
        self.simulation.run(second)
        return next(job.roles for job in self.simulation.state().jobs if job.key == GANG)

    def pods(self, second: float) -> list[Pod]:
        """In the order of roles and indexes."""
        roles = self.roles(second)
        return [
            pod for role in roles for pod in sorted(role.status.pods, key=lambda pod: pod.index)
        ]

    def nodes(self, second: float) -> list[str]:
        return [pod.node for pod in self.pods(second)]


@pytest.mark.parametrize(
    ("kind", "roles", "gated"),
    [
        (Workload("tensorflow", "ps"), ["ps", "worker"], True),
        (Workload("tensorflow"), ["worker"], True),
        (Workload("pytorch"), ["worker"], False),
    ],
)
def test_roles_are_gated_where_the_plan_places_their_pods(
    kind: Workload, roles: list[str], *, gated: bool
) -> None:
    job = queued("one", kind, [WorkloadRole(role, 1, 1, shape()) for role in roles])
    assert [role.template.gated for role in job.roles] == [gated] * len(roles)


def test_gated_pods_wait_for_a_node_of_the_plan() -> None:
    script = Script(world(*nodes(2), gang()), {0: started})
    assert script.nodes(9) == ["", "", ""]
    assert [pod.scheduling.gates for pod in script.pods(9)] == [(PLACEMENT,)] * 3


def test_placed_pods_go_to_their_nodes_wherever_the_scheduler_would_put_them() -> None:
    plans = {0: started, 2: on(ps=["small"], worker=["small"]), 4: on(worker=["", "large"])}
    script = Script(world(node("large", 64), node("small", 4), gang()), plans)
    assert script.nodes(3) == ["small", "small", ""]
    assert script.pods(3)[0].planned.placed_at == START + timedelta(seconds=2)
    assert script.nodes(4) == ["small", "small", "large"]


def test_a_scripted_plan_runs_through() -> None:
    given = world(*nodes(2), gang(), settings=Timing(start_up=5, shut_down=1))
    plans = {0: started, 2: on(ps=["node-1"], worker=["node-1", "node-0"])}
    simulation = Script(given, plans).simulation
    simulation.run(200)
    (found,) = simulation.result().jobs
    assert (found.track.placed, found.track.running, found.track.ended) == (2, 7, 107)
    assert (found.below_min, found.track.stops) == (0, 0)
    assert [one.used.get("cpu") for one in simulation.state().nodes] == [0, 0]


def test_it_is_decided_again_once_there_are_pods_to_place() -> None:
    seen = []

    def decided(now: float, state: ClusterState, _plan: Plan) -> None:
        seen.append(
            (
                now,
                sum(
                    PLACEMENT in pod.scheduling.gates for pod in state.jobs[0].roles[0].status.pods
                ),
            )
        )

    def decide(state: ClusterState, _by: Policy, _limits: Limits, _last: PlanCache) -> Plan:
        return started(state.jobs[0]) if state.jobs[0].suspended else Plan()

    control_mode = Elastic(POLICIES["fair"], decide=decide)
    Simulation(world(*nodes(2), gang()), control_mode, Watcher(decided=decided)).run(60)
    assert seen == [(0, 0), (1, 1)]


def test_a_placed_pod_waits_while_its_node_is_full_and_goes_there_when_room_comes() -> None:
    web = Service("web", shape(3), ((1, 1), (20, 0)), shut_down=4)
    plans = {0: started, 2: on(ps=["large"], worker=["small", "large"])}
    given = world(node("small", 4), web, gang(cpu=2))
    added = NodeEvent(1.5, Change.ADDED, node("large", 64))
    script = Script(replace(given, events=(added,)), plans)
    assert script.nodes(23.9) == ["large", "", "large"]
    assert script.nodes(24) == ["large", "small", "large"]


TAINT = Taint("gone", "", "NoExecute")


@pytest.mark.parametrize(
    "way",
    [
        NodeEvent(1.5, Change.CORDONED, host("a")),
        NodeEvent(1.5, Change.TAINTED, host("a"), TAINT),
        NodeEvent(1.5, Change.LOST, host("a")),
        Service("train", ruled("train", **ALONE), ((1, 1),)),
    ],
    ids=["cordoned", "tainted", "lost", "kept away by a pod"],
)
def test_a_placed_pod_goes_to_no_node_that_it_may_not_use(way: NodeEvent | Service) -> None:
    roles = [WorkloadRole("ps", 1, 1, ruled("train")), WorkloadRole("worker", 1, 1, shape())]
    others, events = ((), (way,)) if isinstance(way, NodeEvent) else ((way,), ())
    given = replace(world(host("a"), gang(roles=roles), *others), events=events)
    script = Script(given, {0: started, 2: on(ps=["a"])})
    assert [(pod.planned.node, pod.scheduling.gates, pod.node) for pod in script.pods(9)] == [
        ("a", (), ""),
        ("", (PLACEMENT,), ""),
    ]


def test_a_placed_pod_that_is_ended_is_made_again_behind_its_gate() -> None:
    web = Service("web", shape(), ((1, 1),))
    plans: dict[int, Decision] = {
        0: started,
        2: on(ps=["large"], worker=["small", "large"]),
        4: partial(ended, "worker", 0),
        6: on(worker=["large"]),
    }
    given = world(node("small", 1), web, gang())
    added = NodeEvent(1.5, Change.ADDED, node("large", 4))
    script = Script(replace(given, events=(added,)), plans)
    _, stuck, _ = script.pods(3)
    assert (stuck.planned.node, stuck.node) == ("small", "")
    _, again, _ = script.pods(5)
    assert again.name != stuck.name
    assert (again.scheduling.gates, again.planned.node, again.planned.placed_at) == (
        (PLACEMENT,),
        "",
        None,
    )
    assert script.nodes(6) == ["large", "large", "large"]
    assert [role.status.failures for role in script.roles(7)] == [0, 0]
    assert script.simulation.result().jobs[0].track.pod_stops == 0


def test_a_suspended_job_leaves_no_gated_pod_and_no_pod_being_bound() -> None:
    web = Service("web", shape(4), ((1, 1), (9, 0)))
    plans = {0: started, 2: on(ps=["node-0"]), 4: stopped, 6: started}
    script = Script(world(node("node-0", 4), web, gang()), plans)
    assert [pod.planned.node for pod in script.pods(3)] == ["node-0", "", ""]
    assert script.pods(5) == []
    assert script.nodes(20) == ["", "", ""]
    assert [pod.scheduling.gates for pod in script.pods(20)] == [(PLACEMENT,)] * 3


def test_a_launcher_is_placed_first_and_gets_its_node_once_its_hosts_are_known() -> None:
    roles = [WorkloadRole("launcher", 1, 1, shape()), WorkloadRole("worker", 1, 1, shape())]
    ring = gang(roles=roles, kind=Workload("horovod"))
    plans = {0: started, 2: on(launcher=["node-1"]), 4: on(worker=["node-1"])}
    script = Script(world(*nodes(2), ring), plans)
    assert script.pods(1)[0].scheduling.gates == (HOSTS, PLACEMENT)
    launcher = script.pods(3)[0]
    assert (launcher.scheduling.gates, launcher.planned.node, launcher.node) == (
        (HOSTS,),
        "node-1",
        "",
    )
    assert script.nodes(6) == ["node-1", "node-1"]


def test_what_waits_in_an_observed_cluster_goes_on_waiting() -> None:
    script = Script(
        world(node("a", 4), node("b", 2), gang(cpu=2)),
        {0: started, 2: on(ps=["b"], worker=["b"])},
    )
    assert script.nodes(3) == ["b", "", ""]
    larger = (NodeEvent(5, Change.LOST, node("b")), NodeEvent(6, Change.ADDED, node("b", 64)))
    again = Script(replace(from_state(script.simulation.state(), Limits()), events=larger), {})
    assert again.nodes(4) == ["b", "", ""]
    assert [pod.node for pod in again.pods(6) if pod.planned.node] == ["b"]


def test_without_us_no_pod_waits_for_a_plan() -> None:
    roles = [WorkloadRole("launcher", 1, 1, shape()), WorkloadRole("worker", 1, 1, shape())]
    ring = Training(queued("ring", Workload("horovod"), roles), length(100))
    assert simulate(world(*nodes(2), gang(), ring), Plain(), 3600).ended == 2


def test_the_nodes_that_a_start_has_for_replicas_are_read_off_their_job() -> None:
    plans: dict[int, Decision] = {0: partial(started, worker=("a", "b")), 4: stopped, 6: started}
    script = Script(world(node("a"), node("b"), gang()), plans)
    assert [role.record.assigned.nodes for role in script.roles(2)] == [(), ("a", "b")]
    assert [role.record.assigned.nodes for role in script.roles(8)] == [(), ()]


def test_a_job_with_a_topology_waits_for_the_nodes_of_the_plan() -> None:
    near = Workload("none", topology=Topology(preferred=("rack",)))
    roles = [WorkloadRole("worker", 1, 2, shape())]
    (part,) = queued("near", near, roles).roles
    assert (part.template.gated, part.spec.topology) == (True, near.topology)
    assert not queued("plain", Workload("none"), roles).roles[0].template.gated
