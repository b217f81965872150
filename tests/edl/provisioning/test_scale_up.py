"""Queued gangs ask an autoscaler for nodes: from the Job to its pods on the nodes that came."""

from datetime import timedelta
from itertools import pairwise

import pytest

from edl import contract
from edl.contract import Provision
from edl.errors import Denied
from edl.inject import namespace_defaults
from edl.model import Code
from edl.parsing import namespace_policy
from edl.planner.decision_limits import Autoscaler, GrowthMode, Limits, ProvisionerSettings
from tests.edl import manifests
from tests.edl.provisioning.autoscaled_cluster import AutoscaledCluster

IMPATIENT = Limits(provisioning=ProvisionerSettings(provisioning_timeout=timedelta(minutes=1)))


@pytest.mark.slow
def test_from_zero_nodes_a_gang_starts_whole() -> None:
    world = AutoscaledCluster()
    world.gang("gang", 16)
    world.settle(300)
    assert world.running("gang") == 16
    assert world.made == 8
    assert world.provisional() == []


@pytest.mark.slow
def test_what_comes_later_takes_no_room_of_a_gang_that_waits_for_nodes() -> None:
    world = AutoscaledCluster(delay=120)
    world.node("n1")
    world.gang("large", 4)
    world.settle(30)
    world.gang("small", 2)
    world.settle(300)
    assert (world.running("large"), world.running("small")) == (4, 2)
    assert world.made == 2


@pytest.mark.slow
@pytest.mark.parametrize("framework", ["tensorflow", "pytorch"])
def test_a_gang_is_placed_on_the_nodes_that_came_for_it(framework: str) -> None:
    world = AutoscaledCluster()
    world.gang("gang", 4, framework=framework)
    world.settle(30)
    world.autoscaled = True
    asked = {one["metadata"]["name"] for one in world.provisional()}
    world.settle(300)
    assert len(asked) == 4
    assert world.running("gang") == 4
    assert world.made == 2


@pytest.mark.parametrize("framework", ["tensorflow", "pytorch"])
def test_kube_scheduler_preempts_no_provisional_pod_for_its_own_job(framework: str) -> None:
    """Both would delete it at once, and kube-scheduler forgot its preemptor for minutes."""
    world = AutoscaledCluster(delay=10_000)
    world.gang("gang", 4, framework=framework)
    world.settle(10)
    world.bind_provisional()
    world.settle(60)
    assert world.running("gang") == 4
    assert world.preempted == []
    assert world.provisional() == []


def test_none_asks_where_no_autoscaler_is() -> None:
    world = AutoscaledCluster()
    world.autoscaled = False
    world.gang("gang", 4)
    world.settle(60)
    assert world.provisional() == []
    assert world.plan.requests == ()


def test_the_flag_says_that_there_is_an_autoscaler_or_none() -> None:
    for told, asks in ((Autoscaler.PRESENT, True), (Autoscaler.NONE, False)):
        world = AutoscaledCluster(limits=Limits(autoscaler=told))
        world.autoscaled = told is Autoscaler.NONE
        world.gang("gang", 4)
        world.settle(10)
        assert bool(world.provisional()) is asks


def test_a_job_says_that_it_never_asks() -> None:
    world = AutoscaledCluster()
    world.gang("gang", 4, annotations={"provision": "never"})
    world.settle(30)
    assert world.provisional() == []


@pytest.mark.slow
def test_a_job_asks_for_its_maximum_and_starts_with_it() -> None:
    world = AutoscaledCluster(limits=Limits(load_ceiling=1.0))
    world.gang("gang", 4, most=8, annotations={"provision": Provision.MAXIMUM})
    world.settle(60)
    assert len(world.provisional()) == 8
    world.settle(300)
    assert world.running("gang") == 8
    assert world.made == 4


@pytest.mark.slow
def test_of_a_maximum_that_does_not_come_it_takes_what_has_come() -> None:
    limits = Limits(load_ceiling=1.0, growth=GrowthMode.ANY_NODE)
    world = AutoscaledCluster(most=3, limits=limits)
    world.gang("gang", 4, most=8, annotations={"provision": Provision.MAXIMUM})
    world.settle(900)
    assert world.running("gang") == 6
    assert world.provisional() == []


