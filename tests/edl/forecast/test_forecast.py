"""When: about, at the latest, or an honest unknown."""

from datetime import timedelta
from itertools import count
from typing import Any

import pytest
from msgspec.structs import replace

from edl import reasons
from edl.contract import Provision
from edl.forecast.estimate import Certainty, Estimate, rounded, waiting_for
from edl.forecast.forecast import forecast
from edl.model import (
    ClusterState,
    JobKey,
    Node,
    ProvisionalPod,
    Provisioning,
    Quota,
    QuotaCharge,
    ResizePolicy,
    Taint,
    Team,
    Teams,
    Topology,
    TrainingJob,
)
from edl.planner.decide import decide
from edl.planner.decision_limits import Autoscaler, Limits
from edl.planner.plan import Plan, WaitingJob
from edl.planner.published_settings import Settings
from tests.edl.planner.bytecode_count import instructions
from tests.edl.planner.states import (
    NOON,
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
from tests.reasons import invalid

MINUTE = timedelta(minutes=1)
WAITS = JobKey("ns", "waits")
FULL_RACK = "Insufficient cpu for one more pod of 1 CPU in rack=a"


def full(*jobs: TrainingJob, more: Node | None = None) -> ClusterState:
    nodes = [node("a", 4), *([more] if more else [])]
    return cluster(*nodes, *jobs, worker("waits", 2, 2))


def runs(name: str, pods: int = 4, **fields: object) -> TrainingJob:
    return worker(name, pods, pods, on=["a"] * pods, started_at=at(-600), **fields)


def start(state: ClusterState) -> Estimate:
    return forecast(state, Settings(), [WAITS]).starts[WAITS]


def test_it_starts_about_when_the_declared_length_of_another_is_over() -> None:
    found = start(full(runs("first", duration=30 * MINUTE)))
    assert found.certainty is Certainty.ABOUT
    assert found.at is not None
    assert 20 * MINUTE <= found.at - NOON <= 26 * MINUTE


def test_the_pods_of_a_deleted_job_may_end_at_any_time() -> None:
    """A finalizer of another program keeps them."""
    state = full(runs("held"))
    held, *others = state.jobs
    deleted = replace(state, jobs=(*others,), unplanned_jobs=(held,))
    assert start(replace(deleted, unplanned_jobs=())).certainty is Certainty.NEVER
    assert start(deleted).certainty is Certainty.UNKNOWN


def test_what_fits_now_starts_now() -> None:
    assert start(full(more=node("b", 4))) == Estimate(Certainty.NOW, NOON)


def test_without_a_known_end_nothing_is_promised() -> None:
    found = start(full(runs("first")))
    assert found == Estimate(Certainty.UNKNOWN, None, "ns/first has no known end")


def test_a_job_past_its_declared_duration_is_named() -> None:
    found = start(full(runs("first", duration=MINUTE)))
    assert found.reason == "ns/first has run longer than declared"


def test_a_job_with_an_unknown_end_can_only_make_the_start_sooner() -> None:
    found = start(full(runs("first", 2), runs("second", 2, duration=20 * MINUTE)))
    assert found.certainty is Certainty.LATEST
    assert found.reason == "sooner if ns/first ends"


def test_no_job_is_named_for_a_wait_of_seconds() -> None:
    ending = runs("second", 2, duration=605 * timedelta(seconds=1))
    found = start(full(runs("first", 2), ending))
    assert (found.certainty, found.reason) == (Certainty.ABOUT, "")


def test_a_start_behind_pods_that_no_scheduler_binds_may_wait_for_the_pending_limit() -> None:
    pods = tuple(pod(index, created_at=at(-5)) for index in range(2))
    fields = {"suspended": False, "size": 2, "pods": pods, "started_at": at(-5)}
    ahead, waits = worker("ahead", 2, 2, **fields), worker("waits", 1, 1, shape=shape(2))
    state, settings = cluster(node("a", 3), node("b", 2), ahead, waits), Settings()
    plan = decide(state, settings.policy_to_apply(), settings.limits)
    found = forecast(state, settings, [WAITS], plan=plan).starts[WAITS]
    assert (found.certainty, found.at) == (Certainty.LATEST, NOON + Limits().pending_limit)
    assert found.reason == "sooner if pods ahead of it get nodes earlier"


def test_the_end_of_a_job_on_nodes_that_it_cannot_use_is_not_named() -> None:
    elsewhere = worker("gpus", 1, 1, shape=shape(1, gpu=1), on=["g"])
    asks = worker("waits", 1, 1, shape=shape(4))
    state = cluster(node("a", 4), node("g", 2, gpu=1), runs("first"), elsewhere, asks)
    assert start(state).reason == "ns/first has no known end"


@pytest.mark.parametrize("teams", [Teams(), Teams.of([Team("lab", namespaces=("ns",))])])
def test_growth_that_lacks_gpus_names_only_jobs_that_hold_some(teams: Teams) -> None:
    gpu = shape(1, gpu=1)
    grows, holds = (worker(name, 1, 4, shape=gpu, on=["g"]) for name in ("grows", "holds"))
    beside = worker("beside", 1, 1, on=["g"])
    nodes = (node("a", 4), node("g", 9, gpu=2))
    state = replace(cluster(*nodes, grows, holds, beside, runs("first")), teams=teams)
    found = forecast(state, Settings(), [grows.key]).grows[grows.key]
    assert found.reason == "ns/holds has no known end"


@pytest.mark.parametrize("teams", [Teams(), Teams.of([Team("lab", namespaces=("ns",))])])
def test_growth_within_a_topology_domain_depends_on_no_job_of_another(teams: Teams) -> None:
    racks = [node(name, 4, labels={"rack": name}) for name in ("a", "b")]
    kept = Topology(required=(("", "rack"),))
    grows = worker("waits", 2, 8, on=["a"] * 2, topology=kept)
    state = cluster(*racks, grows, runs("beside", 2), worker("far", 4, 4, on=["b"] * 4))
    found = forecast(replace(state, teams=teams), Settings(), [WAITS]).grows[WAITS]
    assert found.reason == f"{FULL_RACK}, and ns/beside has no known end"


def test_growth_in_a_domain_that_the_job_fills_itself_names_the_domain() -> None:
    racks = [node(name, 4, labels={"rack": name}) for name in ("a", "b")]
    grows = worker("waits", 2, 8, on=["a"] * 4, topology=Topology(required=(("", "rack"),)))
    team = Teams.of([Team("lab", namespaces=("ns",))])
    state = replace(cluster(*racks, grows, worker("far", 4, 4, on=["b"] * 4)), teams=team)
    assert forecast(state, Settings(), [WAITS]).grows[WAITS].reason == FULL_RACK


def test_progress_is_as_good_as_a_word() -> None:
    found = start(full(runs("first", progress=0.5)))
    assert found.certainty is Certainty.ABOUT
    assert found.at is not None
    assert 10 * MINUTE <= found.at - NOON <= 15 * MINUTE


def test_a_job_that_can_never_start_gets_the_reason() -> None:
    state = cluster(busy(node("a", 4), room(3)), worker("waits", 2, 2))
    found = forecast(state, Settings(), [WAITS]).starts[WAITS]
    assert found.certainty is Certainty.NEVER
    assert found.reason.startswith("Insufficient cpu, even if no training job ran: needs ")


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"paused": True}, "it is paused"),
        ({"problem": invalid("no PriorityClass")}, "no PriorityClass"),
        ({"missing": ("ps",)}, "its Jobs of ps do not exist yet"),
    ],
)
def test_what_is_in_its_own_way_is_said(fields: dict[str, object], reason: str) -> None:
    state = cluster(node("a", 4), worker("waits", 2, 2, **fields))
    found = start(state)
    assert (found.certainty, found.at, found.reason) == (Certainty.UNKNOWN, None, reason)


