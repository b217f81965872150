"""Who starts, who waits, and what they are told."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from edl import reasons
from edl.contract import CleanUp
from edl.feasibility.eligibility import NAME_FIELD
from edl.messages import message
from edl.model import (
    ClusterState,
    Code,
    JobEnd,
    JobKey,
    Node,
    PodAffinityTerm,
    PodConstraints,
    Quota,
    QuotaCharge,
    Reason,
    Requirement,
    ResizePolicy,
    Selector,
    Taint,
    Topology,
    TrainingJob,
    WriteRefusal,
)
from edl.model.causes.reason_subjects import Roles
from edl.model.nodes import CORDONED
from edl.planner.decide import decide
from edl.planner.decision_limits import Limits
from edl.planner.plan import Admission, Plan, Suspension, WaitingJob
from edl.planner.policies import POLICIES
from edl.quantities import Resources
from tests.edl.planner.acting import act
from tests.edl.planner.plans import sizes, started, told, wait_reasons
from tests.edl.planner.states import (
    at,
    busy,
    cluster,
    job,
    node,
    pod,
    role,
    room,
    shape,
    worker,
)
from tests.reasons import because, invalid

PATIENT = Limits(queue_patience=timedelta(hours=9))


def plan_for(state: ClusterState, limits: Limits = PATIENT) -> Plan:
    return decide(state, POLICIES["fair"], limits)


def test_a_job_starts_once_its_minimum_fits() -> None:
    plan = plan_for(cluster(node("a", 4), worker("mnist", 2, 2)))
    (admission,) = plan.admissions
    assert dict(admission.sizes) == {"worker": 2}
    assert message(admission.reason) == "all 2 pods of its minimum fit"
    assert not admission.nodes


def test_a_new_job_is_grown_in_the_plan_that_starts_it() -> None:
    assert started(plan_for(cluster(node("a", 8), worker("mnist", 2, 6)))) == {
        "mnist": {"worker": 6}
    }


def test_a_minimum_may_use_the_last_core_and_growth_may_not() -> None:
    assert started(plan_for(cluster(node("a", 4), worker("mnist", 4, 4))))
    assert started(plan_for(cluster(node("a", 4), worker("mnist", 3, 4)))) == {
        "mnist": {"worker": 3}
    }


def test_gpus_may_be_used_to_the_last_one() -> None:
    plan = plan_for(cluster(node("a", 64, gpu=8), worker("mnist", 1, 8, shape=shape(1, gpu=1))))
    assert started(plan) == {"mnist": {"worker": 8}}


def test_all_roles_start_at_once_in_the_order_of_the_listed_roles() -> None:
    all_roles = job("mnist", role("ps", 2, 2), role("worker", 2, 3, shape=shape(2)))
    (admission,) = plan_for(cluster(node("a", 9), all_roles)).admissions
    assert admission.sizes == (("ps", 2), ("worker", 3))


QUOTA = WriteRefusal(at(-1), 1, "exceeded quota: team")
REFUSED = "the API server refuses its start: exceeded quota: team"


def test_a_refused_start_keeps_no_other_job_from_starting_and_takes_no_room() -> None:
    grown = worker("grown", 1, 4, on=["a", "a", "a", "a"])
    late = worker("late", 3, 3, refusals=(QUOTA,), priority=9, queued=-7200)
    plan = plan_for(cluster(node("a", 4), grown, late, worker("next", 1, 1)))
    assert sizes(plan) == {"grown": 3}
    assert told(plan)["late"] == REFUSED
    shrunk = worker("grown", 1, 4, on=["a", "a", "a"])
    plan = plan_for(cluster(node("a", 4), shrunk, late, worker("next", 1, 1)))
    assert started(plan) == {"next": {"worker": 1}}


def test_a_start_that_a_dry_run_accepted_is_planned_again() -> None:
    late = worker("late", 3, 3, refusals=(replace(QUOTA, lifted=True),))
    assert started(plan_for(cluster(node("a", 4), late))) == {"late": {"worker": 3}}


def test_a_start_that_was_refused_half_written_gives_its_room_back() -> None:
    half = job("half", role("ps", 1, 1, on=["a"]), role("worker", 2, 2), refusals=(QUOTA,))
    plan = plan_for(cluster(node("a", 4), half))
    assert plan.suspensions == (
        Suspension(JobKey("ns", "half"), because(REFUSED, Code.START_REFUSED)),
    )
    assert not plan.admissions


def test_half_a_gang_never_starts() -> None:
    all_roles = job("mnist", role("ps", 2, 2), role("worker", 2, 2, shape=shape(2)))
    plan = plan_for(cluster(node("a", 5), all_roles))
    assert not plan.admissions
    assert "needs 2 x 2 CPU (worker), 2 x 1 CPU (ps); 3 of 4 pods" in told(plan)["mnist"]


def test_big_pods_are_placed_first() -> None:
    all_roles = job("mnist", role("worker", 4, 4), role("ps", 1, 1, shape=shape(4)))
    assert started(plan_for(cluster(node("a", 4), node("b", 4), all_roles)))


def test_first_come_first_served_among_equals() -> None:
    plan = plan_for(
        cluster(node("a", 2), worker("b", 2, 2, queued=-20), worker("a", 2, 2, queued=-10))
    )
    assert list(started(plan)) == ["b"]
    (waiting,) = plan.waiting
    assert (waiting.position, waiting.ahead) == (1, ())


def test_priority_comes_before_age() -> None:
    old, high = worker("old", 2, 2, queued=-9000), worker("high", 2, 2, queued=-1, priority=1)
    assert list(started(plan_for(cluster(node("a", 2), old, high)))) == ["high"]


def test_a_small_job_may_pass_a_large_one_that_does_not_fit() -> None:
    running = worker("running", 2, 2, on=["a", "a"])
    plan = plan_for(
        cluster(node("a", 4), running, worker("big", 4, 4), worker("small", 1, 1, queued=-1))
    )
    assert list(started(plan)) == ["small"]
    assert told(plan)["big"] == "Insufficient cpu: needs 4 x 1 CPU (worker); 2 of 4 pods fit"


def test_a_gang_that_does_not_fit_is_told_so_of_its_own_role() -> None:
    one = job("one", role("worker", 9, 9))
    two = job("two", role("chief", 9, 9), queued=-1)
    assert "9 x 1 CPU (chief)" in told(plan_for(cluster(node("a", 4), one, two)))["two"]


def test_equal_gangs_are_told_each_what_its_own_priority_could_take() -> None:
    runs = worker("runs", 1, 2, on=["a", "a"], priority=1)
    high, low = worker("high", 4, 4, priority=1), worker("low", 4, 4)
    found = told(plan_for(cluster(node("a", 4), runs, high, low)))
    assert found["high"].endswith("3 of 4 pods fit")
    assert found["low"].endswith("2 of 4 pods fit")


def test_no_job_overtakes_a_queue_head_beyond_its_patience() -> None:
    running = worker("running", 2, 2, on=["a", "a"])
    big, small = worker("big", 4, 4, queued=-400), worker("small", 1, 1, queued=-1)
    plan = plan_for(cluster(node("a", 4), running, big, small), Limits())
    assert not plan.admissions
    assert told(plan)["small"] == "ns/big is ahead of it in the queue and starts first"
    assert [found.position for found in plan.waiting if found.position] == [1, 2]


def test_a_suspension_begins_the_patience_of_a_queue_head_anew_and_keeps_its_place() -> None:
    running = worker("running", 2, 2, on=["a", "a"])
    big = worker("big", 4, 4, queued=-4000, suspended_at=at(-299))
    state = cluster(node("a", 4), running, big, worker("small", 1, 1, queued=-1))
    assert list(started(plan_for(state, Limits()))) == ["small"]
    assert [one.job.name for one in plan_for(state, Limits()).waiting if one.position] == ["big"]
    later = replace(state, observed_at=at(1))
    assert told(plan_for(later, Limits()))["small"] == (
        "ns/big is ahead of it in the queue and starts first"
    )


@pytest.mark.parametrize("fields", [{"reason": Code.PAUSED}, {"resumed_at": at(-299)}])
def test_time_that_a_job_was_paused_is_not_time_that_it_waits(fields: dict[str, object]) -> None:
    """Its reason is still the pause, or the end of the pause is recorded."""
    running = worker("running", 2, 2, on=["a", "a"])
    big = worker("big", 4, 4, queued=-4000, **fields)
    state = cluster(node("a", 4), running, big, worker("small", 1, 1, queued=-1))
    assert list(started(plan_for(state, Limits()))) == ["small"]


def test_a_job_that_was_paused_becomes_the_queue_head_once_it_has_waited() -> None:
    running = worker("running", 2, 2, on=["a", "a"])
    big = worker("big", 4, 4, queued=-4000, resumed_at=at(-300))
    plan = plan_for(cluster(node("a", 4), running, big, worker("small", 1, 1)), Limits())
    assert told(plan)["small"] == "ns/big is ahead of it in the queue and starts first"


def test_a_role_that_was_created_again_has_time_to_find_room_beside_those_that_run() -> None:
    chief = role("chief", 1, 1, on=["a"])
    ps = role("ps", 2, 2, suspended_at=at(-60))
    state = cluster(node("a", 2), job("tf", chief, ps, started_at=at(-300)))
    assert plan_for(state).suspensions == ()
    later = replace(state, observed_at=at(60))
    (stop,) = plan_for(later).suspensions
    assert message(stop.reason) == (
        "its remaining roles do not fit beside those that run: requeued"
    )


def pool(name: str) -> tuple[tuple[str, str], ...]:
    return (("pool", name),)


def pools(*, cpu: int = 4) -> list[Node]:
    gpus = node("gpu", 4, gpu=4, labels={"pool": "gpu"})
    return [gpus, node("cpu", cpu, labels={"pool": "cpu"})]


BUSY = worker("busy", 4, 4, shape=shape(0.5, gpu=1), on=["gpu"] * 4)
WAITS = worker("big", 4, 4, shape=shape(0.5, gpu=1), queued=-400)
"""It needs the GPUs that `BUSY` has, and has waited longer than anybody may be passed."""


def test_a_queue_head_holds_back_only_jobs_that_could_use_its_nodes() -> None:
    small = worker("small", 1, 1, shape=shape(node_selector=pool("cpu")), queued=-1)
    plan = plan_for(cluster(*pools(), BUSY, WAITS, small), Limits())
    assert list(started(plan)) == ["small"]


@pytest.mark.parametrize(("cpu", "starts"), [(1.2, True), (1.3, False)])
def test_a_job_without_gpus_starts_before_a_head_that_lacks_them_and_leaves_it_its_cpu(
    cpu: float, *, starts: bool
) -> None:
    """Of the 3.2 idle CPUs of the node with GPUs the head needs two."""
    runs = worker("busy", 4, 4, shape=shape(0.2, gpu=1), on=["gpu"] * 4)
    small = worker("small", 1, 1, shape=shape(cpu), queued=-1)
    plan = plan_for(cluster(*pools(), runs, WAITS, small), Limits())
    expected = None if starts else "ns/big is ahead of it in the queue and starts first"
    assert told(plan).get("small") == expected
    assert list(started(plan)) == (["small"] if starts else [])


def test_cpu_that_returns_with_gpus_is_not_counted_twice() -> None:
    """The head needs one GPU and all idle CPU: when one of four jobs ends, it has both."""
    runs = worker("busy", 4, 4, shape=shape(1, gpu=1), on=["gpu"] * 4)
    big = worker("big", 1, 1, shape=shape(4, gpu=1), queued=-400)
    small = worker("small", 1, 1, queued=-1)
    plan = plan_for(cluster(node("gpu", 8, gpu=4), runs, big, small), Limits())
    assert not plan.admissions


@pytest.mark.parametrize(("cpu", "starts"), [(1, True), (1.5, False)])
def test_a_second_equal_gang_that_has_waited_for_long_keeps_its_cpu(
    cpu: float, *, starts: bool
) -> None:
    runs = worker("busy", 2, 2, shape=shape(0.5, gpu=1), on=["gpu"] * 2)
    heads = [worker(f"big-{n}", 1, 1, shape=shape(4, gpu=1), queued=n - 900) for n in range(2)]
    small = worker("small", 1, 1, shape=shape(cpu), queued=-1)
    plan = plan_for(cluster(node("gpu", 10, gpu=2), runs, *heads, small), Limits())
    assert list(started(plan)) == (["small"] if starts else [])


def test_a_head_that_requests_gpus_delays_a_gang_that_requests_them_too() -> None:
    small = worker("small", 1, 1, shape=shape(0.5, gpu=1), queued=-1)
    nodes = [*pools(), node("more", 4, gpu=1, labels={"pool": "gpu"})]
    plan = plan_for(cluster(*nodes, BUSY, WAITS, small), Limits())
    assert told(plan)["small"] == "ns/big is ahead of it in the queue and starts first"


@pytest.mark.parametrize(("cpu", "starts"), [(3, True), (4, False)])
def test_a_gang_leaves_the_launcher_of_a_head_its_cpu(cpu: float, *, starts: bool) -> None:
    """The head's workers leave two CPUs beside them, and its launcher needs three."""
    launcher = role("launcher", 1, 1, shape=shape(3))
    big = job("big", role("worker", 4, 4, shape=shape(0.5, gpu=1)), launcher, queued=-400)
    small = worker("small", 1, 1, shape=shape(cpu, node_selector=pool("cpu")), queued=-1)
    plan = plan_for(cluster(*pools(cpu=6), BUSY, big, small), Limits())
    assert list(started(plan)) == (["small"] if starts else [])


