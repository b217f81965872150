"""Spread, pod affinity, pod anti-affinity and host ports bind the planner as they bind pods."""

from collections import Counter
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from edl import reasons
from edl.feasibility.constraints import ConstraintCount, ConstraintState, DomainIndex
from edl.feasibility.eligibility import Eligibility, Ints
from edl.feasibility.horizon import IDLE
from edl.feasibility.topology_state import TopologyState
from edl.model import (
    ClusterState,
    ForeignPods,
    HostPort,
    Node,
    PodAffinityTerm,
    PodConstraints,
    PodPhase,
    Requirement,
    Selector,
    Shape,
    Taint,
    TopologySpread,
    TrainingJob,
)
from edl.planner.decide import allocate
from edl.planner.decision_limits import Limits
from edl.planner.gangs.gang import gang_to_start
from edl.planner.packing.node_capacity import NO_NODE
from edl.planner.packing.pack_order import reserve_idle
from edl.planner.pass_results import PassResults
from edl.planner.passes.growth import GrowthCeiling
from edl.planner.policies import POLICIES
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.take_snapshot import take_snapshot
from edl.quantities import Resources
from tests.edl.planner.bytecode_count import instructions
from tests.edl.planner.plans import ALL, plan_for, sizes, started, told, wait_reasons
from tests.edl.planner.reference_scheduler import Placed, ReferenceScheduler
from tests.edl.planner.states import (
    busy,
    cluster,
    demand,
    job,
    node,
    pod,
    role,
    room,
    shape,
    worker,
)
from tests.edl.reached import Reached, drawn

ZONE, HOST = "zone", "host"


def app(name: str, namespaces: tuple[str, ...] | None = ("ns",)) -> Selector:
    return Selector(namespaces, (Requirement("app", "In", (name,)),))


def rules(name: str = "train", **fields: object) -> PodConstraints:
    return replace(PodConstraints("ns", (("app", name),)), **fields)  # type: ignore[arg-type]


def ruled(name: str = "train", cpu: float = 1, **fields: object) -> Shape:
    return shape(cpu, constraints=rules(name, **fields))


def hosts(*zones: str, cpu: float = 8) -> list[Node]:
    return [
        node(f"node-{number}", cpu, labels={ZONE: zone, HOST: f"node-{number}"})
        for number, zone in enumerate(zones)
    ]


ALONE: dict[str, Any] = {"anti_affinity": (PodAffinityTerm(HOST, app("train")),)}
EVENLY: dict[str, Any] = {"spread": (TopologySpread(ZONE, app("train"), 1),)}
TOGETHER: dict[str, Any] = {"affinity": (PodAffinityTerm(ZONE, app("train")),)}


def test_one_worker_a_node_starts_only_with_as_many_nodes() -> None:
    wanted = worker("train", 3, 3, shape=ruled(**ALONE))
    assert started(plan_for(cluster(*hosts("a", "a"), wanted))) == {}
    assert started(plan_for(cluster(*hosts("a", "a", "b"), wanted))) == {"train": {"worker": 3}}


def test_one_worker_a_node_grows_to_the_number_of_nodes() -> None:
    running = worker("train", 1, 9, shape=ruled(**ALONE), on=["node-0"])
    assert sizes(plan_for(cluster(*hosts(*"aaaa"), running))) == {"train": 4}


def test_rules_bind_also_pods_that_request_nothing() -> None:
    def alone(name: str, pods: int) -> TrainingJob:
        rule = rules(name, anti_affinity=(PodAffinityTerm(HOST, app(name)),))
        return worker(name, pods, pods, shape=Shape(Resources(), constraints=rule))

    plan = plan_for(cluster(*hosts("a", "a"), alone("one", 3), alone("two", 2)))
    assert started(plan) == {"two": {"worker": 2}}


