"""What is said of each thing that can be in the way: an example each."""

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from edl import contract, messages, reasons
from edl.contract.pod_limits import PodCount
from edl.feasibility.eligibility import NAME_FIELD
from edl.messages import message
from edl.model import (
    ForeignPods,
    HostPort,
    JobKey,
    PodAffinityTerm,
    PodConstraints,
    PodPhase,
    Quota,
    QuotaCharge,
    Requirement,
    ResizePolicy,
    Selector,
    Taint,
    TopologySpread,
    TrainingJob,
)
from edl.model.causes.blockers import (
    AtBound,
    Blocker,
    ConstraintsUnsatisfied,
    InProgress,
    InsufficientResources,
    JobCondition,
    LoadCeiling,
    NoUsableNode,
    Outranked,
    OwnCondition,
    QuotaExceeded,
    SizeBound,
    TimedHold,
)
from edl.model.causes.reason_codes import Code
from edl.model.causes.scarcity import Scarce, Shortage
from edl.planner.decide import decide
from edl.planner.decision import Decision
from edl.planner.decision_limits import Limits
from edl.planner.explain.explanation import Explanation, explain
from edl.planner.explain.remedies import without_blockers as without
from edl.planner.explain.room_trials import forbids_preemption
from edl.planner.explain.start_remedies import NO_REMEDY, StartRemedy
from edl.planner.explain.what_if_state import DecisionInput, node_for
from edl.planner.plan import is_never
from edl.planner.plan_builder import build_plan
from edl.planner.policies import POLICIES
from edl.quantities import Resources
from tests.edl.planner.acting import act
from tests.edl.planner.plans import ALL
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

QUOTA = 'ResourceQuota "team"'
MNIST = Selector(("ns",), (Requirement("app", "In", ("mnist",)),))


def situation(*things: object, limits: Limits = ALL) -> DecisionInput:
    return DecisionInput(cluster(*things), POLICIES["fair"], limits)  # type: ignore[arg-type]


def explained(name: str, *things: object, limits: Limits = ALL) -> Explanation:
    found = explain(situation(*things, limits=limits), JobKey("ns", name))
    assert found is not None
    return found


def growth(name: str, *things: object, limits: Limits = ALL) -> tuple[Blocker, ...]:
    """What blocks one more of its only role."""
    (only,) = explained(name, *things, limits=limits).roles
    assert only.blockers is not None
    return only.blockers.found


def start(name: str, *things: object) -> tuple[Blocker, ...]:
    found = explained(name, *things).start_blockers
    assert found is not None
    return found.found


def runs(name: str, pods: int, low: int = 1, high: int = 8, **fields: object) -> TrainingJob:
    return worker(name, low, high, on=["a"] * pods, **fields)


@pytest.mark.parametrize(
    ("priority", "preempt", "low", "helps"),
    [
        (1000, False, 4, True),
        (1000, True, 4, False),
        (0, False, 4, False),
        (1000, False, 1, False),
    ],
    ids=["a lower priority keeps its minimum", "preemption is on", "equals", "extras suffice"],
)
def test_preemption_is_named_where_only_it_would_help(
    priority: int, low: int, *, preempt: bool, helps: bool
) -> None:
    waits = worker("high", 3, 3, priority=priority)
    limits = replace(ALL, preempt=preempt)
    found = explained("high", node("a", 4), runs("low", 4, low), waits, limits=limits)
    assert found.trials.preemption is helps


@pytest.mark.parametrize(
    ("preempts", "low", "helps"),
    [(False, 4, True), (True, 4, False), (False, 1, False)],
    ids=["its pods may not", "its pods may", "extras suffice"],
)
def test_a_policy_that_forbids_preemption_is_named_where_another_would_help(
    low: int, *, preempts: bool, helps: bool
) -> None:
    waits = worker("high", 3, 3, priority=1000, preempts=preempts)
    limits = replace(ALL, preempt=True)
    found = explained("high", node("a", 4), runs("low", 4, low), waits, limits=limits)
    assert found.trials.permission is helps
    assert not found.trials.preemption


@pytest.mark.parametrize(
    ("sizes", "named"),
    [((4, None), ["pin-0"]), ((2, 2), ["pin-0", "pin-1"]), ((None, None), [])],
    ids=["one suffices", "only both", "automatic sizes yield"],
)
def test_manual_sizes_that_keep_the_room_are_named(
    sizes: tuple[int | None, ...], named: list[str]
) -> None:
    pins = [
        runs(f"pin-{at}", 2 if size is None else size, 1, replicas=size)
        for at, size in enumerate(sizes)
    ]
    full = node("a", sum(one.roles[0].status.size for one in pins))
    found = explained("high", full, *pins, worker("high", 2, 2))
    assert [key.name for key in found.trials.manual_sizes] == named


class Decided(DecisionInput, frozen=True):
    """The input of a decision that is not made again."""

    def run_passes(self) -> Decision:
        raise AssertionError("this decision cannot matter")


@pytest.mark.parametrize(
    ("preempt", "others"),
    [
        (False, (runs("low", 4, 4),)),
        (True, (runs("equal", 4, 4, priority=1000), worker("queued", 1, 1))),
    ],
    ids=["preemption is off", "no lower priority runs"],
)
def test_no_second_decision_is_made_where_no_job_could_be_stopped(
    others: tuple[TrainingJob, ...], *, preempt: bool
) -> None:
    waits = worker("high", 3, 3, priority=1000, preempts=False)
    given = situation(node("a", 4), *others, waits, limits=replace(ALL, preempt=preempt))
    decided = Decided(given.state, given.policy, given.limits)
    assert not forbids_preemption(decided, waits)


def test_room_says_which_resource_on_which_nodes_and_how_much() -> None:
    (blocker,) = growth("mnist", node("a", 4), busy(node("b", 4), room(3.5)), runs("mnist", 4))
    assert isinstance(blocker, InsufficientResources)
    assert (blocker.nodes, blocker.node, blocker.missing) == (2, "b", Resources.of({"cpu": 500}))
    assert messages.blocker_text(blocker) == (
        "Insufficient cpu for one worker pod (1 CPU): at most 500m CPU free on one of the 2 nodes "
        "that it may use"
    )
    assert messages.remedy(blocker) == "500m CPU more free on b"


def _fitting(found: Explanation) -> tuple[int, int]:
    """How many pods of the gang `big` fit: in the queue, and by the blocker of its start."""
    (held,) = (one for one in found.plan.waiting if one.job.name == "big")
    assert isinstance(held.reason.about, Shortage)
    assert found.start_blockers is not None
    blocker = found.start_blockers.found[0]
    assert isinstance(blocker, InsufficientResources)
    return held.reason.about.fitting, blocker.fitting


