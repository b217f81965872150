import json
from datetime import UTC, datetime
from decimal import Decimal

import msgspec
import pytest

from edl import contract, node_affinity
from edl.kube.decode import object_facts
from edl.kube.decode.node_selector import NODE_NAME
from edl.kube.decode.pod_shapes import ShapeInterner
from edl.kube.decode.training_pods import container_wait
from edl.model import ClaimRef, Code, Node, Pod, PodPhase, Requirement, Taint, Toleration
from edl.model.nodes import CORDONED
from edl.model.pods import ContainerWait, DisruptionMark, TrainingRuns
from edl.parsing.yaml_values import timestamp
from edl.patches.merge_patch import merged
from edl.quantities import Resources
from edl.writes import Json
from tests.edl.kube import manifests
from tests.edl.kube.manifests import job_pod


def pod_facts(body: Json) -> object_facts.PodFacts:
    return object_facts.pod(msgspec.json.encode(body), ShapeInterner())


def node_facts(body: Json) -> Node:
    return object_facts.node(msgspec.json.encode(body))


def test_a_node_offers_its_allocatable() -> None:
    node = node_facts(manifests.node("n1"))
    assert node.allocatable == Resources.parse({"cpu": "4", "memory": "8Gi", "pods": "110"})
    assert node.schedulable
    assert node.labels == {"zone": "a", NODE_NAME: "n1"}


@pytest.mark.parametrize(
    "body",
    [
        manifests.node(ready=False),
        manifests.node(unschedulable=True),
        {"metadata": manifests.metadata("n1")},
    ],
)
def test_a_cordoned_or_unready_node_is_not_schedulable(body: Json) -> None:
    assert not node_facts(body).schedulable


def test_a_cordon_leaves_a_node_ready() -> None:
    assert node_facts(manifests.node(unschedulable=True)).ready
    assert not node_facts(manifests.node(ready=False)).ready


def test_the_taint_of_a_cordon_says_since_when() -> None:
    since = "2026-01-01T00:05:00Z"
    taint = {"key": CORDONED, "effect": "NoSchedule"}
    node = node_facts(manifests.node(unschedulable=True, taints=[taint | {"timeAdded": since}]))
    assert node.since.cordoned == datetime.fromisoformat(since)
    assert node.taints == (Taint(CORDONED, "", "NoSchedule"),)
    assert node.restored.since.cordoned is None
    assert node_facts(manifests.node(taints=[taint])).since.cordoned is None


def test_a_node_keeps_its_taints() -> None:
    node = node_facts(manifests.node(taints=[{"key": "gpu", "effect": "NoSchedule"}]))
    assert node.taints == (Taint("gpu", "", "NoSchedule"),)


def test_a_heartbeat_changes_no_facts() -> None:
    body = manifests.node()
    later = manifests.node()
    later["metadata"]["resourceVersion"] = "8"
    later["status"]["conditions"][0]["lastHeartbeatTime"] = "2026-01-01T00:05:00Z"
    assert node_facts(body) == node_facts(later)


def test_a_pending_pod_of_others_asks_for_room() -> None:
    found = pod_facts(manifests.pod("p", priority=5))
    assert (found.asking, found.priority, found.job, found.pod) == (True, 5, "", None)
    assert found.shape.requests == Resources.of({"cpu": 1000, "pods": 1})


@pytest.mark.parametrize(
    "body",
    [
        manifests.pod("bound", node="n1"),
        manifests.pod("ended", phase="Failed"),
        manifests.pod("gated", spec={"schedulingGates": [{"name": "wait"}]}),
        manifests.pod("unseen", spec={"schedulerName": "none-that-runs"}),
        manifests.pod("leaving", metadata={"deletionTimestamp": manifests.CREATED}),
    ],
)
def test_a_pod_that_is_placed_held_back_or_going_does_not_ask(body: Json) -> None:
    assert not pod_facts(body).asking


def test_a_pod_of_another_scheduler_asks_for_room_once_that_one_has_refused_it() -> None:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    refused = {"conditions": [condition]}
    body = manifests.pod("volcano", spec={"schedulerName": "volcano"}, status=refused)
    assert (pod_facts(body).asking, pod_facts(body).scheduler) == (True, "volcano")
    # Its gates have been removed; its queue has no quota left.
    for other in ("SchedulingGated", "SchedulingSkipped", ""):
        condition["reason"] = other
        assert not pod_facts(body).asking


