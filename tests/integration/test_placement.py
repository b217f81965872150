"""The API server takes the nodes of a plan, pod by pod, and kube-scheduler binds exactly there."""

import time
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from edl import contract
from edl.errors import Conflict
from edl.kube.api.client import connect
from edl.kube.cluster import ListOptions
from edl.kube.decode import job_facts, object_facts
from edl.kube.decode.pod_shapes import ShapeInterner
from edl.kube.state.observe import ClusterFacts, observe
from edl.kube.writer.single_writes import perform
from edl.model import ClusterState, ObjectRef, Pod, Role
from edl.planner.plan import Admission, NodeAssignment, Plan
from edl.steps.plan_steps import steps
from edl.writes import Json, Write
from sandbox import NodeGroup, Sandbox
from sandbox.cluster import Cluster
from tests.integration.support.stage import elastic
from tests.reasons import because

pytestmark = pytest.mark.integration

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
LINUX = {"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]}
WINDOWS = LINUX | {"values": ["windows"]}
NOT_THERE = {"key": "metadata.name", "operator": "NotIn", "values": ["node-002"]}
WISH = {PREFERRED: [{"weight": 100, "preference": {"matchFields": [NOT_THERE]}}]}
SPREAD = {
    "topologyKey": "kubernetes.io/hostname",
    "labelSelector": {"matchLabels": {"app": "none"}},
}


def required(*terms: Json) -> Json:
    return {REQUIRED: {"nodeSelectorTerms": [*terms]}}


OWN: dict[str, Json | None] = {
    "nothing": None,
    "only-pods": {"podAntiAffinity": {REQUIRED: [SPREAD]}},
    "only-wishes": {"nodeAffinity": WISH},
    "one-term": {"nodeAffinity": required({"matchExpressions": [LINUX]}) | WISH},
    "two-terms": {
        "nodeAffinity": required(
            {"matchExpressions": [WINDOWS]},
            {"matchExpressions": [LINUX], "matchFields": [NOT_THERE]},
        )
    },
    "a-term-for-no-node": {"nodeAffinity": required({}, {"matchExpressions": [LINUX]})},
}
"""Node affinity as users write it."""
ODD = "odd-000"
"""A node that says of itself that it is another one."""
NODES = (ODD, "node-001", ODD)


class Life:
    """One gated Job, started and placed by our own steps and by nobody else."""

    def __init__(self, cluster: Cluster, name: str, affinity: Json | None) -> None:
        self.api = connect(str(cluster.kubeconfig))
        self.target = ObjectRef("Job", "default", name)
        gates = [{"name": contract.PLACEMENT_GATE}, {"name": "example.com/quota"}]
        pod = {"schedulingGates": gates} | ({} if affinity is None else {"affinity": affinity})
        size = {"min": str(len(NODES)), "max": str(len(NODES))}
        job = elastic(name, cpu="500m", labels=size, parallelism=len(NODES), pod=pod)
        indexed = {"suspend": True, "completions": len(NODES), "completionMode": "Indexed"}
        job["spec"] |= indexed
        completed = {contract.INJECTED_MAX: size["max"]}
        job["metadata"]["annotations"] = job["metadata"].get("annotations", {}) | completed
        self.api.create(self.target, job)

    @property
    def state(self) -> ClusterState:
        shapes = ShapeInterner()
        found = {kind: self.api.list(ListOptions(kind, "default")).items for kind in ("Job", "Pod")}
        jobs = [job_facts.job(raw, shapes) for raw in found["Job"]]
        pods = [object_facts.pod(raw, shapes) for raw in found["Pod"]]
        mine = [job for job in jobs if job.name == self.target.name]
        return observe(ClusterFacts(jobs=mine, pods=pods), datetime.now(UTC))

    @property
    def role(self) -> Role:
        return self.state.jobs[0].roles[0]

    @property
    def pods(self) -> tuple[Pod, ...]:
        return self.role.status.pods

    def start(self) -> None:
        """As a plan would that has these nodes for its replicas."""
        found = self.state
        key, nodes = found.jobs[0].key, (("worker", NODES),)
        sizes = (("worker", len(NODES)),)
        plan = Plan(admissions=(Admission(key, sizes, because("room"), nodes=nodes),))
        for write in self.writes(plan, found):
            perform(self.api, write)
        self.until(lambda: len(self.pods) == len(NODES))

    def placement(self) -> list[Write]:
        """The patches that give its pods the nodes that the Job keeps for them."""
        found = self.state
        (role,) = found.jobs[0].roles
        nodes = tuple((pod.name, role.record.assigned.node(pod.index)) for pod in role.status.pods)
        return self.writes(
            Plan(node_assignments=(NodeAssignment(found.jobs[0].key, "worker", nodes),)), found
        )

    def writes(self, plan: Plan, found: ClusterState) -> list[Write]:
        return [
            write
            for step in steps(plan, found).steps
            for write in step.writes
            if write.target.kind == "Pod" or write.target == self.target
        ]

    def release(self) -> None:
        """Somebody else's gate goes."""
        for pod in self.pods:
            target = ObjectRef("Pod", "default", pod.name)
            self.api.patch(target, {"spec": {"schedulingGates": []}})

    def until(self, holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 60
        while not holds():
            assert time.monotonic() < deadline, self.pods
            time.sleep(0.1)


def test_each_pod_is_bound_to_the_node_of_the_plan_whatever_its_users_affinity_says(
    own_sandbox: Callable[[], Sandbox],
) -> None:
    """In a sandbox of its own: nobody else may decide about these Jobs."""
    sandbox = own_sandbox()
    hostname = {"kubernetes.io/hostname": "node-000"}
    sandbox.up(NodeGroup(3), NodeGroup(1, labels=hostname, name_prefix="odd"))
    lives = [Life(sandbox, name, affinity) for name, affinity in OWN.items()]
    for life in lives:
        life.start()
        assert all(pod.unplaced and not pod.planned.node for pod in life.pods)
        patches = life.placement()
        assert len(patches) == len(NODES)
        for patch in patches:
            perform(life.api, patch)
        assert [pod.planned.node for pod in life.pods] == [*NODES]
        assert all(
            pod.planned.placed_at and pod.scheduling.gates == ("example.com/quota",)
            for pod in life.pods
        )
        assert life.placement() == []
        with pytest.raises(Conflict):
            perform(life.api, patches[0])
    for life in lives:
        assert not any(pod.node for pod in life.pods), "another gate still holds them"
        life.release()
    for life in lives:
        life.until(lambda: [pod.node for pod in life.pods] == [*NODES])  # noqa: B023