def test_what_rebalancing_gives_a_higher_priority_in_the_same_plan_still_fits_the_gang() -> None:
    """The gang comes first once it fits, so it needs no capacity instead of those replicas."""
    low, high = ([name for name in names for _ in range(4)] for names in ("abc", "de"))
    nodes = [node(name, 4) for name in "abcde"]
    jobs = (worker("low", 1, 40, on=low), worker("vip", 1, 40, on=high, priority=1000))
    big = worker("big", 5, 5, shape=shape(4), queued=-60)
    found = explained("big", *nodes, *jobs, big)
    assert any(one.job.name == "low" and one.after < one.before for one in found.plan.resizes)
    assert _fitting(found) == (2, 2)


def test_what_a_later_job_takes_by_backfill_still_fits_the_gang() -> None:
    nodes = (*(node(name, 4) for name in "abc"), busy(node("d", 4), room(4)))
    jobs = [worker("big", 4, 4, shape=shape(4), queued=-60), worker("small", 1, 1, queued=-30)]
    found = explained("big", *nodes, *jobs)
    assert [one.job.name for one in found.plan.admissions] == ["small"]
    assert _fitting(found) == (3, 3)


def test_what_others_get_beside_a_head_of_the_queue_that_fits_is_not_in_its_way() -> None:
    """With two more nodes the gang reserves its capacity, and no longer blocks the job behind it.

    That job's start, and the growth of roles that had yielded, hinder the gang no more.
    """
    one, two, left = list("aaaabbbbcc"), list("ccddddee"), list("ee")
    jobs = [worker("one", 1, 40, on=one), worker("two", 1, 40, on=two), worker("s", 2, 2, on=left)]
    big = worker("big", 4, 4, shape=shape(4), queued=-400)
    queue = (big, worker("late", 1, 3, queued=-30))
    nodes = [node(name, 4) for name in "abcde"]
    found = explained("big", *nodes, *jobs, *queue, limits=Limits())
    assert _fitting(found) == (2, 2)
    assert found.start_blockers is not None
    short, then = found.start_blockers.found
    assert messages.remedy(short) == (
        "fewer worker replicas (2 fit now), or room for 2 more pods of 4 CPU, on nodes like a"
    )
    more = situation(
        *nodes, node("f", 4), node("g", 4), *jobs, *queue, limits=Limits()
    ).run_passes()
    assert then == InProgress(more.results.wait_reasons[big.key])


def test_a_job_that_preempts_needs_no_room_for_pods_that_its_victim_makes_room_for() -> None:
    vip, low = list("aaaa"), list("bb")
    jobs = [worker("vip", 4, 4, on=vip, priority=9), worker("low", 2, 8, on=low, priority=-5)]
    things = (*(node(name, 4) for name in "ab"), *jobs, worker("big", 5, 5, queued=-60))
    limits = replace(Limits(), preempt=True)
    blockers = explained("big", *things, limits=limits).start_blockers
    assert blockers is not None
    short, then = blockers.found
    assert messages.remedy(short) == "fewer worker replicas (2 fit now), or 1 CPU more free on a"
    more = situation(node("c", 1), *things, limits=limits).run_passes()
    assert then == InProgress(more.results.wait_reasons[JobKey("ns", "big")])


def test_jobs_that_need_not_wait_are_not_named_beside_a_reservation() -> None:
    """The running job's growth takes the new nodes, and yields to the gang."""
    new = worker("new", 2, 9, on=["", ""], started_at=at(-10))
    jobs = [worker("fills", 1, 9, on=list("aaaa")), new]
    big = worker("big", 1, 4, shape=shape(6), queued=-300)
    blockers = explained("big", node("a", 4), *jobs, big, limits=Limits()).start_blockers
    assert blockers is not None
    large, then = blockers.found
    assert messages.remedy(large) == "smaller pods, or 3 nodes with 6 CPU each"
    assert isinstance(then, InProgress)


def test_two_resources_that_no_node_has_together_are_said_so() -> None:
    gpu = shape(2, gpu=1)
    things = (node("a", 1, gpu=1), node("b", 8), worker("mnist", 1, 1, shape=gpu))
    (blocker,) = start("mnist", *things)
    assert messages.blocker_text(blocker) == (
        "one worker pod requests 2 CPU, 1 nvidia.com/gpu, and no node has all of it at once"
    )
    assert messages.remedy(blocker) == "smaller pods, or a node with 2 CPU, 1 nvidia.com/gpu"


def test_two_resources_that_no_node_has_free_together_are_said_so() -> None:
    gpu = shape(2, gpu=1)
    full = busy(node("a", 2, gpu=2), room(1)), busy(node("b", 2, gpu=1), room(gpu=1))
    (blocker,) = start("mnist", *full, worker("mnist", 1, 1, shape=gpu))
    assert messages.blocker_text(blocker) == (
        "Insufficient cpu for one worker pod (2 CPU, 1 nvidia.com/gpu): none "
        "of the 2 nodes that it "
        "may use has all of it free at once"
    )
    assert messages.remedy(blocker) == "1 CPU more free on a"


@pytest.mark.parametrize("taken", [0, 2])
def test_a_pod_that_is_larger_than_any_node_is_not_sent_to_one_of_them(taken: float) -> None:
    nodes = [busy(node(name, 8), room(taken)) for name in ("a", "b")]
    large = worker("fat", 1, 1, shape=shape(9))
    (blocker,) = start("fat", *nodes, large)
    assert (
        messages.blocker_text(blocker)
        == "one worker pod requests 9 CPU, the largest of the 2 nodes that it may use has 8 CPU"
    )
    assert messages.remedy(blocker) == "smaller pods, or a node with 9 CPU"


def test_capacity_is_asked_for_on_a_node_that_could_hold_the_pod() -> None:
    """The free node is nearer to what the pod asks for, and too small even if it were empty."""
    nodes = (busy(node("large", 8), room(8)), node("small", 4))
    (blocker,) = start("mnist", *nodes, worker("mnist", 1, 1, shape=shape(6)))
    assert messages.remedy(blocker) == "6 CPU more free on large"


@pytest.mark.parametrize(
    ("pods", "nodes_text"),
    [
        (17, "a new node like a with room for 2 CPU"),
        (20, "new nodes like a with room for 4 more pods of 2 CPU"),
    ],
)
def test_a_gang_that_empty_nodes_cannot_hold_is_not_helped_by_room_on_them(
    pods: int, nodes_text: str
) -> None:
    nodes = [node(name, 8) for name in "abcd"]
    (blocker,) = start("mnist", *nodes, worker("mnist", pods, pods, shape=shape(2)))
    assert messages.remedy(blocker) == (
        f"fewer worker replicas (at most 16 fit on these nodes), or {nodes_text}"
    )


