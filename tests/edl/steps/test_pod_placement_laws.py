"""Whatever is interrupted, every pod of a gated start comes to the node of its plan, once.

A small world of manifests: steps are decided from what is observed of them, and patch them. Its
scheduler looks at nothing but gates and node affinity.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from msgspec.structs import replace

from edl import contract
from edl.errors import Conflict
from edl.kube.decode import job_facts, object_facts
from edl.kube.decode.pod_shapes import ShapeInterner
from edl.kube.writer.single_writes import perform
from edl.model import ClusterState, ObjectRef, Role
from edl.planner.plan import Admission, NodeAssignment, Plan
from edl.steps.plan_steps import steps
from edl.writes import Create, Json, Patch, Write
from tests.edl.kube import manifests
from tests.edl.kube.whole_state import ManyFacts, observed
from tests.edl.trainings import KEY, NOW
from tests.fake_cluster.cluster import FakeCluster
from tests.reasons import because

pytestmark = pytest.mark.laws

SIZES = {"scheduler": 1, "server": 2, "worker": 3}
NODES = {"scheduler": ("n1",), "server": ("n1", "n2"), "worker": ("n2", "n2", "n3")}
GATES = {
    "scheduler": (contract.PLACEMENT_GATE, contract.HOSTS_GATE),
    "server": (contract.PLACEMENT_GATE,),
    "worker": (contract.HOSTS_GATE, contract.PLACEMENT_GATE),
}
ZONE = {"matchExpressions": [{"key": "zone", "operator": "Exists"}]}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
AFFINITY = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [ZONE]}}}
ROUNDS = 40


def job(role: str) -> Json:
    """Of MXNet's elastic fork: everybody is told, and most wait for hosts besides."""
    labels = {
        contract.FRAMEWORK: "mxnet",
        contract.JOB: KEY.name,
        contract.ROLE: role,
    }
    all_roles = {contract.ROLES: "scheduler=1,server=2,worker=1..3", contract.MODE: "fork"}
    gates = [{"name": gate} for gate in GATES[role]]
    found = manifests.job(
        f"{KEY.name}-{role}",
        labels=labels,
        notes=all_roles,
        pod={"schedulingGates": gates, "affinity": AFFINITY},
    )
    found["metadata"]["namespace"] = KEY.namespace
    return found