def test_a_pod_keeps_little_of_its_schedulers_name_and_only_while_it_asks_for_room() -> None:
    """The API server accepts names of a million characters."""
    refused = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    spec, status = {"schedulerName": "x" * 10**6}, {"conditions": [refused]}
    assert pod_facts(manifests.pod("asks", spec=spec, status=status)).scheduler == "x" * 253
    assert pod_facts(manifests.pod("unseen", spec=spec)).scheduler == "default-scheduler"
    assert pod_facts(manifests.pod("bound", node="n1", spec=spec)).scheduler == "default-scheduler"


@pytest.mark.parametrize("notes", [{}, {contract.ASSIGNED_NODE: "n1"}], ids=["", "assigned"])
def test_a_pod_without_a_node_has_the_answer_of_its_scheduler(notes: dict[str, str]) -> None:
    def answer(scheduler: str, node: str = "", *conditions: Json) -> tuple[str, str]:
        spec = {"schedulerName": scheduler}
        status = {"conditions": [*conditions]}
        body = job_pod("p", 0, "train", node=node, spec=spec, status=status, notes=notes)
        found = pod_facts(body).pod
        assert found is not None
        return found.scheduling.scheduler, found.scheduling.refusal

    refused = {"type": "PodScheduled", "status": "False", "message": "queue\n is full"}
    assert answer("volcano") == ("volcano", "")
    was_gated = refused | {"reason": "SchedulingGated"}
    assert answer("volcano", "", was_gated) == ("volcano", "")
    assert answer("volcano", "", refused) == ("", "queue is full")
    assert answer("volcano", "n1") == ("", "")
    assert answer("default-scheduler") == ("", "")


def test_a_pod_names_its_resource_claims_and_their_templates() -> None:
    """A status without a claim says that none is needed."""
    claims = [
        {"name": "gpu", "resourceClaimTemplateName": "gpus"},
        {"name": "nic", "resourceClaimTemplateName": "nics"},
        {"name": "own", "resourceClaimName": "fpga"},
    ]
    own, gpus = ClaimRef("web", "fpga"), ClaimRef("web", "gpus", template=True)
    nics = ClaimRef("web", "nics", template=True)
    gpu, nic = {"name": "gpu", "resourceClaimName": "p-gpu-7x2"}, {"name": "nic"}
    for made, named in ((None, (gpus, nics, own)), ([gpu], (gpus, nics, own)),
                        ([gpu, nic], (gpus, own))):  # fmt: skip
        status = {"resourceClaimStatuses": made}
        body = manifests.pod("p", spec={"resourceClaims": claims}, status=status)
        assert pod_facts(body).shape.claims == named
        assert pod_facts(body).asking


