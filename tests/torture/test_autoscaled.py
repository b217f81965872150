"""Reconciler, Karpenter and nodes die while nodes come and go: gangs start whole all the same."""

import time
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, Final

import pytest

from dev.installation import Installation, install, start_reconciler
from edl import contract
from edl.model import Code
from edl.writes import Json
from sandbox import Sandbox, temporary_sandbox
from sandbox.autoscaler import NAME, add_karpenter
from sandbox.objects.node_pools import NodePool
from tests.integration.support.stage import Stage, elastic, stage, web
from tests.waiting import pause_after

pytestmark = [pytest.mark.torture, pytest.mark.timeout(900)]

POOL = NodePool(sizes=(16,), cpu_limit="640", node_delay="5s", consolidate_after="5s")
CPU = "3900m"
PODS_OF_A_NODE: Final = 4
"""With that CPU."""
OPTIONS = (
    *("--lease-duration=3", "--renew-deadline=2", "--retry-period=0.5"),  # a new process leads soon
    "--provisioning-timeout=60",
    "--provisioning-parallelism=20",
    "--idle-node-after=5",
    "--growth-cooldown=3",
)
STRIKES: Final = 8
"""What dies in one test, at most."""
RECONCILER: Final = "reconciler"
NODE: Final = "node"
FIRST: Final = "train-0-"
"""How the name of the pod with index 0 begins."""


@pytest.fixture(scope="module")
def autoscaled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """A cluster without nodes, with Karpenter, which consolidates, and our reconciler."""
    with temporary_sandbox("autoscaled-kills") as sandbox:
        add_karpenter(sandbox, POOL)
        yield install(sandbox, tmp_path_factory.mktemp("installation"), (RECONCILER,), *OPTIONS)


class Scene:
    """A namespace, and what dies at random moments while a test waits."""

    def __init__(self, at: Stage, installation: Installation, random: Random) -> None:
        assert isinstance(installation.cluster, Sandbox)
        self.at, self._installation, self._sandbox = at, installation, installation.cluster
        self._random = random
        self.struck: list[str] = []

    def until(self, holds: Callable[[], Any], what: str, *victims: str) -> None:
        """Wait until it holds; one of the victims dies every few seconds, the first at once."""
        begun = time.monotonic()
        due = begun
        while not holds():
            self._sandbox.check()
            self.sees_no_request_above_a_minimum()
            now = time.monotonic()
            assert now - begun < self.at.within, f"it never came: {what}; died: {self.struck}"
            if victims and now >= due and len(self.struck) < STRIKES:
                self._strike(self._random.choice(victims))
                due = time.monotonic() + self._random.uniform(1.0, 8.0)
            time.sleep(pause_after(now - begun, *self.at.pauses))

    def _strike(self, victim: str) -> None:
        if victim == NODE:
            self._lose_a_node()
            return
        self._sandbox.kill(victim)
        time.sleep(self._random.uniform(0.0, 2.0))
        if victim == RECONCILER:
            start_reconciler(self._installation, RECONCILER, *OPTIONS)
        else:
            self._sandbox.start(victim)
        self.struck.append(victim)

    def _lose_a_node(self) -> None:
        """One without a job's pod so far: it is gone without a drain, as a machine that dies."""
        busy = {pod["spec"].get("nodeName") for pod in self.at.all("Pod") if not asks(pod)}
        idle = [node for node in self.nodes() if node.removeprefix("node/") not in busy]
        if not idle:
            return
        lost = self._random.choice(idle)
        patch = '{"metadata": {"finalizers": null}}'
        self.at.kubectl("patch", lost, "--type=merge", "-p", patch)
        self.at.kubectl("delete", "--wait=false", "--ignore-not-found", lost)
        self.struck.append(NODE)

    def nodes(self) -> list[str]:
        return self._sandbox.kubectl("get", "nodes", "-o", "name").split()

    def requested(self) -> list[Json]:
        return [pod for pod in self.at.all("Pod") if asks(pod)]

    def sees_no_request_above_a_minimum(self) -> None:
        """Those that end are no more than what was asked: no second request stands beside one."""
        live = [pod for pod in self.requested() if "deletionTimestamp" not in pod["metadata"]]
        asked = [pod["metadata"]["labels"][contract.PROVISIONAL] for pod in live]
        for job in set(asked):
            least = int(self.at.job(job)["metadata"]["labels"][contract.MIN])
            assert asked.count(job) <= least, f"{job} asks twice"

    def started_whole(self, job: str, pods: int) -> None:
        """Once, with all of its minimum; no pod failed but those whose node was lost under them."""
        found = self.at.job(job)
        history = found["metadata"]["annotations"][contract.HISTORY].splitlines()
        starts = [line.split()[1:4] for line in history if line.split()[1] == "Started"]
        assert starts == [["Started", str(pods), str(pods)]], history
        lost = self.struck.count(NODE)
        assert int(found.get("status", {}).get("failed", 0)) <= lost * PODS_OF_A_NODE