@pytest.mark.parametrize("starts", [True, False], ids=["preferred", "required"])
def test_only_a_rack_that_a_head_requires_blocks_jobs_without_gpus(*, starts: bool) -> None:
    racks = Topology(preferred=("pool",)) if starts else Topology(required=(("", "pool"),))
    launcher = role("launcher", 1, 1, shape=shape(0.5))
    workers = role("worker", 4, 4, shape=shape(0.5, gpu=1), topology=racks)
    small = worker("small", 1, 1, shape=shape(node_selector=pool("cpu")), queued=-1)
    state = cluster(*pools(), BUSY, job("big", workers, launcher, queued=-400), small)
    assert list(started(plan_for(state, Limits()))) == (["small"] if starts else [])


def test_extras_count_as_capacity_that_a_head_gets() -> None:
    """Without them the node with GPUs would have 1.2 CPUs, and the head needs two."""
    runs = worker("busy", 4, 4, shape=shape(0.2, gpu=1), on=["gpu"] * 4)
    extras = worker("extras", 1, 3, on=["cpu", "gpu", "gpu"], queued=-500)
    small = worker("small", 1, 1, shape=shape(0.8), queued=-1)
    plan = plan_for(cluster(*pools(), runs, WAITS, extras, small), Limits())
    assert list(started(plan)) == ["small"]