def test_two_jobs_with_one_worker_a_node_share_nodes() -> None:
    first = worker(
        "one", 2, 2, shape=ruled("one", anti_affinity=(PodAffinityTerm(HOST, app("one")),))
    )
    second = worker(
        "two", 2, 2, shape=ruled("two", anti_affinity=(PodAffinityTerm(HOST, app("two")),))
    )
    found = started(plan_for(cluster(*hosts("a", "b"), first, second)))
    assert found == {"one": {"worker": 2}, "two": {"worker": 2}}


def test_foreign_pods_block_a_job_that_avoids_them_until_they_are_gone() -> None:
    wanted = worker("train", 1, 1, shape=ruled(anti_affinity=(PodAffinityTerm(ZONE, app("web")),)))
    web = ForeignPods("node-0", rules("web"), 1)
    state = cluster(*hosts("a"), wanted)
    assert started(plan_for(replace(state, foreign_pods=(web,)))) == {}
    leaving = replace(state, foreign_pods=(replace(web, terminating=1),))
    assert "to terminate" in told(plan_for(leaving))["train"]
    elsewhere = cluster(*hosts("a", "b"), wanted)
    assert started(plan_for(replace(elsewhere, foreign_pods=(web,)))) == {"train": {"worker": 1}}


def test_foreign_pods_that_avoid_a_job_block_it() -> None:
    wanted = worker("train", 1, 1, shape=shape(1, constraints=rules()))
    web = ForeignPods(
        "node-0", rules("web", anti_affinity=(PodAffinityTerm(HOST, app("train")),)), 1
    )
    assert started(plan_for(replace(cluster(*hosts("a"), wanted), foreign_pods=(web,)))) == {}


def test_a_replica_that_rules_forbid_where_it_runs_stays_when_no_other_role_can_use_its_room() -> (
    None
):
    """A node that others filled: the web's rule came later than the pods that it forbids."""
    not_red = Selector(("ns",), (Requirement("app", "NotIn", ("red",)),))
    web = ForeignPods("node-0", rules("red", anti_affinity=(PodAffinityTerm(ZONE, not_red),)), 1)
    red, blue = shape(1, constraints=rules("red")), shape(1, constraints=rules("blue"))
    state = cluster(
        *hosts("a", cpu=1),
        node("node-1", 2),
        worker("first", 1, 5, shape=red, on=["node-0"] * 2),
        worker("forbidden", 1, 5, shape=blue, on=["node-0"] * 3 + ["node-1"]),
        worker("waits", 1, 5, shape=red),
        worker("last", 1, 5, shape=red, on=["node-0"]),
    )
    plan = plan_for(replace(state, foreign_pods=(web,)))
    assert started(plan) == {"waits": {"worker": 1}}
    assert sizes(plan) == {}


def test_a_replica_yields_its_zone_to_a_pod_that_may_not_be_beside_it() -> None:
    running = worker("train", 1, 2, shape=ruled(), on=["node-0", "node-1"])
    web = demand(
        "web",
        shape(1, constraints=rules("web", anti_affinity=(PodAffinityTerm(ZONE, app("train")),))),
    )
    assert sizes(plan_for(cluster(*hosts("a", "b"), running, web))) == {"train": 1}


def test_workers_spread_evenly_over_zones() -> None:
    wanted = worker("train", 1, 9, shape=ruled(**EVENLY))
    one_each = [*hosts("a", cpu=8), *(replace(n, name="x") for n in hosts("b", cpu=2))]
    assert started(plan_for(cluster(*one_each, wanted))) == {"train": {"worker": 5}}


def test_an_empty_label_is_a_domain_of_a_spread() -> None:
    wanted = worker("train", 2, 2, shape=ruled(**EVENLY))
    assert started(plan_for(cluster(*hosts("", "a", cpu=1), wanted))) == {"train": {"worker": 2}}


def test_a_zone_that_is_full_holds_the_others_back() -> None:
    wanted = worker("train", 4, 4, shape=ruled(**EVENLY))
    nodes = [*hosts("a", cpu=8), *(replace(n, name="x") for n in hosts("b", cpu=1))]
    assert started(plan_for(cluster(*nodes, wanted))) == {}