def test_fewer_replicas_are_offered_as_far_as_pods_of_other_owners_leave_room() -> None:
    """Replicas of another training job end some day."""
    nodes = [*(node(name, 8) for name in "ab"), *(busy(node(name, 8), room(3)) for name in "cd")]
    other = worker("other", 4, 4, on=list("abcd"))

    def mnist(pods: int) -> TrainingJob:
        return worker("mnist", pods, 40, shape=shape(2), queued=-60)

    blocker, *_ = start("mnist", *nodes, other, mnist(40))
    assert messages.remedy(blocker).startswith(
        "fewer worker replicas (10 fit now, at most 12 on these nodes), or new nodes"
    )
    for pods, never in ((12, False), (13, True)):
        held = situation(*nodes, other, mnist(pods)).run_passes().results.wait_reasons
        assert is_never(held[JobKey("ns", "mnist")]) is never


def test_roles_that_no_node_holds_together_need_a_new_node() -> None:
    roles = (role("chief", shape=shape(6)), role("worker", 1, 4, shape=shape(4)))
    (blocker,) = start("mnist", node("a", 8), job("mnist", *roles))
    assert messages.remedy(blocker) == "a new node like a with room for 4 CPU"


def test_a_job_that_fills_the_nodes_by_itself_grows_on_a_new_node_only() -> None:
    (blocker,) = growth("mnist", node("a", 4), runs("mnist", 4))
    assert messages.remedy(blocker) == "a new node like a with room for 1 CPU"


def test_the_only_node_is_not_one_of_several() -> None:
    (blocker,) = start("mnist", node("a", 8), worker("mnist", 2, 2, shape=shape(5)))
    assert messages.blocker_text(blocker).endswith(
        "at most 3 CPU free on the only node that it may use"
    )


def test_the_only_node_comes_with_the_taint_of_the_others() -> None:
    tainted = replace(node("b", 8), taints=(Taint("gpu", "yes", "NoSchedule"),))
    (blocker,) = start("mnist", node("a", 8), tainted, worker("mnist", 2, 2, shape=shape(5)))
    assert messages.blocker_text(blocker).endswith(
        "free on the only node that it may use (it does not tolerate the taint gpu=yes:NoSchedule "
        "of others)"
    )


def test_a_blocker_of_one_pod_is_named_also_behind_other_jobs() -> None:
    """In a full cluster, with others ahead, it is still one pod that is too large."""
    others = [runs("mnist", 4), worker("early", 4, 4, queued=-7200)]
    blockers = start("fat", node("a", 4), *others, worker("fat", 1, 1, shape=shape(9)))
    assert (
        messages.blocker_text(blockers[0])
        == "one worker pod requests 9 CPU, the only node that it may use has 4 CPU"
    )
    assert messages.remedy(blockers[0]).startswith("smaller pods, or ")


def test_a_device_that_no_node_has_is_said_so() -> None:
    (blocker,) = start("gpu", node("a", 8), worker("gpu", 2, 2, shape=shape(1, gpu=8)))
    assert messages.blocker_text(blocker) == (
        "one worker pod requests 8 nvidia.com/gpu, and no node that it may use has any"
    )
    assert messages.remedy(blocker) == "2 nodes with 1 CPU, 8 nvidia.com/gpu each"


def test_a_gang_names_each_role_that_does_not_fit() -> None:
    all_roles = job("mnist", role("ps", 3, 3), role("worker", 4, 4, shape=shape(2)))
    blockers = start("mnist", node("a", 2), all_roles)
    assert [(type(blocker).__name__, getattr(blocker, "role", "")) for blocker in blockers] == [
        ("InsufficientResources", "worker"),
        ("InsufficientResources", "ps"),
    ]
    assert messages.blocker_text(blockers[0]) == (
        "Insufficient cpu for 4 worker pods (2 CPU each): no CPU free on the "
        "only node that it may use"
    )
    assert messages.remedy(blockers[0]) == ("new nodes like a with room for 4 more pods of 2 CPU")


def test_an_explanation_counts_pods_as_the_plan_does() -> None:
    all_roles = job("mnist", role("ps", 2, 2), role("worker", 4, 4, shape=shape(2)))
    there = situation(node("a", 12), runs("extras", 8, low=6), all_roles)
    (held,) = (
        one for one in decide(there.state, there.policy, there.limits).waiting if one.position
    )
    assert message(held.reason).endswith("; 4 of 6 pods fit")
    found = explain(there, all_roles.key)
    assert found is not None
    assert found.start_blockers is not None
    assert messages.blocker_text(found.start_blockers.found[0]) == (
        "Insufficient cpu for 2 of 4 worker pods (2 CPU each): beside the 2 "
        "that fit, no CPU free on "
        "the only node that it may use"
    )


def test_unsatisfied_affinity_is_not_reported_as_insufficient_resources() -> None:
    apart = PodConstraints(
        "ns", (("app", "mnist"),), anti_affinity=(PodAffinityTerm("host", MNIST),)
    )
    nodes = [node(name, 8, labels={"host": name}) for name in "ab"]
    alone = shape(1, constraints=apart)
    (blocker,) = start("mnist", *nodes, worker("mnist", 3, 3, shape=alone))
    assert isinstance(blocker, ConstraintsUnsatisfied)
    assert messages.blocker_text(blocker) == (
        "its pod (anti-)affinity or topology spread rules keep one worker off the 2 nodes that it "
        "may use"
    )
    assert messages.remedy(blocker) == "one more node like a, with 1 CPU free and no pod there yet"
    running = worker("mnist", 1, 9, on=["a", "b"], shape=alone)
    (blocker,) = growth("mnist", *nodes, running)
    assert isinstance(blocker, ConstraintsUnsatisfied)
    plan = decide(cluster(*nodes, worker("mnist", 3, 3, shape=alone)), POLICIES["fair"], ALL)
    assert "Insufficient nodes that satisfy its pod (anti-)affinity" in message(
        plan.waiting[0].reason
    )


def test_missing_host_ports_are_named() -> None:
    """A node has each host port for one pod, also beside another training job."""
    ports = PodConstraints("ns", (), ports=(HostPort("TCP", 9200, "0.0.0.0"),))  # noqa: S104
    nodes, wanted = [node(name, 8) for name in "ab"], shape(1, constraints=ports)
    (blocker,) = start("mnist", *nodes, worker("mnist", 3, 9, shape=wanted))
    assert messages.blocker_text(blocker) == (
        "the host ports that it requests, each of which one pod per node may use, keep one worker "
        "off the 2 nodes that it may use"
    )
    other = worker("other", 1, 1, on=["a"], shape=wanted)
    for jobs in (
        [worker("mnist", 3, 9, shape=wanted)],
        [worker("mnist", 2, 9, shape=wanted), other],
    ):
        why = decide(cluster(*nodes, *jobs), POLICIES["fair"], ALL).waiting[0].reason
        said = "Insufficient nodes with free ports for the requested pod ports"
        assert message(why).startswith(said)
    (blocker,) = growth("mnist", *nodes, worker("mnist", 1, 9, on=["a", "b"], shape=wanted))
    assert isinstance(blocker, ConstraintsUnsatisfied)
    assert blocker.rule is Scarce.PORTS


