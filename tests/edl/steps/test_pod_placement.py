"""Pods of gated roles are given their nodes one by one, by a patch that says all at once."""

import json
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from edl import contract, reasons
from edl.model import (
    Assignment,
    ClusterState,
    Code,
    JobEnd,
    JobKey,
    ObjectRef,
    Pod,
    ResizePolicy,
    Role,
    TrainingJob,
)
from edl.planner.plan import Admission, Drain, NodeAssignment, Plan, Resize, Suspension
from edl.steps.host_lists import new_worker_patches, publish
from edl.steps.plan_steps import steps
from edl.steps.sizes.resize_patch import resize_annotations
from edl.steps.sizes.start import start
from edl.writes import Action, Delete, Patch
from tests.edl.trainings import KEY, NOW, patches, pod, pods, role, training, written
from tests.reasons import because, invalid
from tests.roles import changed_pod

GATE = contract.PLACEMENT_GATE
OWN = '[{"matchExpressions":[{"key":"zone","operator":"Exists"}]}]'


def waiting(name: str, *indexes: int, gates: tuple[str, ...] = (GATE,)) -> tuple[Pod, ...]:
    return pods(name, indexes, node="", ready=False, gates=gates)


def gated(name: str, *args: int, **fields: Any) -> Role:  # noqa: ANN401 - the builder's fields
    return role(name, *args, gated=True, **fields)


def served(*workers: Pod, **fields: object) -> TrainingJob:
    """A chief that works, a ps, and workers; nobody is told how many there are."""
    usual: dict[str, object] = {"size": max(len(workers), 1), "pods": workers}
    return training(
        gated("chief", pods=(pod("chief", 0),)),
        gated("ps", pods=(pod("ps", 0),)),
        gated("worker", 1, 4, **(usual | fields)),
        mode="ps",
        started_at=NOW,
    )


def placement(*nodes: str, name: str = "worker") -> NodeAssignment:
    return NodeAssignment(
        KEY, name, tuple((f"mnist-{name}-{index}-abcde", node) for index, node in enumerate(nodes))
    )


def of_pods(job: TrainingJob, plan: Plan) -> list[Patch]:
    found = steps(plan, ClusterState(NOW, (), (job,))).steps
    return [one for step in found for one in patches(step) if one.target.kind == "Pod"]


def placed(job: TrainingJob, *nodes: str, **plan: Any) -> list[str]:  # noqa: ANN401 - the builder's fields
    """The pods that are given a node."""
    found = of_pods(job, Plan(node_assignments=(placement(*nodes),), **plan))
    return [one.target.name for one in found if contract.ASSIGNED_NODE in written(one)]


def test_a_pod_gets_its_node_and_loses_its_gate_in_one_patch() -> None:
    waits = changed_pod(
        waiting("worker", 0, gates=(GATE, "example.com/quota"))[0], node_affinity=OWN
    )
    (patch,) = of_pods(served(waits), Plan(node_assignments=(placement("n1"),)))
    name = {"key": "metadata.name", "operator": "In", "values": ["n1"]}
    term = {"matchExpressions": [{"key": "zone", "operator": "Exists"}], "matchFields": [name]}
    affinity = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    assert patch.version == waits.version
    assert patch.body == {
        "metadata": {
            "annotations": {
                contract.ASSIGNED_NODE: "n1",
                contract.PLACED_AT: "2026-01-01T12:00:00Z",
                contract.DO_NOT_DISRUPT: "true",
                contract.SAFE_TO_EVICT: "false",
            },
        },
        "spec": {
            "affinity": {"nodeAffinity": affinity},
            "schedulingGates": [{"name": "example.com/quota"}],
        },
    }


def test_a_pod_that_an_autoscaler_is_to_make_a_node_for_loses_its_gate_alone() -> None:
    waits = waiting("worker", 0)[0]
    (patch,) = of_pods(served(waits), Plan(node_assignments=(placement(""),)))
    assert patch.body["spec"] == {"schedulingGates": []}
    assert contract.ASSIGNED_NODE not in written(patch)
    assert written(patch)[contract.SAFE_TO_EVICT] == "false"