def test_a_company_goes_where_all_of_it_fits() -> None:
    wanted = worker("train", 4, 4, shape=ruled(**TOGETHER))
    nodes = [*hosts("a", "a", cpu=1), *(replace(n, name="x") for n in hosts("b", cpu=4))]
    assert started(plan_for(cluster(*nodes, wanted))) == {"train": {"worker": 4}}


def test_roles_that_avoid_each_other_start_on_the_nodes_of_the_plan() -> None:
    """The scheduler would put a server on each node, and leave none to the chief."""
    servers = role("ps", 2, 2, shape=ruled("ps"))
    away = ruled("chief", cpu=2, anti_affinity=(PodAffinityTerm(HOST, app("ps")),))
    mnist = job("mnist", servers, role("chief", shape=away))
    (admission,) = plan_for(cluster(*hosts("a", "a"), mnist)).admissions
    nodes = dict(admission.nodes)
    assert nodes["ps"] == (nodes["ps"][0],) * 2
    assert {*nodes["ps"]}.isdisjoint(nodes["chief"])


def test_a_role_with_affinity_is_placed_after_the_role_it_follows() -> None:
    ps = role("ps", shape=ruled("ps", cpu=1))
    near = role(
        "worker", 2, 2, shape=ruled("worker", cpu=3, affinity=(PodAffinityTerm(HOST, app("ps")),))
    )
    found = started(plan_for(cluster(*hosts("a", "a", cpu=7), job("train", near, ps))))
    assert found == {"train": {"worker": 2, "ps": 1}}


def test_only_the_first_pod_with_affinity_to_itself_may_join_a_terminating_pod() -> None:
    leaving = ForeignPods("node-1", rules("train"), 1, terminating=1)
    first = worker("train", 1, 1, shape=ruled(**TOGETHER))
    state = replace(cluster(*hosts("a", "b"), first), foreign_pods=(leaving,))
    assert started(plan_for(state)) == {"train": {"worker": 1}}
    follower = worker("web", 1, 1, shape=ruled("web", **TOGETHER))
    state = replace(cluster(*hosts("a", "b"), follower), foreign_pods=(leaving,))
    assert started(plan_for(state)) == {}


def test_a_port_of_the_node_is_there_once() -> None:
    port = HostPort("TCP", 2222, "0.0.0.0")  # noqa: S104 - of a manifest
    wanted = worker("train", 1, 9, shape=ruled(ports=(port,)), on=["node-0"])
    exporter = ForeignPods("node-1", rules("web", ports=(port._replace(address="10.0.0.1"),)), 1)
    state = replace(cluster(*hosts(*"aaa"), wanted), foreign_pods=(exporter,))
    assert sizes(plan_for(state)) == {"train": 2}
    other = replace(exporter, constraints=rules("web", ports=(port._replace(protocol="UDP"),)))
    assert sizes(plan_for(replace(state, foreign_pods=(other,)))) == {"train": 3}


def test_no_job_shrinks_for_a_pod_with_constraints_against_every_node() -> None:
    running = worker("train", 1, 8, on=["node-0"] * 8)
    web = demand(
        "web",
        shape(1, constraints=rules("web", anti_affinity=(PodAffinityTerm(ZONE, app("web")),))),
    )
    there = ForeignPods("node-0", rules("web"), 1)
    state = replace(cluster(*hosts("a"), running, web), foreign_pods=(there,))
    assert sizes(plan_for(state)) == {}
    assert sizes(plan_for(replace(state, foreign_pods=()))) == {"train": 7}


# -- laws ------------------------------------------------------------------------------------------

_NAMES = ("red", "blue")
_ADDRESSES = ("0.0.0.0", "10.0.0.1", "10.0.0.2")  # noqa: S104 - of manifests


