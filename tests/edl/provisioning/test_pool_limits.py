"""A gang requests no nodes that the limits of Karpenter's NodePools do not allow."""

import pytest

from edl import contract, messages
from edl.contract import Provision
from edl.model import Code, JobKey, ObjectRef
from edl.planner.decision_limits import Limits, Provisioner, ProvisionerSettings
from edl.writes import Json
from tests.edl.provisioning.autoscaled_cluster import PER_NODE, AutoscaledCluster

POOL = ObjectRef("NodePool", "", "default")


class PooledCluster(AutoscaledCluster):
    """Karpenter with one NodePool, whose usage counts nodes from their request on."""

    def __init__(self, cpu: int | None, delay: float = 60, limits: Limits | None = None) -> None:
        super().__init__(100 if cpu is None else cpu // PER_NODE, delay, limits)
        self.api.unserved = frozenset()
        self.pool("default", {} if cpu is None else {"cpu": str(cpu)})

    def pool(self, name: str, limits: Json) -> None:
        self.create("NodePool", "", {"metadata": {"name": name}, "spec": {"limits": limits}})

    def limit(self, cpu: int) -> None:
        self.most = cpu // PER_NODE
        self.api.patch(POOL, {"spec": {"limits": {"cpu": str(cpu)}}})

    def autoscale(self) -> None:
        super().autoscale()
        cpu = (self.made + len(self._coming)) * PER_NODE
        self.api.patch(POOL, {"status": {"resources": {"cpu": str(cpu)}}})

    def why(self, job: str) -> tuple[Code, str]:
        """The reason for which a job waits, and its message."""
        (reason,) = (one.reason for one in self.plan.waiting if one.job == JobKey("lab", job))
        return reason.code, messages.message(reason)

    def failed(self, job: str) -> bool:
        return contract.PROVISIONING_FAILED in self.notes(job)


def above(add: str, needs: str) -> tuple[Code, str]:
    """Why a gang waits that would exceed the limits."""
    text = f"the limits of NodePools allow too little CPU; NodePools may add {add}: needs {needs}"
    return Code.NODES_NOT_PROVISIONED, text


def test_a_gang_beyond_the_limits_requests_no_nodes_and_says_why() -> None:
    world = PooledCluster(cpu=96)
    world.gang("gang", 30)
    world.settle(900)
    assert world.made == 0
    assert not any(write.target.kind == "Pod" for write in world.writes)
    assert world.why("gang") == above("96 more CPU", "120")
    assert not world.failed("gang")
    assert world.notes("gang")[contract.REASON] == Code.NODES_NOT_PROVISIONED


def test_it_requests_nodes_as_soon_as_the_limits_suffice() -> None:
    world = PooledCluster(cpu=8)
    world.gang("gang", 4)
    world.settle(30)
    assert world.why("gang") == above("8 more CPU", "16")
    world.limit(16)
    world.settle(5)
    assert world.why("gang")[0] is Code.WAITING_FOR_NODES
    world.settle(120)
    assert world.running("gang") == 4


def test_it_takes_no_turn_of_others_and_reserves_nothing() -> None:
    world = PooledCluster(
        cpu=16, limits=Limits(provisioning=ProvisionerSettings(provisioning_parallelism=1))
    )
    world.gang("giant", 5)
    world.gang("giant-again", 5)
    world.settle(10)
    world.gang("small", 4)
    world.settle(120)
    assert world.running("small") == 4
    assert world.why("giant") == world.why("giant-again") == above("0 more CPU", "20")


def test_a_request_is_not_dropped_because_of_the_nodes_that_came_for_it() -> None:
    world = PooledCluster(cpu=16, delay=60)
    world.gang("gang", 4)
    world.settle(30)
    assert len(world.provisional()) == 4
    world.pool("second", {"cpu": "0"})
    world.settle(10)
    assert len(world.provisional()) == 4
    world.settle(120)
    assert world.running("gang") == 4
    assert world.made == 2


def test_pods_that_fit_on_existing_nodes_need_no_new_ones() -> None:
    """Of 5 pods of 4 CPU two fit on a node of 8."""
    for limit, asks in ((8, False), (12, True)):
        world = PooledCluster(cpu=limit)
        world.node("n1")
        world.gang("gang", 5)
        world.round()
        assert bool(world.plan.requests) is asks
    assert world.why("gang")[0] is Code.WAITING_FOR_NODES


def test_a_node_counts_from_its_creation_on_though_karpenter_reports_it_later() -> None:
    """Two of the pods fit on the new node; the other three need more than is left."""
    world = PooledCluster(cpu=16)
    world.node("made", PER_NODE, **{contract.NODE_POOL: "default"})
    world.gang("gang", 5)
    world.round()
    assert not world.plan.requests
    assert world.why("gang") == above("8 more CPU", "12")


def test_a_maximum_beyond_the_limits_keeps_no_minimum_from_its_nodes() -> None:
    world = PooledCluster(cpu=16)
    world.gang("gang", 4, most=8, annotations={"provision": Provision.MAXIMUM})
    world.round()
    assert world.plan.requests


def test_a_provisioning_request_is_not_made_either() -> None:
    limits = Limits(provisioning=ProvisionerSettings(Provisioner.REQUEST))
    for limit, asks in ((8, False), (16, True)):
        world = PooledCluster(cpu=limit, limits=limits)
        world.gang("gang", 4)
        world.round()
        assert bool(world.plan.requests) is asks


@pytest.mark.parametrize("limits", [{}, {"memory": "64Gi"}, {"cpu": "16"}])
def test_the_limits_of_all_pools_count_together(limits: Json) -> None:
    """A pool that does not limit CPU may add any amount of it."""
    world = PooledCluster(cpu=8)
    world.pool("second", limits)
    world.gang("gang", 6)
    world.round()
    assert world.plan.requests


def test_without_limits_and_without_pools_any_gang_requests_nodes() -> None:
    world = PooledCluster(cpu=None)
    world.gang("gang", 1000)
    world.round()
    assert world.plan.requests
    world.api.delete(POOL)
    world.round()
    assert world.plan.requests


def test_the_resource_that_is_exceeded_is_named() -> None:
    world = PooledCluster(cpu=96)
    world.api.patch(POOL, {"spec": {"limits": {"memory": "1.5Gi", "cpu": "16"}}})
    world.gang("gang", 2)
    world.round()
    text = "NodePools may add 1536Mi more memory: needs 2Gi"
    assert world.why("gang")[1] == f"the limits of NodePools allow too little memory; {text}"
