"""The API server takes the pins of a start, and gives the template back as its user wrote it."""

import time
from collections.abc import Callable
from datetime import UTC, datetime

import msgspec
import pytest

from edl import contract
from edl.errors import Conflict
from edl.kube import jobfacts
from edl.kube.act import perform
from edl.kube.client import connect
from edl.kube.shapes import Shapes
from edl.model import JobKey, Target, TrainingJob
from edl.planner.plan import Admission, Suspension
from edl.steps.start import start, stop
from edl.writes import Json, Step
from sandbox import NodeGroup, Sandbox
from sandbox.named import Cluster
from tests.integration.support.stage import elastic
from tests.reasons import because

pytestmark = pytest.mark.integration

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
LINUX = {"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]}
OWN = {
    "nodeAffinity": {
        REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [LINUX]}]},
        PREFERRED: [{"weight": 1, "preference": {"matchExpressions": [LINUX]}}],
    }
}


class Life:
    """One Job, started and stopped by our own steps and by nobody else."""

    def __init__(self, cluster: Cluster, affinity: Json | None) -> None:
        self.cluster = cluster
        self.api = connect(str(cluster.kubeconfig))
        self.target = Target("Job", "default", "pinned")
        pod = {"affinity": affinity} if affinity is not None else {}
        job = elastic("pinned", labels={"min": "2", "max": "2"}, parallelism=2, pod=pod)
        job["spec"] |= {"suspend": True, "completions": 2, "completionMode": "Indexed"}
        self.api.create(self.target, job)

    @property
    def body(self) -> Json:
        return self.api.get(self.target)

    @property
    def affinity(self) -> Json | None:
        found: Json | None = self.body["spec"]["template"]["spec"].get("affinity")
        return found

    def training(self) -> TrainingJob:
        role = jobfacts.job(msgspec.json.encode(self.body), Shapes()).role
        assert role is not None
        key = JobKey(self.target.namespace, "pinned")
        return TrainingJob(key, "none", (role,), datetime.now(UTC))

    def start(self, *nodes: str) -> None:
        self.until(lambda: self.training().roles[0].settled)
        pins = (("worker", nodes),) if nodes else ()
        admission = Admission(self.training().key, (("worker", 2),), because("room"), (), pins)
        self.take(lambda job: start(job, admission, datetime.now(UTC)))

    def stop(self) -> None:
        suspension = Suspension(self.training().key, because("back to the queue"))
        self.take(lambda job: stop(job, suspension, datetime.now(UTC)))

    def take(self, make: Callable[[TrainingJob], Step]) -> None:
        """Where the Job has changed meanwhile, decided anew."""
        try:
            for write in make(self.training()).writes:
                if write.target == self.target:
                    perform(self.api, write)
        except Conflict:
            self.take(make)

    def until(self, holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 60
        while not holds():
            assert time.monotonic() < deadline, self.body
            time.sleep(0.1)

    def nodes(self) -> list[str]:
        path = "jsonpath={.items[*].spec.nodeName}"
        found = self.cluster.kubectl("-n", self.target.namespace, "get", "pods", "-o", path)
        return sorted(found.split())

    def runs_on(self, *nodes: str) -> None:
        """Returns when its pods run there."""
        self.until(lambda: self.nodes() == list(nodes))


def test_pins_come_and_go(own_sandbox: Callable[[], Sandbox]) -> None:
    """In a sandbox of its own: nobody else may decide about these Jobs."""
    sandbox = own_sandbox()
    sandbox.up(NodeGroup(3))
    for own in (None, {}, OWN):
        life = Life(sandbox, own)
        before = life.affinity
        for node in ("node-000", "node-001"):
            life.start(node)
            life.runs_on(node, node)
            assert life.body["metadata"]["annotations"][contract.PINNED]
            life.stop()
            life.runs_on()
        life.start()
        life.until(lambda: len(life.nodes()) == 2)  # noqa: B023
        assert life.affinity == before
        assert contract.PINNED not in life.body["metadata"]["annotations"]
        life.api.delete(life.target)
        life.runs_on()