@cache
def selectors() -> st.SearchStrategy[Selector]:
    one = st.sampled_from(
        [*map(app, _NAMES), Selector(("ns",)), app("red", None), app("red", ("x",))]
    )
    missing = Selector(("ns",), (Requirement("app", "NotIn", ("red",)),))
    return st.one_of(one, st.just(missing))


@cache
def terms() -> st.SearchStrategy[tuple[PodAffinityTerm, ...]]:
    one = st.builds(PodAffinityTerm, st.sampled_from([ZONE, HOST, "rack"]), selectors())
    return st.lists(one, max_size=2).map(tuple)


@cache
def spreads() -> st.SearchStrategy[tuple[TopologySpread, ...]]:
    one = st.builds(
        TopologySpread,
        st.sampled_from([ZONE, HOST]),
        st.one_of(st.none(), *map(st.just, map(app, _NAMES))),
        st.integers(1, 2),
        st.sampled_from([1, 1, 3]),
        st.booleans(),
        st.booleans(),
    )
    return st.lists(one, max_size=2).map(tuple)


@cache
def any_rules() -> st.SearchStrategy[PodConstraints]:
    ports = st.builds(
        HostPort, st.sampled_from(["TCP", "UDP"]), st.just(80), st.sampled_from(_ADDRESSES)
    )
    few = st.sampled_from(range(4))
    return st.builds(
        lambda name, kind, spread, near, apart, port: rules(
            name,
            spread=spread if kind == 0 else (),
            affinity=near if kind == 1 else (),
            anti_affinity=apart if kind == 2 else (),
            ports=port if kind == 3 else (),
        ),
        st.sampled_from(_NAMES),
        few,
        spreads(),
        terms(),
        terms(),
        st.lists(ports, max_size=1).map(tuple),
    )


@st.composite
def schedulers(draw: st.DrawFn) -> ReferenceScheduler:
    labels = st.fixed_dictionaries(
        {HOST: st.just("")},
        optional={ZONE: st.sampled_from(["a", "b", ""]), "rack": st.sampled_from("rs")},
    )
    tainted = st.sampled_from([(), (), (Taint("gpu", "", "NoSchedule"),)])
    nodes = []
    for number in range(draw(st.integers(1, 5))):
        given_labels = draw(labels) | {HOST: f"node-{number}"}
        nodes.append(
            node(
                f"node-{number}", draw(st.integers(1, 4)), labels=given_labels, taints=draw(tainted)
            )
        )
    on = st.builds(Placed, st.sampled_from(nodes), any_rules(), st.booleans())
    return ReferenceScheduler(tuple(nodes), draw(st.lists(on, max_size=6)))


def state_of(scheduler: ReferenceScheduler, *jobs: object) -> ClusterState:
    """Its pods as neighbours, who take no room."""
    counts = Counter((one.node.name, one.rules, one.leaving) for one in scheduler.pods)
    found = tuple(
        ForeignPods(name, found, pods, pods * leaving)
        for (name, found, leaving), pods in counts.items()
    )
    return replace(cluster(*scheduler.nodes, *jobs), foreign_pods=found)  # type: ignore[arg-type]


def board_of(state: ClusterState) -> Snapshot:
    return take_snapshot(state, POLICIES["fair"], ALL)