def test_a_spread_beside_host_ports_is_named_where_the_ports_are_free() -> None:
    rules = PodConstraints(
        "ns",
        (("app", "mnist"),),
        anti_affinity=(PodAffinityTerm("zone", MNIST),),
        ports=(HostPort("TCP", 9200, "0.0.0.0"),),  # noqa: S104 - of a manifest
    )
    nodes = [node(name, 8, labels={"zone": "z"}) for name in "ab"]
    (blocker,) = start("mnist", *nodes, worker("mnist", 2, 2, shape=shape(1, constraints=rules)))
    assert messages.blocker_text(blocker).startswith("its pod (anti-)affinity or topology spread")


@pytest.mark.parametrize("ports", [(), (HostPort("TCP", 9200, "0.0.0.0"),)])  # noqa: S104
def test_rules_are_named_on_full_nodes_unless_ports_alone_exclude_them(
    ports: tuple[HostPort, ...],
) -> None:
    apart = (PodAffinityTerm("zone", MNIST),)
    rules = PodConstraints("ns", (("app", "mnist"),), anti_affinity=apart, ports=ports)
    wanted, cells = shape(1, constraints=rules), zip("abc", ("x", "x", "y"), strict=True)
    nodes = [node(name, 1, labels={"zone": zone}) for name, zone in cells]
    for pods in (3, 5):
        (blocker,) = start("mnist", *nodes, worker("mnist", pods, pods, shape=wanted))
        assert isinstance(blocker, ConstraintsUnsatisfied)
        assert blocker.rule is Scarce.RULES
    placed = worker("mnist", 1, 9, on=["a", "c"], shape=wanted)
    (blocker,) = growth("mnist", nodes[0], nodes[2], placed)
    assert isinstance(blocker, ConstraintsUnsatisfied)
    assert blocker.rule is (Scarce.PORTS if ports else Scarce.RULES)


CACHE = Selector(("ns",), (Requirement("app", "In", ("cache",)),))
MINE = (("app", "mnist"),)
NEAR = PodConstraints("ns", MINE, affinity=(PodAffinityTerm("host", CACHE),))
SPREAD = PodConstraints("ns", MINE, spread=(TopologySpread("zone", MNIST, 1),))
APART = PodConstraints("ns", MINE, anti_affinity=(PodAffinityTerm("os", CACHE),))


@pytest.mark.parametrize(
    ("rules", "cause", "remedy"),
    [
        (
            NEAR,
            (
                "no pod with app=cache, which its pod affinity requires, runs in the host of a "
                "node that it may use"
            ),
            "a pod with app=cache on a node that worker may use",
        ),
        (
            SPREAD,
            "no node that it may use has the label zone of its topology spread",
            "the label zone on nodes that worker may use (kubectl label node)",
        ),
        (
            APART,
            "pod anti-affinity to app=cache excludes it from the os of every node that it may use",
            "a node with another os that worker may use, with 1 CPU free for each pod",
        ),
    ],
)
def test_a_rule_about_other_pods_that_excludes_every_node_is_named(
    rules: PodConstraints, cause: str, remedy: str
) -> None:
    nodes = [node(name, 8, labels={"os": "linux", "host": name}) for name in "ab"]
    cached = rules is APART
    pods = (ForeignPods("a", PodConstraints("ns", (("app", "cache"),)), 1),) if cached else ()
    waits = worker("mnist", 3, 3, shape=shape(1, constraints=rules))
    given = situation(*nodes, waits).changed(foreign_pods=pods)
    found = explain(given, waits.key)
    assert found is not None
    assert found.start_blockers is not None
    assert found.start_blockers.complete
    (blocker,) = found.start_blockers.found
    assert messages.blocker_text(blocker) == f"{cause}: worker may use none of the nodes"
    assert messages.remedy(blocker) == remedy
    assert message(found.plan.waiting[0].reason) == f"{cause}: needs 3 x 1 CPU (worker)"


def test_more_nodes_are_not_proposed_where_the_same_pods_exclude_it() -> None:
    """Every new node is in the same domain as the pod that excludes it."""
    nodes = [node(name, 8, labels={"os": "linux"}) for name in "ab"]
    excludes = PodConstraints("ns", (), anti_affinity=(PodAffinityTerm("os", MNIST),))
    waits = worker("mnist", 3, 3, shape=shape(1, constraints=PodConstraints("ns", MINE)))
    given = situation(*nodes, waits).changed(foreign_pods=(ForeignPods("a", excludes, 1),))
    found = explain(given, waits.key)
    assert found is not None
    assert found.start_blockers is not None
    (blocker,) = found.start_blockers.found
    assert isinstance(blocker, ConstraintsUnsatisfied)
    assert (messages.remedy(blocker), found.start_blockers.complete) == ("", False)
    assert blocker.pods == waits.roles[0].spec.min


def test_in_a_full_cluster_labels_and_room_are_both_missing() -> None:
    waits = worker("mnist", 3, 3, shape=shape(1, constraints=SPREAD))
    labels, space = start("mnist", node("a", 4), runs("other", 4, low=4), waits)
    assert isinstance(labels, NoUsableNode)
    assert messages.remedy(space) == "room for 3 more pods of 1 CPU, on nodes like a"


def test_a_queued_job_may_bring_the_pods_of_an_affinity() -> None:
    cache = PodConstraints("ns", (("app", "cache"),))
    nodes = [node(name, 8, labels={"host": name}) for name in "ab"]
    follows = worker("mnist", 1, 1, shape=shape(1, constraints=NEAR))
    leads = worker("c", 1, 1, paused=True, labels=cache.labels, shape=shape(1, constraints=cache))
    found = explained("mnist", *nodes, follows, leads)
    assert message(found.plan.waiting[0].reason) == (
        "Insufficient nodes that satisfy its pod (anti-)affinity or topology spread rules: "
        "needs 1 x 1 CPU (worker)"
    )


def test_no_node_at_all_names_the_rule() -> None:
    requests = shape(1, node_selector=(("disk", "ssd"),))
    (blocker,) = start("mnist", node("a", 4), worker("mnist", 1, 1, shape=requests))
    assert isinstance(blocker, NoUsableNode)
    assert messages.blocker_text(blocker) == (
        "no node matches its node selector disk=ssd: worker may use none of the nodes"
    )
    assert messages.remedy(blocker) == "a node that worker may use, with 1 CPU free for each pod"
    pinned = shape(1, affinity=((Requirement(NAME_FIELD, "In", ("b",)),),))
    (blocker,) = start("mnist", node("a", 4), worker("mnist", 1, 1, shape=pinned))
    assert messages.blocker_text(blocker) == "no node is named b: worker may use none of the nodes"
    assert messages.remedy(blocker) == (
        "a node named b that worker may use, with 1 CPU free for each pod"
    )