def told_to_autoscalers(*workers: Pod, **fields: object) -> list[Mapping[str, object]]:
    """What the patch that gives each of three workers its node says, where two are the minimum."""
    found = gated("worker", 2, 4, size=3, pods=workers or waiting("worker", 0, 1, 2), **fields)
    plan = Plan(node_assignments=(placement("n1", "n1", "n2"),))
    patched = map(written, of_pods(training(found, started_at=NOW), plan))
    return [{key: one[key] for key in contract.UNDISRUPTED if key in one} for one in patched]


def test_autoscalers_are_told_to_let_minimum_pods_be_and_no_extras() -> None:
    assert told_to_autoscalers() == [contract.UNDISRUPTED, contract.UNDISRUPTED, {}]


def test_an_extra_is_of_the_minimum_once_a_rank_before_it_has_ended() -> None:
    found = told_to_autoscalers(finished_indexes=frozenset({0}))
    assert found == [contract.UNDISRUPTED] * 3


def test_a_work_item_that_is_moved_loses_little() -> None:
    assert told_to_autoscalers(resizing=ResizePolicy.ITEMS) == [{}, {}, {}]


def test_what_a_template_says_to_autoscalers_wins() -> None:
    own = [changed_pod(one, has_disruption_annotation=True) for one in waiting("worker", 0, 1, 2)]
    assert told_to_autoscalers(*own) == [{}, {}, {}]


def test_every_pod_has_a_step_of_its_own_so_that_they_are_written_together() -> None:
    job = served(*waiting("worker", 0, 1, 2))
    plan = Plan(node_assignments=(placement("n1", "n1", "n2"),))
    found = steps(plan, ClusterState(NOW, (), (job,))).steps
    assert [(step.job, len(step.writes), step.events) for step in found] == [(KEY, 1, ())] * 3
    assert [written(patches(step)[0])[contract.ASSIGNED_NODE] for step in found] == [
        "n1",
        "n1",
        "n2",
    ]


def test_a_job_with_another_step_is_placed_in_the_same_round() -> None:
    job = served(*waiting("worker", 0, 1))
    grow = Resize(KEY, "worker", 2, 3, because("room"), nodes=("n3",))
    found = steps(
        Plan(resizes=(grow,), node_assignments=(placement("n1", "n2"),)),
        ClusterState(NOW, (), (job,)),
    ).steps
    assert [step.writes[0].target.kind for step in found] == ["Job", "Pod", "Pod"]


def test_pods_get_their_nodes_after_stops_and_before_starts() -> None:
    new, old = (replace(served(), key=key_of(name)) for name in ("new", "old"))
    asleep = tuple(one.changed(suspended=True, pods=()) for one in new.roles)
    sizes = tuple((one.name, 1) for one in asleep)
    plan = Plan(
        admissions=(Admission(key_of("new"), sizes, because("room")),),
        suspensions=(Suspension(key_of("old"), reasons.PAUSED),),
        node_assignments=(placement("n1"),),
    )
    jobs = (replace(new, roles=asleep), served(*waiting("worker", 0)), old)
    found = steps(plan, ClusterState(NOW, (), jobs)).steps
    assert [step.job.name for step in found] == ["old", "mnist", "new"]


def key_of(name: str) -> JobKey:
    return JobKey("lab", name)


def test_only_pods_behind_the_placement_gate_get_a_node() -> None:
    first, second, third, fourth = waiting("worker", 0, 1, 2, 3)
    there = changed_pod(first, gates=(contract.HOSTS_GATE,))
    leaves = replace(second, terminating=True)
    job = served(there, leaves, third, fourth, removing=frozenset({third.name}))
    assert placed(job, "n1", "n1", "n1", "n1") == [fourth.name]


def test_a_pod_drained_in_the_same_round_gets_no_node() -> None:
    job = served(*waiting("worker", 0, 1))
    moved = Drain(KEY, "worker", ("mnist-worker-0-abcde",), because("its node goes"))
    assert placed(job, "n1", "n1", drains=(moved,)) == ["mnist-worker-1-abcde"]