def test_room_that_is_there_is_not_asked_for() -> None:
    world = AutoscaledCluster()
    world.node("n1")
    world.node("n2")
    world.gang("gang", 4)
    world.settle(30)
    assert world.running("gang") == 4
    assert world.made == 0


@pytest.mark.slow
def test_what_extras_hold_is_not_asked_for() -> None:
    world = AutoscaledCluster()
    world.node("n1", 20)
    world.gang("elastic", 1, most=4, cpu=4)
    world.settle(60)
    assert world.running("elastic") == 4
    world.gang("gang", 5, cpu=4)
    world.settle(300)
    assert world.running("gang") == 5
    assert world.running("elastic") >= 1
    assert world.made == 1


@pytest.mark.slow
def test_a_gang_that_cannot_be_provisioned_leaves_nothing_behind_and_others_pass() -> None:
    world = AutoscaledCluster(
        limits=Limits(provisioning=ProvisionerSettings(provisioning_parallelism=1))
    )
    world.gang("giant", 2, cpu=100)
    world.settle(30)
    world.gang("gang", 4)
    world.settle(590)
    assert world.provisional("giant") == []
    assert world.notes("giant")[contract.REASON] == Code.NODES_NOT_PROVISIONED
    world.settle(80)
    assert world.running("gang") == 4
    assert world.job("giant")["spec"]["suspend"]


def test_a_wait_for_nodes_has_no_known_end() -> None:
    """Neither the time-out of a request nor the pause after it: the job starts once it fits."""
    world = AutoscaledCluster(most=0, limits=IMPATIENT)
    world.gang("gang", 4)
    for reason in (Code.WAITING_FOR_NODES, Code.NODES_NOT_PROVISIONED):
        world.settle(45)
        (held,) = world.plan.waiting
        assert (held.reason.code, held.until) == (reason, None)


def test_what_the_autoscaler_said_stands_on_the_job() -> None:
    world = AutoscaledCluster(most=0, limits=IMPATIENT)
    world.said = "no instance type\nhas 100 CPU"
    world.gang("gang", 4)
    world.settle(30)
    assert world.notes("gang")[contract.REASON] == Code.WAITING_FOR_NODES
    world.settle(60)
    assert "no instance type has 100 CPU" in world.notes("gang")[contract.MESSAGE]


@pytest.mark.slow
def test_it_asks_again_later_and_ever_more_seldom() -> None:
    world = AutoscaledCluster(most=0, limits=IMPATIENT)
    world.gang("gang", 4)
    moments: list[float] = []
    begun = world.now
    for _ in range(600):
        before = bool(world.provisional())
        world.settle(5)
        if world.provisional() and not before:
            moments.append((world.now - begun).total_seconds())
    pauses = [after - before for before, after in pairwise(moments)]
    assert len(pauses) >= 3
    assert pauses == sorted(pauses)
    assert pauses[-1] > 2 * pauses[0]


def test_nodes_that_come_later_end_the_back_off() -> None:
    world = AutoscaledCluster(most=0, limits=IMPATIENT)
    world.gang("gang", 4)
    world.settle(120)
    assert contract.PROVISIONING_FAILED in world.notes("gang")
    world.node("n1")
    world.node("n2")
    world.settle(30)
    assert world.running("gang") == 4
    assert contract.PROVISIONING_FAILED not in world.notes("gang")


@pytest.mark.parametrize("ends", ["paused", "deleted", "room"])
def test_what_is_no_longer_needed_is_deleted(ends: str) -> None:
    world = AutoscaledCluster(delay=10_000)
    world.gang("gang", 4)
    world.settle(30)
    assert len(world.provisional()) == 4
    if ends == "paused":
        world.annotate("gang", {contract.PAUSED: contract.TRUE})
    elif ends == "deleted":
        world.annotate("gang", {contract.PROVISION: Provision.NEVER})
    else:
        world.node("n1")
        world.node("n2")
    world.settle(30)
    assert world.provisional() == []
    assert world.running("gang") == (4 if ends == "room" else 0)


