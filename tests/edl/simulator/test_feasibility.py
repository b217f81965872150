"""Pods go only where the planner's rules let them: beside whom they may be, and on which GPUs."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from edl.model import (
    ClusterState,
    Device,
    ForeignPods,
    GpuUsage,
    HostPort,
    Node,
    PodAffinityTerm,
    PodConstraints,
    Requirement,
    Selector,
    Shape,
    Share,
    TopologySpread,
)
from edl.planner.decision_limits import Limits
from edl.quantities import SHARED_GPU, Resources
from edl.simulator import (
    CONSTANT,
    Change,
    Elastic,
    NodeEvent,
    Plain,
    Result,
    Scenario,
    Service,
    Simulation,
    Training,
    Watcher,
    Work,
    Workload,
    WorkloadRole,
    from_state,
    length,
    queued,
    simulate,
)
from tests.edl.planner.reference_scheduler import Placed, ReferenceScheduler
from tests.edl.planner.states import at, pod, worker
from tests.edl.simulator.worlds import FAIR, MANNERS, PROMPT, node, shape, world

HOST, ZONE = "kubernetes.io/hostname", "zone"
GIB = 2**30


def app(name: str) -> Selector:
    return Selector(("default",), (Requirement("app", "In", (name,)),))


def ruled(name: str, cpu: float = 1, **fields: object) -> Shape:
    rules = replace(PodConstraints("default", (("app", name),)), **fields)  # type: ignore[arg-type]
    return replace(shape(cpu), constraints=rules)


def host(name: str, cpu: float = 4, zone: str = "a") -> Node:
    return node(name, cpu, labels={HOST: name, ZONE: zone})


def part(compute: int, memory: int = 0, model: str = "") -> Shape:
    requests = Resources.parse({"cpu": 1, "pods": 1}) + Resources.of({SHARED_GPU: compute})
    return Shape(requests, share=Share(compute, memory, model))


def gpus(name: str, *devices: Device, **labels: str) -> Node:
    """A node of KubeShare, with what its devices say is used."""
    plain = node(name, 64, labels=labels)
    used = sum(one.used.compute for one in devices)
    return replace(
        plain,
        allocatable=plain.allocatable + Resources.of({SHARED_GPU: 1000 * len(devices)}),
        used=Resources.of({SHARED_GPU: used}),
        devices=devices,
    )


def of_one(name: str, wanted: Shape, pods: int = 1, seconds: float = 50) -> Training:
    roles = [WorkloadRole("worker", pods, pods, wanted)]
    return Training(queued(name, Workload("pytorch"), roles), length(seconds))


def after(seconds: float, given: Scenario, control_mode: Elastic | Plain = FAIR) -> ClusterState:
    simulation = Simulation(given, control_mode, Watcher())
    simulation.run(seconds)
    return simulation.state()


def on(state: ClusterState, name: str = "train") -> list[str]:
    (job,) = (job for job in state.jobs if job.key.name == name)
    return sorted(pod.node for role in job.roles for pod in role.status.pods)


def running(result: Result, name: str) -> float | None:
    (found,) = (job.track.running for job in result.jobs if job.key.name == name)
    return found


# -- neighbours --------------------------------------------------------------------------------

ALONE: dict[str, Any] = {"anti_affinity": (PodAffinityTerm(HOST, app("train")),)}


@pytest.mark.parametrize("control_mode", [FAIR, Plain()])
def test_workers_that_avoid_each_other_never_share_a_node(control_mode: Elastic | Plain) -> None:
    given = world(host("a", 64), host("b", 4), of_one("train", ruled("train", **ALONE), 2))
    assert on(after(20, given, control_mode)) == ["a", "b"]


def test_workers_spread_over_zones_whatever_the_room() -> None:
    evenly = ruled("train", spread=(TopologySpread(ZONE, app("train"), 1),))
    given = world(host("a", 64), host("b", 4, zone="b"), of_one("train", evenly, 4))
    assert on(after(20, given)) == ["a", "a", "b", "b"]


def test_followers_are_bound_once_the_pods_they_follow_are() -> None:
    follower = ruled("worker", affinity=(PodAffinityTerm(HOST, app("ps")),))
    roles = [WorkloadRole("worker", 2, 2, follower), WorkloadRole("ps", 1, 1, ruled("ps"))]
    train = Training(queued("train", Workload("tensorflow"), roles), length(50))
    found = on(after(20, world(host("a", 4), host("b", 4), train), Plain()))
    assert found in (["a"] * 3, ["b"] * 3)


def test_a_port_of_a_node_is_taken_while_a_pod_of_others_is_there() -> None:
    port = HostPort("TCP", 80, "10.0.0.1")
    given = world(host("a", 64), host("b", 4), of_one("train", ruled("train", ports=(port,))))
    others = ForeignPods("a", PodConstraints("default", (), ports=(port,)), 1)
    around = replace(given.around, foreign_pods=(others,))
    assert on(after(20, replace(given, around=around))) == ["b"]


def test_a_pod_of_a_service_keeps_workers_away_until_it_is_gone() -> None:
    web = ruled("web", anti_affinity=(PodAffinityTerm(HOST, app("train")),))
    service = Service("web", web, ((0.0, 1), (100.0, 0)), shut_down=20)
    train = replace(of_one("train", ruled("train")), at=10)
    simulation = Simulation(world(host("a"), train, service), FAIR, Watcher())
    simulation.run(119)
    assert on(simulation.state()) == []
    simulation.run(125)
    assert on(simulation.state()) == ["a"]


def test_pods_of_a_lost_node_are_in_the_way_of_none_on_its_successor() -> None:
    back = (NodeEvent(10, Change.LOST, host("a")), NodeEvent(30, Change.ADDED, host("a")))
    train = of_one("train", ruled("train", **ALONE))
    given = replace(world(host("a"), train), events=back)
    assert on(after(20, given)) == [""]
    assert on(after(31, given)) == ["a"]


def test_a_pod_on_a_cordoned_node_still_counts_for_anti_affinity() -> None:
    first = of_one("train", ruled("train", **ALONE), 2)
    later = replace(of_one("late", ruled("train", **ALONE)), at=20)
    cordon = NodeEvent(10, Change.CORDONED, host("c"))
    given = world(host("a"), host("b"), host("c", 1), first, later)
    assert on(after(25, replace(given, events=(cordon,)), Plain()), "late") == [""]


# -- shares of GPUs ----------------------------------------------------------------------------


def test_a_share_is_free_again_when_its_job_ends() -> None:
    there = worker("first", 1, 1, shape=part(1000), on=["a"])
    role = there.roles[0].changed(pods=(pod(0, "a", devices=("gpu-0",)),))
    used = gpus("a", Device("gpu-0", 0, GpuUsage(1000)))
    state = ClusterState(
        at(0),
        (replace(used, used=used.used + Resources.parse({"cpu": 1, "pods": 1})),),
        (replace(there, roles=(role,)), worker("second", 1, 1, shape=part(1000))),
    )
    result = simulate(from_state(state, Limits(), lambda _job: length(50)), FAIR, until=3600)
    assert running(result, "second") == 55


def test_a_share_of_a_pod_that_names_no_gpu_is_free_again_when_its_job_ends() -> None:
    there = worker("first", 1, 1, shape=part(600), on=["a"])
    state = ClusterState(
        at(0),
        (gpus("a", Device("", 0, GpuUsage(600))),),
        (there, worker("second", 1, 1, shape=part(600))),
    )
    result = simulate(from_state(state, Limits(), lambda _job: length(50)), FAIR, until=3600)
    assert running(result, "second") == 55


def test_shares_of_others_stay_in_the_way() -> None:
    given = world(
        gpus("a", Device("gpu-0", 0, GpuUsage(500)), Device()), of_one("train", part(600), 2)
    )
    assert simulate(given, Plain(), until=3600).jobs[0].track.ended is None
    given = world(gpus("a", Device(), Device()), of_one("train", part(600), 2))
    assert simulate(given, FAIR, until=3600).jobs[0].track.ended == 50


@pytest.mark.parametrize(("model", "nodes"), [("T4", ["b"]), ("", ["a"])])
def test_a_share_goes_to_its_model_of_gpu(model: str, nodes: list[str]) -> None:
    a = gpus("a", Device(), **{"nvidia.com/gpu.product": "A100"})
    b = gpus("b", Device(), **{"nvidia.com/gpu.product": "T4"})
    assert on(after(20, world(a, b, of_one("train", part(500, model=model))), Plain())) == nodes


def test_a_pod_that_is_told_to_end_is_seen_leaving_its_gpu() -> None:
    web = Service("web", part(500), ((0.0, 1), (10.0, 0)), shut_down=20)
    seen = []
    for seconds in (5, 15, 35):
        (found,) = after(seconds, world(gpus("a", Device()), web)).nodes[0].devices
        seen.append((found.used.compute, found.releasing.compute))
    assert seen == [(500, 0), (500, 500), (0, 0)]


# -- laws --------------------------------------------------------------------------------------

_NAMES = ("red", "blue")
_TERMS = st.builds(
    PodAffinityTerm, st.sampled_from([HOST, ZONE]), st.sampled_from([*map(app, _NAMES)])
)
_SPREADS = st.builds(
    TopologySpread,
    st.sampled_from([HOST, ZONE]),
    st.sampled_from([*map(app, _NAMES)]),
    st.integers(1, 2),
)
_PORTS = st.just((HostPort("TCP", 80, "10.0.0.1"),))
_RULES: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.fixed_dictionaries({"anti_affinity": st.tuples(_TERMS)}),
    st.fixed_dictionaries({"spread": st.tuples(_SPREADS)}),
    st.fixed_dictionaries({"affinity": st.tuples(_TERMS)}),
    st.fixed_dictionaries({"ports": _PORTS}),
    st.just({}),
)
_RULED = st.builds(lambda name, rules: ruled(name, **rules), st.sampled_from(_NAMES), _RULES)
_PARTS = st.builds(
    part, st.sampled_from([300, 500, 600, 1000, 2000]), st.sampled_from([0, GIB, 6 * GIB])
)
_WORK = st.sampled_from([20.0, 60.0, 300.0])
_SLOW = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@st.composite
def jobs_of(draw: st.DrawFn, shapes: st.SearchStrategy[Shape]) -> list[Training]:
    return [
        Training(
            queued(
                f"job-{number}",
                Workload("pytorch"),
                [WorkloadRole("worker", low := draw(st.integers(1, 2)), low + 2, draw(shapes))],
                priority=draw(st.sampled_from([0, 0, 5])),
            ),
            Work(draw(_WORK), CONSTANT),
            at=draw(st.sampled_from([0.0, 10.0, 33.0])),
            shut_down=draw(st.sampled_from([0.0, 7.0])),
        )
        for number in range(draw(st.integers(2, 4)))
    ]


def every_instant(given: Scenario, control_mode: Elastic | Plain) -> list[ClusterState]:
    simulation = Simulation(given, control_mode, Watcher())
    found = []
    while simulation.next <= timedelta(hours=1).total_seconds():
        simulation.run(simulation.next)
        found.append(simulation.state())
    return found


@pytest.mark.laws
@given(jobs_of(_RULED), st.lists(st.sampled_from("ab"), min_size=2, max_size=4), MANNERS)
@_SLOW
def test_pods_are_bound_only_where_the_scheduler_would_let_them(
    given: list[Training], zones: list[str], control_mode: Elastic | Plain
) -> None:
    """Those that one instant binds came one after another, in some order."""
    hosts = [host(f"node-{number}", zone=zone) for number, zone in enumerate(zones)]
    before: set[tuple[str, str]] = set()
    for state in every_instant(world(*hosts, *given, settings=PROMPT), control_mode):
        there = _there(state)
        scheduler = ReferenceScheduler(
            state.nodes, [one for name, (one, _) in there.items() if name in before]
        )
        new = [found for name, found in there.items() if name not in before]
        assert _one_after_another(scheduler, new)
        before = set(there)


def _there(state: ClusterState) -> dict[tuple[str, str], tuple[Placed, Shape]]:
    nodes = {one.name: one for one in state.nodes}
    return {
        (role.job, pod.name): (
            Placed(nodes[pod.node], role.template.shape.constraints, leaving=pod.terminating),
            role.template.shape,
        )
        for job in state.jobs
        for role in job.roles
        for pod in role.status.pods
        if pod.node and not pod.ended and role.template.shape.constraints
    }


def _one_after_another(scheduler: ReferenceScheduler, new: list[tuple[Placed, Shape]]) -> bool:
    """Whether each comes where it may at its turn; which turn it has is not seen from outside."""
    if not new:
        return True
    for place, (one, wanted) in enumerate(new):
        if scheduler.allows(wanted, one.node):
            rest = [*new[:place], *new[place + 1 :]]
            if _one_after_another(
                ReferenceScheduler(scheduler.nodes, [*scheduler.pods, one]), rest
            ):
                return True
    return False


@pytest.mark.laws
@given(jobs_of(_PARTS), st.lists(st.integers(1, 3), min_size=1, max_size=2), MANNERS)
@_SLOW
def test_no_gpu_is_overcommitted_and_its_use_is_what_its_pods_hold(
    given: list[Training], counts: list[int], control_mode: Elastic | Plain
) -> None:
    memory = 8 * GIB
    nodes = [
        gpus(f"node-{number}", *[Device(memory=memory)] * count)
        for number, count in enumerate(counts)
    ]
    for state in every_instant(world(*nodes, *given, settings=PROMPT), control_mode):
        assert _without_their_gpus(state) == []
        for one in state.nodes:
            for device in one.devices:
                held = _held(state, one.name, device)
                assert device.used == held
                assert held.compute <= 1000
                assert held.memory <= memory


def _held(state: ClusterState, name: str, device: Device) -> GpuUsage:
    found = GpuUsage()
    for job in state.jobs:
        for role in job.roles:
            share = role.template.shape.share
            assert share is not None
            for one in role.status.pods:
                if one.node == name and not one.ended and device.uuid in one.devices:
                    whole = share.compute > 1000
                    memory = share.memory or share.compute * device.memory // 1000
                    own = (1000, device.memory) if whole else (share.compute, memory)
                    found = found.plus(GpuUsage(*own))
    return found


def _without_their_gpus(state: ClusterState) -> list[str]:
    """Pods on nodes that do not have as many GPUs as they ask for a part of."""
    return [
        one.name
        for job in state.jobs
        for role in job.roles
        for one in role.status.pods
        if role.template.shape.share
        and one.node
        and len(one.devices) != role.template.shape.share.gpus
    ]
