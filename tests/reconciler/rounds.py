"""Whole rounds of the reconciler, one after the other, on a cluster in memory.

A Job controller and kubelets act after each round: new pods run at once, and pods above the size
of a Job, or of a suspended Job, are deleted.
"""

from collections.abc import Mapping
from functools import partial

from edl import contract
from edl.inject.handlers import AdmissionRequest, Context, mutate
from edl.kube.cluster import ListOptions
from edl.kube.state.incremental_state import read_state
from edl.kube.writer.executor import ClusterWriter
from edl.model import ObjectRef
from edl.planner.decide import decide
from edl.planner.decision_limits import Limits
from edl.planner.policies import POLICIES
from edl.steps.plan_steps import steps
from edl.writes import Json
from tests.edl.kube import manifests
from tests.fake_cluster.cluster import FakeCluster
from tests.reconciler.times import Time

NAMESPACE = "web"
CONTEXT = Context(frozenset(), "image")


class Rounds:
    """A cluster of one node, and a reconciler that acts when a test says so."""

    def __init__(self, cpus: int, limits: Limits) -> None:
        self.time = Time()
        self.cluster = FakeCluster(self.time.now)
        self._decide = partial(decide, policy=POLICIES["fair"], limits=limits)
        node = manifests.node("n1")
        node["status"]["allocatable"]["cpu"] = str(cpus)
        self.cluster.create(ObjectRef("Node", "", "n1"), node)
        space = manifests.metadata(NAMESPACE, labels={contract.KUBEXEC: "enabled"})
        self.cluster.create(ObjectRef("Namespace", "", NAMESPACE), {"metadata": space})

    def submit(self, name: str, labels: Mapping[str, str], notes: Mapping[str, str]) -> None:
        """Create a Job as the webhook completes it."""
        body = manifests.job(name, labels=dict(labels), notes=dict(notes), suspend=False)
        body |= {"apiVersion": "batch/v1", "kind": "Job"}
        verdict = mutate(AdmissionRequest("CREATE", body, None, "ann"), CONTEXT)
        self.cluster.create(ObjectRef("Job", NAMESPACE, name), verdict.manifest)

    def run(self, seconds: int) -> None:
        """One round per second."""
        for _ in range(seconds):
            self.round()
            self.time.seconds += 1

    def round(self) -> None:
        state = read_state(self.cluster, self.time.now())
        writer = ClusterWriter(self.cluster, pause=lambda _: None)
        writer.act(steps(self._decide(state), state).steps)
        writer.close()
        for job in self.items("Job"):
            self._controlled(job)

    def job(self, name: str) -> Json:
        return self.cluster.get(ObjectRef("Job", NAMESPACE, name))

    def annotations(self, name: str) -> Mapping[str, str]:
        found: Mapping[str, str] = self.job(name)["metadata"]["annotations"]
        return found

    def annotate(self, name: str, notes: Mapping[str, str | None]) -> None:
        target = ObjectRef("Job", NAMESPACE, name)
        self.cluster.patch(target, {"metadata": {"annotations": dict(notes)}})

    def items(self, kind: str) -> list[Json]:
        return list(self.cluster.list(ListOptions(kind, NAMESPACE)).manifests())

    def _controlled(self, job: Json) -> None:
        size = 0 if job["spec"].get("suspend") else job["spec"]["parallelism"]
        name, uid = job["metadata"]["name"], job["metadata"]["uid"]
        found = {}
        for pod in self.items("Pod"):
            if pod["metadata"]["ownerReferences"][0]["uid"] == uid:
                index = int(pod["metadata"]["annotations"][contract.COMPLETION_INDEX_ANNOTATION])
                found[index] = pod
                if index >= size:
                    self._ends(pod)
        for index in range(size):
            if index not in found:
                self._create(job, name, index)
        for pod in self.items("Pod"):
            if not pod["spec"].get("schedulingGates"):
                self._runs(pod)

    def _create(self, job: Json, name: str, index: int) -> None:
        template = job["spec"]["template"]
        pod = manifests.job_pod(f"{name}-{index}", index, name)
        pod["metadata"]["ownerReferences"][0]["uid"] = job["metadata"]["uid"]
        meta = template.get("metadata") or {}
        pod["metadata"]["labels"] = meta.get("labels") or {}
        pod["metadata"]["annotations"] |= meta.get("annotations") or {}
        pod["spec"] = template["spec"]
        self.cluster.create(ObjectRef("Pod", NAMESPACE, pod["metadata"]["name"]), pod)

    def _ends(self, pod: Json) -> None:
        target = manifests.target("Pod", pod)
        self.cluster.patch(target, {"metadata": {"finalizers": []}})
        self.cluster.delete(target)

    def _runs(self, pod: Json) -> None:
        if pod["spec"].get("nodeName"):
            return
        since = self.time.now().strftime("%Y-%m-%dT%H:%M:%SZ")
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": since}
        status = {"phase": "Running", "conditions": [ready]}
        body = {"spec": {"nodeName": "n1"}, "status": status}
        self.cluster.patch(manifests.target("Pod", pod), body)