@pytest.mark.laws
@settings(max_examples=150, deadline=None)
@given(schedulers(), any_rules(), st.sampled_from([(), (("zone", "a"),)]))
def test_pods_are_placed_exactly_where_the_scheduler_would_let_them(
    scheduler: ReferenceScheduler, found: PodConstraints, selector: tuple[tuple[str, str], ...]
) -> None:
    wanted = shape(1, constraints=found, node_selector=selector)
    snapshot = board_of(state_of(scheduler, worker("train", 1, 1, shape=wanted)))
    pod_class = snapshot.pod_class(wanted)
    room = Counter({one.name: one.allocatable.get("cpu") // 1000 for one in scheduler.nodes})
    for _ in range(9):
        # Nobody is placed where only those who leave make it a place.
        later = ReferenceScheduler(
            scheduler.nodes, [one for one in scheduler.pods if not one.leaving]
        )
        allowed = {
            one.name
            for number, one in enumerate(scheduler.nodes)
            if room[one.name]
            and pod_class.eligible[number]
            and scheduler.allows(wanted, one)
            and later.allows(wanted, one)
        }
        nodes = pod_class.idle.reserve_pods(1)
        assert {scheduler.nodes[at].name for at in nodes} <= allowed
        assert bool(nodes) == bool(allowed), "a single pod is placed if there is a place"
        if not nodes:
            return
        room[scheduler.nodes[nodes[0]].name] -= 1
        scheduler.pods.append(Placed(scheduler.nodes[nodes[0]], found))


@pytest.mark.laws
@drawn(
    80,
    scheduler=schedulers(),
    both=st.lists(any_rules(), min_size=2, max_size=2),
    pods=st.integers(2, 8),
)
def test_what_is_undone_leaves_no_trace(
    reached: Reached, scheduler: ReferenceScheduler, both: list[PodConstraints], pods: int
) -> None:
    shapes = [shape(1, constraints=found) for found in both]
    all_roles = job(
        "train", *(role(f"role-{n}", pods, pods, shape=s) for n, s in enumerate(shapes))
    )
    snapshot = board_of(state_of(scheduler, all_roles))
    found = gang_to_start(snapshot, snapshot.jobs[0])
    before = counted(snapshot)
    fails = reserve_idle(found.requests) is None
    reached(fails)
    if fails:
        assert counted(snapshot) == before
        assert reserve_idle(found.requests) is None


def counted(snapshot: Snapshot) -> list[tuple[object, ...]]:
    topology = snapshot.capacity.topology
    assert topology is not None
    return [
        (sorted(one.pods.items()), sorted(one.future_pods.items()))
        for one in topology._counts.values()  # noqa: SLF001
    ]


@pytest.mark.laws
@settings(max_examples=80, deadline=None)
@given(schedulers(), st.lists(any_rules(), min_size=1, max_size=3), st.data())
def test_after_a_plan_every_pod_is_counted_on_its_node(
    scheduler: ReferenceScheduler, kinds: list[PodConstraints], data: st.DataObject
) -> None:
    jobs = []
    names = [one.name for one in scheduler.nodes]
    for number, found in enumerate(kinds):
        # Of who waits, room is kept that nobody sits on.
        on = data.draw(st.lists(st.sampled_from(names), min_size=1, max_size=4))
        one = worker(f"job-{number}", 1, 5, shape=shape(1, constraints=found), on=on)
        jobs.append(one)
    state = state_of(scheduler, *jobs)
    snapshot = board_of(state)
    allocate(snapshot, PassResults(), GrowthCeiling(snapshot))
    fresh = [
        (scheduler.nodes[one.node], found.pod_class.shape)
        for found in snapshot.allocations
        for one in found.placements
        if one.node != NO_NODE
    ]
    expected = ReferenceScheduler(scheduler.nodes, list(scheduler.pods))
    expected.pods += [Placed(on, found.constraints) for on, found in fresh if found.constraints]
    assert soon(snapshot) == soon(board_of(_standing(expected, state)))


def soon(snapshot: Snapshot) -> list[list[tuple[int, int]]]:
    topology = snapshot.capacity.topology
    assert topology is not None
    return [sorted(one.future_pods.items()) for one in topology._counts.values()]  # noqa: SLF001


def _standing(scheduler: ReferenceScheduler, state: ClusterState) -> ClusterState:
    """The same jobs without pods, and everybody as a neighbour."""
    jobs = tuple(
        replace(one, roles=tuple(part.changed(pods=(), suspended=True) for part in one.roles))
        for one in state.jobs
    )
    return replace(state_of(scheduler), jobs=jobs, nodes=state.nodes)


def test_pods_that_terminate_hold_their_place_until_they_are_gone() -> None:
    gone = pod(1, "node-1", terminating=True)
    held_back = worker("train", 2, 2, shape=ruled(**ALONE), on=["node-0"])
    part = held_back.roles[0].changed(size=2, pods=(*held_back.roles[0].status.pods, gone))
    state = cluster(*hosts("a", "a"), replace(held_back, roles=(part,)))
    pod_class = board_of(state).pod_class(part.template.shape)
    assert (pod_class.idle.find(), pod_class.future_idle.find()) == (NO_NODE, 1)


PLANE = Taint("node-role.kubernetes.io/control-plane", "", "NoSchedule")


@pytest.mark.parametrize("counts", [True, False])
def test_a_zone_that_its_pods_do_not_tolerate_is_a_domain_of_a_spread_unless_taints_count(
    *, counts: bool
) -> None:
    here, there = hosts("a", "b")
    spread = TopologySpread(ZONE, app("train"), 1, by_taints=counts)
    wanted = worker("train", 3, 3, shape=ruled(spread=(spread,)))
    tainted = replace(there, taints=(PLANE,))
    assert bool(started(plan_for(cluster(here, tainted, wanted)))) is counts


@pytest.mark.parametrize("counts", [True, False])
def test_a_zone_that_its_pods_do_not_select_is_a_domain_of_a_spread_unless_affinity_counts(
    *, counts: bool
) -> None:
    spread = TopologySpread(ZONE, app("train"), 1, by_affinity=counts)
    selecting = replace(ruled(spread=(spread,)), node_selector=((ZONE, "a"),))
    wanted = worker("train", 3, 3, shape=selecting)
    assert bool(started(plan_for(cluster(*hosts("a", "b"), wanted)))) is counts


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ({"spread": (TopologySpread(HOST, app("train"), 1),)}, "topology spread rules: needs 4 x"),
        ({"affinity": (PodAffinityTerm(ZONE, app("cache")),)}, "no pod with app=cache, which"),
    ],
    ids=["spread", "affinity"],
)
def test_a_gang_with_unsatisfiable_constraints_blocks_no_job(
    rules: dict[str, Any], said: str
) -> None:
    """Spread counts a node that its pods may not use; or nobody is there to be near."""
    tainted = replace(hosts("a")[0], name="plane", labels={HOST: "plane", ZONE: "a"})
    nodes = (*hosts("a", "a", cpu=16), replace(tainted, taints=(PLANE,)))
    bad = worker("bad", 4, 4, shape=ruled(**rules), queued=-3600)
    plan = plan_for(cluster(*nodes, bad, worker("good", 1, 1, queued=-10)), Limits())
    assert list(started(plan)) == ["good"]
    assert said in told(plan)["bad"]