def test_taints_of_the_only_large_enough_nodes_are_named() -> None:
    """Cloud providers taint nodes with GPUs; another such node would not help."""
    tainted = node("g", 4, gpu=4, taints=(Taint("nvidia.com/gpu", "present", "NoSchedule"),))
    waiting = worker("mnist", 1, 2, shape=shape(1, gpu=1))
    (blocker,) = start("mnist", node("a", 4), tainted, waiting)
    assert isinstance(blocker, NoUsableNode)
    assert messages.blocker_text(blocker) == (
        "it does not tolerate the taint nvidia.com/gpu=present:NoSchedule of the large enough "
        "nodes: worker may use none of the large enough nodes"
    )
    plan = decide(cluster(node("a", 4), tainted, waiting), POLICIES["fair"], ALL)
    assert plan.waiting[0].reason.code is Code.NO_ELIGIBLE_NODE
    assert message(plan.waiting[0].reason) == (
        "it does not tolerate the taint nvidia.com/gpu=present:NoSchedule of the large enough "
        "nodes: needs 1 x 1 CPU, 1 nvidia.com/gpu (worker)"
    )


def test_a_cordoned_node_that_alone_is_large_enough_is_named_as_cordoned() -> None:
    cordoned = node("g", 16, cordoned=True)
    (blocker,) = start("mnist", node("a", 4), cordoned, worker("mnist", 1, 1, shape=shape(8)))
    assert isinstance(blocker, NoUsableNode)
    assert messages.blocker_text(blocker).startswith("no node that is large enough is schedulable")


def test_where_all_nodes_are_cordoned_uncordoning_one_would_help() -> None:
    down, cordoned = node("a", 4, ready=False), node("b", 4, cordoned=True)
    mnist = worker("mnist", 1, 1, shape=shape(1))
    (blocker,) = start("mnist", down, cordoned, mnist)
    assert messages.blocker_text(blocker).startswith("no node is schedulable")
    assert messages.remedy(blocker) == (
        "a node that worker may use, uncordoned (kubectl uncordon) or new, with 1 CPU free for "
        "each pod"
    )
    (blocker,) = start("mnist", down, mnist)
    assert messages.remedy(blocker) == "a node that worker may use, with 1 CPU free for each pod"


def test_the_load_ceiling_says_how_much_is_idle_and_stays_so() -> None:
    (blocker,) = growth("mnist", node("a", 10), runs("mnist", 9, high=12), limits=Limits())
    assert isinstance(blocker, LoadCeiling)
    assert messages.blocker_text(blocker) == (
        "the load ceiling of 97 % keeps 300m CPU idle: 1 CPU is idle, and one more worker requests "
        "1 CPU"
    )
    assert (
        messages.remedy(blocker) == "a load ceiling of 100 %, or 300m CPU more idle in the cluster"
    )


def test_the_named_load_ceiling_suffices_although_others_grow_first_below_it() -> None:
    mine, other = runs("mine", 49, high=90), runs("other", 48, high=90)
    (blocker,) = growth("mine", node("a", 100), mine, other, limits=Limits())
    assert isinstance(blocker, LoadCeiling)
    assert blocker.enough == 0.99
    raised = replace(Limits(), load_ceiling=blocker.enough)
    (only,) = explained("mine", node("a", 100), mine, other, limits=raised).roles
    assert only.after == 50


def test_the_named_load_ceiling_suffices_for_each_resource() -> None:
    mine = runs("mine", 96, high=99, shape=shape(1, "1Gi"))
    (blocker,) = growth("mine", node("a", 99, "97Gi"), mine, limits=Limits())
    assert isinstance(blocker, LoadCeiling)
    assert (blocker.resource, blocker.enough) == ("cpu", 1.0)
    assert messages.remedy(blocker) == "a load ceiling of 100 %"


def test_a_max_and_what_hides_behind_it_are_both_named() -> None:
    max_, room_ = growth("mnist", node("a", 4), runs("mnist", 4, high=4))
    assert isinstance(max_, AtBound)
    assert (messages.blocker_text(max_), messages.remedy(max_)) == (
        "worker is at its max, 4",
        "a larger max of worker",
    )
    assert isinstance(room_, InsufficientResources)


def test_a_manual_size_is_named_with_the_way_out() -> None:
    (blocker,) = growth("mnist", node("a", 8), runs("mnist", 4, replicas=4))
    assert messages.blocker_text(blocker) == "worker is at its manual size, 4"
    assert messages.remedy(blocker) == "another manual size of worker, or none"


def test_work_items_bound_the_pods() -> None:
    items: dict[str, Any] = {"resizing": ResizePolicy.ITEMS, "indexed": False, "remaining": 3}
    (blocker,) = growth("mnist", node("a", 8), runs("mnist", 3, **items))
    assert (
        messages.blocker_text(blocker) == "worker has 3 work items left to do, and a pod for each"
    )


def test_a_work_queue_gets_no_pods_after_its_first_success() -> None:
    """Neither room nor another manual size, or max, would help."""
    for size in (4, 2):
        queue = runs(
            "trials",
            4,
            replicas=size,
            remaining=4,
            resizing=ResizePolicy.ITEMS,
            indexed=False,
            is_queue=True,
        )
        (blocker,) = growth("trials", node("a", 8), queue)
        assert blocker == AtBound("worker", SizeBound.QUEUE, 4)
        assert messages.blocker_text(blocker) == messages.QUEUE_CLOSED
        assert messages.remedy(blocker) == ""


def test_behind_the_last_work_items_nothing_else_is_named() -> None:
    """More room, a higher max and lost pods would all not help."""
    items: dict[str, Any] = {"resizing": ResizePolicy.ITEMS, "indexed": False, "remaining": 2}
    done = tuple(pod(at, phase=PodPhase.SUCCEEDED, ready=False) for at in (2, 3))
    pods = (pod(0, "a"), pod(1, "a"), *done)
    mine = worker("mnist", 1, 4, size=4, suspended=False, pods=pods, **items)
    (blocker,) = growth("mnist", node("a", 2), mine)
    assert (
        messages.blocker_text(blocker) == "worker has 2 work items left to do, and a pod for each"
    )


def test_a_cooldown_says_until_when() -> None:
    (blocker,) = growth("mnist", node("a", 8), runs("mnist", 2, resized_at=at(-4)))
    assert isinstance(blocker, TimedHold)
    assert blocker.until == at(6)
    assert (
        messages.blocker_text(blocker)
        == "cooldown after its last start or resize (until 12:00:06 UTC)"
    )


def test_a_cooldown_is_named_beside_what_else_holds_growth() -> None:
    lack, bound = runs("mnist", 2, resized_at=at(-4)), runs("mnist", 2, high=2, resized_at=at(-4))
    held = TimedHold(reasons.COOLDOWN, at(6))
    first, second = growth("mnist", node("a", 2), lack)
    assert (first, type(second)) == (held, InsufficientResources)
    assert growth("mnist", node("a", 8), bound) == (AtBound("worker", SizeBound.MAX, 2), held)