def test_each_pool_has_a_head_of_its_own() -> None:
    def on_cpus(name: str, pods: int, queued: float) -> TrainingJob:
        found = shape(node_selector=pool("cpu"))
        return worker(name, pods, pods, shape=found, queued=queued, on=None)

    runs = worker("runs", 1, 1, shape=shape(node_selector=pool("cpu")), on=["cpu"])
    jobs = [runs, on_cpus("large", 4, -350), on_cpus("small", 1, -1)]
    plan = plan_for(cluster(*pools(), BUSY, WAITS, *jobs), Limits())
    assert not plan.admissions
    assert told(plan)["small"] == "ns/large is ahead of it in the queue and starts first"


def test_a_queue_head_holds_back_gangs_with_constraints_against_its_nodes() -> None:
    """Zones cross the pools: beside a pod of `web` the head may start nowhere in the zone."""

    def app(name: str, *apart: str) -> PodConstraints:
        def term(other: str) -> PodAffinityTerm:
            return PodAffinityTerm("zone", Selector(("ns",), (Requirement("app", "In", (other,)),)))

        return PodConstraints("ns", (("app", name),), anti_affinity=tuple(map(term, apart)))

    found = [replace(one, labels={**(one.labels or {}), "zone": "a"}) for one in pools()]
    waits = worker("big", 4, 4, shape=shape(0.5, gpu=1, constraints=app("big", "web")), queued=-400)
    web = worker(
        "web", 1, 1, shape=shape(node_selector=pool("cpu"), constraints=app("web")), queued=-1
    )
    plan = plan_for(cluster(*found, BUSY, waits, web), Limits())
    assert not plan.admissions
    assert told(plan)["web"] == "ns/big is ahead of it in the queue and starts first"