@dataclass
class World:
    """`lost`: (pod, gate) of every gate that a patch took away, in order."""

    now: datetime = NOW
    shapes: ShapeInterner = field(default_factory=ShapeInterner)
    pods: list[str] = field(default_factory=list)
    lost: list[tuple[str, str]] = field(default_factory=list)
    around: set[ObjectRef] = field(default_factory=set)
    cluster: FakeCluster = field(init=False)

    def __post_init__(self) -> None:
        self.cluster = FakeCluster(lambda: self.now)
        for role in SIZES:
            body = job(role)
            self.cluster.create(self.job(role), body)

    def job(self, role: str) -> ObjectRef:
        return ObjectRef("Job", KEY.namespace, f"{KEY.name}-{role}")

    def pod(self, name: str) -> Json:
        return self.cluster.get(ObjectRef("Pod", KEY.namespace, name))

    @property
    def state(self) -> ClusterState:
        jobs = [self.cluster.get(self.job(role)) for role in SIZES]
        encode = msgspec.json.encode
        seen = ManyFacts(
            jobs=[job_facts.job(encode(body), self.shapes) for body in jobs],
            pods=[object_facts.pod(encode(self.pod(name)), self.shapes) for name in self.pods],
        )
        around = [
            object_facts.owned_object(one.kind, encode(self.cluster.get(one)))
            for one in sorted(self.around)
        ]
        return observed(replace(seen, owned_objects=around), self.now)

    def plan(self) -> Plan:
        """Who waits starts; who waits behind the gate gets the node that its Job has for it."""
        (found,) = self.state.jobs
        asleep = [role.name for role in found.roles if role.status.suspended]
        nodes = tuple((name, NODES[name]) for name in asleep)
        sizes = tuple((name, SIZES[name]) for name in asleep)
        start = Admission(found.key, sizes, because("room"), nodes=nodes)
        return Plan(
            admissions=(start,) if asleep else (),
            node_assignments=tuple(
                NodeAssignment(found.key, role.name, tuple(_assigned(role))) for role in found.roles
            ),
        )

    def writes(self) -> list[Write]:
        found = steps(self.plan(), self.state)
        assert found.errors == ()
        return [write for step in found.steps for write in step.writes]

    def take(self, write: Write) -> None:
        if isinstance(write, Patch) and write.target.kind == "Pod":
            gates = self.pod(write.target.name)["spec"]["schedulingGates"]
            left = write.body.get("spec", {}).get("schedulingGates", gates)
            self.lost += [(write.target.name, one["name"]) for one in gates if one not in left]
        if isinstance(write, Create):
            self.around.add(write.target)
        perform(self.cluster, write)

    def go_on(self) -> None:
        """The Job controller makes pods; who has no gate is bound where its affinity says."""
        self.now += timedelta(seconds=31)
        for role in SIZES:
            body = self.cluster.get(self.job(role))
            running = not body["spec"]["suspend"]
            for index in range(body["spec"]["parallelism"] if running else 0):
                if f"{KEY.name}-{role}-{index}" not in self.pods:
                    self._create(role, index, body)
        for name in self.pods:
            body = self.pod(name)
            if not (body["spec"]["schedulingGates"] or body["spec"].get("nodeName")):
                self._bind(name, body)

    def _create(self, role: str, index: int, owner: Json) -> None:
        name = f"{KEY.name}-{role}-{index}"
        pod = manifests.job_pod(
            name, index, f"{KEY.name}-{role}", spec=owner["spec"]["template"]["spec"]
        )
        pod["metadata"]["namespace"] = KEY.namespace
        pod["metadata"]["labels"] = owner["metadata"]["labels"]
        pod["metadata"]["ownerReferences"][0]["uid"] = owner["metadata"]["uid"]
        self.cluster.create(ObjectRef("Pod", KEY.namespace, name), pod)
        self.pods.append(name)

    def _bind(self, name: str, body: Json) -> None:
        (term,) = body["spec"]["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"]
        assert term["matchExpressions"] == ZONE["matchExpressions"]
        ((node,),) = [one["values"] for one in term["matchFields"]]
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": self.now.isoformat()}
        bound = {
            "metadata": {},
            "spec": {"nodeName": node},
            "status": {"phase": "Running", "conditions": [ready]},
        }
        self.cluster.patch(ObjectRef("Pod", KEY.namespace, name), bound)


def _assigned(role: Role) -> Iterator[tuple[str, str]]:
    for pod in role.status.pods:
        if pod.unplaced:
            node = role.record.assigned.node(pod.index)
            assert node == NODES[role.name][pod.index]
            yield pod.name, node


@given(some.lists(some.integers(0, 4), max_size=ROUNDS - 15))
@settings(max_examples=150, deadline=None)
def test_every_pod_comes_to_its_node_once_whatever_crashes(cuts: list[int]) -> None:
    world, rests = World(), 0
    for cut in [*cuts, *[None] * 15]:
        writes = world.writes()
        # A crash may come after any write: the rest is never done.
        for write in writes[:cut]:
            world.take(write)
        world.go_on()
        rests = 0 if writes else rests + 1
        if rests == 2:
            break
    assert world.writes() == []
    there = {role.name: role for role in world.state.jobs[0].roles}
    for name, role in there.items():
        assert [pod.node for pod in role.status.pods] == list(NODES[name])
        assert [pod.planned.node for pod in role.status.pods] == list(NODES[name])
        for pod in role.status.pods:
            gates = [gate for who, gate in world.lost if who == pod.name]
            assert gates == sorted(GATES[name], reverse=True), "the node first, each gate once"
    told = [world.pod(name)["metadata"]["annotations"][contract.CLUSTER] for name in world.pods]
    assert len(set(told)) == 1, "all are told the same"


def test_what_was_decided_before_another_patch_changes_nothing() -> None:
    world = World()
    for _ in range(2):
        for write in world.writes():
            world.take(write)
        world.go_on()
    stale = world.writes()
    assert stale
    for write in stale:
        world.take(write)
    for write in stale:
        with pytest.raises(Conflict):
            perform(world.cluster, write)