def test_a_pod_of_a_job_tells_its_index_gates_and_hosts() -> None:
    body = manifests.job_pod(
        "train-launcher-0",
        3,
        "train-launcher",
        node="n1",
        phase="Running",
        notes={
            "edl.dev/hostfile": "a:1\n",
            "edl.dev/published-at": "2026-01-01T00:00:09+00:00",
            "edl.dev/confirmed-at": "2026-01-01T00:00:08Z",
        },
        spec={"schedulingGates": [{"name": "edl.dev/hosts"}]},
        status={
            "conditions": [
                {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:07Z"}
            ]
        },
    )
    found = pod_facts(body)
    assert found.job == "uid-train-launcher"
    assert found.pod is not None
    assert (found.pod.index, found.pod.node, found.pod.phase) == (3, "n1", PodPhase.RUNNING)
    assert found.pod.ready
    assert found.pod.scheduling.gates == ("edl.dev/hosts",)
    assert found.pod.published.hosts == "a:1\n"
    assert found.pod.published.published_at == datetime(2026, 1, 1, 0, 0, 9, tzinfo=UTC)
    assert found.pod.published.confirmed_at == datetime(2026, 1, 1, 0, 0, 8, tzinfo=UTC)
    assert found.pod.ready_since == datetime(2026, 1, 1, 0, 0, 7, tzinfo=UTC)


def test_a_pod_that_has_ended_is_not_ready_whatever_its_condition_says() -> None:
    """A lost node's pods are failed by the garbage collector, which leaves the condition."""
    ready = [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:07Z"}]
    body = manifests.job_pod("train-0", 0, "train", phase="Failed", status={"conditions": ready})
    found = pod_facts(body)
    assert found.pod is not None
    assert (found.pod.ready, found.pod.ready_since) == (False, None)


def test_a_host_list_counts_only_once_it_was_published() -> None:
    body = manifests.job_pod("p", 0, "train", notes={"edl.dev/hostfile": ""})
    found = pod_facts(body).pod
    assert found is not None
    assert (found.published.hosts, found.published.published_at) == (None, None)


def test_a_pod_without_an_index_has_none() -> None:
    body = manifests.job_pod("p", 0, "train")
    del body["metadata"]["annotations"]
    found = pod_facts(body).pod
    assert found is not None
    assert found.index == -1


@pytest.mark.parametrize("text", ["9" * 5_000, "9" * 100_000, "-1", "1.5", "one"])
def test_a_pod_with_a_malformed_index_is_still_a_pod(text: str) -> None:
    body = manifests.job_pod("p", 0, "train", node="n1")
    body["metadata"]["annotations"][contract.COMPLETION_INDEX_ANNOTATION] = text
    found = pod_facts(body)
    assert found.pod is not None
    assert (found.node, found.pod.index) == ("n1", -1)


def test_the_shape_is_all_that_the_scheduler_reads() -> None:
    spec = {
        "initContainers": [{"resources": {"requests": {"cpu": "3"}}}],
        "nodeSelector": {"zone": "a"},
        "tolerations": [{"key": "gpu", "operator": "Exists", "tolerationSeconds": 60}],
        "overhead": {"memory": "1Mi"},
        "affinity": _affinity({"matchExpressions": [_in("disk", "ssd")]}),
    }
    shape = pod_facts(manifests.pod("p", spec=spec)).shape
    assert shape.requests == Resources.of({"cpu": 3000, "memory": 2**20, "pods": 1})
    assert shape.node_selector == (("zone", "a"),)
    assert shape.tolerations == (Toleration("gpu", "Exists", "", "", 60),)
    assert shape.affinity == ((Requirement("disk", "In", ("ssd",)),),)


def test_a_pod_that_is_bound_to_a_name_fits_that_node_only() -> None:
    spec = {"affinity": _affinity({"matchFields": [_in("metadata.name", "n1")]})}
    shape = pod_facts(manifests.pod("p", spec=spec)).shape
    assert shape.affinity == ((Requirement(NODE_NAME, "In", ("n1",)),),)


def test_an_affinity_without_requirements_fits_no_node() -> None:
    shape = pod_facts(manifests.pod("p", spec={"affinity": _affinity({})})).shape
    assert shape.affinity == ((Requirement(NODE_NAME, "In", ()),),)


def test_pods_of_one_template_share_one_shape() -> None:
    shapes = ShapeInterner()
    first, second = (
        object_facts.pod(msgspec.json.encode(manifests.pod(name, node=node)), shapes)
        for name, node in (("a", ""), ("b", "n1"))
    )
    assert first.shape is second.shape


IN_PROGRESS = {"type": "PodResizeInProgress", "status": "True"}
INFEASIBLE = {"type": "PodResizePending", "status": "True", "reason": "Infeasible"}
DEFERRED = INFEASIBLE | {"reason": "Deferred"}


@pytest.mark.parametrize(
    ("condition", "cpu", "counted"),
    [
        (IN_PROGRESS, ("1", "1", "8"), 8000),  # it shrinks: the room is free when it has shrunk
        (IN_PROGRESS, ("8", "8", "1"), 8000),
        (DEFERRED, ("64", "2", "2"), 64000),  # kube-scheduler keeps the room that it waits for
        (INFEASIBLE, ("64", "2", "2"), 2000),
        (INFEASIBLE, ("64", "2", None), 64000),  # nothing in effect is reported yet
        (INFEASIBLE, ("64", None, None), 64000),
        (None, ("4", "4", "4"), 4000),
    ],
)
@pytest.mark.parametrize("kind", ["containers", "initContainers"])
def test_a_pod_that_is_resized_in_place_counts_as_for_kube_scheduler(
    condition: Json | None, cpu: tuple[str, str | None, str | None], counted: int, kind: str
) -> None:
    """`cpu`: what is requested, what is allocated, and what is in effect."""
    wanted, allocated, in_effect = cpu
    container = {"name": "main", "resources": {"requests": {"cpu": wanted}}}
    spec = {"containers": [], kind: [container | {"restartPolicy": "Always"}]}
    state: Json = {"name": "main"}
    if allocated:
        state["allocatedResources"] = {"cpu": allocated}
    if in_effect:
        state["resources"] = {"requests": {"cpu": in_effect}, "limits": {"cpu": "99"}}
    status = {
        "conditions": [condition] if condition else [],
        "containerStatuses" if kind == "containers" else "initContainerStatuses": [state],
    }
    body = manifests.pod("p", node="n1", phase="Running", spec=spec, status=status)
    assert pod_facts(body).shape.requests.get("cpu") == counted


def test_a_resize_changes_the_shape_of_its_pod_alone() -> None:
    shapes = ShapeInterner()
    container = {"name": "main", "resources": {"requests": {"cpu": "1"}}}
    grown = {"name": "main", "resources": {"requests": {"cpu": "2"}}}
    status = {"conditions": [IN_PROGRESS], "containerStatuses": [grown]}
    amounts = [
        object_facts.pod(msgspec.json.encode(body), shapes).shape.requests.get("cpu")
        for body in (
            manifests.pod("a", spec={"containers": [container]}, status=status),
            manifests.pod("b", spec={"containers": [container]}),
        )
    ]
    assert amounts == [2000, 1000]


def test_containers_and_init_containers_are_told_apart() -> None:
    shapes = ShapeInterner()
    plain = {"resources": {"requests": {"cpu": "1"}}}
    both = manifests.pod("a", spec={"containers": [plain, plain]})
    initial = manifests.pod("b", spec={"containers": [plain], "initContainers": [plain]})
    amounts = [
        object_facts.pod(msgspec.json.encode(body), shapes).shape.requests.get("cpu")
        for body in (both, initial)
    ]
    assert amounts == [2000, 1000]


def _in(key: str, *values: str) -> Json:
    return {"key": key, "operator": "In", "values": list(values)}


def _affinity(*terms: Json) -> Json:
    required = {"nodeSelectorTerms": list(terms)}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


def test_a_namespace_tells_what_it_allows_and_asks_of_its_jobs() -> None:
    notes = {"edl.dev/gpu-budget": "2.5", "edl.dev/largest-max": "x", "team": "vision"}
    labels = {"edl.dev/injection": "enabled", "edl.dev/kubexec": "enabled"}
    body = {"metadata": manifests.metadata("lab", labels=labels, annotations=notes)}
    found = object_facts.namespace(msgspec.json.encode(body))
    assert (found.name, found.policy.kubexec, found.policy.adopts) == ("lab", True, True)
    assert found.policy.gpu_budget == Decimal("2.5")
    assert [finding.path for finding in found.policy.findings] == [
        "metadata.annotations[edl.dev/largest-max]"
    ]


@pytest.mark.parametrize("text", ["disabled", "true", "Enabled", "enabled ", "", "yes"])
def test_only_enabled_lets_launchers_exec(text: str) -> None:
    body = {"metadata": manifests.metadata("lab", labels={"edl.dev/kubexec": text})}
    assert not object_facts.namespace(msgspec.json.encode(body)).policy.kubexec


def test_a_namespace_that_says_nothing_has_no_policy() -> None:
    found = object_facts.namespace(b'{"metadata": {"name": "lab"}}')
    assert not found.policy.kubexec
    assert not found.policy.limits


def runs(*, order: str = "main a", named: str = "", **status: Json | int) -> TrainingRuns:
    """Of a pod whose sidecar has failed, too; kubelets sort the statuses by name."""
    sidecar = {"name": "a", "restartCount": 9, "state": {"running": {"startedAt": minute(50)}}}
    sidecar["lastState"] = {"terminated": {"exitCode": 1, "finishedAt": minute(40)}}
    statuses = [sidecar, {"name": "main"} | status]
    body = job_pod("a", 0, "mnist", status={"containerStatuses": statuses})
    body["spec"]["containers"] = [{"name": name} for name in order.split()]
    body["metadata"]["annotations"][contract.DEFAULT_CONTAINER] = named
    found = object_facts.pod(msgspec.json.encode(body), ShapeInterner())
    assert found.pod is not None
    return found.pod.containers.runs


def minute(number: int) -> str:
    return f"2026-01-01T00:{number:02}:00Z"


def test_a_training_container_that_failed_is_noticed_and_no_sidecar() -> None:
    started, failed, began = minute(1), minute(5), minute(6)
    first: Json = {"running": {"startedAt": started}}
    assert runs(restartCount=0, state=first) == TrainingRuns(timestamp(started))
    end: Json = {"terminated": {"exitCode": 1, "startedAt": started, "finishedAt": failed}}
    before = (timestamp(failed), timestamp(started))
    again: Json = {"running": {"startedAt": began}}
    assert runs(restartCount=1, state=again, lastState=end) == TrainingRuns(
        timestamp(began), *before, restarts=1
    )
    waits: Json = {"waiting": {"reason": "CrashLoopBackOff"}}
    assert runs(restartCount=2, state=waits, lastState=end) == TrainingRuns(None, *before, 2)
    assert runs(restartCount=2, state=end, lastState={}) == TrainingRuns(None, *before, 2)
    done: Json = {"terminated": {"exitCode": 0, "finishedAt": minute(9)}}
    assert runs(restartCount=1, state=done, lastState=end) == TrainingRuns(None, *before, 1)
    assert runs(restartCount=1, state=again) == TrainingRuns(
        timestamp(began), timestamp(began), restarts=1
    )


def test_a_ready_pod_trains_since_its_container_runs() -> None:
    """A readiness probe may fail for a moment, or its node's heartbeat."""
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": minute(9)}
    running = {"name": "main", "state": {"running": {"startedAt": minute(1)}}}
    told = {"phase": "Running", "conditions": [ready], "containerStatuses": [running]}
    body = job_pod("a", 0, "mnist", status=told)
    body["spec"]["containers"] = [{"name": "main"}]
    found = pod_facts(body).pod
    assert found is not None
    assert (found.ready_since, found.trains_since) == (timestamp(minute(9)), timestamp(minute(1)))


@pytest.mark.parametrize(
    ("order", "named", "restarts"),
    [("a main", "main", 1), ("a main", "", 9), ("main a", "gone", 1), ("main a", "a", 9)],
)
def test_a_pod_may_name_its_training_container(order: str, named: str, restarts: int) -> None:
    """Istio and Linkerd put their proxy first, and name the user's container."""
    again: Json = {"running": {"startedAt": minute(6)}}
    assert runs(order=order, named=named, restartCount=1, state=again).restarts == restarts


def test_the_restarts_of_all_containers_of_a_pod_count_until_it_has_ended() -> None:
    """Those of sidecars, which are init containers, too (`pastBackoffLimitOnFailure`)."""
    status: Json = {
        "containerStatuses": [{"restartCount": 1, "state": {}}, {"restartCount": 2, "state": {}}],
        "initContainerStatuses": [{"restartCount": 4, "state": {}}],
    }
    for phase, restarts in (("Running", 7), ("Pending", 7), ("Failed", 0)):
        found = pod_facts(job_pod("a", 0, "mnist", phase=phase, status=status)).pod
        assert found is not None
        assert found.containers.restarts == restarts


@pytest.mark.parametrize(("code", "restarts"), [(3, 5), (3, 0), (0, 5)])
def test_a_container_that_failed_again_waits_for_its_next_run(code: int, restarts: int) -> None:
    """The kubelet says CrashLoopBackOff only at the end of the delay, and `terminated` before."""
    ended = {"terminated": {"exitCode": code, "reason": "Error"}}
    container = {"name": "main", "restartCount": restarts, "state": ended}
    status = {"containerStatuses": [container]}
    for phase in ("Running", "Failed"):
        found = pod_facts(job_pod("a", 0, "mnist", phase=phase, status=status)).pod
        assert found is not None
        waits = ContainerWait("main", "CrashLoopBackOff", "", restarts, "Error", code)
        restarted = bool(code and restarts) and phase == "Running"
        assert found.containers.waits == (waits if restarted else None)
        assert container_wait(status | {"phase": phase}) == found.containers.waits


@pytest.mark.parametrize("ours", [[], ["edl.dev/placement"]], ids=["alone", "beside ours"])
def test_another_controllers_gate_is_why_a_pod_has_no_node(ours: list[str]) -> None:
    """PodScheduled is False with this reason, and names no gate."""
    gates = [{"name": name} for name in (*ours, "example.com/never")]
    found = pod_facts(job_pod("a", 0, "mnist", spec={"schedulingGates": gates})).pod
    assert found is not None
    assert found.scheduling.refusal == "SchedulingGated: example.com/never"
    gated = [{"name": "edl.dev/placement"}]
    found = pod_facts(job_pod("a", 0, "mnist", spec={"schedulingGates": gated})).pod
    assert found is not None
    assert found.scheduling.refusal == ""


def test_a_terminating_pod_says_when_its_grace_period_ends() -> None:
    ends = "2026-01-01T12:00:30Z"
    found = pod_facts(job_pod("a", 0, "mnist", metadata={"deletionTimestamp": ends})).pod
    assert found is not None
    assert (found.terminating, found.deletion.due_at) == (True, timestamp(ends))
    stays = pod_facts(job_pod("a", 0, "mnist")).pod
    assert stays is not None
    assert (stays.terminating, stays.deletion.due_at) == (False, None)


@pytest.mark.parametrize(
    "text",
    ["", "soon", "2026-01-01T12:00:00", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59-01:00"],
)
def test_a_time_without_a_zone_or_of_an_absurd_year_is_rejected(text: str) -> None:
    assert timestamp(text) is None
    assert timestamp("2026-01-01T12:00:00Z") == datetime(2026, 1, 1, 12, tzinfo=UTC)


def test_a_job_that_a_pod_names_without_being_controlled_by_it_does_not_own_it() -> None:
    body = job_pod("p", 0, "mnist")
    assert pod_facts(body).job
    for owner in body["metadata"]["ownerReferences"]:
        owner["controller"] = False
    assert pod_facts(body).job == ""


ZONE = {"key": "zone", "operator": "In", "values": ["a"]}
OWN = {
    "requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{"matchExpressions": [ZONE]}]
    }
}


APART = {
    "requiredDuringSchedulingIgnoredDuringExecution": [
        {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "train"}}}
    ]
}