def lacking(there: tuple[int, ...], **fields: Any) -> TrainingJob:  # noqa: ANN401 - of a role
    """A job of 6 to 8 that runs as 7, of which only these pods are there, for 12 seconds."""
    pods = (*(pod(index, "a") for index in there), *fields.pop("more", ()))
    usual = {"suspended": False, "size": 7, "pods": pods, "reported_at": at(-12)}
    return worker("mnist", 6, fields.pop("most", 8), **(usual | fields))


@pytest.mark.parametrize("there", [(4, 5), (0, 1, 2, 3, 4, 5)], ids=["of the minimum", "an extra"])
@pytest.mark.parametrize("most", [7, 8], ids=["at its max", "below it"])
def test_lost_pods_wait_for_the_back_off_and_no_pause_is_advised(
    there: tuple[int, ...], most: int
) -> None:
    lost = lacking(there, failures=5, most=most)
    *others, wait = growth("mnist", node("a", 9), lost)
    assert [type(one).__name__ for one in others] == ["AtBound"] * (most == 7)
    assert (messages.blocker_text(wait), messages.remedy(wait, "mnist")) == (
        "back-off: after lost pods the Job controller creates no pod (until 12:02:28 UTC)",
        "",
    )


def test_a_back_off_after_uncounted_failures_is_named_with_its_usual_length() -> None:
    """As in the reason of the missing pods; the longest one of ten minutes is rare."""
    lost = lacking((4, 5), failures=1, ignores=True, reported_at=at(-2))
    (wait,) = growth("mnist", node("a", 9), lost)
    assert isinstance(wait, TimedHold)
    assert wait.until == at(8)


def test_pods_that_terminate_on_a_silent_node_are_awaited_and_no_pause_is_advised() -> None:
    leaving = tuple(pod(at_, "gone", terminating=True, due_at=at(-5)) for at_ in range(4))
    awaits = lacking((4, 5, 6), more=leaving, ignores=True)
    (wait,) = growth("mnist", node("a", 9), awaits)
    assert (messages.blocker_text(wait), messages.remedy(wait, "mnist")) == (
        "waiting for its lost pods to be recreated",
        "",
    )


def test_without_a_known_end_of_a_terminating_pod_no_end_of_the_back_off_is_named() -> None:
    """Its date would move with each call: the back-off begins when that pod has ended."""
    leaving = pod(6, "gone", terminating=True)
    (wait,) = growth("mnist", node("a", 9), lacking(tuple(range(6)), more=(leaving,), failures=1))
    assert messages.blocker_text(wait) == "waiting for its lost pods to be recreated"


def test_a_pause_is_advised_only_where_no_pod_runs() -> None:
    hold = TimedHold(reasons.UNSCHEDULABLE_CREATION, at(1))
    assert messages.remedy(hold, "mnist") == ""


def test_growth_names_the_job_that_gets_the_capacity_first() -> None:
    things = (node("a", 3), runs("mnist", 2, high=9), runs("less", 1, high=9))
    room_, others = growth("mnist", *things)
    assert isinstance(room_, InsufficientResources)
    assert isinstance(others, Outranked)
    assert others.jobs == (JobKey("ns", "less"),)
    assert messages.blocker_text(others) == "capacity goes first to ns/less"


def test_extras_that_yield_to_their_own_minimum_name_no_job() -> None:
    """A node was lost; the pod of the other role is created again and fits nowhere."""
    parts = (
        role("ps", 1, 1, size=1, suspended=False, pods=(pod(0, created_at=at(-1)),)),
        role("worker", 1, 3, on=["a"] * 3),
    )
    found = explained("mnist", node("a", 3), job("mnist", *parts, started_at=at(-600)))
    blockers = next(one.blockers for one in found.roles if one.role == "worker")
    assert blockers is not None
    (stop,) = blockers.found
    assert isinstance(stop, InProgress)
    assert messages.blocker_text(stop) == "to make room for its own minimum"


def test_pending_pods_of_others_come_first_too() -> None:
    blockers = growth("mnist", node("a", 4), runs("mnist", 4, low=4), demand("web-1", shape(1), 1))
    assert [type(blocker).__name__ for blocker in blockers] == [
        "InsufficientResources",
        "Outranked",
    ]
    assert (
        messages.blocker_text(blockers[1])
        == "capacity goes first to pending pods such as web/web-1"
    )


def test_pending_pods_that_no_job_scales_down_for_are_not_in_the_way() -> None:
    ruled = replace(demand("ruled", shape(1), 1), excess=PodCount("spec", "rules", 9, 8))
    things = node("a", 4), runs("mnist", 4, low=4), demand("web-1", shape(1), 1)
    assert growth("mnist", *things, ruled) == growth("mnist", *things)


def test_each_limit_of_a_quota_is_told_by_itself() -> None:
    charges = tuple(QuotaCharge(QUOTA, name, 2000) for name in ("limits.cpu", "requests.cpu"))
    waits = worker("waits", 4, 4, charges=charges)
    quotas = (Quota("ns", QUOTA, "limits.cpu", 3000), Quota("ns", QUOTA, "requests.cpu", 4000))
    there = situation(node("a", 9), waits)
    found = explain(replace(there, state=replace(there.state, quotas=quotas)), waits.key)
    assert found is not None
    assert found.start_blockers is not None
    assert [messages.remedy(blocker) for blocker in found.start_blockers.found] == [
        f"{QUOTA} of namespace ns raised to limits.cpu=8",
        f"{QUOTA} of namespace ns raised to requests.cpu=8",
    ]
    assert found.start_blockers.complete


def test_extras_that_yield_count_for_each_limit_of_a_quota_alike() -> None:
    """3 stay of the 4 that run, and 7 come: 10 of each."""
    charges = (QuotaCharge(QUOTA, "pods", 1), QuotaCharge(QUOTA, "requests.cpu", 1000))
    fixed = worker("fixed", 3, 4, on=["a"] * 4, started_at=at(-600), charges=charges)
    waits = worker("waits", 7, 10, charges=charges)
    quotas = (Quota("ns", QUOTA, "pods", 8), Quota("ns", QUOTA, "requests.cpu", 6000))
    there = situation(node("a", 20), fixed, waits)
    found = explain(replace(there, state=replace(there.state, quotas=quotas)), waits.key)
    assert found is not None
    assert found.start_blockers is not None
    assert [messages.remedy(blocker) for blocker in found.start_blockers.found[:2]] == [
        f"{QUOTA} of namespace ns raised to pods=10",
        f"{QUOTA} of namespace ns raised to requests.cpu=10",
    ]


