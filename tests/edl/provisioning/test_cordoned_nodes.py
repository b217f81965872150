"""Pods of a minimum on a cordoned node ask an autoscaler for room, and move when it is there."""

import pytest
from msgspec.structs import replace

from edl import reasons
from edl.contract import Provision
from edl.model import (
    ClusterState,
    JobKey,
    ProvisionalPod,
    Provisioning,
    Quota,
    QuotaCharge,
    ResizePolicy,
    Taint,
)
from edl.model.nodes import CORDONED
from edl.planner.decision_limits import Limits, Provisioner, ProvisionerSettings
from edl.planner.plan import Plan
from tests.edl.planner.plans import ALL, plan_for, wait_reasons
from tests.edl.planner.states import at, busy, cluster, job, node, role, room, shape
from tests.edl.provisioning.autoscaled_cluster import AutoscaledCluster

CORDON = node("a", 9, taints=(Taint(CORDONED, "", "NoSchedule"),), cordoned=True)
QUOTA = 'ResourceQuota "team"'


def asked(plan: Plan) -> dict[str, int]:
    return {one.job.name: sum(dict(one.pods).values()) for one in plan.requests}


def moved(plan: Plan) -> list[str]:
    return [pod for one in plan.drains for pod in one.pods]


def cordoned(*on: str, least: int = 0, most: int = 0, **fields: object) -> ClusterState:
    """Autoscaled; node a is cordoned, b is full, and live workers of one job run on both."""
    least = least or len(on)
    given = {"on": on, "resizing": ResizePolicy.LIVE} | fields
    mine = job("mine", role("worker", least, most or len(on), **given), framework="pytorch")
    return replace(cluster(CORDON, node("b", on.count("b")), mine), autoscaled=True)


def provisional(state: ClusterState, *on: str, since: float = -60) -> ClusterState:
    """Its job has asked already, by a provisional pod on each of these nodes."""
    pods = tuple(
        ProvisionalPod(
            f"mine-{number}", f"uid-{number}", "worker", name, at(since), shape(1).requests
        )
        for number, name in enumerate(on)
    )
    (mine, *others) = state.jobs
    provisioning = replace(mine.provisioning, pods=pods)
    return replace(state, jobs=(replace(mine, provisioning=provisioning), *others))


def with_node(state: ClusterState, name: str, pods: int, held_pods: int) -> ClusterState:
    coming = replace(busy(node(name, pods), room(held_pods, pods=held_pods)), name=name)
    return replace(state, nodes=(*state.nodes, coming))


def test_all_pods_of_a_minimum_on_a_cordoned_node_ask_for_room_at_once() -> None:
    plan = plan_for(cordoned("a", "a", "b"))
    assert (asked(plan), moved(plan)) == ({"mine": 2}, [])
    assert wait_reasons(plan)["mine"] == reasons.waits_for_nodes(2, "")


@pytest.mark.parametrize(
    ("state", "limits"),
    [
        (replace(cordoned("a"), autoscaled=False), ALL),
        (
            replace(
                cordoned("a"),
                jobs=(
                    replace(
                        cordoned("a").jobs[0], provisioning=Provisioning(provision=Provision.NEVER)
                    ),
                ),
            ),
            ALL,
        ),
        (
            replace(cordoned("a"), takes_requests=True),
            Limits(provisioning=ProvisionerSettings(provisioner=Provisioner.REQUEST)),
        ),
        (with_node(cordoned("a"), "c", 1, 0), ALL),
        (cordoned("b", "a", least=1), ALL),
    ],
    ids=["no autoscaler", "never", "by request", "room elsewhere", "an extra"],
)
def test_a_cordoned_node_asks_for_nothing_where(state: ClusterState, limits: Limits) -> None:
    assert asked(plan_for(state, limits)) == {}


def test_a_pod_moves_as_soon_as_a_provisional_one_has_a_node_and_the_others_wait() -> None:
    state = provisional(cordoned("a", "a", "b"), "c", "")
    plan = plan_for(with_node(state, "c", 1, 1))
    assert (asked(plan), moved(plan)) == ({"mine": 2}, ["pod-1"])