def test_pods_that_have_ended_hold_no_room_that_a_gang_could_wait_for() -> None:
    """Spread over two hosts, of which other owners' pods leave one too little for ever."""
    one, two = hosts("a", "a")
    over = worker("over", 1, 1, suspended=False, size=1, shape=shape(4),
                  pods=(pod(0, two.name, phase=PodPhase.SUCCEEDED),))  # fmt: skip
    bad = worker("bad", 2, 2, shape=ruled(cpu=4, spread=(TopologySpread(HOST, app("train"), 1),)))
    state = cluster(one, busy(two, room(6)), over, bad, worker("good", 1, 1, queued=-10))
    assert "good" in started(plan_for(state, Limits()))


def test_a_gang_that_avoids_pods_that_terminate_becomes_a_queue_head() -> None:
    (host,) = hosts("a", cpu=8)
    used = replace(host, used=room(2), releasing=room(2))
    alone = ruled(cpu=7, anti_affinity=(PodAffinityTerm(HOST, app("web")),))
    head, last = worker("head", 1, 1, shape=alone), worker("last", 1, 1, queued=-10)
    state = cluster(used, worker("over", 4, 4, on=[host.name] * 4, priority=1), head, last)
    web = ForeignPods(host.name, rules("web"), 1, terminating=1)
    plan = plan_for(replace(state, foreign_pods=(web,)), Limits())
    assert wait_reasons(plan)["last"] == reasons.goes_first(head.key)