@pytest.mark.parametrize(
    ("low", "high", "sizes", "smaller"),
    [(6, 8, (0, None), 3), (6, 8, (4, 8), 0), (6, 6, (0, None), 3)],
    ids=["elastic", "its pods wait for more", "of one size"],
)
def test_a_min_that_a_quota_has_room_for_beside_others_without_extras_is_offered(
    low: int, high: int, sizes: tuple[int, int | None], smaller: int
) -> None:
    """2 stay of the 5 that run, as 3 are extras."""
    charges = (QuotaCharge(QUOTA, "requests.cpu", 2000),)
    runs_now = worker("runs", 2, 8, on=["a"] * 5, started_at=at(-600), charges=charges)
    waits = worker("waits", low, high, charges=charges, sizes=sizes)
    there = situation(node("a", 40), runs_now, waits)
    quotas = (Quota("ns", QUOTA, "requests.cpu", 10_000),)
    found = explain(replace(there, state=replace(there.state, quotas=quotas)), waits.key)
    assert found is not None
    assert found.trials.start == (StartRemedy("worker", smaller) if smaller else NO_REMEDY)


def test_no_smaller_min_is_offered_for_a_role_that_is_never_resized() -> None:
    charges = (QuotaCharge(QUOTA, "requests.cpu", 1000),)
    parts = [role(name, 4, 4, charges=charges) for name in ("ps", "worker")]
    waits = replace(job("waits", *parts), framework="tensorflow", mode="ps")
    there = situation(node("a", 40), waits)
    for most, helped in ((6, "worker"), (4, "")):
        quotas = (Quota("ns", QUOTA, "requests.cpu", 1000 * most),)
        found = explain(replace(there, state=replace(there.state, quotas=quotas)), waits.key)
        assert found is not None
        assert found.trials.start.role == helped


def test_a_queued_job_names_the_job_ahead_of_it() -> None:
    first = worker("first", 4, 4, queued=-900)
    things = (node("a", 4), runs("big", 2, low=2, high=2), first, worker("late", 2, 2, queued=-10))
    found = explained("late", *things, limits=Limits())
    assert found.waiting is not None
    assert (found.waiting.position, found.waiting.ahead) == (2, (first.key,))
    assert found.start_blockers is not None
    (blocker,) = found.start_blockers.found
    assert messages.blocker_text(blocker) == "jobs ahead of it in the queue start first: ns/first"


def test_room_that_is_being_freed_is_promised() -> None:
    high = worker("high", 2, 2, priority=1)
    (blocker,) = start("high", node("a", 4), runs("mnist", 4), high)
    assert isinstance(blocker, InProgress)
    assert (messages.blocker_text(blocker), messages.remedy(blocker)) == (
        "2 pods wait for others to terminate: ns/mnist",
        "",
    )


def test_a_job_that_restarts_to_grow_waits_for_its_whole_new_size() -> None:
    things = (node("a", 4), runs("gone", 1, 1, 1, paused=True))
    mine = runs("mnist", 2, high=4, resizing=ResizePolicy.RESTART)
    found = explained("mnist", *things, mine)
    (only,) = found.roles
    assert (found.plan.resizes, only.after) == ((), 2), "one place is free, another will be"
    assert only.blockers is not None
    assert [type(blocker) for blocker in only.blockers.found] == [InProgress]


def test_what_is_promised_comes_by_itself() -> None:
    high = worker("high", 2, 2, priority=1)
    state = cluster(node("a", 4), runs("mnist", 4), high)
    for _ in range(4):
        plan = decide(state, POLICIES["fair"], ALL)
        state = act(state, plan, after=timedelta(milliseconds=1), lingering=True)
    assert not next(job for job in state.jobs if job.key == high.key).roles[0].status.suspended


def test_a_paused_job_is_told_what_it_lacks_besides() -> None:
    blockers = start("mnist", busy(node("a", 4), room(4)), worker("mnist", 1, 1, paused=True))
    assert [type(blocker).__name__ for blocker in blockers] == [
        "OwnCondition",
        "InsufficientResources",
    ]
    assert messages.remedy(blockers[0]) == "resuming it"


def test_the_last_work_items_bound_a_job_also_if_it_is_nearly_finished() -> None:
    items: dict[str, Any] = {
        "resizing": ResizePolicy.ITEMS,
        "indexed": False,
        "remaining": 1,
        "progress": 0.9,
    }
    (found,) = explained("mnist", node("a", 9), runs("mnist", 6, **items)).roles
    assert (found.before, found.after) == (1, 1)
    assert found.blockers is not None
    assert found.blockers.found == (AtBound("worker", SizeBound.ITEMS, 1),)


def test_pods_that_are_not_scheduled_yet_are_not_said_to_have_remained_so() -> None:
    pods = tuple(pod(index, created_at=at(-18)) for index in range(4))
    mine = worker("mnist", 2, 6, on=[""] * 4, pods=pods, started_at=at(-18))
    codes = {Code.UNSCHEDULABLE, Code.GANG_UNSCHEDULABLE}
    for blocker in growth("mnist", node("a", 9), mine):
        assert not (isinstance(blocker, TimedHold | OwnCondition) and blocker.reason.code in codes)


def test_a_role_of_one_size_that_its_framework_would_resize_lacks_a_max() -> None:
    (blocker,) = growth("mnist", node("a", 8), worker("mnist", 2, 2, on=["a", "a"]))
    assert isinstance(blocker, OwnCondition)
    assert blocker.what is JobCondition.ONE_SIZE
    assert (
        messages.blocker_text(blocker) == "worker has one size, 2: no edl.dev/max is above its min"
    )
    assert messages.remedy(blocker) == "a new Job with a larger edl.dev/max"


def test_a_budget_says_how_much_is_left_and_needed() -> None:
    quota = Quota("ns", QUOTA, "requests.cpu", 4000)
    charged = runs("mnist", 4, charges=(QuotaCharge(quota.source, quota.resource, 1000),))
    base = cluster(node("a", 8), charged)
    state = DecisionInput(
        type(base)(base.observed_at, base.nodes, base.jobs, quotas=(quota,)),
        POLICIES["fair"],
        ALL,
    )
    found = explain(state, JobKey("ns", "mnist"))
    assert found is not None
    assert found.roles[0].blockers is not None
    (blocker,) = found.roles[0].blockers.found
    assert isinstance(blocker, QuotaExceeded)
    assert messages.blocker_text(blocker) == (
        'exceeded ResourceQuota "team" of namespace ns, requested: requests.cpu=1, used: '
        "requests.cpu=4, limited: requests.cpu=4"
    )
    assert messages.remedy(blocker) == f"{QUOTA} of namespace ns raised to requests.cpu=5"