def test_a_limited_number_of_gangs_request_nodes_in_queue_order() -> None:
    world = AutoscaledCluster(
        delay=10_000, limits=Limits(provisioning=ProvisionerSettings(provisioning_parallelism=2))
    )
    for name in "abcd":
        world.gang(name, 2)
        world.now += timedelta(seconds=1)
    world.settle(30)
    assert {one["metadata"]["labels"][contract.PROVISIONAL] for one in world.provisional()} == {
        "a",
        "b",
    }


@pytest.mark.slow
def test_a_burst_of_gangs_makes_no_more_nodes_than_they_need() -> None:
    world = AutoscaledCluster()
    for number in range(6):
        world.gang(f"gang-{number}", 4)
        world.now += timedelta(seconds=1)
    world.settle(900)
    assert [world.running(f"gang-{number}") for number in range(6)] == [4] * 6
    assert world.made == 12


def test_provisional_pods_take_no_room_of_those_that_come_first() -> None:
    """kube-scheduler binds them at once, before the pods of who has just started have nodes."""
    world = AutoscaledCluster(delay=15)
    for name in ("n1", "n2", "n3"):
        world.node(name)
    world.gang("first", 6)
    world.gang("second", 4)
    world.settle(120)
    assert (world.running("first"), world.running("second")) == (6, 4)
    assert world.made == 2


def test_a_provisional_pod_that_was_preempted_is_made_again() -> None:
    world = AutoscaledCluster(delay=10_000)
    world.node("n1")
    world.gang("gang", 4)
    world.settle(30)
    before = {one["metadata"]["name"]: one["metadata"]["uid"] for one in world.provisional()}
    world.delete_pod(next(iter(before)))
    world.settle(10)
    after = {one["metadata"]["name"]: one["metadata"]["uid"] for one in world.provisional()}
    assert after.keys() == before.keys()
    assert after != before


def test_provisional_pods_are_kept_whatever_their_numbers() -> None:
    """Those with low numbers may have been preempted, when others were asked for besides."""
    world = AutoscaledCluster(delay=10_000)
    world.gang("gang", 2)
    world.round()
    for one, number in zip(world.provisional(), (4, 10), strict=True):
        before = one["metadata"]["name"]
        world.delete_pod(before)
        kept = {key: one["metadata"][key] for key in ("labels", "annotations", "ownerReferences")}
        after = f"{before.rpartition('-')[0]}-{number}"
        world.create("Pod", "lab", one | {"metadata": {"name": after, "namespace": "lab", **kept}})
    there = {one["metadata"]["uid"] for one in world.provisional()}
    world.settle(30)
    assert {one["metadata"]["uid"] for one in world.provisional()} == there


@pytest.mark.parametrize(("own", "stored"), [(None, "never"), ("maximum", "maximum")])
def test_a_namespace_says_it_for_jobs_that_do_not(own: str | None, stored: str) -> None:
    manifest = manifests.job("gang", framework="tensorflow", min="1", max="4")
    if own:
        manifest["metadata"]["annotations"][contract.PROVISION] = own
    found, warnings = namespace_defaults.with_defaults(
        manifest, namespace_policy.policy("lab", {}, {contract.DEFAULT_PROVISION: "never"})
    )
    assert found["metadata"]["annotations"][contract.PROVISION] == stored
    assert warnings == ()


def test_another_word_is_refused_with_those_that_there_are() -> None:
    wrong = manifests.job("gang", framework="tensorflow", annotations={"provision": "sometimes"})
    with pytest.raises(Denied, match=r"edl\.dev/provision.*minimum, maximum, never"):
        manifests.created(wrong)
    (finding,) = namespace_policy.policy("lab", {}, {contract.DEFAULT_PROVISION: "now"}).findings
    assert "one of minimum, maximum, never" in str(finding)