def test_a_running_job_is_told_when_it_grows() -> None:
    grows = worker("grows", 1, 3, on=["a"])
    state = cluster(node("a", 4), runs("first", 3, duration=30 * MINUTE), grows)
    found = forecast(state, Settings(), [grows.key])
    assert not found.starts
    assert found.grows[grows.key].certainty is Certainty.ABOUT


def test_work_items_that_are_nearly_done_never_grow_their_job() -> None:
    items = {"resizing": ResizePolicy.ITEMS, "indexed": False, "remaining": 4, "progress": 0.95}
    late = worker("late", 1, 3, on=["a"], started_at=at(-600), **items)
    found = forecast(cluster(node("a", 4), late), Settings(), [late.key])
    ends = "it ends before it can be scaled up"
    assert found.grows[late.key] == Estimate(Certainty.UNKNOWN, None, ends)


@pytest.mark.parametrize("fields", [{}, {"duration": 30 * MINUTE}])
def test_work_items_that_are_all_done_before_their_job_is_recorded_as_complete_are_simulated(
    fields: dict[str, Any],
) -> None:
    done = runs("first", resizing=ResizePolicy.ITEMS, indexed=False, remaining=0, **fields)
    assert start(full(done)).certainty is not Certainty.NEVER


def test_a_forecast_cut_short_gives_no_estimate() -> None:
    state = full(runs("first", duration=30 * MINUTE))
    found = forecast(state, Settings(), [WAITS], enough=lambda: True).starts[WAITS]
    assert found == Estimate(Certainty.LATER, None, "it was not computed within the time limit")