def test_a_job_that_does_not_go_on_is_not_placed() -> None:
    job = served(*waiting("worker", 0))
    restart = Resize(KEY, "worker", 1, 2, because("room"), restart=True)
    assert placed(job, "n1") == ["mnist-worker-0-abcde"]
    assert placed(job, "n1", suspensions=(Suspension(KEY, reasons.PAUSED),)) == []
    assert placed(job, "n1", resizes=(restart,)) == []
    assert placed(replace(job, problem=invalid("its Jobs disagree")), "n1") == []
    assert placed(served(*waiting("worker", 0), suspended=True), "n1") == []
    chief, *others = job.roles
    ended = replace(job, roles=(chief.changed(ending=JobEnd.COMPLETE), *others))
    assert placed(ended, "n1") == []


def test_one_that_cannot_be_placed_stops_no_other() -> None:
    broken = replace(served(*waiting("worker", 0)), key=key_of("odd"))
    odd = replace(placement("n1"), job=broken.key, nodes=(("no node",),))  # type: ignore[arg-type]
    plan = Plan(node_assignments=(odd, placement("n1")))
    found = steps(plan, ClusterState(NOW, (), (broken, served(*waiting("worker", 0)))))
    assert [step.job for step in found.steps if patches(step)] == [KEY]
    assert {one.job for one in found.errors} == {broken.key}


def collective(*workers: Pod, **fields: object) -> TrainingJob:
    return training(
        gated("chief", pods=waiting("chief", 0), **fields),
        gated("worker", 1, 4, size=3, pods=workers, resizing=ResizePolicy.RESTART),
        mode="collective",
    )


def test_the_cluster_annotation_is_written_with_the_node() -> None:
    (patch,) = of_pods(collective(*waiting("worker", 0)), Plan(node_assignments=(placement("n1"),)))
    assert json.loads(written(patch)[contract.CLUSTER]) == {
        "chief": ["mnist-chief-0.mnist.lab.svc:2222"],
        "worker": [f"mnist-worker-{index}.mnist.lab.svc:2222" for index in range(3)],
    }


def test_no_pod_gets_the_cluster_before_every_role_has_its_size() -> None:
    job = collective(*waiting("worker", 0), suspended=True)
    assert placed(job, "n1") == []


def test_a_start_keeps_the_nodes_on_the_job_and_leaves_the_template() -> None:
    """So it need not wait until the Job controller has seen the stop."""
    job = training(
        gated("chief", suspended=True, settled=False),
        gated("worker", 1, 4, suspended=True, settled=False, resizing=ResizePolicy.RESTART),
        mode="collective",
    )
    nodes = (("chief", ("n1",)), ("worker", ("n1", "n1", "n2")))
    sizes = (("chief", 1), ("worker", 3))
    found = patches(start(job, Admission(KEY, sizes, because("room"), (), nodes), NOW))
    assert [one.target.name for one in found] == ["mnist-worker", "mnist-chief"]
    assert [written(one)[contract.ASSIGNED_NODES] for one in found] == ["0:n1*2,n2", "0:n1"]
    assert not any("template" in one.body["spec"] for one in found)


def test_a_start_without_nodes_forgets_those_of_the_start_before() -> None:
    job = training(gated("worker", suspended=True, assigned=Assignment(0, ("n1",))))
    (patch,) = patches(start(job, Admission(KEY, (("worker", 1),), because("room")), NOW))
    assert written(patch)[contract.ASSIGNED_NODES] is None


def test_a_growth_keeps_the_nodes_of_its_new_replicas() -> None:
    grow = Resize(KEY, "worker", 2, 4, because("room"), nodes=("n3", "n3"))
    found = annotated(gated("worker", 1, 4, size=2), grow)
    assert found[contract.ASSIGNED_NODES] == "2:n3*2"
    assert contract.ASSIGNED_NODES not in annotated(role("worker", 1, 4, size=2), grow)
    shrink = replace(grow, before=3, after=2, nodes=())
    assert contract.ASSIGNED_NODES not in annotated(gated("worker", 1, 4, size=3), shrink)


def annotated(worker: Role, resize: Resize) -> dict[str, str | None]:
    return resize_annotations(training(worker), worker, resize, NOW)


BOTH = (GATE, contract.HOSTS_GATE)


def fork(*workers: Pod, scheduler: Pod) -> TrainingJob:
    return training(
        gated("scheduler", pods=(scheduler,), is_leader=True),
        gated("server", pods=pods("server", [0]), is_service=True),
        gated("worker", 1, 4, size=len(workers), pods=workers),
        framework="mxnet",
        mode="fork",
        started_at=NOW,
    )


