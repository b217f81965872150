"""Budgets of namespaces: what starts and grows stays below them, and everybody is told which."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from edl import reasons
from edl.feasibility.horizon import FUTURE_IDLE
from edl.messages import message
from edl.model import ClusterState, JobKey, Node, Quota, QuotaCharge, ResizePolicy, TrainingJob
from edl.planner.decision_limits import Limits
from edl.planner.policies import POLICIES
from edl.planner.snapshot.take_snapshot import take_snapshot
from tests.edl.planner.acting import act
from tests.edl.planner.plans import plan_for, sizes, told, wait_reasons
from tests.edl.planner.states import at, cluster, job, node, pod, role, shape, worker

QUOTA = 'ResourceQuota "team"'
PODS = (QuotaCharge(QUOTA, "pods", 1),)
GPUS = (QuotaCharge("edl.dev/gpu-budget", "GPUs", 1000),)


def quota(hard: int, others: int = 0, namespace: str = "ns") -> Quota:
    return Quota(namespace, QUOTA, "pods", hard, others)


def gpu_budget(gpus: float, namespace: str = "ns") -> Quota:
    hard = int(gpus * 1000)
    return Quota(namespace, "edl.dev/gpu-budget", "GPUs", hard, takes_back=True)


def limited(*things: Node | TrainingJob, by: Quota | tuple[Quota, ...]) -> ClusterState:
    quotas = by if isinstance(by, tuple) else (by,)
    return replace(cluster(*things), quotas=quotas)


def elsewhere(found: TrainingJob, namespace: str = "other") -> TrainingJob:
    return replace(found, key=JobKey(namespace, found.key.name))


def started(state: ClusterState) -> set[str]:
    return {one.job.name for one in plan_for(state).admissions}


def test_a_gang_that_a_quota_forbids_waits_and_is_told_which_one() -> None:
    state = limited(node("a", 64), worker("mnist", 3, 3, charges=PODS), by=quota(4, others=2))
    assert told(plan_for(state)) == {
        "mnist": 'exceeded ResourceQuota "team" of namespace ns, requested: pods=3, limited: '
        "pods=4; used: pods=2"
    }


def test_it_starts_when_the_quota_is_raised() -> None:
    mine = worker("mnist", 3, 3, charges=PODS)
    assert started(limited(node("a", 64), mine, by=quota(5, others=2))) == {"mnist"}


def test_roles_that_count_alike_in_quotas_share_what_they_count() -> None:
    jobs = (worker(f"sweep-{number}", 1, 3, charges=PODS) for number in range(3))
    state = limited(node("a", 64), *jobs, by=quota(64))
    snapshot = take_snapshot(state, POLICIES["fair"], Limits())
    found = [snapshot.quotas.pod_request(job, role) for job in state.jobs for role in job.roles]
    assert [request is found[0] for request in found] == [True] * 3


def test_all_roles_of_a_gang_count_together() -> None:
    one, two = role("ps", 2, 2, charges=PODS), role("worker", 2, 2, charges=PODS)
    assert not started(limited(node("a", 64), job("mnist", one, two), by=quota(3)))
    assert started(limited(node("a", 64), job("mnist", one, two), by=quota(4))) == {"mnist"}


def test_a_gang_larger_than_its_quota_gets_that_reason_and_stops_no_other_job() -> None:
    large = worker("large", 9, 9, charges=PODS, queued=-9000)
    small = worker("small", 1, 1, charges=PODS)
    plan = plan_for(limited(node("a", 64), large, small, by=quota(4, others=1)))
    assert {one.job.name for one in plan.admissions} == {"small"}
    assert told(plan)["large"] == (
        'exceeded ResourceQuota "team" of namespace ns, requested: pods=9, limited: pods=4, '
        "never allowed: pods=9; "
        "used: pods=1"
    )


def test_growth_stops_at_the_quota() -> None:
    mine = worker("mnist", 1, 9, on=["a"], charges=PODS)
    state = limited(node("a", 64), mine, by=quota(5, others=2))
    assert sizes(plan_for(state)) == {"mnist": 3}
    after = act(state, plan_for(state), after=timedelta(minutes=1))
    assert told(plan_for(replace(after, quotas=state.quotas))) == {
        "mnist": 'exceeded ResourceQuota "team" of namespace ns, requested: pods=1, limited: '
        "pods=5; used: pods=5"
    }


def test_a_started_job_grows_no_further_either() -> None:
    state = limited(node("a", 64), worker("mnist", 1, 9, charges=PODS), by=quota(4))
    plan = plan_for(state)
    (admission,) = plan.admissions
    assert admission.sizes == (("worker", 4),)
    assert not plan.waiting


def test_pods_on_their_way_count_before_the_quota_knows_them() -> None:
    mine = worker("mnist", 4, 4, suspended=False, size=4, charges=PODS, resized_at=at(-1))
    other = worker("other", 1, 1, charges=PODS)
    assert not started(limited(node("a", 64), mine, other, by=quota(4)))


def test_pods_that_leave_count_until_they_are_gone() -> None:
    leaving = pod(0, "a", terminating=True)
    gone = worker("gone", 1, 1, suspended=True, pods=(leaving,), paused=True, charges=PODS)
    other = worker("other", 1, 1, charges=PODS)
    plan = plan_for(limited(node("a", 64), gone, other, by=quota(1)))
    assert not plan.admissions
    assert told(plan)["other"] == "1 pod waits for others to terminate"
    done = replace(gone, roles=(gone.roles[0].changed(pods=()),))
    assert started(limited(node("a", 64), done, other, by=quota(1))) == {"other"}


def test_a_replica_that_waits_for_room_gives_back_no_more_than_it_took() -> None:
    state = limited(node("a", 4), worker("mnist", 1, 3, on=["a"], charges=PODS), by=quota(3))
    snapshot = take_snapshot(state, POLICIES["fair"], Limits())
    (allocation,), (line,) = snapshot.allocations, snapshot.quotas.lines.values()
    allocation.place(0, FUTURE_IDLE)
    assert (line.remaining, line.future_remaining) == (2, 1)
    allocation.evict()
    assert (line.remaining, line.future_remaining) == (2, 2)


def test_a_replica_that_is_done_counts_no_more() -> None:
    left = worker(
        "items", 1, 3, suspended=False, size=3, resizing=ResizePolicy.ITEMS, indexed=False,
        remaining=1, pods=(pod(0, "a"),), charges=PODS,
    )  # fmt: skip
    other = worker("other", 1, 1, charges=PODS)
    assert started(limited(node("a", 64), left, other, by=quota(2))) == {"other"}


def test_extras_of_its_own_namespace_make_room_in_a_budget() -> None:
    rich = worker("rich", 1, 4, on=["a"] * 4, charges=GPUS)
    foreign = elsewhere(worker("foreign", 1, 9, on=["a"] * 9, charges=GPUS))
    new = worker("new", 2, 2, charges=GPUS)
    state = limited(node("a", 64), rich, foreign, new, by=(gpu_budget(4), gpu_budget(9, "other")))
    plan = plan_for(state)
    assert sizes(plan) == {"rich": 2}
    assert plan.resizes[0].reason == reasons.room_for_job(new.key)
    assert told(plan)["new"] == "2 pods wait for others to terminate: ns/rich"


def test_extras_of_other_namespaces_would_not_help_and_stay() -> None:
    mine = worker("mine", 4, 4, on=["a"] * 4, charges=GPUS)
    foreign = elsewhere(worker("foreign", 1, 9, on=["a"] * 9))
    new = worker("new", 1, 1, charges=GPUS)
    plan = plan_for(limited(node("a", 13), mine, foreign, new, by=gpu_budget(4)))
    assert not plan.resizes
    assert told(plan)["new"] == (
        "exceeded edl.dev/gpu-budget of namespace ns, requested: GPUs=1, limited: GPUs=4; "
        "used: GPUs=4"
    )


def test_a_namespace_at_its_budget_stops_no_other_namespace() -> None:
    mine = worker("mine", 4, 4, on=["a"] * 4, charges=GPUS)
    first = worker("first", 1, 1, charges=GPUS, queued=-9000)
    second = elsewhere(worker("second", 1, 1, charges=GPUS))
    assert started(limited(node("a", 64), mine, first, second, by=gpu_budget(4))) == {"second"}


def test_a_head_that_waits_for_nodes_keeps_what_it_needs_of_a_budget() -> None:
    zone = {name: (("zone", name),) for name in "ab"}
    found = [node(name, 4, labels={"zone": name}) for name in "ab"]
    runs = worker("runs", 2, 2, on=["a"] * 2)
    needs = {name: shape(1, node_selector=rule) for name, rule in zone.items()}
    large = worker("large", 4, 4, shape=needs["a"], charges=PODS, queued=-9000)
    small = worker("small", 1, 1, shape=needs["b"], charges=PODS)
    plan = plan_for(limited(*found, runs, large, small, by=quota(4)), Limits())
    assert wait_reasons(plan)["small"] == reasons.goes_first(large.key)
    plan = plan_for(limited(*found, runs, large, small, by=quota(5)), Limits())
    assert [one.job.name for one in plan.admissions] == ["small"]


def test_no_job_overtakes_a_queue_head_that_waits_for_the_same_quota() -> None:
    mine = worker("mine", 3, 3, on=["a"] * 3, charges=PODS)
    large = worker("large", 2, 2, charges=PODS, queued=-9000)
    small = worker("small", 1, 1, charges=PODS, queued=-8000)
    plan = plan_for(limited(node("a", 64), mine, large, small, by=quota(4)), Limits())
    assert not plan.admissions
    assert wait_reasons(plan)["small"] == reasons.goes_first(large.key)
    impatient = replace(large, queued_at=at(-10))
    assert started(limited(node("a", 64), mine, impatient, small, by=quota(4))) == {"small"}


def test_a_gang_that_one_of_its_quotas_never_allows_is_told_so_and_holds_back_no_other() -> None:
    cores = Quota("ns", QUOTA, "requests.cpu", 6000)
    both = (*PODS, QuotaCharge(QUOTA, "requests.cpu", 1000))
    runs = worker("runs", 4, 4, on=["a"] * 4, charges=both)
    never = worker("never", 7, 7, charges=both, queued=-9000)
    small = worker("small", 2, 2, charges=both)
    state = limited(node("a", 64), runs, never, small, by=(quota(8), cores))
    plan = plan_for(state, Limits())
    assert [one.job.name for one in plan.admissions] == ["small"]
    (found,) = (one for one in plan.waiting if one.job == never.key)
    assert (found.never, found.position) == (True, 0)
    assert "requested: requests.cpu=7" in message(found.reason)
    assert "never allowed" in message(found.reason)


def test_a_gang_for_which_no_node_is_large_enough_holds_back_no_other_of_its_quota() -> None:
    runs = worker("runs", 3, 3, on=["a"] * 3, charges=PODS)
    large = worker("large", 2, 2, shape=shape(99), charges=PODS, queued=-9000)
    small = worker("small", 1, 1, charges=PODS)
    plan = plan_for(limited(node("a", 64), runs, large, small, by=quota(4)), Limits())
    assert [one.job.name for one in plan.admissions] == ["small"]


def test_a_gang_waiting_for_new_nodes_goes_first_on_its_quota() -> None:
    runs = worker("runs", 4, 4, on=["a"] * 4, charges=PODS)
    large = worker("large", 6, 6, charges=PODS, queued=-9000)
    small = worker("small", 1, 1, charges=PODS)
    state = limited(node("a", 5), runs, large, small, by=quota(7))
    autoscaled = plan_for(replace(state, autoscaled=True), Limits())
    assert wait_reasons(autoscaled)["small"] == reasons.goes_first(large.key)
    assert [one.job.name for one in plan_for(state, Limits()).admissions] == ["small"]


def test_a_lowered_gpu_budget_takes_extras_and_leaves_minimums() -> None:
    rich = worker("rich", 1, 6, on=["a"] * 6, charges=GPUS)
    firm = worker("firm", 3, 3, on=["a"] * 3, charges=GPUS)
    plan = plan_for(limited(node("a", 64), rich, firm, by=gpu_budget(5)))
    assert sizes(plan) == {"rich": 2}
    assert message(plan.resizes[0].reason) == (
        "above its budget: edl.dev/gpu-budget of namespace ns, limited: GPUs=5"
    )
    assert sizes(plan_for(limited(node("a", 64), rich, firm, by=gpu_budget(1)))) == {"rich": 1}


def test_pods_that_never_came_yield_to_a_lowered_budget_too() -> None:
    mine = worker("mine", 1, 4, suspended=False, size=4, pods=(pod(0, "a"),), charges=GPUS)
    mine = replace(mine, started_at=at(-5))
    assert sizes(plan_for(limited(node("a", 64), mine, by=gpu_budget(2)))) == {"mine": 2}


def test_a_lowered_quota_stops_growth_and_takes_nothing() -> None:
    rich = worker("rich", 1, 9, on=["a"] * 6, charges=PODS)
    assert not plan_for(limited(node("a", 64), rich, by=quota(3))).resizes


def test_a_taker_at_its_budget_takes_no_share_from_other_namespaces() -> None:
    rich = elsewhere(worker("rich", 1, 9, on=["a"] * 7))
    poor = worker("poor", 1, 9, on=["a"], charges=PODS)
    assert not plan_for(limited(node("a", 8), rich, poor, by=quota(1))).resizes
    assert plan_for(limited(node("a", 8), rich, poor, by=quota(9))).resizes


def test_shares_move_within_a_budget_although_nodes_have_room() -> None:
    rich = worker("rich", 1, 9, on=["a"] * 7, charges=PODS)
    poor = worker("poor", 1, 9, on=["b"], charges=PODS)
    state = limited(node("a", 64), node("b", 64), rich, poor, by=quota(8))
    assert sizes(plan_for(state)) == {"rich": 4}


def test_small_replicas_free_a_budget_together_for_a_large_one() -> None:
    two = (QuotaCharge(QUOTA, "pods", 2),)
    rich = worker("rich", 1, 20, on=["a"] * 16, charges=PODS)
    poor = worker("poor", 1, 9, on=["b"], charges=two)
    plan = plan_for(limited(node("a", 64), node("b", 64), rich, poor, by=quota(18)))
    assert sizes(plan)["rich"] < 16
    assert "wait for others to terminate" in told(plan)["poor"]


def test_a_start_that_was_left_half_done_waits_for_the_quota_too() -> None:
    one = role("ps", 1, 1, on=["a"], charges=PODS)
    half = job("half", one, role("worker", 2, 2, charges=PODS), started_at=at(-5))
    assert not started(limited(node("a", 64), half, by=quota(2)))
    assert started(limited(node("a", 64), half, by=quota(3))) == {"half"}


@pytest.mark.parametrize(
    ("resource", "amount", "text"),
    [
        ("requests.cpu", 500, "500m"),
        ("limits.cpu", 2500, "2.5"),
        ("requests.memory", 2**34, "16Gi"),
        ("GPUs", 2500, "2.5"),
        ("requests.nvidia.com/gpu", 3, "3"),
        ("count/pods", 3, "3"),
    ],
)
def test_amounts_read_as_users_write_them(resource: str, amount: int, text: str) -> None:
    assert Quota("ns", QUOTA, resource, amount).text(amount) == text