def test_young_gangs_ahead_keep_no_gang_from_becoming_the_head() -> None:
    """Else their endless arrival would let small ones pass it for ever."""
    running = worker("running", 2, 2, on=["a", "a"])
    young = worker("young", 4, 4, queued=-1, priority=1)
    old, small = worker("old", 3, 3, queued=-400), worker("small", 1, 1, queued=-1)
    plan = plan_for(cluster(node("a", 4), running, young, old, small), Limits())
    assert not plan.admissions
    assert told(plan)["small"] == "ns/old is ahead of it in the queue and starts first"


def test_a_higher_priority_passes_a_head_that_has_waited_too_long() -> None:
    running = worker("running", 2, 2, on=["a", "a"])
    big, high = worker("big", 4, 4, queued=-400), worker("high", 1, 1, queued=-1, priority=1)
    assert list(started(plan_for(cluster(node("a", 4), running, big, high), Limits()))) == ["high"]


def test_a_job_that_can_never_fit_blocks_no_other_job() -> None:
    big, small = worker("big", 9, 9, queued=-400), worker("small", 1, 1, queued=-1)
    plan = plan_for(cluster(node("a", 4), big, small), Limits())
    assert list(started(plan)) == ["small"]
    assert "4 of 9 pods would fit" in told(plan)["big"]


def test_a_job_on_whose_nodes_other_pods_terminate_may_start_once_they_are_gone() -> None:
    """It becomes a queue head, too: capacity that is not free yet does not count as lost."""
    here = replace(node("a", 4), used=room(1, pods=1), releasing=room(1, pods=1))
    runs = worker("runs", 2, 2, on=["a", "a"], priority=1)
    big, small = worker("big", 4, 4, queued=-400), worker("small", 1, 1, queued=-1)
    plan = plan_for(cluster(here, runs, big, small), Limits())
    assert wait_reasons(plan)["big"].code is Code.INSUFFICIENT_CAPACITY
    assert wait_reasons(plan)["small"] == reasons.goes_first(big.key)