def test_the_room_of_the_next_pod_is_held_while_the_first_moves() -> None:
    """A queued job of the same size does not take it."""
    state = provisional(cordoned("a", "a"), "c", "c")
    other = job("other", role("worker", 1, 1))
    plan = plan_for(with_node(replace(state, jobs=(*state.jobs, other)), "c", 2, 2))
    assert (moved(plan), plan.admissions) == (["pod-1"], ())


def test_minimums_move_before_extras_of_the_same_role_that_have_no_room() -> None:
    assert asked(plan_for(cordoned("a", "a", "a", least=2))) == {"mine": 2}


def test_replacements_count_among_the_jobs_that_ask_until_their_time_is_over() -> None:
    state = provisional(cordoned("a"), "")
    queued = job("queued", role("worker", 1, 1, shape=shape(5)))
    state, limits = (
        replace(state, jobs=(*state.jobs, queued)),
        Limits(provisioning=ProvisionerSettings(provisioning_parallelism=1)),
    )
    assert asked(plan_for(state, limits)) == {"mine": 1}
    late = replace(state, observed_at=state.observed_at + limits.provisioning.provisioning_timeout)
    assert asked(plan_for(late, limits)) == {"mine": 1, "queued": 1}


def test_requests_of_all_jobs_that_run_count_before_one_of_them_makes_its_first() -> None:
    """Else each job that is visited before the others adds its request to theirs."""
    state = provisional(cordoned("a"), "")
    (mine,) = state.jobs
    ahead = replace(mine, key=JobKey("ns", "ahead"), provisioning=Provisioning())
    state = replace(state, jobs=(replace(ahead, queued_at=at(-9000)), mine))
    limits = Limits(provisioning=ProvisionerSettings(provisioning_parallelism=1))
    assert asked(plan_for(state, limits)) == {"mine": 1}
    late = replace(state, observed_at=state.observed_at + limits.provisioning.provisioning_timeout)
    assert asked(plan_for(late, limits)) == {"ahead": 1, "mine": 1}


def test_no_more_is_asked_for_than_a_quota_allows_beside_what_runs() -> None:
    charge = (QuotaCharge(QUOTA, "pods", 1),)
    state = replace(
        cordoned("a", "a", charges=charge), quotas=(Quota("ns", QUOTA, "pods", 3, others=0),)
    )
    assert asked(plan_for(state)) == {"mine": 1}


def test_a_minimum_leaves_a_cordoned_node_for_one_that_is_made_for_it() -> None:
    world = AutoscaledCluster(delay=30)
    world.node("old")
    world.gang("gang", 2, framework="pytorch")
    world.settle(30)
    assert {one["spec"]["nodeName"] for one in world.pods("gang")} == {"old"}
    world.cordon("old")
    world.settle(15)
    assert (len(world.provisional("gang")), world.running("gang")) == (2, 2)
    world.settle(120)
    assert {one["spec"]["nodeName"] for one in world.pods("gang")} == {"made-001"}
    assert (world.made, world.provisional(), world.preempted) == (1, [], [])


def test_what_a_cordoned_node_asked_for_goes_when_the_cordon_ends() -> None:
    world = AutoscaledCluster(most=0)
    world.node("old")
    world.gang("gang", 2, framework="pytorch")
    world.settle(30)
    world.cordon("old")
    world.settle(10)
    assert len(world.provisional()) == 2
    world.cordon("old", ends=True)
    world.settle(10)
    assert (world.provisional(), world.running("gang")) == ([], 2)


def test_a_minimum_that_waits_for_nodes_counts_as_staying_only_after_the_timeout() -> None:
    state, timeout = provisional(cordoned("a"), "", since=0), ALL.provisioning.provisioning_timeout
    assert (asked(plan_for(state)), plan_for(state).staying) == ({"mine": 1}, ())
    (late,) = plan_for(replace(state, observed_at=state.observed_at + timeout)).staying
    assert [node for _, node in late.pods] == ["a"]
