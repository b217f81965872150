"""A raised minimum of a running job that resizes live requests nodes for the missing pods."""

from typing import TYPE_CHECKING

import pytest

from edl import contract
from edl.contract import Provision
from edl.model import ObjectRef
from edl.planner.decision_limits import Limits, ProvisionerSettings
from edl.writes import Delete, Patch
from tests.edl.provisioning.autoscaled_cluster import AutoscaledCluster, _cpu

if TYPE_CHECKING:
    from edl.writes import Json

LIVE = pytest.mark.parametrize("framework", ["none", "pytorch"])
JOB = ObjectRef("Job", "lab", "mine")


class RunningJob(AutoscaledCluster):
    """The job `mine` runs with two pods of 4 CPU, which fill the only node."""

    def __init__(
        self, framework: str = "none", delay: float = 60, limits: Limits | None = None, **notes: str
    ) -> None:
        super().__init__(delay=delay, limits=limits)
        self.asked: list[int] = []
        """The provisional pods of the job after each round."""
        self.node("first")
        self.gang("mine", 2, most=20, framework=framework, annotations=notes)
        self.settle(60)
        assert self.running("mine") == 2

    def minimum(self, pods: int) -> None:
        labels = {"labels": {contract.MIN: str(pods)}}
        self.api.patch(JOB, {"metadata": labels})

    def grow(self) -> None:
        """A round after which the new pods exist and have no node yet."""
        self._schedule()
        self.round()
        self._make_pods()

    def round(self, crash_after: int | None = None) -> None:
        super().round(crash_after)
        self.asked.append(len(self.provisional("mine")))
        used = sum(_cpu(pod) for pod in self.objects("Pod")) // 1000
        for quota in self.objects("ResourceQuota"):
            status = {"hard": quota["spec"]["hard"], "used": {"requests.cpu": str(used)}}
            target = ObjectRef("ResourceQuota", "lab", quota["metadata"]["name"])
            self.api.patch(target, {"status": status})


@LIVE
def test_the_missing_pods_request_nodes_and_the_job_grows_onto_them(framework: str) -> None:
    world = RunningJob(framework)
    world.minimum(6)
    world.settle(30)
    assert len(world.provisional("mine")) == 4
    assert world.running("mine") == 2
    world.settle(90)
    assert world.running("mine") >= 6
    assert world.provisional() == []
    assert world.made == 2
    assert max(world.asked) == 4
    assert world.preempted == []


@LIVE
def test_provisional_pods_go_before_kube_scheduler_may_place_the_new_pods(framework: str) -> None:
    world = RunningJob(framework)
    world.minimum(4)
    world.settle(10)
    names = {one["metadata"]["name"] for one in world.provisional()}
    world.bind_provisional()
    world.writes.clear()
    world.round()
    kinds = [isinstance(one, Patch) and "parallelism" in str(one) for one in world.writes]
    before = world.writes[: kinds.index(True)]
    assert {one.target.name for one in before if isinstance(one, Delete)} == names


def test_nodes_that_come_one_by_one_are_used_at_once_and_the_rest_stays_requested() -> None:
    world = RunningJob("pytorch", delay=100_000)
    world.minimum(6)
    world.settle(30)
    assert world.asked[-1] == 4
    world.node("second", 4)
    world.settle(10)
    assert world.job("mine")["spec"]["parallelism"] == 3
    assert [one["spec"].get("nodeName") for one in world.provisional()] == [None] * 3
    world.node("third", 8)
    world.settle(20)
    assert world.running("mine") == 5
    assert len(world.provisional()) == 1
    assert world.preempted == []


def test_the_rest_stays_requested_while_new_pods_have_no_node_yet() -> None:
    world = RunningJob(delay=100_000)
    world.minimum(6)
    world.settle(30)
    world.node("second", 4)
    world.grow()
    assert len(world.pods("mine")) == 3
    world.round()
    assert world.running("mine") == 2
    assert len(world.provisional()) == 3


def test_a_job_with_a_pod_of_its_minimum_without_a_node_begins_no_request() -> None:
    world = RunningJob(delay=100_000)
    world.delete_pod("mine-1")
    world.minimum(6)
    world.grow()
    world.round()
    assert max(world.asked) == 0


def test_replacements_of_pods_on_a_cordoned_node_are_requested_first() -> None:
    world = RunningJob("pytorch", delay=40)
    world.cordon("first")
    world.settle(10)
    assert len(world.provisional()) == 2
    world.minimum(6)
    world.settle(10)
    assert len(world.provisional()) == 2
    world.settle(300)
    assert world.running("mine") >= 6
    assert world.provisional() == []


def test_a_lower_minimum_takes_the_request_back() -> None:
    world = RunningJob(delay=100_000)
    for least, asked in ((6, 4), (4, 2), (5, 3), (2, 0)):
        world.minimum(least)
        world.settle(20)
        assert len(world.provisional()) == asked
    assert max(world.asked) == 4


def test_a_job_that_is_deleted_leaves_no_request() -> None:
    world = RunningJob(delay=100_000)
    world.minimum(6)
    world.settle(20)
    assert len(world.provisional()) == 4
    world.api.delete(JOB)
    world.settle(10)
    assert world.provisional() == []


def test_a_job_that_requests_no_nodes_waits_for_capacity() -> None:
    world = RunningJob(provision=Provision.NEVER)
    world.minimum(6)
    world.settle(60)
    assert max(world.asked) == 0


def test_after_the_timeout_its_pods_stay_requested_and_other_jobs_take_their_turn() -> None:
    limits = Limits(provisioning=ProvisionerSettings(provisioning_parallelism=1))
    world = RunningJob(delay=100_000, limits=limits)
    world.minimum(6)
    world.settle(20)
    world.gang("other", 3)
    world.settle(300)
    assert (len(world.provisional("mine")), len(world.provisional("other"))) == (4, 0)
    world.settle(400)
    assert (len(world.provisional("mine")), len(world.provisional("other"))) == (4, 3)


def test_a_job_further_ahead_gets_the_nodes_first() -> None:
    world = RunningJob(delay=100_000)
    world.minimum(4)
    world.settle(20)
    world.create("PriorityClass", "", {"metadata": {"name": "high"}, "value": 5})
    world.gang("ahead", 2, pod={"priorityClassName": "high"})
    world.settle(10)
    world.node("second")
    world.settle(60)
    assert (world.running("ahead"), world.running("mine")) == (2, 2)
    assert len(world.provisional("mine")) == 2


def limited(world: RunningJob, cpu: int) -> None:
    hard = {"requests.cpu": str(cpu)}
    status = {"hard": hard, "used": {"requests.cpu": "8"}}
    quota: Json = {"metadata": {"name": "quota"}, "spec": {"hard": hard}, "status": status}
    world.create("ResourceQuota", "lab", quota)


@pytest.mark.parametrize("cpu", [16, 24])
def test_a_quota_that_counts_its_provisional_pods_does_not_keep_it_from_growing(cpu: int) -> None:
    """The job has 8 CPU, and requests nodes for 8 more."""
    world = RunningJob()
    limited(world, cpu)
    world.minimum(4)
    world.settle(200)
    assert world.running("mine") >= 4
    assert world.provisional() == []


def test_no_nodes_are_requested_beyond_a_quota() -> None:
    world = RunningJob()
    limited(world, 12)
    world.minimum(4)
    world.settle(60)
    assert max(world.asked) == 1