def test_terminating_pods_of_training_jobs_free_their_capacity_once() -> None:
    leaving = tuple(pod(index, "a", terminating=True) for index in range(2))
    plan = plan_for(cluster(node("a", 4), worker("stops", 2, 2, pods=leaving), worker("big", 5, 5)))
    assert wait_reasons(plan)["big"].code is Code.NEVER_FITS


def test_a_job_that_can_never_start_waits_behind_no_queue_head() -> None:
    """It would count as ahead of others, and its reason would hide what is wrong with it."""
    running = worker("running", 2, 2, on=["a", "a"])
    head, never = worker("head", 4, 4, queued=-400), worker("never", 9, 9, queued=-300)
    last = worker("last", 1, 1, queued=-1)
    plan = plan_for(cluster(node("a", 4), running, head, never, last), Limits())
    assert [(one.job.name, one.position, one.never) for one in plan.waiting] == [
        ("head", 1, False),
        ("last", 2, False),
        ("never", 0, True),
    ]
    assert "4 of 9 pods would fit" in told(plan)["never"]


def test_the_plan_is_looked_at_again_when_patience_ends() -> None:
    running = worker("running", 2, 2, on=["a", "a"])
    plan = plan_for(cluster(node("a", 4), running, worker("big", 4, 4, queued=-100)), Limits())
    assert plan.recheck_after == timedelta(seconds=200)


def test_for_a_gang_that_no_node_can_ever_hold_no_plan_is_looked_at_again() -> None:
    plan = plan_for(cluster(node("a", 4), worker("big", 9, 9, queued=-100)), Limits())
    assert (list(told(plan)), plan.recheck_after) == (["big"], None)


def test_a_job_waits_for_all_its_roles() -> None:
    plan = plan_for(cluster(node("a", 4), worker("mnist", 1, 1, missing=("ps", "chief"))))
    assert plan.waiting == (
        WaitingJob(JobKey("ns", "mnist"), Reason(Code.INCOMPLETE, Roles(("ps", "chief")))),
    )


def test_a_problem_is_the_reason() -> None:
    plan = plan_for(
        cluster(node("a", 4), worker("mnist", 1, 1, problem=invalid("different roles")))
    )
    assert told(plan) == {"mnist": "different roles"}
    assert not plan.admissions


def test_a_selector_that_no_node_matches_is_named() -> None:
    mine = worker("mnist", 1, 1, shape=shape(1, node_selector=(("zone", "moon"),)))
    assert (
        "no node matches its node selector zone=moon"
        in told(plan_for(cluster(node("a"), mine)))["mnist"]
    )


@pytest.mark.parametrize(
    ("terms", "selector", "named"),
    [
        (
            [Requirement("SharedGPU", "NotIn", ("true",))],
            (("zone", "a"),),
            (
                "no node matches its node selector zone=a and node affinity SharedGPU NotIn true "
                "(whole GPUs stay off KubeShare's nodes)"
            ),
        ),
        (
            [Requirement("disk", "In", ("ssd", "nvme")), Requirement("fast", "Exists", ())],
            (),
            "no node matches its node affinity disk In [ssd, nvme] or fast Exists",
        ),
        (
            [Requirement("disk", "Exists", ())],
            (("zone", "moon"),),
            "no node matches its node selector zone=moon",
        ),
    ],
)
def test_node_affinity_that_no_node_matches_is_named(
    terms: list[Requirement], selector: tuple[tuple[str, str], ...], named: str
) -> None:
    alternatives = tuple((term,) for term in terms)
    wanted = shape(1, node_selector=selector, affinity=alternatives)
    shared = replace(node("a"), labels={"zone": "a", "SharedGPU": "true"})
    found = told(plan_for(cluster(shared, worker("mnist", 1, 1, shape=wanted))))["mnist"]
    assert found.startswith(f"{named}: "), found


@pytest.mark.parametrize("selector", [(), (("zone", "moon"),)])
def test_a_node_name_that_does_not_exist_is_named(selector: tuple[tuple[str, str], ...]) -> None:
    """`nodeName` is read as an affinity to that node, which the manifest does not contain."""
    affinity = ((Requirement(NAME_FIELD, "In", ("node-999",)),),)
    mine = worker("mnist", 1, 1, shape=shape(1, affinity=affinity, node_selector=selector))
    said = told(plan_for(cluster(node("a"), mine)))["mnist"]
    assert said == "no node is named node-999: needs 1 x 1 CPU (worker)"


