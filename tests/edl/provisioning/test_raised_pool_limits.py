"""A raised minimum requests no nodes beyond the limits of Karpenter's NodePools."""

import pytest

from edl import contract
from edl.model import Code, ObjectRef
from edl.planner.decision_limits import Limits, ProvisionerSettings
from tests.edl.provisioning.autoscaled_cluster import PER_NODE
from tests.edl.provisioning.test_pool_limits import PooledCluster, above

LIVE = pytest.mark.parametrize("framework", ["none", "pytorch"])
SAID = "all available instance types exceed limits for nodepool"
JOB = ObjectRef("Job", "lab", "mine")


class RunningJob(PooledCluster):
    """The job `mine` runs with two pods of 4 CPU, which fill the only node, of no NodePool."""

    def __init__(self, cpu: int, framework: str = "none", delay: float = 60) -> None:
        super().__init__(cpu, delay)
        self.node("first")
        self.gang("mine", 2, most=40, framework=framework)
        self.settle(60)
        assert self.running("mine") == 2

    def minimum(self, pods: int) -> None:
        self.api.patch(JOB, {"metadata": {"labels": {contract.MIN: str(pods)}}})


@LIVE
def test_nothing_is_requested_beyond_the_limits_and_the_reason_has_the_numbers(
    framework: str,
) -> None:
    world = RunningJob(32, framework)
    world.minimum(12)
    for _ in range(20):
        world.settle(5)
        assert not world.provisional()
    assert world.why("mine") == above("32 more CPU", "40")
    assert world.made == 0
    assert world.running("mine") == 2


@LIVE
def test_it_requests_the_nodes_as_soon_as_the_limits_suffice(framework: str) -> None:
    world = RunningJob(32, framework)
    world.minimum(12)
    world.settle(30)
    world.limit(40)
    world.settle(10)
    assert len(world.provisional()) == 10
    world.settle(180)
    assert world.running("mine") >= 12
    assert world.made == 5


@LIVE
def test_it_goes_on_while_its_nodes_fill_the_pool(framework: str) -> None:
    world = RunningJob(16, framework, delay=60)
    world.minimum(6)
    for _ in range(10):
        world.settle(5)
        assert world.running("mine") == 6 or len(world.provisional()) == 4
    world.settle(120)
    assert world.running("mine") == 6


@LIVE
def test_a_raise_of_a_raise_keeps_what_is_requested_and_requests_no_more(framework: str) -> None:
    world = RunningJob(16, framework, delay=60)
    world.minimum(6)
    world.settle(10)
    assert len(world.provisional()) == 4
    world.minimum(20)
    world.settle(30)
    assert len(world.provisional()) == 4
    assert world.why("mine") == above("0 more CPU", "56")
    world.settle(700)
    assert not world.provisional()
    assert world.why("mine") == above("0 more CPU", "56")
    assert world.made == 2


def test_pods_that_fit_on_existing_nodes_count_in_no_limit() -> None:
    """A job that restarts is stopped for all of its four new pods at once; two fit."""
    for limit, asks in ((4, False), (8, True)):
        world = RunningJob(limit, "pytorch", delay=1000)
        world.node("second", PER_NODE)
        world.minimum(6)
        world.settle(10)
        assert bool(world.provisional()) is asks


def test_what_is_not_bound_at_the_timeout_goes_if_the_limits_keep_its_nodes_away() -> None:
    """Two NodePools seem to have room; the autoscaler makes no node."""
    world = RunningJob(32, "pytorch", delay=100_000)
    world.minimum(6)
    world.settle(300)
    assert len(world.provisional()) == 4
    world.limit(8)
    world.settle(400)
    assert not world.provisional()
    assert world.why("mine") == above("0 more CPU", "16")


def test_after_the_timeout_the_reason_has_the_words_of_the_autoscaler() -> None:
    world = RunningJob(32, "none", delay=100_000)
    world.minimum(6)
    world.said = SAID
    world.settle(300)
    assert world.why("mine")[0] is Code.WAITING_FOR_NODES
    world.api.patch(ObjectRef("NodePool", "", "default"), {"status": {"resources": {"cpu": "0"}}})
    world.settle(400)
    text = f"the requested nodes were not provisioned in time; the autoscaler: {SAID}"
    assert world.why("mine") == (Code.NODES_NOT_PROVISIONED, text)


def test_it_takes_no_turn_of_a_queued_job() -> None:
    world = RunningJob(8)
    world.limits = Limits(provisioning=ProvisionerSettings(provisioning_parallelism=1))
    world.minimum(12)
    world.settle(10)
    world.gang("small", 2)
    world.settle(10)
    assert len(world.provisional("small")) == 2


def test_the_reason_of_its_size_does_not_say_that_its_minimum_fits() -> None:
    world = RunningJob(8)
    world.minimum(12)
    world.settle(10)
    world.node("second", PER_NODE)
    world.settle(30)
    assert world.running("mine") == 4
    assert world.notes("mine")[contract.MESSAGE] == "idle capacity: 4 of 40 fit"