def placeable(*gates: str, **notes: str) -> Pod:
    named = {f"edl.dev/{name.replace('_', '-')}": text for name, text in notes.items()}
    spec = {
        "affinity": {"nodeAffinity": OWN, "podAffinity": {}},
        "schedulingGates": [{"name": gate} for gate in gates],
    }
    found = pod_facts(manifests.job_pod("p", 0, "train", notes=named, spec=spec)).pod
    assert found is not None
    return found


def test_a_pod_that_waits_for_its_node_tells_its_own_node_affinity() -> None:
    found = placeable("example.com/quota", contract.PLACEMENT_GATE)
    assert found.unplaced
    assert json.loads(found.planned.node_affinity) == [{"matchExpressions": [ZONE]}]
    assert (found.planned.node, found.planned.placed_at) == ("", None)


@pytest.mark.parametrize("key", [contract.DO_NOT_DISRUPT, contract.SAFE_TO_EVICT])
@pytest.mark.parametrize("value", ["true", "false", ""])
def test_a_pod_that_waits_for_its_node_tells_that_its_template_speaks_to_autoscalers(
    key: str, value: str
) -> None:
    gates = {"schedulingGates": [{"name": contract.PLACEMENT_GATE}]}
    found = pod_facts(manifests.job_pod("p", 0, "train", notes={key: value}, spec=gates)).pod
    assert found is not None
    assert found.planned.has_disruption_annotation
    assert not placeable(contract.PLACEMENT_GATE).planned.has_disruption_annotation