def test_kubeshares_selector_is_explained_to_users_who_never_wrote_it() -> None:
    mine = worker("mnist", 1, 1, shape=shape(1, node_selector=(("SharedGPU", "true"),)))
    said = told(plan_for(cluster(node("a"), mine)))["mnist"]
    assert "SharedGPU=true (for a share of a GPU, on nodes with KubeShare)" in said


def test_a_manual_size_is_what_the_gang_needs() -> None:
    assert started(plan_for(cluster(node("a", 8), worker("mnist", 1, 8, replicas=5)))) == {
        "mnist": {"worker": 5}
    }
    assert not plan_for(cluster(node("a", 4), worker("mnist", 1, 8, replicas=5))).admissions


def test_a_start_that_a_crash_left_half_done_is_completed_first() -> None:
    half = job("half", role("ps", 1, 1, on=["a"]), role("worker", 2, 2), queued=-1)
    first = worker("first", 2, 2, queued=-9000, priority=9)
    plan = plan_for(cluster(node("a", 3), half, first))
    assert plan.admissions == (
        Admission(
            half.key,
            (("worker", 2),),
            reasons.completed(["worker"]),
            nodes=(("worker", ("a", "a")),),
        ),
    )


def test_half_a_start_that_cannot_be_completed_is_taken_back() -> None:
    half = job("half", role("ps", 1, 1, on=["a"]), role("worker", 9, 9))
    plan = plan_for(cluster(node("a", 3), half))
    assert [found.reason for found in plan.suspensions] == [reasons.GANG_UNSCHEDULABLE_COMPLETION]


def test_a_start_has_two_minutes_to_be_completed_and_not_a_second_more() -> None:
    for seconds, expected in ((119, []), (120, [reasons.GANG_UNSCHEDULABLE_COMPLETION])):
        half = job("half", role("ps", on=["a"]), role("worker", 9, 9), started_at=at(-seconds))
        plan = plan_for(cluster(node("a", 3), half))
        assert [found.reason for found in plan.suspensions] == expected


def test_capacity_being_freed_for_a_gang_is_kept_from_later_jobs() -> None:
    leaving = worker("old", 1, 1, pods=(pod(0, "a", terminating=True),), ending=JobEnd.COMPLETE)
    plan = plan_for(
        cluster(node("a", 2), leaving, worker("b", 2, 2, queued=-9), worker("c", 1, 1, queued=-1))
    )
    assert told(plan)["b"] == "2 pods wait for others to terminate"
    assert "c" not in started(plan)


def test_a_job_does_not_start_while_its_previous_pods_leave() -> None:
    again = worker("again", 1, 1, pods=(pod(0, "a", terminating=True),))
    assert wait_reasons(plan_for(cluster(node("a", 4), again))) == {
        "again": reasons.PODS_TERMINATING
    }


def test_a_job_that_is_decided_takes_part_in_nothing() -> None:
    done = role("chief", 1, 1, on=[], size=1, ending=JobEnd.COMPLETE, is_leader=True)
    over = job("over", done, role("worker", 1, 9, on=["a"], is_leader=False))
    assert plan_for(cluster(node("a", 9), over)) == Plan()


@pytest.mark.parametrize(
    ("clean_up", "growth"), [(CleanUp.RUNNING, {}), (CleanUp.NONE, {"runs": 2})]
)
def test_pods_that_the_end_of_their_job_ends_free_their_room_for_the_queue(
    clean_up: CleanUp, growth: dict[str, int]
) -> None:
    """Else another job grows in the room of the chief, and gives it back a moment later."""
    chief = role("chief", pods=(), size=1, suspended=False, ending=JobEnd.COMPLETE)
    chief = chief.changed(clean_up=clean_up)
    over = job("over", chief, role("ps", on=["a"]))
    waits = worker("waits", 3, 3, queued=-9)
    runs = worker("runs", 1, 2, on=["a"], queued=-99)
    assert sizes(plan_for(cluster(node("a", 4), over, runs, waits))) == growth


def test_nodes_that_are_cordoned_take_nothing() -> None:
    assert not plan_for(cluster(node("a", 4, cordoned=True), worker("mnist", 1, 1))).admissions


def test_others_pods_use_counts() -> None:
    assert not plan_for(cluster(busy(node("a", 4), room(3)), worker("mnist", 2, 2))).admissions


def test_a_cluster_without_nodes_queues_every_job() -> None:
    plan = plan_for(cluster(worker("mnist", 1, 1)))
    assert told(plan) == {"mnist": "no node is schedulable: needs 1 x 1 CPU (worker)"}


def test_no_job_waits_for_a_pod_stuck_terminating_on_a_lost_node() -> None:
    again = worker("again", 1, 1, pods=(pod(0, "lost", terminating=True),))
    for lost in ([node("lost", ready=False)], []):
        plan = plan_for(cluster(node("a", 4), *lost, again))
        assert [found.job.name for found in plan.admissions] == ["again"]