def test_a_forecast_cut_short_keeps_the_starts_found_and_bounds_the_others() -> None:
    """The bound is the simulated time that was reached: the later job starts after 40 minutes."""
    running = (runs("first", 2, duration=20 * MINUTE), runs("second", 2, duration=50 * MINUTE))
    first = worker("waits", 2, 2, duration=30 * MINUTE)
    later = worker("later", 2, 2, queued=0, duration=30 * MINUTE)
    state, asked = cluster(node("a", 4), *running, first, later), [WAITS, later.key]
    exact = forecast(state, Settings(), asked).starts
    for most in range(40):
        calls = count()
        found = forecast(state, Settings(), asked, lambda: next(calls) >= most).starts  # noqa: B023
        if found[WAITS].certainty is Certainty.ABOUT:
            break
    assert found[WAITS] == exact[WAITS]
    bound, start = found[later.key], exact[later.key].at
    assert bound.certainty is Certainty.LATER
    assert bound.at is not None
    assert start is not None
    assert 8 * MINUTE <= bound.at - NOON < start - NOON
    assert bound.reason == "it was not computed within the time limit"


def test_ends_seconds_apart_cost_few_decisions_once_estimates_are_rounded_to_more() -> None:
    """A decision for each end made hundreds of queued jobs cost minutes."""

    def cost(apart: float) -> int:
        ends = ((f"job-{n}", timedelta(seconds=720 + n * apart)) for n in range(24))
        running = [runs(name, 1, duration=end) for name, end in ends]
        state = cluster(node("a", 24), *running, worker("waits", 24, 24))
        return instructions(lambda: start(state))

    assert cost(1) < 2 * cost(0.01)


def test_a_bound_names_the_jobs_whose_unknown_end_would_make_it_sooner() -> None:
    state, calls = full(runs("first", 2), runs("second", 2, duration=50 * MINUTE)), count()
    found = forecast(state, Settings(), [WAITS], lambda: next(calls) >= 1).starts[WAITS]
    assert found.certainty is Certainty.LATER
    assert found.reason.endswith("; sooner if ns/first ends")


def test_a_node_that_no_simulated_autoscaler_removes_costs_no_further_decisions() -> None:
    """It stays unneeded until the horizon: plans would look at it every ten minutes."""
    state = replace(full(runs("first"), more=node("b", 1)), autoscaled=True)
    looks = count(1)
    found = forecast(state, Settings(), [WAITS], enough=lambda: next(looks) > 20).starts[WAITS]
    assert found.reason == "ns/first has no known end"


def test_a_job_that_is_not_there_is_left_out() -> None:
    assert not forecast(full(), Settings(), [JobKey("ns", "gone")]).starts


@pytest.mark.parametrize(
    ("wait", "told", "at_most"),
    [
        (6.6, 7, 7),
        (61, 60, 70),
        (121, 120, 180),
        (540, 540, 540),
        (660, 600, 900),
        (5.2 * 3600, 5 * 3600, 6 * 3600),
        (90001, 129600, 129600),
    ],
)
def test_estimates_are_rounded_to_the_precision_of_the_wait(
    wait: float, told: int, at_most: int
) -> None:
    length = timedelta(seconds=wait)
    assert rounded(NOON, length, up=False) - NOON == timedelta(seconds=told)
    assert rounded(NOON, length, up=True) - NOON == timedelta(seconds=at_most)


