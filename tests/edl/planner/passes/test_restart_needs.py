"""A job restarts for a new size only if all of its pods have places then."""

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from edl import reasons
from edl.model import (
    ClusterState,
    ForeignPods,
    JobKey,
    Node,
    PodAffinityTerm,
    PodConstraints,
    Quota,
    QuotaCharge,
    Requirement,
    ResizePolicy,
    Selector,
    Shape,
    Taint,
    Toleration,
    Topology,
    TopologySpread,
    TrainingJob,
)
from edl.model.nodes import CORDONED
from edl.planner.decide import allocate
from edl.planner.decision_limits import Autoscaler, GrowthMode
from edl.planner.pass_results import PassResults
from edl.planner.passes.growth import GrowthCeiling
from edl.planner.plan import Plan
from edl.planner.policies import POLICIES
from edl.planner.snapshot.restarts.restraints import (
    NO_RESTRAINTS,
    Restraints,
    StoppedForGood,
)
from edl.planner.snapshot.take_snapshot import take_snapshot
from tests.edl.planner.acting import act, quiet
from tests.edl.planner.plans import ALL, plan_for, sizes, started, told, wait_reasons
from tests.edl.planner.states import (
    at,
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

CORDON: dict[str, Any] = {"cordoned": True, "taints": (Taint(CORDONED, "", "NoSchedule"),)}
IN_A: dict[str, Any] = {"node_selector": (("zone", "a"),)}
COUNTED: dict[str, Any] = {"charges": (QuotaCharge("q", "pods", 1),)}
PATIENT = replace(ALL, queue_patience=timedelta(minutes=5))


def restarting(*on: str, low: int = 2, high: int = 6, **fields: Any) -> TrainingJob:  # noqa: ANN401
    given: dict[str, Any] = {"resizing": ResizePolicy.RESTART, "queued": -9000} | fields
    return worker("late", low, high, on=on, **given)


def nodes_of(plan: Plan) -> dict[str, tuple[str, ...]]:
    """The nodes on which a role is to start again."""
    return {one.role: one.nodes for one in plan.resizes}


@pytest.mark.parametrize(
    "changed",
    [
        node("n1", 4, **CORDON),
        node("n1", 4, taints=(Taint("new", "", "NoSchedule"),)),
        node("n1", 4, labels={"zone": "b"}),
        node("n1", 4, ready=False),
        node("n1", 1),
    ],
)
@pytest.mark.parametrize("replicas", [None, 3])
def test_growth_needs_places_for_pods_that_their_node_would_not_take_again(
    changed: Node, replicas: int | None
) -> None:
    late = restarting("n1", "n1", shape=shape(1, **IN_A), replicas=replicas)
    zone = {"zone": "a"}
    changed = replace(changed, labels=changed.labels or zone)
    other = node("n3", 4)
    plan = plan_for(cluster(changed, node("n2", 1, labels=zone), other, late))
    assert quiet(plan)
    assert "pods fit" in told(plan)["late"]
    grown = plan_for(cluster(changed, node("n2", 3, labels=zone), other, late))
    assert sizes(grown)["late"] >= 3
    assert "n2" in nodes_of(grown)["worker"]


def test_a_job_whose_nodes_take_its_pods_grows_by_what_is_idle() -> None:
    plan = plan_for(cluster(node("n1", 2), node("n2", 1), restarting("n1", "n1")))
    assert sizes(plan) == {"late": 3}
    assert nodes_of(plan) == {"worker": ("n1", "n1", "n2")}


def test_pods_of_all_roles_need_places() -> None:
    late = job(
        "late", role("ps", 1, 1, on=["n1"]), *restarting("n2", "n2").roles, framework="paddle"
    )
    nodes = (node("n1", 4, **CORDON), node("n2", 3))
    assert quiet(plan_for(cluster(*nodes, late)))
    assert told(plan_for(cluster(*nodes, late)))["late"] == (
        "Insufficient cpu: needs 1 x 1 CPU (ps), 3 x 1 CPU (worker); 3 of 4 pods fit"
    )
    assert sizes(plan_for(cluster(*nodes, node("n3", 1), late))) == {"late": 3}


@pytest.mark.parametrize(
    "claim", [worker("new", 1, 1, queued=-10), demand("web", shape(1))], ids=["job", "pod"]
)
def test_no_claim_takes_an_extra_that_the_minimum_needs(claim: Any) -> None:  # noqa: ANN401
    late = restarting("n1", "n1", "n2")
    assert quiet(plan_for(cluster(node("n1", 4, **CORDON), node("n2", 1), late, claim)))


def test_extras_yield_beside_a_minimum_that_has_places_and_stranded_ones_are_given_up() -> None:
    state = cluster(
        node("n1", 4, **CORDON),
        node("n2", 4),
        restarting("n1", "n2", "n2", "n2", "n2"),
        worker("new", 1, 1, queued=-10),
    )
    plan = plan_for(state)
    assert sizes(plan) == {"late": 3}
    assert nodes_of(plan) == {"worker": ("n2", "n2", "n2")}
    after = act(state, plan, after=timedelta(seconds=5))
    assert started(plan_for(after)) == {"late": {"worker": 3}, "new": {"worker": 1}}


def test_extras_yield_if_the_minimum_finds_idle_capacity_elsewhere() -> None:
    late, new = restarting("n1", "n1", "n2"), worker("new", 1, 1, shape=shape(1, **IN_A))
    nodes = (node("n1", 4, **CORDON), node("n2", 1, labels={"zone": "a"}))
    assert quiet(plan_for(cluster(*nodes, node("n3", 1), late, new)))
    plan = plan_for(cluster(*nodes, node("n3", 2), late, new))
    assert sizes(plan) == {"late": 2}
    assert nodes_of(plan) == {"worker": ("n3", "n3")}


def test_extras_stay_if_another_claim_takes_the_idle_capacity_for_the_minimum() -> None:
    late, new = restarting("n1", "n1", "n2"), worker("new", 1, 1, shape=shape(1, **IN_A))
    nodes = (node("n1", 4, **CORDON), node("n2", 1, labels={"zone": "a"}), node("n3", 2))
    first = worker("first", 2, 2, shape=shape(1, node_selector=(("zone", "b"),)), queued=0)
    state = cluster(*nodes[:2], replace(nodes[2], labels={"zone": "b"}), late, new, first)
    plan = plan_for(state)
    assert (sizes(plan), started(plan)) == ({}, {"first": {"worker": 2}})


def test_a_job_whose_rules_allow_a_start_waits_for_places_if_it_lacks_these() -> None:
    """Another claim takes the idle capacity for its minimum."""
    apart = ruled(anti_affinity=(PodAffinityTerm("host", of_app("other")),))
    zone: dict[str, Any] = {"labels": {"zone": "b"}}
    nodes = (node("n1", 4, **CORDON), node("n2", 1, labels={"zone": "a"}), node("n3", 2, **zone))
    late, new = restarting("n1", "n1", "n2", shape=apart), worker("new", 1, 1, shape=shape(**IN_A))
    first = worker("first", 2, 2, shape=shape(node_selector=(("zone", "b"),)), queued=0)
    plan = plan_for(cluster(*nodes, node("n4", 1), late, new, first))
    assert (sizes(plan), started(plan)) == ({}, {"first": {"worker": 2}})
    assert told(plan)["late"] == "Insufficient cpu: needs 4 x 1 CPU (worker); 2 of 4 pods fit"


def test_a_stranded_extra_leaves_a_node_that_nothing_else_needs() -> None:
    state = cluster(
        node("n1", 2), node("n2", 4, taints=(Taint("gone", "", "NoSchedule"),)),
        restarting("n1", "n1", "n2"),
    )  # fmt: skip
    needed = replace(ALL, growth=GrowthMode.NEEDED_NODES)
    long_ago = state.observed_at - needed.idle_node_after
    plan = plan_for(replace(state, unneeded_since=(("n2", long_ago),)), needed)
    assert sizes(plan) == {"late": 2}


def test_a_pending_extra_stays_beside_a_minimum_that_has_no_places() -> None:
    late = restarting("n1", "n1", "n1")
    (one,) = late.roles
    pods = (*one.status.pods[:2], pod(2, created_at=at(-3600)))
    late = replace(late, roles=(one.changed(pods=pods),))
    stranded, new = node("n1", 4, **CORDON), worker("new", 1, 1, queued=-10)
    assert quiet(plan_for(cluster(stranded, late, new)))
    for nodes in ((node("n1", 2),), (stranded, node("n2", 2))):
        plan = plan_for(cluster(*nodes, late))
        assert plan.resizes[0].reason == reasons.UNSCHEDULABLE
        assert sizes(plan) == {"late": 2}


def test_a_pending_extra_of_a_minimum_that_would_move_stays() -> None:
    late = restarting("n1", "n2", "n2")
    (one,) = late.roles
    pods = (*one.status.pods[:2], pod(2, created_at=at(-3600)))
    late = replace(late, roles=(one.changed(pods=pods),))
    assert quiet(plan_for(cluster(node("n1", 4, **CORDON), node("n2", 1), late)))


def test_a_quota_takes_no_pending_extra_of_a_job_that_could_not_come_back() -> None:
    late = restarting("n1", "n1", "n1", **COUNTED)
    (one,) = late.roles
    pods = (*one.status.pods[:2], pod(2, created_at=at(-10)))
    late = replace(late, roles=(one.changed(pods=pods),))
    state = cluster(node("n1", 4, **CORDON), node("n2", 1), late, worker("new", 1, 1, **COUNTED))
    assert quiet(plan_for(replace(state, quotas=(Quota("ns", "q", "pods", 3, 0),))))


def test_a_manual_size_that_would_stop_it_for_good_waits_and_says_so() -> None:
    late = restarting("n1", "n1", "n1", "n2", replicas=2)
    plan = plan_for(cluster(node("n1", 4, **CORDON), node("n2", 1), late))
    assert quiet(plan)
    assert told(plan)["late"] == "Insufficient cpu: needs 4 x 1 CPU (worker); 1 of 4 pods fit"


def test_a_pod_comes_back_to_its_overcommitted_node_once_the_other_one_has_left() -> None:
    late = restarting("n1", "n1", "n2", low=1, replicas=2)
    plan = plan_for(cluster(node("n1", 1), node("n2", 1), late))
    assert nodes_of(plan) == {"worker": ("n1", "n2")}


def test_it_shares_none_of_its_extras() -> None:
    late = restarting("n1", "n2", "n2", "n2", low=1)
    live = worker("live", 1, 6, on=["n2"])
    assert quiet(plan_for(cluster(node("n1", 4, **CORDON), node("n2", 4), late, live)))
    assert sizes(plan_for(cluster(node("n1", 1), node("n2", 4), late, live))) == {"late": 3}


def test_a_quota_that_has_become_too_small_for_its_minimum_keeps_it_running() -> None:
    charges = (QuotaCharge("q", "pods", 1),)
    late = restarting("n1", "n1", "n1", charges=charges)
    new = replace(worker("new", 1, 1, queued=-10), key=JobKey("other", "new"))
    state = cluster(node("n1", 3), late, new)
    for hard, found in ((1, {}), (2, {"late": 2})):
        assert sizes(plan_for(replace(state, quotas=(Quota("ns", "q", "pods", hard, 0),)))) == found


def test_a_job_whose_nodes_are_no_longer_in_one_domain_keeps_its_size() -> None:
    apart = [node(f"n{rack}", 1, labels={"rack": rack}) for rack in "123"]
    late = restarting("n1", "n2", "n3", topology=Topology(required=(("", "rack"),)))
    assert quiet(plan_for(cluster(*apart, late, worker("new", 1, 1, queued=-10))))


def raised(*on: str, low: int = 6, **fields: Any) -> TrainingJob:  # noqa: ANN401
    return restarting(*on, low=low, high=max(low, 8), **fields)


OLD = worker("old", 4, 4, on=["n1"] * 4)


def test_a_raised_minimum_restarts_a_job_once_all_of_it_fits() -> None:
    plan = plan_for(cluster(node("n1", 8), OLD, raised("n1", "n1")))
    assert quiet(plan)
    assert told(plan)["late"] == ("Insufficient cpu: needs 6 x 1 CPU (worker); 4 of 6 pods fit")
    assert sizes(plan_for(cluster(node("n1", 10), OLD, raised("n1", "n1")))) == {"late": 6}


def test_a_raised_minimum_takes_extras_for_all_of_it_or_none() -> None:
    few, more = worker("el", 2, 4, on=["n1"] * 4), worker("el", 2, 6, on=["n1"] * 6)
    for elastic, found in ((few, {}), (more, {"el": 2})):
        pods = elastic.roles[0].status.size
        state = cluster(node("n1", 2 + pods), elastic, raised("n1", "n1"))
        assert sizes(plan_for(state)) == found


def test_the_minimums_of_all_roles_are_raised_together() -> None:
    for cpu, found in ((9, {}), (10, {"ps": 2, "worker": 4})):
        fields: dict[str, Any] = {"resizing": ResizePolicy.RESTART}
        ps, workers = (
            role("ps", 2, 4, on=["n1"], **fields),
            role("worker", 4, 6, on=["n1"], **fields),
        )
        plan = plan_for(cluster(node("n1", cpu), OLD, job("late", ps, workers)))
        assert {one.role: one.after for one in plan.resizes} == found


@pytest.mark.parametrize("low", [3, 6])
def test_a_raise_waits_until_pods_of_others_have_left(low: int) -> None:
    leaving = replace(busy(node("n1", low), room(1)), releasing=room(1))
    late = raised("n1", "n1", low=low, growth_awaited_since=at(-9000))
    plan = plan_for(cluster(leaving, late))
    assert quiet(plan)
    assert (JobKey("ns", "late"), "worker") in plan.growth_waits


def test_a_raise_takes_idle_places_before_those_that_pods_of_others_have_yet_to_leave() -> None:
    leaving = replace(busy(node("n2", 1), room(1)), releasing=room(1))
    late = restarting("n1", "n1", low=3, high=3)
    plan = plan_for(cluster(node("n1", 2), leaving, node("n3", 2), late))
    assert nodes_of(plan) == {"worker": ("n1", "n1", "n3")}


def test_a_raise_that_has_waited_for_long_is_a_queue_head() -> None:
    new = worker("new", 2, 2, queued=-400)
    for waited, found in ((299, {"new": {"worker": 2}}), (300, {})):
        late = raised("n1", "n1", growth_awaited_since=at(-waited))
        plan = plan_for(cluster(node("n1", 9), OLD, late, new), PATIENT)
        assert started(plan) == found
        assert (JobKey("ns", "late"), "worker") in plan.growth_waits
    assert wait_reasons(plan)["new"] == reasons.goes_first(JobKey("ns", "late"))


def test_a_raise_requests_the_nodes_that_it_lacks() -> None:
    scaled = replace(ALL, autoscaler=Autoscaler.PRESENT)
    plan = plan_for(cluster(node("n1", 8), OLD, raised("n1", "n1")), scaled)
    assert [(one.job.name, one.pods) for one in plan.requests] == [("late", (("worker", 4),))]
    assert sizes(plan) == {}


def waiting(*late: TrainingJob) -> ClusterState:
    """A gang of 6 has waited for an hour; 4 cores are idle."""
    old = worker("old", 4, 4, on=["n1"] * 4, queued=-7200)
    return cluster(node("n1", 10), old, worker("head", 6, 6, queued=-3600), *late)


def later(**fields: Any) -> TrainingJob:  # noqa: ANN401
    given: dict[str, Any] = {"queued": -900, "resizing": ResizePolicy.LIVE} | fields
    return worker("late", given.pop("low", 1), 8, on=["n1"] * 2, **given)


@pytest.mark.parametrize("resizing", [ResizePolicy.LIVE, ResizePolicy.RESTART])
@pytest.mark.parametrize("asked", [{"low": 6}, {"replicas": 6}])
def test_a_raise_does_not_take_what_a_queue_head_waits_for(
    asked: dict[str, Any], resizing: ResizePolicy
) -> None:
    plan = plan_for(waiting(later(**asked, resizing=resizing)), PATIENT)
    assert sizes(plan) == {}
    assert wait_reasons(plan)["late"] == reasons.goes_first(JobKey("ns", "head"))
    before_the_head = plan_for(waiting(later(**asked, queued=-4000)), PATIENT)
    assert sizes(before_the_head) == {"late": 6}
    assert sizes(plan_for(waiting(later(**asked, priority=1)), PATIENT)) == {"late": 6}
    assert sizes(plan_for(waiting(later(**asked)))) == {"late": 6}  # the head is none yet


def test_other_growth_goes_on_as_the_head_may_take_it_back() -> None:
    assert sizes(plan_for(waiting(later()), PATIENT)) == {"late": 6}


def in_quota(late: TrainingJob, *others: TrainingJob, hard: int, used: int = 0) -> ClusterState:
    """22 cores; a ResourceQuota limits the pods of the namespace `ns`."""
    state = cluster(node("n1", 22), late, *others)
    return replace(state, quotas=(Quota("ns", "q", "pods", hard, used),))


def test_a_raise_that_a_quota_refuses_goes_first_in_that_quota_alone() -> None:
    late = raised("n1", "n1", growth_awaited_since=at(-900), **COUNTED)
    other = replace(worker("other", 2, 2, queued=-400), key=JobKey("other", "new"))
    same = worker("same", 1, 1, queued=-300, **COUNTED)
    plan = plan_for(in_quota(late, other, same, hard=6, used=1), PATIENT)
    assert started(plan) == {"new": {"worker": 2}, "same": {"worker": 1}}  # others' pods stay
    old = worker("old", 1, 1, on=["n1"], **COUNTED)
    plan = plan_for(in_quota(late, old, other, same, hard=6), PATIENT)
    assert started(plan) == {"new": {"worker": 2}}
    assert wait_reasons(plan)["same"] == reasons.goes_first(JobKey("ns", "late"))
    assert sizes(plan) == {}


def test_a_raise_that_a_quota_refuses_requests_no_nodes() -> None:
    scaled = replace(ALL, autoscaler=Autoscaler.PRESENT)
    late = raised("n1", "n1", low=30, **COUNTED)
    assert plan_for(in_quota(late, hard=30), scaled).requests
    assert not plan_for(in_quota(late, hard=29), scaled).requests


def test_a_raise_takes_a_quota_from_extras_of_other_jobs() -> None:
    late, elastic = raised("n1", "n1", **COUNTED), worker("el", 2, 6, on=["n1"] * 6, **COUNTED)
    assert sizes(plan_for(in_quota(late, elastic, hard=7))) == {}
    assert sizes(plan_for(in_quota(late, elastic, hard=8))) == {"el": 2}


def test_a_raise_that_never_fits_beside_its_own_pods_goes_before_none() -> None:
    scaled, new = replace(PATIENT, autoscaler=Autoscaler.PRESENT), worker("new", 2, 2, queued=-400)
    for low, found in ((14, {"new": {"worker": 2}}), (10, {})):
        late = raised(*["n1"] * 4, low=low, growth_awaited_since=at(-900))
        state = cluster(node("n1", 10), late, worker("old", 3, 3, on=["n1"] * 3), new)
        plan = plan_for(state, scaled)
        assert started(plan) == found
        assert [one.job.name for one in plan.requests] == ["late"]
    apart = raised("n1", "n2", "n2", low=5, growth_awaited_since=at(-900))
    nodes = (node("n1", 4, **CORDON), node("n2", 4))
    assert started(plan_for(cluster(*nodes, apart, new), scaled)) == {"new": {"worker": 2}}


@pytest.mark.parametrize("holds", [("n2",), ("n2", "n3"), ("n3",)])
def test_a_raise_stops_no_job_for_places_that_terminating_pods_still_hold(
    holds: tuple[str, ...],
) -> None:
    late = raised("n1", "n4", low=3)
    nodes = [node("n1", 4, **CORDON), node("n2", 1), node("n3", 1), node("n4", 1)]
    leaving = [
        replace(busy(one, room(1)), releasing=room(1)) if one.name in holds else one
        for one in nodes
    ]
    same = worker("same", 1, 1, queued=-10, shape=shape(1, tolerations=(Toleration("", "Exists"),)))
    plan = plan_for(cluster(*leaving, late))
    assert quiet(plan)
    assert told(plan)["late"] == "2 pods wait for others to terminate"
    assert (JobKey("ns", "late"), "worker") in plan.growth_waits
    assert quiet(plan_for(cluster(node("n1", 1, **CORDON), *leaving[1:], late, same)))
    assert sizes(plan_for(cluster(*nodes, late))) == {"late": 3}


def test_no_claim_takes_an_extra_while_terminating_pods_hold_the_place_of_the_minimum() -> None:
    late = restarting("n1", "n1", "n3")
    new = worker("new", 1, 1, shape=shape(1, **IN_A), queued=-10)
    free, zone = node("n2", 2), node("n3", 1, labels={"zone": "a"})
    held_up = replace(busy(free, room(1)), releasing=room(1))
    for there, found in ((held_up, {}), (free, {"late": 2})):
        assert sizes(plan_for(cluster(node("n1", 4, **CORDON), there, zone, late, new))) == found


def test_a_minimum_without_a_place_keeps_no_other_job_from_moving() -> None:
    """One idle place beside the cordoned node, for two minimums; a third has one of its own."""
    zones: dict[str, Any] = {name: {"node_selector": (("zone", name),)} for name in "abc"}
    own: dict[str, Any] = {
        "node_selector": (("pool", "z"),),
        "tolerations": (Toleration("z", "Exists"),),
    }

    def late(name: str, extra: str, **rules: Any) -> TrainingJob:  # noqa: ANN401
        on, fields = ["n1", "n1", extra], {"resizing": ResizePolicy.RESTART, "queued": -9000}
        return worker(name, 2, 3, on=on, shape=shape(1, **rules), **fields)

    nodes = [
        node("n1", 8, labels={"pool": "z"}, **CORDON),
        node("n2", 1, labels={"zone": "a"}),
        node("n3", 1, labels={"zone": "b"}),
        node("n4", 2),
        node("n5", 1, labels={"zone": "c", "pool": "z"}),
        node("n6", 2, labels={"pool": "z"}, taints=(Taint("z", "", "NoSchedule"),)),
    ]
    jobs = [late("x", "n2"), late("y", "n3"), late("z", "n5", **own)]
    gangs = [
        worker(f"for-{zone}", 1, 1, shape=shape(1, **rules), queued=-10)
        for zone, rules in zones.items()
    ]
    plan = plan_for(cluster(*nodes, *jobs, *gangs))
    assert sizes(plan) == {"x": 2, "z": 2}


def test_no_restart_for_growth_leaves_its_nodes_to_pending_pods_of_other_owners() -> None:
    late = restarting("n1", "n1", high=4, gated=True)
    for priority in (0, -10):
        web = demand("web", shape(3), priority=priority)
        plan = plan_for(cluster(node("n1", 4), late, web))
        assert quiet(plan)
        assert wait_reasons(plan)["late"] == reasons.PLACEMENT_ORDER
        assert sizes(plan_for(cluster(node("n1", 4), node("n2", 3), late, web))) == {"late": 4}
    elsewhere = demand("web", shape(3, **IN_A))
    assert sizes(plan_for(cluster(node("n1", 4), late, elsewhere))) == {"late": 4}


def ruled(**rules: Any) -> Shape:  # noqa: ANN401
    return shape(1, constraints=PodConstraints("ns", (("app", "late"),), **rules))


def of_app(name: str) -> Selector:
    return Selector(("ns",), (Requirement("app", "In", (name,)),))


def host(name: str, cpu: float, **fields: Any) -> Node:  # noqa: ANN401
    return node(name, cpu, labels={"host": name}, **fields)


def test_a_job_is_not_stopped_if_a_new_domain_keeps_its_pods_from_starting_again() -> None:
    evenly = ruled(spread=(TopologySpread("host", of_app("late"), 1),))
    late = restarting("n1", "n1", "n2", "n2", low=3, shape=evenly)
    nodes, new = (host("n1", 2), host("n2", 2)), worker("new", 1, 1, queued=-10)
    joined = host("n3", 4, taints=(Taint("new", "", "NoSchedule"),))
    assert sizes(plan_for(cluster(*nodes, late, new))) == {"late": 3}
    plan = plan_for(cluster(*nodes, joined, late, new))
    assert quiet(plan)
    assert "spread rules" in told(plan)["late"]
    larger = [replace(one, allocatable=room(4, "64Gi", pods=110)) for one in nodes]
    assert sizes(plan_for(cluster(*larger, late))) == {"late": 6}
    assert quiet(plan_for(cluster(*larger, joined, late)))


def test_a_job_is_not_stopped_if_the_pods_that_it_follows_have_moved() -> None:
    near = ruled(affinity=(PodAffinityTerm("host", of_app("cache")),))
    late = restarting("n1", "n1", "n1", shape=near)
    new = worker("new", 1, 1, queued=-10, shape=shape(2, node_selector=(("host", "n1"),)))
    state = cluster(host("n1", 4), busy(host("n2", 4), room(4)), late, new)
    for there, found in (("n1", {"late": 2}), ("n2", {})):
        cache = ForeignPods(there, PodConstraints("ns", (("app", "cache"),)), 1)
        assert sizes(plan_for(replace(state, foreign_pods=(cache,)))) == found


def test_a_raise_does_not_stop_a_job_whose_other_pods_could_not_follow_theirs() -> None:
    near = ruled(affinity=(PodAffinityTerm("host", of_app("cache")),))
    cache = ForeignPods("n2", PodConstraints("ns", (("app", "cache"),)), 1)
    late = restarting("n1", low=2, high=2, shape=near)
    for free, found in ((1, {}), (2, {"late": 2})):
        state = cluster(host("n1", 4), host("n2", free), late)
        assert sizes(plan_for(replace(state, foreign_pods=(cache,)))) == found


def test_a_job_that_an_attempt_would_stop_for_good_is_stopped_by_no_further_attempt() -> None:
    near = ruled(affinity=(PodAffinityTerm("host", of_app("cache")),))
    cache = ForeignPods("n2", PodConstraints("ns", (("app", "cache"),)), 1)
    late = restarting("n1", low=2, high=2, shape=near)
    state = replace(cluster(host("n1", 4), host("n2", 1), late), foreign_pods=(cache,))

    def stopped(restraints: Restraints) -> StoppedForGood:
        snapshot = take_snapshot(state, POLICIES["fair"], ALL, restraints)
        return allocate(snapshot, PassResults(), GrowthCeiling(snapshot))

    first = stopped(NO_RESTRAINTS)
    assert first == StoppedForGood(forbidden=frozenset({late.key}))
    assert not any(stopped(NO_RESTRAINTS.after(first)))
    assert not any(stopped(Restraints(strict=True)))


def test_a_raise_with_rules_still_takes_extras_of_other_jobs() -> None:
    apart = ruled(anti_affinity=(PodAffinityTerm("host", of_app("late")),))
    late = raised("n1", "n2", low=3, shape=apart)
    nodes = (host("n1", 1), host("n2", 1), host("n3", 2))
    state = cluster(*nodes, late, worker("el", 1, 2, on=["n3"] * 2))
    assert sizes(plan_for(state)) == {"el": 1}
    assert sizes(plan_for(cluster(*nodes, late))) == {"late": 3}