@pytest.mark.parametrize("key", [contract.DO_NOT_DISRUPT, contract.SCALE_DOWN_DISABLED])
def test_a_node_is_kept_where_its_annotations_tell_autoscalers_so(key: str) -> None:
    body = manifests.node()
    assert not node_facts(body).kept
    body["metadata"]["annotations"] = {key: "true", "other": "true"}
    assert node_facts(body).kept
    body["metadata"]["annotations"] = {key: "false"}
    assert not node_facts(body).kept


@pytest.mark.parametrize("kind", ["DaemonSet", "Node"])
def test_pods_that_go_with_their_node_keep_none(kind: str) -> None:
    owner = {"apiVersion": "v1", "kind": kind, "name": "it", "uid": "u", "controller": True}
    assert pod_facts(manifests.pod("web", node="n1")).keeps_node
    assert not pod_facts(manifests.pod("web")).keeps_node
    assert not pod_facts(manifests.pod("web", node="n1", phase="Failed")).keeps_node
    leaving = {"deletionTimestamp": manifests.CREATED}
    assert not pod_facts(manifests.pod("web", node="n1", metadata=leaving)).keeps_node
    own = {"ownerReferences": [owner]}
    assert not pod_facts(manifests.pod("agent", node="n1", metadata=own)).keeps_node