def test_the_same_moment_reads_the_same_a_little_later() -> None:
    later = timedelta(seconds=40)
    wait = timedelta(minutes=33)
    assert rounded(NOON, wait, up=False) == rounded(NOON + later, wait - later, up=False)


def test_what_no_node_could_take_even_if_it_were_empty_never_starts() -> None:
    large = worker("waits", 1, 1, shape=shape(9))
    found = start(cluster(node("a", 4), large, runs("first")))
    assert found.certainty is Certainty.NEVER
    assert found.at is None
    assert found.reason


def test_a_gang_that_is_larger_than_the_cluster_never_starts() -> None:
    assert start(cluster(node("a", 4), worker("waits", 5, 5))).certainty is Certainty.NEVER


def test_a_job_that_never_fits_names_its_own_cause_and_no_running_job() -> None:
    """Whatever waits or runs beside it: the plan holds it for the nodes alone."""
    held = worker("held", 3, 3, queued=-9000)
    state = cluster(node("a", 4), worker("waits", 5, 5), held, runs("first"))
    found = start(state)
    assert found.certainty is Certainty.NEVER
    assert found.reason == "Insufficient cpu, even if no training job ran: needs 5 x 1 CPU (worker)"


def test_a_gang_that_no_topology_domain_can_hold_never_starts() -> None:
    rack = "example.com/rack"
    nodes = [busy(node(name, 4, labels={rack: name}), room(2)) for name in "ab"]
    placed = role("worker", 3, 3, gated=True, topology=Topology(required=(("", rack),)))
    first = worker("first", 2, 2, on=["a"] * 2, started_at=at(-600))
    found = start(cluster(*nodes, job("waits", placed), first))
    assert found.certainty is Certainty.NEVER
    assert "even if no training job ran" in found.reason


@pytest.mark.parametrize(
    ("state", "taint"),
    [({"cordoned": True}, "unschedulable"), ({"ready": False}, "unreachable")],
)
def test_a_node_that_is_cordoned_or_not_ready_may_come_back(
    state: dict[str, Any], taint: str
) -> None:
    own = Taint(f"node.kubernetes.io/{taint}", effect="NoSchedule")
    away = node("b", 4, taints=(own,), **state)
    found = start(cluster(node("a", 1), away, worker("waits", 2, 2)))
    assert found.certainty is Certainty.UNKNOWN
    assert found.reason.startswith("Insufficient cpu, even if no training job ran: ")


QUOTA = 'ResourceQuota "team"'


@pytest.mark.parametrize("others", [0, 2])
def test_growth_stopped_by_a_quota_names_the_quota_and_no_foreign_namespace(
    others: int,
) -> None:
    charges = (QuotaCharge(QUOTA, "pods", 1),)
    mine = worker("mine", 1, 6, on=["a"] * 2, charges=charges)
    far = replace(runs("far", 1), key=JobKey("elsewhere", "far"))
    limit = Quota("ns", QUOTA, "pods", 2 + others, others)
    state = replace(cluster(node("a", 9), mine, far), quotas=(limit,))
    found = forecast(state, Settings(), [mine.key]).grows[mine.key]
    assert found.certainty is Certainty.UNKNOWN
    where = f"{QUOTA} of namespace ns"
    assert found.reason == f"exceeded {where}, requested: pods=1, limited: pods={2 + others}"


@pytest.mark.slow
def test_where_nodes_may_be_removed_growth_onto_an_unneeded_one_is_not_promised() -> None:
    """The reconciler holds it, too: NeededNodesOnly."""
    grows = worker("grows", 2, 4, on=["a"] * 2, started_at=at(-600))
    state = replace(cluster(node("a", 2), node("b", 4), grows), autoscaled=True)
    found = forecast(state, Settings(), [grows.key]).grows[grows.key]
    assert found.certainty is Certainty.UNKNOWN
    assert found.reason.startswith("scales up only on nodes that an autoscaler has to keep anyway")


def test_no_end_of_another_job_shortens_a_back_off() -> None:
    failed = worker("waits", 2, 2, last=reasons.GANG_UNSCHEDULABLE, started_at=at(-30))
    found = start(cluster(node("a", 8), runs("first"), failed))
    assert (found.certainty, found.reason) == (Certainty.ABOUT, "")
    full_then = start(cluster(node("a", 5), runs("first"), failed))
    assert full_then.reason == "ns/first has no known end"