def test_a_job_waits_for_its_pods_that_terminate_on_a_cordoned_node() -> None:
    """They still write their checkpoint."""
    cordoned = node("cordoned", cordoned=True, taints=(Taint(CORDONED, "", "NoSchedule"),))
    again = worker("again", 1, 1, pods=(pod(0, "cordoned", terminating=True),))
    plan = plan_for(cluster(node("a", 4), cordoned, again))
    assert wait_reasons(plan) == {"again": reasons.PODS_TERMINATING}


@pytest.mark.parametrize("gpus", ["gpu-1", "z-gpu-1"])
def test_a_gang_finds_its_nodes_whatever_their_names(gpus: str) -> None:
    """Servers first on the only node with GPUs would leave no room to the workers there."""
    workers = role("worker", 1, 1, shape=shape(4, gpu=1))
    mnist = job("mnist", role("ps", shape=shape(6)), workers)
    plan = plan_for(cluster(node(gpus, 8, gpu=4), node("std-1", 8), mnist))
    assert started(plan) == {"mnist": {"ps": 1, "worker": 1}}


def test_the_queue_is_told_in_its_order_also_where_a_start_waits_for_pods_on_their_way() -> None:
    coming = worker("coming", 2, 2, shape=shape(1), on=["a", ""], started_at=at(-5))
    part = coming.roles[0].changed(pods=(pod(0, "a"), pod(1, created_at=at(-5))))
    first = worker("first", 1, 1, shape=shape(4), priority=5)
    last = worker("last", 1, 1, shape=shape(4))
    state = cluster(node("a", 4), node("b", 4), replace(coming, roles=(part,)), first, last)
    queue = [found for found in plan_for(state).waiting if found.position]
    assert [(one.position, one.job.name) for one in queue] == [(1, "first"), (2, "last")]


def test_a_job_that_can_never_start_takes_no_queue_position() -> None:
    large = worker("large", 1, 1, shape=shape(50), priority=9)
    elsewhere = worker("elsewhere", 1, 1, shape=shape(node_selector=pool("tpu")), priority=8)
    later = worker("later", 1, 1, shape=shape(node_selector=pool("cordoned")), priority=7)
    runs, last = worker("runs", 2, 2, on=["a", "a"]), worker("last", 2, 2)
    nodes = (node("a", 2), node("b", 1, labels={"pool": "cordoned"}, cordoned=True))
    plan = plan_for(cluster(*nodes, runs, last, large, elsewhere, later))
    assert [(one.job.name, one.position, one.never) for one in plan.waiting] == [
        ("later", 1, False),
        ("last", 2, False),
        ("large", 0, True),
        ("elsewhere", 0, True),
    ]
    assert plan.waiting[1].ahead == (later.key,)


def test_a_job_that_no_quota_ever_admits_waits_behind_no_queue_head() -> None:
    counted = {"charges": (QuotaCharge("team", "pods", 1),)}
    running = worker("running", 2, 2, on=["a", "a"])
    head, never = worker("head", 4, 4, queued=-400), worker("never", 3, 3, queued=-300, **counted)
    state = cluster(node("a", 4), running, head, never)
    plan = plan_for(replace(state, quotas=(Quota("ns", "team", "pods", 2),)), Limits())
    assert [(one.job.name, one.position, one.never) for one in plan.waiting] == [
        ("head", 1, False),
        ("never", 0, True),
    ]
    assert "team" in told(plan)["never"]


def test_a_job_that_can_never_start_takes_no_queue_position_while_a_quota_is_used_up() -> None:
    counted = {"charges": (QuotaCharge("team", "pods", 1),)}
    elsewhere = worker("elsewhere", 1, 1, shape=shape(node_selector=pool("tpu")), **counted)
    large = worker("large", 1, 1, shape=shape(50), **counted)
    runs = worker("runs", 2, 2, on=["a", "a"], **counted)
    state = cluster(node("a", 9), runs, elsewhere, large, worker("last", 1, 1, **counted))
    plan = plan_for(replace(state, quotas=(Quota("ns", "team", "pods", 2),)))
    assert [(one.job.name, one.position, one.never) for one in plan.waiting] == [
        ("last", 1, False),
        ("elsewhere", 0, True),
        ("large", 0, True),
    ]


def test_a_gang_of_several_roles_waits_where_every_node_is_cordoned() -> None:
    all_roles = job("mnist", role("ps", 1, 1), role("worker", 2, 2))
    plan = plan_for(cluster(node("a", 4, cordoned=True), all_roles))
    assert told(plan)["mnist"].startswith("no node is schedulable")