def test_a_placed_pod_tells_its_node_and_since_when_also_behind_another_gate() -> None:
    at = "2026-01-01T00:00:09Z"
    found = placeable(contract.HOSTS_GATE, assigned_node="gpu-1.lab", placed_at=at)
    assert not found.unplaced
    assert found.planned.node == "gpu-1.lab"
    assert found.planned.placed_at == datetime(2026, 1, 1, 0, 0, 9, tzinfo=UTC)
    assert found.planned.node_affinity == "[]"


def test_a_gated_pod_has_no_node_whatever_its_annotations_say() -> None:
    found = placeable(contract.PLACEMENT_GATE, assigned_node="n1", placed_at="2026-01-01T00:00:09Z")
    assert (found.planned.node, found.planned.placed_at) == ("", None)


@pytest.mark.parametrize("name", ["", "-", "N1", "n1,n2", "n" * 254, "n1\n", 'a"b', "é"])
def test_a_malformed_node_name_is_not_a_node(name: str) -> None:
    found = placeable(assigned_node=name, placed_at="2026-01-01T00:00:09Z")
    assert (found.planned.node, found.planned.placed_at) == ("", None)


@pytest.mark.parametrize(
    "own", [{}, {"nodeAffinity": OWN}, {"nodeAffinity": OWN, "podAntiAffinity": APART}]
)
def test_pods_of_one_template_share_one_shape_whatever_nodes_they_were_given(own: Json) -> None:
    shapes, found = ShapeInterner(), []
    for node in ("", "n1", "n2"):
        gates = [] if node else [{"name": contract.PLACEMENT_GATE}]
        narrowed = node_affinity.narrowed(node_affinity.terms_text(own), node) if node else {}
        spec = {"affinity": merged(own, narrowed), "schedulingGates": gates}
        notes = {contract.ASSIGNED_NODE: node} if node else {}
        labels = {"labels": {contract.FRAMEWORK: "none"}}
        body = manifests.job_pod("p", 0, "train", notes=notes, spec=spec, metadata=labels)
        found.append(object_facts.pod(msgspec.json.encode(body), shapes).shape)
    assert found[0] is found[1] is found[2]