def test_nodes_of_an_autoscaler_are_not_asked_for_again_and_again() -> None:
    """Nothing is known of nodes to come: thirty days of requests in vain tell nothing."""
    settings = Settings(limits=Limits(autoscaler=Autoscaler.PRESENT))
    found = forecast(cluster(node("a", 4), worker("waits", 9, 9)), settings, [WAITS])
    requested = waiting_for(Certainty.UNKNOWN, reasons.waits_for_nodes(9, ""))
    assert requested.reason == "waiting for nodes from the autoscaler"
    assert found.starts[WAITS] == requested


def test_the_plan_of_a_view_is_not_made_again() -> None:
    """In the simulation jobs request no nodes, so its plans do not say why one waits for them."""
    settings = Settings(limits=Limits(autoscaler=Autoscaler.PRESENT))
    plan = Plan(waiting=(WaitingJob(WAITS, reasons.QUEUE_ORDER),))
    state = cluster(node("a", 4), worker("waits", 9, 9))
    found = forecast(state, settings, [WAITS], plan=plan).starts[WAITS]
    assert found == waiting_for(Certainty.UNKNOWN, reasons.QUEUE_ORDER)


def test_without_an_autoscaler_what_needs_more_nodes_never_starts() -> None:
    found = start(cluster(node("a", 4), worker("waits", 9, 9)))
    assert (found.certainty, found.at) == (Certainty.NEVER, None)


def test_while_nodes_are_requested_for_a_job_its_start_is_unknown_and_not_never() -> None:
    asked = Provisioning(pods=(ProvisionalPod("waits-1", "uid", "worker", "", NOON),))
    waits = replace(worker("waits", 9, 9), provisioning=asked)
    settings = Settings(limits=Limits(autoscaler=Autoscaler.PRESENT))
    found = forecast(cluster(node("a", 4), waits), settings, [WAITS]).starts[WAITS]
    assert found == waiting_for(Certainty.UNKNOWN, reasons.waits_for_nodes(1, ""))


def test_a_resumed_job_starts_when_the_grace_period_of_its_pods_is_over() -> None:
    leaving = {"terminating": True, "ready": False, "due_at": at(3600)}
    pods = tuple(pod(index, "a", **leaving) for index in range(2))
    state = cluster(node("a", 2), worker("waits", 2, 2, pods=pods))
    found = start(state)
    assert found.certainty is Certainty.LATEST
    assert found.at is not None
    assert found.at - NOON >= 60 * MINUTE
    assert found.reason == "sooner if its previous pods end before their grace period does"


def test_a_job_whose_extras_are_lost_grows_after_the_back_off_of_the_job_controller() -> None:
    pods = tuple(pod(index, "a") for index in range(2))
    lost = {"suspended": False, "size": 4, "pods": pods, "failures": 6}
    lacking = worker("lacking", 1, 9, started_at=at(-600), **lost)
    found = forecast(cluster(node("a", 9), lacking), Settings(), [lacking.key]).grows[lacking.key]
    assert found.certainty is Certainty.LATEST
    assert found.reason == "sooner if the Job controller's back-off after lost pods ends earlier"
    assert found.at is not None
    assert 5 * MINUTE <= found.at - NOON <= 8 * MINUTE


def test_a_quota_that_is_too_small_or_a_job_that_requests_no_nodes_never_starts() -> None:
    """Whatever an autoscaler adds."""
    settings = Settings(limits=Limits(autoscaler=Autoscaler.PRESENT))
    quota, charges = Quota("ns", QUOTA, "pods", 8, 0), (QuotaCharge(QUOTA, "pods", 1),)
    waits = replace(worker("waits", 9, 9), provisioning=Provisioning(provision=Provision.NEVER))
    for state in (
        replace(cluster(node("a", 4), worker("waits", 9, 9, charges=charges)), quotas=(quota,)),
        cluster(node("a", 4), waits),
    ):
        found = forecast(state, settings, [WAITS]).starts[WAITS]
        assert found.certainty is Certainty.NEVER
    cordoned = replace(state, nodes=(*state.nodes, node("b", 9, cordoned=True)))
    found = forecast(cordoned, settings, [WAITS]).starts[WAITS]
    assert found.certainty is Certainty.UNKNOWN