def test_a_pod_behind_two_gates_loses_each_by_its_own_patch() -> None:
    """The node first: until then nothing else patches it."""
    (scheduler,) = waiting("scheduler", 0, gates=BOTH)
    job = fork(*waiting("worker", 0, gates=BOTH), scheduler=scheduler)
    assert of_pods(job, Plan()) == []
    plan = Plan(node_assignments=(placement("n1"), placement("n2", name="scheduler")))
    first = of_pods(job, plan)
    assert [one.target.name for one in first] == [
        "mnist-scheduler-0-abcde",
        "mnist-worker-0-abcde",
    ]
    hosts = {"schedulingGates": [{"name": contract.HOSTS_GATE}]}
    assert all(hosts.items() <= one.body["spec"].items() for one in first)
    assert all(contract.NEW_WORKER not in written(one) for one in first)
    (worker,) = new_worker_patches(fork(*waiting("worker", 0, gates=BOTH[1:]), scheduler=scheduler))
    assert written(worker)[contract.NEW_WORKER] == "0"
    assert worker.body["spec"] == {"schedulingGates": []}


def test_a_launcher_without_a_node_reads_no_hosts_and_holds_no_shrink_back() -> None:
    (launcher,) = waiting("scheduler", 0, gates=BOTH)
    job = fork(pod("worker", 0), pod("worker", 1), scheduler=launcher)
    shrink = Resize(KEY, "worker", 2, 1, because("less"))
    found = publish(job, [shrink], NOW)
    assert (found.writes, found.wait) == ((), None)
    there = publish(
        fork(pod("worker", 0), scheduler=changed_pod(launcher, gates=BOTH[1:])), (), NOW
    )
    assert [one.body["spec"] for one in there.writes] == [{"schedulingGates": []}]


def test_pods_that_lost_their_nodes_are_one_event() -> None:
    """The recorder counts Events of one text, so the text names no pod."""
    lost = tuple(pod("worker", one, node="", ready=False, assigned=f"n{one}") for one in range(3))
    assigned = NodeAssignment(KEY, "worker", (), tuple(one.name for one in lost))
    found = steps(Plan(node_assignments=(assigned,)), ClusterState(NOW, (), (served(*lost),)))
    assert len(found.steps) == 3
    assert len({step.events for step in found.steps}) == 1


def test_a_pod_that_lost_its_node_ends_uncounted_and_an_event_says_so() -> None:
    tracked = {"finalizers": (contract.JOB_TRACKING,), "gates": (), "assigned": "n1"}
    lost = pod("worker", 0, node="", ready=False, **tracked)
    job = served(lost, pod("worker", 1))
    plan = Plan(node_assignments=(NodeAssignment(KEY, "worker", (), (lost.name,)),))
    (step,) = steps(plan, ClusterState(NOW, (), (job,))).steps
    freed, ended = step.writes
    assert isinstance(freed, Patch)
    assert freed.body == {"metadata": {"finalizers": []}}
    assert freed.version == lost.version
    assert freed.optional, "a pod that has succeeded meanwhile is counted"
    assert ended == Delete(ObjectRef("Pod", KEY.namespace, lost.name))
    (event,) = step.events
    assert (event.action, event.reason) == (Action.REPLACED, Code.NODE_FULL)
    assert event.message == "the node of a pod has no capacity left for it: the pod is rescheduled"


def test_growth_keeps_the_nodes_of_a_start_that_is_under_way() -> None:
    begun = gated("worker", 1, 9, size=3, assigned=Assignment(0, ("n1", "n2", "n2")))
    grown = Resize(KEY, "worker", 3, 5, because("room"), nodes=("n3", "n3"))
    assert annotated(begun, grown)[contract.ASSIGNED_NODES] == "0:n1,n2*2,n3*2"
    gap = begun.changed(assigned=Assignment(0, ("n1",)))
    assert annotated(gap, grown)[contract.ASSIGNED_NODES] == "3:n3*2"
    fewer = replace(grown, before=2, after=3, nodes=("n4",))
    assert annotated(begun, fewer)[contract.ASSIGNED_NODES] == "0:n1,n2,n4"