def test_the_shape_of_a_pod_of_others_names_its_node_whatever_is_written_on_it() -> None:
    spec = {"affinity": node_affinity.narrowed("[]", "n1")}
    notes = {"annotations": {contract.ASSIGNED_NODE: "n1"}}
    shape = pod_facts(manifests.pod("p", spec=spec, metadata=notes)).shape
    assert shape.affinity == ((Requirement(NODE_NAME, "In", ("n1",)),),)


def test_a_pod_placed_at_no_time_still_has_its_node() -> None:
    found = placeable(assigned_node="n1", placed_at="soon")
    assert (found.planned.node, found.planned.placed_at) == ("n1", None)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ({}, DisruptionMark(Code.RECLAIMED, datetime(2026, 1, 1, tzinfo=UTC))),
        ({"status": "False"}, None),
        ({"reason": "PreemptionByScheduler"}, None),
        ({"type": "PodScheduled"}, None),
        ({"lastTransitionTime": None}, None),
    ],
)
def test_only_our_own_mark_of_a_disruption_is_read(
    condition: dict[str, str | None], expected: DisruptionMark | None
) -> None:
    mark = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "Reclaimed",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    found = pod_facts(job_pod("p", 0, "j", status={"conditions": [mark | condition]})).pod
    assert found
    assert found.deletion.mark == expected
