"""Queued gangs get their nodes from a real Karpenter, whole or not at all."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dev.installation import Installation, install, start_reconciler
from edl import contract
from edl.model import Code, ObjectRef
from edl.writes import Json
from sandbox import Sandbox, temporary_sandbox
from sandbox.autoscaler import NAME, add_karpenter
from sandbox.objects.node_pools import NodePool
from tests.integration.support.stage import Stage, elastic, role_jobs, stage

pytestmark = [pytest.mark.integration, pytest.mark.long, pytest.mark.timeout(900)]

POOL = NodePool(sizes=(16,), cpu_limit="640", node_delay="3s", consolidate_after="Never")
CPU = "3900m"
"""Four such pods fill a node."""
OPTIONS = (
    *("--provisioning-timeout=45", "--provisioning-parallelism=20", "--gang-limit=30"),
    *("--lease-duration=3", "--renew-deadline=2", "--retry-period=0.5"),  # a new process leads soon
)


@pytest.fixture(scope="module")
def autoscaled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """A cluster without nodes, with Karpenter and our reconciler."""
    with temporary_sandbox("provisioning") as sandbox:
        add_karpenter(sandbox, POOL)
        yield install(sandbox, tmp_path_factory.mktemp("installation"), ("reconciler",), *OPTIONS)


@pytest.fixture
def at(autoscaled: Installation) -> Iterator[Stage]:
    """A fresh namespace; its nodes are gone when the next test begins."""
    with stage(autoscaled.cluster) as made:
        made.within = 180.0
        yield made
        for kind in ("Job", "Pod"):
            made.delete_all(kind)
        made.kubectl("delete", "nodeclaims", "--all")
        made.until(lambda: not nodes(made), "its nodes are gone")


def gang(name: str, pods: int, cpu: str = CPU, **labels: str) -> Json:
    words = {"framework": "tensorflow", "min": str(pods), "max": str(pods)} | labels
    return elastic(name, cpu=cpu, labels=words, parallelism=pods)


def nodes(at: Stage) -> list[str]:
    return [f"node/{node['metadata']['name']}" for node in at.cluster_wide("Node")]


def uids_by_node(at: Stage) -> dict[str, str]:
    return {one["metadata"]["uid"]: one["spec"].get("nodeName", "") for one in at.all("Pod")}


def provisional(at: Stage) -> list[Json]:
    return [one for one in at.all("Pod") if contract.PROVISIONAL in one["metadata"]["labels"]]


def holder(at: Stage) -> str:
    """Another one for each process."""
    lease = ObjectRef("Lease", at.api.system_namespace, contract.RECONCILER_LEASE)
    return str(at.api.get(lease)["spec"]["holderIdentity"])


@contextmanager
def limited(at: Stage, cpu: str) -> Iterator[None]:
    """The pool has a lower limit meanwhile."""

    def limit(cpu: str) -> None:
        patch = json.dumps({"spec": {"limits": {"cpu": cpu}}})
        at.kubectl("patch", "nodepool", POOL.name, "--type=merge", "-p", patch)

    limit(cpu)
    try:
        yield
    finally:
        limit(POOL.cpu_limit)


def reason(at: Stage, job: str) -> Any:  # noqa: ANN401 - JSON
    return at.job(job)["metadata"].get("annotations", {}).get(contract.REASON)


def failed(at: Stage, job: str) -> int:
    return int(at.job(job).get("status", {}).get("failed", 0))


def test_from_zero_nodes_a_gang_starts_whole(at: Stage) -> None:
    at.apply(gang("gang", 8))
    at.until(lambda: reason(at, "gang") == Code.WAITING_FOR_NODES, "it waits for nodes")
    at.until_runs("gang", 8)
    at.until(lambda: not provisional(at), "its provisional pods are gone")
    assert len(nodes(at)) == 2
    assert failed(at, "gang") == 0


def test_a_gang_of_several_roles_starts_on_the_nodes_that_came(at: Stage) -> None:
    jobs = role_jobs("tensorflow", "train", "chief=1,worker=7", cpu=CPU, worker=7)
    at.apply(*jobs)
    at.until_runs("train-worker", 7)
    at.until_runs("train-chief", 1)
    at.until(lambda: not provisional(at), "its provisional pods are gone")
    assert len(nodes(at)) == 2


def test_a_burst_of_gangs_makes_no_more_nodes_than_they_need(at: Stage) -> None:
    names = [f"gang-{number}" for number in range(10)]
    at.apply(*(gang(name, 6) for name in names))
    for name in names:
        at.until_runs(name, 6)
    at.until(lambda: not provisional(at), "their provisional pods are gone")
    assert len(nodes(at)) <= 16, "60 pods fill 15 nodes"


def test_extras_fill_what_is_left_of_the_nodes_that_came(at: Stage) -> None:
    at.apply(gang("elastic", 5, max="40"))
    at.until(lambda: at.running("elastic") == 7, "it fills its nodes up to the load ceiling")
    assert len(nodes(at)) == 2


def test_a_gang_that_cannot_be_provisioned_leaves_nothing_and_others_pass(at: Stage) -> None:
    at.apply(gang("giant", 2, cpu="200"))
    at.until(lambda: reason(at, "giant") == Code.WAITING_FOR_NODES, "it waits for nodes")
    at.apply(gang("small", 4))
    at.until_runs("small", 4)
    at.until(lambda: reason(at, "giant") == Code.NODES_NOT_PROVISIONED, "its nodes do not come")
    at.until(lambda: not provisional(at), "its provisional pods are gone")
    assert "autoscaler" in at.message("giant")
    assert at.size("giant") == 0


def test_a_gang_beyond_the_limits_of_the_pool_requests_no_nodes_until_they_are_raised(
    at: Stage,
) -> None:
    with limited(at, "16"):
        at.apply(gang("gang", 8))
        at.until(lambda: reason(at, "gang") == Code.NODES_NOT_PROVISIONED, "its nodes cannot come")
        assert "NodePools" in at.message("gang")
        at.apply(gang("small", 4))
        at.until_runs("small", 4)
        assert not provisional(at)
    at.until_runs("gang", 8)
    assert len(nodes(at)) == 3


def test_a_reconciler_that_dies_in_the_middle_leaves_no_second_request(
    at: Stage, autoscaled: Installation
) -> None:
    at.apply(gang("gang", 8))
    at.until(lambda: provisional(at), "it asks for nodes")
    for _ in range(3):
        dead = holder(at)
        autoscaled.cluster.kill("reconciler")
        start_reconciler(autoscaled, "reconciler", *OPTIONS)
        at.until(lambda: holder(at) != dead, "the next one leads")  # noqa: B023
        assert len(provisional(at)) <= 8
    at.until_runs("gang", 8)
    at.until(lambda: not provisional(at), "its provisional pods are gone")
    assert len(nodes(at)) == 2


@pytest.mark.parametrize("vanishes", [False, True], ids=["drained", "dead"])
def test_a_node_that_goes_before_its_gang_starts_is_replaced(
    at: Stage, autoscaled: Installation, *, vanishes: bool
) -> None:
    """The reconciler is away until then: the gang would start as soon as all nodes are there."""
    at.apply(gang("gang", 8))
    at.until(lambda: len(provisional(at)) == 8, "it asks for nodes")
    autoscaled.cluster.stop("reconciler")
    at.until(lambda: all("nodeName" in one["spec"] for one in provisional(at)), "they are bound")
    lost = nodes(at)[0]
    if vanishes:
        at.kubectl("patch", lost, "--type=merge", "-p", '{"metadata": {"finalizers": null}}')
    at.kubectl("delete", "--wait=false", lost)
    autoscaled.cluster.start("reconciler")
    started_whole(at, "gang", 8)
    at.until(lambda: len(nodes(at)) == 2, "what was deleted is gone")
    assert lost not in nodes(at)


def test_a_running_job_that_loses_a_node_of_its_minimum_goes_on_and_gets_another(
    at: Stage,
) -> None:
    """Chief and server are on two nodes at most: the third has workers alone."""
    at.apply(*role_jobs("tensorflow", "train", "chief=1,ps=1,worker=8..8", cpu=CPU))
    at.until_runs("train-worker", 8)
    at.until_runs("train-ps", 1)
    at.until_runs("train-chief", 1)
    held = {
        one["spec"]["nodeName"] for one in at.all("Pod") if "worker" not in one["metadata"]["name"]
    }
    lost = next(node for node in nodes(at) if node.removeprefix("node/") not in held)
    there = {uid for uid, node in uids_by_node(at).items() if lost.endswith(f"/{node}")}
    started = at.job("train-chief")["metadata"]["annotations"][contract.STARTED_AT]
    over = datetime.fromisoformat(started) + timedelta(seconds=31)
    at.until(lambda: datetime.now(UTC) > over, "it has come together")
    at.kubectl("delete", "--wait=false", lost)
    at.until(lambda: not there & uids_by_node(at).keys(), "its pods are lost")
    at.until_runs("train-worker", 8)
    at.until(lambda: len(nodes(at)) == 3, "another node has come")
    assert at.job("train-chief")["metadata"]["annotations"][contract.STARTED_AT] == started


def test_a_minimum_leaves_a_cordoned_node_for_one_that_is_made_for_it(at: Stage) -> None:
    """Worker by worker: the others run meanwhile."""
    at.apply(gang("gang", 4, framework="pytorch"))
    at.until_runs("gang", 4)
    (old,), running = nodes(at), list[int]()
    at.kubectl("cordon", old)

    def moved() -> bool:
        running.append(at.running("gang"))
        on = {one["spec"].get("nodeName") for one in at.pods("gang")}
        return running[-1] == 4 and old.removeprefix("node/") not in on

    at.until(moved, "its pods run elsewhere")
    assert min(running) >= 3
    at.until(lambda: not provisional(at), "its provisional pods are gone")
    assert len(nodes(at)) == 2, "one node was made for all four"
    assert failed(at, "gang") == 0


def started_whole(at: Stage, job: str, pods: int) -> None:
    """Once, with all of its pods, and nothing is left of what it asked with."""
    at.until_runs(job, pods)
    at.until(lambda: not provisional(at), "its provisional pods are gone")
    (entry,) = at.job(job)["metadata"]["annotations"][contract.HISTORY].splitlines()
    assert entry.split()[1:4] == ["Started", str(pods), str(pods)]
    assert failed(at, job) == 0


def test_nodes_come_although_karpenter_was_away(at: Stage, autoscaled: Installation) -> None:
    sandbox = autoscaled.cluster
    assert isinstance(sandbox, Sandbox)
    sandbox.stop(NAME)
    at.apply(gang("gang", 4))
    at.until(lambda: provisional(at), "it asks for nodes")
    sandbox.start(NAME)
    at.until_runs("gang", 4)
    assert len(nodes(at)) == 1