@pytest.fixture(params=[1, 2, 3], ids="seed {}".format)
def scene(request: pytest.FixtureRequest, autoscaled: Installation) -> Iterator[Scene]:
    with stage(autoscaled.cluster) as at:
        at.within = 300.0
        made = Scene(at, autoscaled, Random(request.param))  # noqa: S311 - no secret depends on it
        yield made
        for kind in ("Deployment", "Job", "Pod"):
            at.delete_all(kind)
        victims = () if made.struck else (RECONCILER, NAME)
        made.until(lambda: not made.nodes(), "all nodes go after the jobs", *victims)


def asks(pod: Json) -> bool:
    return contract.PROVISIONAL in pod["metadata"].get("labels", {})


def gang(name: str, pods: int, cpu: str = CPU, **labels: str) -> Json:
    words = {"framework": "tensorflow", "min": str(pods), "max": str(pods)} | labels
    return elastic(name, cpu=cpu, labels=words, parallelism=pods)


def service(name: str) -> Json:
    """Others' pod that leaves 7 CPUs of a node."""
    made, labels = web(1, "9"), {"app": name}
    made["metadata"]["name"] = name
    made["spec"]["selector"]["matchLabels"] = labels
    made["spec"]["template"]["metadata"]["labels"] = labels
    return made


def reason(at: Stage, job: str) -> Any:  # noqa: ANN401 - JSON
    return at.job(job)["metadata"].get("annotations", {}).get(contract.REASON)


def test_a_gang_starts_whole_from_zero_nodes(scene: Scene) -> None:
    scene.at.apply(gang("gang", 16))
    scene.until(scene.requested, "it asks for nodes")
    runs = lambda: scene.at.running("gang") == 16  # noqa: E731
    scene.until(runs, "the gang runs", RECONCILER, NAME, NODE)
    scene.until(lambda: not scene.requested(), "its provisional pods are gone")
    scene.until(lambda: len(scene.nodes()) == 4, "no node stays that the gang does not need")
    scene.started_whole("gang", 16)
    assert scene.struck


def test_a_burst_of_gangs_makes_no_more_nodes_than_they_need(scene: Scene) -> None:
    names = [f"gang-{number}" for number in range(20)]
    scene.at.apply(*(gang(name, 6) for name in names))
    scene.until(scene.requested, "they ask for nodes")

    def run() -> bool:
        return all(scene.at.running(name) == 6 for name in names)

    scene.until(run, "all gangs run", RECONCILER, NAME, NODE)
    scene.until(lambda: not scene.requested(), "their provisional pods are gone")
    scene.until(lambda: len(scene.nodes()) <= 33, "120 pods fill 30 nodes")
    for name in names:
        scene.started_whole(name, 6)
    assert scene.struck


def test_a_gang_that_cannot_be_provisioned_leaves_nothing_and_others_pass(scene: Scene) -> None:
    scene.at.apply(gang("giant", 2, cpu="200"), gang("small", 4))
    refused = lambda: reason(scene.at, "giant") == Code.NODES_NOT_PROVISIONED  # noqa: E731
    scene.until(lambda: scene.at.running("small") == 4, "the small one runs", RECONCILER, NAME)
    scene.until(refused, "the giant's nodes do not come", RECONCILER, NAME)
    scene.until(lambda: not scene.requested(), "its provisional pods are gone")
    scene.until(lambda: len(scene.nodes()) == 1, "no node was made for the giant")
    scene.started_whole("small", 4)
    assert scene.at.size("giant") == 0
    assert scene.struck


def test_extras_leave_nodes_that_nothing_else_needs_and_the_minimum_runs_on(scene: Scene) -> None:
    """Two of three services go while their nodes are full of extras."""
    others = ("front", "back", "side")
    scene.at.apply(*map(service, others))

    def ran(pods: int) -> bool:
        return scene.at.running("train") == scene.at.size("train") == pods

    def bound() -> list[Json]:
        return [pod for pod in scene.at.all("Pod") if "nodeName" in pod["spec"]]

    scene.until(lambda: len(bound()) == len(scene.nodes()) == 3, "a node for each service")
    words = {"framework": "pytorch", "min": "1", "max": "9"}
    scene.at.apply(elastic("train", cpu="2", labels=words))
    scene.until(lambda: ran(9), "extras fill the nodes of the services")
    pods = {pod["metadata"]["labels"].get("app", "train"): pod for pod in scene.at.all("Pod")}
    (first,) = (pod for pod in scene.at.pods("train") if pod["metadata"]["name"].startswith(FIRST))
    home, uid = first["spec"]["nodeName"], first["metadata"]["uid"]
    for name in others:
        if pods[name]["spec"]["nodeName"] != home:
            scene.at.kubectl("delete", "deployment", name)
    gone = lambda: scene.nodes() == [f"node/{home}"]  # noqa: E731
    scene.until(gone, "nodes that only extras kept are gone", RECONCILER, NAME, NODE)
    scene.until(lambda: ran(3), "as many extras stay as fit on the node that is needed")
    assert scene.at.uids("train")["0"] == uid, "its minimum runs on"
    # Of a node that goes Karpenter evicts the extras that stay, if no reconciler moves them before.
    assert int(scene.at.job("train").get("status", {}).get("failed", 0)) <= 2 * 2
    assert scene.struck
