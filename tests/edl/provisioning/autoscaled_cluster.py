"""A cluster whose nodes come by an autoscaler: its API server is a `FakeCluster`, and what
kube-scheduler, the Job controller and an autoscaler do in it is written down here in short.

Our side is the real one: Jobs pass `mutate`, and each round observes, decides and writes.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec.structs import replace

from edl import contract
from edl.errors import Forbidden
from edl.kube.cluster import ListOptions
from edl.kube.state.incremental_state import read_state
from edl.kube.writer.executor import StepFailure
from edl.kube.writer.single_writes import perform
from edl.model import ClusterState, ObjectRef
from edl.planner.decide import decide
from edl.planner.decision_limits import Limits
from edl.planner.plan import Plan
from edl.planner.policies import POLICIES
from edl.quantities import Resources
from edl.steps.plan_steps import steps
from edl.writes import Json
from reconciler.memory.unrecorded_refusals import UnrecordedRefusals
from tests.edl import manifests
from tests.fake_cluster.cluster import FakeCluster

if TYPE_CHECKING:
    from collections.abc import Callable

    from edl.writes import Write

PER_NODE: Final = 8
"""CPU of a node that the autoscaler makes."""


class Crash(Exception):
    """The reconciler's process ends in the middle of its writes."""


class AutoscaledCluster:
    """`most`: nodes that the autoscaler may make; `delay`: until one is ready, in seconds."""

    def __init__(self, most: int = 100, delay: float = 60, limits: Limits | None = None) -> None:
        self.now = datetime(2026, 1, 1, 12, tzinfo=UTC)
        self.api = FakeCluster(lambda: self.now)
        self.limits = limits or Limits()
        self.autoscaled = True
        self.said = ""
        """What the autoscaler says of pods for which it makes no node."""
        self.most, self.delay = most, delay
        self.made = 0
        self.preempted: list[str] = []
        """Pods that kube-scheduler deleted for others."""
        self.plan = Plan()
        self.writes: list[Write] = []
        self.refuses: Callable[[Write], bool] = lambda _write: False
        """What its API server refuses."""
        self._refusals = UnrecordedRefusals()
        self._coming: list[datetime] = []

    def create(self, kind: str, namespace: str, body: Json) -> Json:
        return self.api.create(ObjectRef(kind, namespace, body["metadata"]["name"]), body)

    def node(self, name: str, cpu: int = PER_NODE, **labels: str) -> None:
        capacity = {"cpu": str(cpu), "memory": "64Gi", "pods": "110"}
        ready = [{"type": "Ready", "status": "True"}]
        body = {
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name} | labels},
            "spec": {},
            "status": {"allocatable": capacity, "conditions": ready},
        }
        self.create("Node", "", body)

    def gang(
        self,
        name: str,
        pods: int,
        cpu: int = 4,
        most: int | None = None,
        **more: Any,  # noqa: ANN401 - JSON
    ) -> None:
        """A training job of one role that resizes live: kube-scheduler places its pods."""
        requests = {"requests": {"cpu": str(cpu), "memory": "1Gi"}}
        pod = {"containers": [{"name": "main", "image": "train", "resources": requests}]}
        body = manifests.job(
            name,
            framework=more.pop("framework", "tensorflow"),
            min=str(pods),
            max=str(most or pods),
            annotations=more.pop("annotations", {}),
            pod=pod | more.pop("pod", {}),
            spec={"parallelism": pods},
        )
        self.create("Job", "lab", manifests.created(body))

    # What is looked at.

    def state(self) -> ClusterState:
        found = read_state(self.api, self.now)
        jobs = found.jobs
        if self.said:
            jobs = tuple(
                replace(job, provisioning=replace(job.provisioning, message=self.said))
                for job in jobs
            )
        return replace(found, autoscaled=self.autoscaled, jobs=jobs)

    def objects(self, kind: str) -> list[Json]:
        return [msgspec.json.decode(raw) for raw in self.api.list(ListOptions(kind)).items]

    def provisional(self, job: str = "") -> list[Json]:
        pods = (one for one in self.objects("Pod") if contract.PROVISIONAL in _labels(one))
        return [one for one in pods if job in ("", _labels(one)[contract.PROVISIONAL])]

    def pods(self, job: str) -> list[Json]:
        pods = self.objects("Pod")
        return [one for one in pods if _labels(one).get(contract.JOB_NAME_LABEL) == job]

    def running(self, job: str) -> int:
        """Its own pods that have a node."""
        return sum(bool(one["spec"].get("nodeName")) for one in self.pods(job))

    def job(self, name: str) -> Json:
        return self.api.get(ObjectRef("Job", "lab", name))

    def notes(self, name: str) -> Json:
        found: Json = self.job(name)["metadata"]["annotations"]
        return found

    # What happens.

    def round(self, crash_after: int | None = None) -> None:
        """Observe, decide and write once; Crash after so many writes."""
        state = self._refusals.recall(self.state())
        self.plan = decide(state, POLICIES["fair"], self.limits)
        for step in steps(self.plan, state).steps:
            try:
                for write in step.writes:
                    self._write(write, crash_after)
            except Forbidden as error:
                self._refusals.remember(step.job, [StepFailure(step, error)], self.now)

    def _write(self, write: "Write", crash_after: int | None) -> None:
        if crash_after is not None and len(self.writes) >= crash_after:
            raise Crash
        if self.refuses(write):
            raise Forbidden("exceeded what the namespace allows")
        perform(self.api, write)
        self.writes.append(write)

    def settle(self, seconds: float = 600, crashes: Iterator[int] | None = None) -> None:
        """Rounds, and what everybody else does between them, for so long.

        `crashes`: after how many writes in all the process ends; another goes on at once.
        """
        end, crash = self.now + timedelta(seconds=seconds), next(crashes or iter(()), None)
        while self.now < end:
            try:
                self.round(crash)
            except Crash:
                crash = next(crashes or iter(()), None)
            self._make_pods()
            self._schedule()
            self._run_pods()
            self.autoscale()
            self.now += timedelta(seconds=5)

    def annotate(self, job: str, notes: dict[str, str]) -> None:
        self.api.patch(ObjectRef("Job", "lab", job), {"metadata": {"annotations": notes}})

    def bind_provisional(self) -> None:
        """Each provisional pod gets a node of its size, all at once."""
        for number, one in enumerate(self.provisional()):
            self.node(f"n{number}", _cpu(one) // 1000)
            target = ObjectRef("Pod", "lab", one["metadata"]["name"])
            self.api.patch(target, {"spec": {"nodeName": f"n{number}"}})

    def delete_pod(self, name: str) -> None:
        """Delete a pod, which the Job controller releases at once."""
        target = ObjectRef("Pod", "lab", name)
        self.api.patch(target, {"metadata": {"finalizers": []}})
        self.api.delete(target)

    def _make_pods(self) -> None:
        """The Job controller."""
        for job in self.objects("Job"):
            spec, name = job["spec"], job["metadata"]["name"]
            there = {_labels(one)[contract.COMPLETION_INDEX_ANNOTATION] for one in self.pods(name)}
            wanted = set() if spec["suspend"] else set(map(str, range(spec["parallelism"])))
            for index in sorted(wanted - there):
                self.create("Pod", "lab", _pod(job, index))
            for index in sorted(there - wanted):
                self.delete_pod(f"{name}-{index}")

    def _schedule(self) -> None:
        """kube-scheduler: the highest priority first, and lower ones go for it."""
        pending = [one for one in self.objects("Pod") if not one["spec"].get("nodeName")]
        for one in sorted(pending, key=lambda one: (-_priority(one), one["metadata"]["name"])):
            if one["spec"].get("schedulingGates"):
                continue
            node = self._fitting(one) or self._preempting(one)
            if node:
                target = ObjectRef("Pod", "lab", one["metadata"]["name"])
                self.api.patch(target, {"spec": {"nodeName": node}})

    def _run_pods(self) -> None:
        """Kubelets."""
        ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        for one in self.objects("Pod"):
            if one["spec"].get("nodeName") and one.get("status", {}).get("phase") == "Pending":
                target = ObjectRef("Pod", "lab", one["metadata"]["name"])
                self.api.patch(target, {"status": ready})

    def cordon(self, name: str, *, ends: bool = False) -> None:
        taint = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
        spec = {"unschedulable": not ends, "taints": [] if ends else [taint]}
        self.api.patch(ObjectRef("Node", "", name), {"spec": spec})

    def _fitting(self, pod: Json) -> str:
        free = self.free()
        return next((name for name in sorted(free) if _fits(pod, name, free[name])), "")

    def _preempting(self, pod: Json) -> str:
        for victim in sorted(self.objects("Pod"), key=_priority):
            if _priority(victim) < _priority(pod) and victim["spec"].get("nodeName"):
                name, free = victim["spec"]["nodeName"], self.free()
                if name in free and _fits(pod, name, free[name] + _cpu(victim)):
                    self.preempted.append(victim["metadata"]["name"])
                    self.delete_pod(victim["metadata"]["name"])
                    return str(name)
        return ""

    def free(self) -> dict[str, int]:
        """On nodes that take pods."""
        free = {
            one["metadata"]["name"]: Resources.parse(one["status"]["allocatable"]).get("cpu")
            for one in self.objects("Node")
            if not one["spec"].get("unschedulable")
        }
        for pod in self.objects("Pod"):
            if (node := pod["spec"].get("nodeName")) in free:
                free[node] -= _cpu(pod)
        return free

    def autoscale(self) -> None:
        """As many nodes as pending pods need, a while later; none of pods that ask for too much."""
        waiting = [
            one
            for one in self.objects("Pod")
            if not (one["spec"].get("nodeName") or one["spec"].get("schedulingGates"))
        ]
        pods = sum(PER_NODE * 1000 // _cpu(one) > 0 for one in waiting)
        per_node = min((PER_NODE * 1000 // _cpu(one) for one in waiting), default=1) or 1
        while len(self._coming) * per_node < pods and self.made + len(self._coming) < self.most:
            self._coming.append(self.now + timedelta(seconds=self.delay))
        for _ in [moment for moment in self._coming if moment <= self.now]:
            self._coming.pop(0)
            self.made += 1
            self.node(f"made-{self.made:03}")


def _labels(one: Json) -> dict[str, str]:
    return one["metadata"].get("labels") or {}


def _priority(pod: Json) -> int:
    return -10 if pod["spec"].get("priorityClassName") == contract.PROVISIONAL_PRIORITY else 0


def _cpu(pod: Json) -> int:
    requests = (one["resources"].get("requests") for one in pod["spec"]["containers"])
    return sum(Resources.parse(found).get("cpu") for found in requests)


def _fits(pod: Json, node: str, free: int) -> bool:
    affinity = (pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    fields = [
        one for term in required.get("nodeSelectorTerms", ()) for one in term.get("matchFields", ())
    ]
    return free >= _cpu(pod) and all(node in one["values"] for one in fields)


def _pod(job: Json, index: str) -> Json:
    name = job["metadata"]["name"]
    template = job["spec"]["template"]
    labels = (template["metadata"].get("labels") or {}) | {
        contract.JOB_NAME_LABEL: name,
        contract.COMPLETION_INDEX_ANNOTATION: index,
    }
    notes = {contract.COMPLETION_INDEX_ANNOTATION: index}
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "controller": True}
    metadata = {
        "name": f"{name}-{index}",
        "labels": labels,
        "annotations": (template["metadata"].get("annotations") or {}) | notes,
        "ownerReferences": [owner | {"uid": job["metadata"]["uid"]}],
        "finalizers": [contract.JOB_TRACKING],
    }
    return {
        "metadata": metadata,
        "spec": template["spec"] | {"terminationGracePeriodSeconds": 0},
        "status": {"phase": "Pending"},
    }
