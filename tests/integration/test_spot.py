"""Workers leave a node before it goes: out of the host list first, then made anew elsewhere."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from edl import contract
from edl.model import ObjectRef
from tests.integration.support.stage import Stage, elastic, horovod, tensorflow

pytestmark = pytest.mark.integration
_SPOT = "aws-node-termination-handler/spot-itn"


def nodes(stage: Stage, job: str) -> dict[str, str]:
    """Where each index of a Job runs now."""
    running = [
        pod
        for pod in stage.pods(job)
        if pod["metadata"].get("deletionTimestamp") is None and pod["spec"].get("nodeName")
    ]
    return {pod["metadata"]["name"].rsplit("-", 2)[1]: pod["spec"]["nodeName"] for pod in running}


@contextmanager
def leaving(stage: Stage, job: str, words: Sequence[str], back: Sequence[str]) -> Iterator[str]:
    """The node of its worker 0 is about to go, and comes back when the test is over."""
    name = nodes(stage, job)["0"]
    stage.kubectl(*(word.format(name) for word in words))
    try:
        yield name
    finally:
        stage.kubectl(*(word.format(name) for word in back))


def _ring(stage: Stage) -> None:
    """Three workers, and their launcher on a node of its own."""
    stage.within = 180.0  # who joins waits for the others, and then for the launcher
    launcher, worker = horovod("ring", "1..3")
    own = stage.kubectl("get", "nodes", "-o", "jsonpath={.items[0].metadata.name}")
    for job, operator in ((launcher, "In"), (worker, "NotIn")):
        field = {"key": "metadata.name", "operator": operator, "values": [own]}
        required = {"nodeSelectorTerms": [{"matchFields": [field]}]}
        job["spec"]["template"]["spec"]["affinity"] = {
            "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}
        }
    stage.apply(launcher, worker)
    stage.until(lambda: len(stage.hosts("ring-launcher")) == 3, "all workers are listed")


def _is_whole_without(stage: Stage, node: str) -> bool:
    where = nodes(stage, "ring-worker")
    whole = len(where) == stage.running("ring-worker") == len(stage.hosts("ring-launcher")) == 3
    return whole and node not in where.values()


def test_a_spot_interruption_moves_all_workers_of_its_node(installed: Stage) -> None:
    _ring(installed)
    launcher = installed.uids("ring-launcher")
    words = ("taint", "node", "{}", f"{_SPOT}=now:NoSchedule")
    back = ("taint", "node", "{}", f"{_SPOT}:NoSchedule-")
    with leaving(installed, "ring-worker", words, back) as name:
        installed.until(lambda: _is_whole_without(installed, name), "they run elsewhere")
        notes = installed.job("ring-worker")["metadata"]["annotations"]
        told = f"off {name}, which is being removed ({_SPOT})"
        assert told in notes[contract.HISTORY]
        installed.until(lambda: told not in installed.message("ring-worker"), "the move is done")
        assert failed(installed, "ring-worker") == 0
    assert installed.uids("ring-launcher") == launcher, "the launcher, elsewhere, stays"


def failed(stage: Stage, job: str) -> int:
    """As the Job controller counts: a pod that leaves by name, or with its node, has not failed."""
    return int(stage.job(job)["status"].get("failed", 0))


def test_a_cordoned_node_is_emptied_worker_by_worker(installed: Stage) -> None:
    _ring(installed)
    fewest = []

    def emptied(name: str) -> bool:
        fewest.append(len(installed.hosts("ring-launcher")))
        return _is_whole_without(installed, name)

    with leaving(installed, "ring-worker", ("cordon", "{}"), ("uncordon", "{}")) as name:
        installed.within = 180.0
        installed.until(lambda: emptied(name), "they run elsewhere")
        assert min(fewest) >= 2, "one at a time"
        assert failed(installed, "ring-worker") == 0


def test_a_minimum_stays_on_a_cordoned_node_until_its_quota_lets_it_come_back(
    installed: Stage,
) -> None:
    installed.apply(*tensorflow("mnist", "2"))
    installed.until_runs("mnist-worker", 2)
    quota = ObjectRef("ResourceQuota", installed.namespace, "team")
    body = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "team"}}
    installed.api.create(quota, body | {"spec": {"hard": {"requests.cpu": "3"}}})
    installed.until(lambda: installed.api.get(quota)["status"].get("used"), "the quota has counted")
    before = installed.uids("mnist-worker")
    words, back = ("cordon", "{}"), ("uncordon", "{}")
    with leaving(installed, "mnist-worker", words, back) as name:
        installed.apply(elastic("later", labels={"min": "1", "max": "1"}))
        installed.until(
            lambda: "ResourceQuota" in installed.message("later"), "it was decided since"
        )
        assert installed.uids("mnist-worker") == before
        installed.api.patch(quota, {"spec": {"hard": {"requests.cpu": "20"}}})
        installed.until(lambda: _left(installed, name), "its workers run elsewhere")


def _left(stage: Stage, node: str) -> bool:
    where = nodes(stage, "mnist-worker")
    return stage.running("mnist-worker") == len(where) == 2 and node not in where.values()