def test_the_first_of_those_that_look_for_each_other_waits_until_one_elsewhere_is_gone() -> None:
    first, second = hosts("a", "b")
    leaving = ForeignPods(first.name, rules(), 1, terminating=1)
    state = cluster(busy(first, room(8)), second, worker("train", 1, 1, shape=ruled(**TOGETHER)))
    assert started(plan_for(state)) == {"train": {"worker": 1}}
    assert started(plan_for(replace(state, foreign_pods=(leaving,)))) == {}


def test_a_gang_is_preempted_only_once_foreign_pods_in_the_way_terminate() -> None:
    alone = ruled(cpu=8, anti_affinity=(PodAffinityTerm(HOST, app("web")),))
    urgent = worker("train", 1, 1, shape=alone, priority=1)
    state = cluster(*hosts("a"), worker("over", 1, 1, on=["node-0"]), urgent)
    web = ForeignPods("node-0", rules("web"), 1)
    for found, gone in ((web, []), (replace(web, terminating=1), ["over"])):
        plan = plan_for(replace(state, foreign_pods=(found,)), Limits(preempt=True))
        assert [one.job.name for one in plan.suspensions] == gone


def test_the_anti_affinity_of_an_ended_pod_has_no_effect() -> None:
    ended = pod(0, "node-0", phase=PodPhase.SUCCEEDED)
    over = worker("over", 1, 1, suspended=False, size=1, shape=ruled(), pods=(ended,))
    wanted = worker("train", 1, 1, shape=ruled(**ALONE))
    assert started(plan_for(cluster(*hosts("a"), over, wanted))) == {"train": {"worker": 1}}
    running = replace(over, roles=(over.roles[0].changed(pods=(pod(0, "node-0"),)),))
    assert started(plan_for(cluster(*hosts("a"), running, wanted))) == {}


def test_a_pod_with_affinity_to_a_second_app_cannot_be_the_first() -> None:
    both = (PodAffinityTerm(ZONE, app("train")), PodAffinityTerm(ZONE, app("cache")))
    wanted = worker("train", 1, 1, shape=ruled(affinity=both))
    assert started(plan_for(cluster(*hosts("a"), wanted))) == {}


def registered(rules: PodConstraints, nodes: list[Node]) -> ConstraintState | None:
    made = shape(constraints=rules)
    topology = TopologyState(nodes, Eligibility(nodes), [rules])
    topology.register([made])
    return topology.constraints_of(made)


def test_domains_of_labels_that_no_node_has_are_one() -> None:
    nodes = [node("a", labels={ZONE: "x"}), node("b", labels={ZONE: "y"})]
    keys = (ZONE, *(f"k{number}" for number in range(50)))
    terms = tuple(PodAffinityTerm(key, app("web")) for key in keys)
    rules = PodConstraints("ns", (), affinity=terms, anti_affinity=terms)
    found = registered(rules, nodes)
    assert found is not None
    assert found.affinity is not None
    assert [count.domains.of for count in found.anti_affinity] == [[0, 1]]
    assert len({id(count.domains) for count in found.affinity.counts}) == 2


def spread_over(labels: int, *, absent: bool = False) -> int:
    """The work for a pod that spreads over so many labels of nodes."""
    keys = [f"k{number}" for number in range(labels)]
    nodes = [node(name, labels=dict.fromkeys(keys, name)) for name in ("a", "b", "c", "d")]
    rules = tuple(TopologySpread(key, app("web"), 1) for key in [*keys, *["none"] * absent])
    return instructions(partial(registered, PodConstraints("ns", (), spread=rules), nodes))


def test_the_work_for_spread_constraints_grows_with_their_number() -> None:
    assert spread_over(40) < 2.5 * spread_over(20)
    assert spread_over(40, absent=True) < 0.8 * spread_over(40)