def test_a_gang_waits_first_in_line_for_work_items_that_would_leave_it_room() -> None:
    items = role("worker", 1, 3, on=["a"] * 3, indexed=False, resizing=ResizePolicy.ITEMS)
    state = cluster(
        node("a", 4),
        job("items", items, framework="none", priority=1),
        worker("large", 4, 4, queued=-3600),
        worker("small", 1, 1, queued=-10),
    )
    assert wait_reasons(plan_for(state, Limits()))["small"] == reasons.goes_first(
        JobKey("ns", "large")
    )


def test_amounts_beyond_the_number_range_are_clamped() -> None:
    much = Resources.parse({"cpu": "1e30", "pods": 1})
    roomy = replace(node("a"), allocatable=much + room(pods=109))
    full = replace(node("b", 64), used=much + much)
    wanted = worker("mnist", 2, 2)
    assert started(plan_for(cluster(roomy, full, wanted))) == {"mnist": {"worker": 2}}
    assert started(plan_for(cluster(full, wanted))) == {}


@pytest.mark.parametrize("gated", [False, True])
def test_a_start_holds_its_room_before_its_pods_are_made(*, gated: bool) -> None:
    """Also of a size that never changes, for which nothing else is to be decided."""
    begun = worker("begun", 2, 2, suspended=False, gated=gated, started_at=at(-1))
    state = cluster(node("a", 2), begun, worker("next", 1, 1))
    assert started(plan_for(state)) == {}


@pytest.mark.parametrize(("manual", "what"), [(None, "minimum"), (5, "manual size")])
def test_a_start_says_whether_its_minimum_or_its_manual_size_fits(
    manual: int | None, what: str
) -> None:
    plan = plan_for(
        cluster(node("a", 8), worker("mnist", 5 - 4 * bool(manual), 8, replicas=manual))
    )
    (admission,) = plan.admissions
    assert message(admission.reason) == f"all 5 pods of its {what} fit"


def behind_a_head(yielded: float, head: float, extras: int = 0) -> Plan:
    """The plan where `low` has yielded to the gang; the head fits once `fixed` has ended, too."""
    low = worker("low", 1, 4, on=["b"] * (1 + extras), resized_at=at(yielded))
    (part,) = low.roles
    low = replace(low, roles=(part.changed(last=reasons.room_for_job(JobKey("ns", "gang"))),))
    gang = worker("gang", 1, 1, shape=shape(3), queued=-100)
    first = worker("head", 2, 2, shape=shape(4), queued=head)
    nodes = node("a", 4), node("b", 4)
    fixed = worker("fixed", 2, 2, on=["a", "a"])
    return plan_for(cluster(*nodes, low, fixed, first, gang), Limits(load_ceiling=1))


def test_a_gang_to_which_jobs_yielded_before_the_head_had_waited_for_long_starts() -> None:
    assert list(started(behind_a_head(yielded=-5, head=-301))) == ["gang"]


@pytest.mark.parametrize(("yielded", "head"), [(-5, -306), (-5, -450), (-120, -301), (-400, -301)])
def test_a_gang_to_which_jobs_yielded_long_ago_or_later_waits_for_the_head(
    yielded: float, head: float
) -> None:
    plan = behind_a_head(yielded, head)
    assert wait_reasons(plan)["gang"] == reasons.goes_first(JobKey("ns", "head"))


def test_jobs_yield_no_more_to_a_gang_once_the_head_has_waited_for_long() -> None:
    plan = behind_a_head(yielded=-5, head=-301, extras=1)
    assert (sizes(plan), wait_reasons(plan)["gang"]) == (
        {},
        reasons.goes_first(JobKey("ns", "head")),
    )


def test_capacity_that_becomes_idle_stays_reserved_for_a_gang_to_which_jobs_yielded() -> None:
    """The head becomes patient while the pods terminate."""
    low = worker("low", 1, 4, on=["b"] * 4)
    gang = worker("gang", 1, 1, shape=shape(3), queued=-100)
    head = worker("head", 2, 2, shape=shape(4), queued=-299)
    fixed = worker("fixed", 2, 2, on=["a", "a"])
    state = cluster(node("a", 4), node("b", 4), low, fixed, head, gang)
    plans = []
    for _ in range(4):
        plans.append(plan_for(state, Limits(load_ceiling=1)))
        state = act(state, plans[-1], after=timedelta(seconds=2), lingering=True)
    assert [sizes(plan) for plan in plans] == [{"low": 1}, {}, {}, {}]
    assert wait_reasons(plans[1])["gang"].code is Code.PODS_TERMINATING
    assert list(started(plans[2])) == ["gang"]