def test_a_quota_of_pods_lacks_one_where_one_more_is_needed() -> None:
    quota = Quota("ns", QUOTA, "pods", 4)
    charged = runs("mnist", 4, charges=(QuotaCharge(quota.source, quota.resource, 1),))
    state = replace(cluster(node("a", 8), charged), quotas=(quota,))
    found = explain(DecisionInput(state, POLICIES["fair"], ALL), JobKey("ns", "mnist"))
    assert found is not None
    assert found.roles[0].blockers is not None
    assert found.roles[0].blockers.found == (
        QuotaExceeded(quota, needed=1, used=4, left=0, lacks=1),
    )


@pytest.mark.parametrize("operator", ["Gt", "Lt"])
def test_a_node_that_is_made_up_for_pods_has_a_number_that_they_want(operator: str) -> None:
    wanted = Requirement("cores", operator, ("7",))
    labels = node_for(shape(affinity=((wanted,),)), "new").labels or {}
    assert wanted.holds(labels["cores"])


def test_sizes_before_and_after_come_with_the_reason() -> None:
    (found,) = explained("mnist", node("a", 6), runs("mnist", 4)).roles
    assert (found.before, found.after, found.reason) == (4, 6, reasons.grown(6, 8))


def test_an_ended_job_has_no_explanation() -> None:
    assert explain(situation(node("a", 4)), JobKey("ns", "gone")) is None


def test_explaining_costs_the_plan_nothing_and_changes_nothing() -> None:
    given = situation(node("a", 4), runs("mnist", 4, high=4))
    found = explain(given, JobKey("ns", "mnist"))
    assert found == explain(given, JobKey("ns", "mnist"))
    assert given.state.observed_at - at(0) == timedelta()


def test_a_rule_that_time_ends_is_mended_by_the_time_that_it_names() -> None:
    now = situation(node("a", 4))
    for seconds, then in ((60, 60), (-60, 0)):
        mended = without(now, JobKey("ns", "mnist"), [TimedHold(reasons.COOLDOWN, at(seconds))])
        assert mended.state.observed_at == at(then)


def test_room_for_several_pods_is_mended_by_more_nodes_and_for_one_by_a_larger_one() -> None:
    for pods, nodes in ((2, 3), (1, 1)):
        full, mnist = busy(node("a", 8), room(4)), worker("mnist", pods, pods, shape=shape(8))
        there = situation(full, mnist)
        (blocker,) = start("mnist", full, mnist)
        mended = without(there, JobKey("ns", "mnist"), [blocker])
        assert len(mended.state.nodes) == nodes


def test_a_job_that_gets_the_room_a_second_time_hides_nothing_else() -> None:
    """At a higher load ceiling c keeps a replica; once it asks for none, the node is full."""
    sizes = {"a": 1, "b": 2, "c": 4}
    each = (worker(name, 1, 9, shape=shape(0.5), on=["n"] * size) for name, size in sizes.items())
    found = explain(situation(node("n", 3.5), *each, limits=Limits()), JobKey("ns", "b"))
    assert found is not None
    search = found.roles[0].blockers
    assert search is not None
    assert search.complete
    assert {type(blocker) for blocker in search.found} == {
        LoadCeiling,
        Outranked,
        InsufficientResources,
    }


def test_a_queued_job_for_which_room_is_kept_is_named_before_it_starts() -> None:
    """With room for one more it waits for the other replica, of a job that has to leave first."""
    mine = runs("mine", 1)
    other = worker("other", 1, 2, on=["b"] * 2)
    queued = worker("queued", 2, 2, priority=1)
    found = explained("mine", node("a", 1), node("b", 2), mine, other, queued)
    (only,) = found.roles
    assert only.blockers is not None
    first = [blocker for blocker in only.blockers.found if isinstance(blocker, Outranked)]
    assert [blocker.jobs for blocker in first] == [(JobKey("ns", "queued"),)]
    assert only.blockers.complete


def test_room_that_a_giver_leaves_over_is_promised_by_the_same_plan() -> None:
    """A replica of 3 CPU goes for one of 2 CPU: with the rest of the node that is room for mine."""
    first = job(
        "first",
        role("ps", 1, 9, on=["a", "x", "x", "x", "a"], shape=shape(3)),
        role("worker", 2, 4, on=["x", "a"], shape=shape(2)),
        priority=2,
    )
    mine = worker("mine", 1, 5, on=["a", "x"], shape=shape(2), priority=1)
    found = explain(situation(node("a", 11), first, mine, limits=Limits()), mine.key)
    assert found is not None
    (only,) = found.roles
    assert only.blockers is not None
    ceiling, then = only.blockers.found
    assert isinstance(ceiling, LoadCeiling)
    assert then == InProgress(reasons.leaving(1))


def test_room_that_goes_into_gaps_again_is_asked_for_once_more() -> None:
    """With 500m more on b the queued half CPU goes there, and leaves half a CPU elsewhere."""
    mine = job(
        "mine",
        role("ps", 1, 9, on=["a", "a", "x", "x"]),
        role("worker", 1, 2, on=["x", "a"]),
        queued=-3,
    )
    queued = worker("queued", 1, 1, shape=shape(0.5), queued=0)
    found = explain(situation(node("a", 4), node("b", 1), mine, queued, limits=Limits()), mine.key)
    assert found is not None
    search = found.roles[0].blockers
    assert search is not None
    assert search.complete
    assert [
        blocker.pods for blocker in search.found if isinstance(blocker, InsufficientResources)
    ] == [2]


def test_explain_and_the_queue_name_what_is_scarce_on_nodes_that_could_hold_a_pod() -> None:
    """GPUs are idle, but other pods have taken the CPU of the nodes that have them."""
    card = shape(2, gpu=2)
    nodes = [busy(node(name, 4, gpu=4), room(3)) for name in ("g1", "g2")]
    nodes += [node(f"c{number}", 4) for number in range(9)]
    given = situation(*nodes, worker("mnist", 2, 2, shape=card))
    queued = build_plan(given.run_passes()).waiting[0].reason
    assert isinstance(queued.about, Shortage)
    assert queued.about.lack.resource == "cpu"
    (blocker,) = start("mnist", *nodes, worker("mnist", 2, 2, shape=card))
    assert messages.blocker_text(blocker) == (
        "Insufficient cpu for 2 worker pods (2 CPU, 2 nvidia.com/gpu each): at "
        "most 1 CPU free on one "
        "of the 2 nodes that it may use"
    )


def test_a_gpu_budget_is_raised_to_the_value_of_its_annotation() -> None:
    budget = Quota("team-a", contract.GPU_BUDGET, "GPUs", 4000)
    found = QuotaExceeded(budget, needed=1000, used=4000, left=0, lacks=1000)
    assert messages.remedy(found) == "edl.dev/gpu-budget of namespace team-a raised to 5"


def test_a_refused_start_says_that_it_is_tried_again() -> None:
    why = reasons.quoted(Code.START_REFUSED, "exceeded quota: few")
    refused = OwnCondition(JobCondition.PROBLEM, why)
    assert messages.remedy(refused) == "a change of what refuses it; its start is then tried again"