def test_bound_pods_that_keep_a_pod_away_by_one_label_are_one_count() -> None:
    """Each of them may have a selector of its own."""
    nodes = [node(name, labels={ZONE: name}) for name in ("a", "b", "c")]
    excepts = [Selector(None, (Requirement("app", "NotIn", (name,)),)) for name in ("x", "y", "me")]
    terms = [PodAffinityTerm(ZONE, selector) for selector in excepts]
    others = [PodConstraints("lab", (), anti_affinity=(term,)) for term in terms]
    mine = shape(constraints=PodConstraints("ns", (("app", "me"),)))
    topology = TopologyState(nodes, Eligibility(nodes), [mine.constraints or others[0]], others)
    topology.register([mine])
    found = topology.constraints_of(mine)
    assert found is not None
    for place, one in enumerate(others):
        for count in topology.carried(one):
            count.add_existing(place, 1, 0, others=True)
    assert len(found.anti_affinity) == 1
    assert [found.clashes(place, IDLE) for place in range(3)] == [True, True, False]


def test_selectors_that_concern_no_planned_pod_cost_the_others_nothing() -> None:
    def cost(others: int) -> int:
        seen = PodConstraints("lab", (("app", "1"),))
        rules = PodConstraints("ns", (), anti_affinity=(PodAffinityTerm(HOST, app("1", None)),))
        excepts = (Requirement("app", "NotIn", (f"x{number}",)) for number in range(others))
        apart = (PodAffinityTerm(HOST, Selector(None, (one,))) for one in excepts)
        crowd = [PodConstraints("lab", (), anti_affinity=(term,)) for term in apart]
        nodes = [node("a")]
        topology = TopologyState(nodes, Eligibility(nodes), [rules], [seen, *crowd])
        topology.register([shape(constraints=rules)])
        assert len(topology.carried(seen)) == 1
        return instructions(partial(topology.carried, seen))

    assert cost(99) == cost(9)


def spread_indexes(rules: PodConstraints, nodes: list[Node]) -> list[DomainIndex]:
    found = registered(rules, nodes)
    assert found is not None
    return [one.pod_count.domains for one in found.spread]


def test_only_nodes_with_the_labels_of_all_spread_constraints_form_domains() -> None:
    nodes = [node("a", labels={ZONE: "x", HOST: "a"}), node("b", labels={ZONE: "y"})]
    spread = tuple(TopologySpread(key, app("web"), 1) for key in (ZONE, HOST))
    rules = PodConstraints("ns", (), spread=spread)
    assert [(one.of, one.size) for one in spread_indexes(rules, nodes)] == [([0, -1], 1)] * 2


def test_where_no_node_is_excluded_spread_constraints_of_all_pods_share_an_index() -> None:
    nodes = [node(name, labels={ZONE: name, HOST: name}) for name in ("a", "b")]
    term = PodAffinityTerm(ZONE, app("web"))
    spread = tuple(TopologySpread(key, app("web"), 1) for key in (ZONE, HOST))
    rules = PodConstraints("ns", (), spread=spread, affinity=(term,))
    found = registered(rules, nodes)
    assert found is not None
    assert found.affinity is not None
    assert found.spread[0].pod_count is found.affinity.counts[0]


@pytest.mark.parametrize("most", [ConstraintState.pods_per_node, ConstraintState.surely])
def test_the_one_pod_of_a_zone_is_counted_on_a_node_that_other_pods_do_not_exclude(
    most: Callable[[ConstraintState, Ints], Ints],
) -> None:
    zone, host = (DomainIndex(of, np.array(of), len(set(of))) for of in ([0, 0], [0, 1]))
    own, others = ConstraintCount(zone), ConstraintCount(host)
    others.add_existing(0, 1, 0, others=True)
    rules = ConstraintState([own, others], carried=[own])
    assert most(rules, np.array([3, 2])).tolist() == [0, 1]
