"""Pods of deleted Jobs, which a job that is created again under its name waits for."""

from functools import partial
from typing import Any

import pytest

from edl.messages import message
from edl.model import PodPhase
from edl.quantities import Resources
from edl.writes import Json
from tests.edl.kube import manifests
from tests.edl.kube.manifests import job, job_pod, member
from tests.edl.kube.state.test_observe import MNIST, look, only, snapshot
from tests.edl.planner.plans import plan_for

LEAVING = {"deletionTimestamp": manifests.CREATED}
RUN = "batch.kubernetes.io/job-name"
LABELS = {"edl.dev/framework": "tensorflow", "edl.dev/job": "mnist", "edl.dev/role": "worker"}
LABELS |= {RUN: "mnist-worker"}


def pod(name: str = "old", owner: str = "deleted", **more: Any) -> Json:  # noqa: ANN401
    """A running pod of the training job `mnist`; `labels` replace some of its own."""
    metadata = {"labels": LABELS | more.pop("labels", {}), **more.pop("metadata", LEAVING)}
    make = partial(job_pod, name, 0, owner) if owner else partial(manifests.pod, name)
    return make(**({"node": "n1", "phase": "Running"} | more), metadata=metadata)


def previous(*pods: Json, jobs: list[Json] = MNIST) -> dict[str, list[str]]:
    """By role, the names of the pods of its deleted Jobs."""
    roles = only(look(snapshot(jobs, pods))).roles
    found = {role.name: [one.name for one in role.previous_pods] for role in roles}
    return {name: pods for name, pods in found.items() if pods}


def test_a_waiting_job_knows_the_terminating_pods_of_its_deleted_jobs() -> None:
    assert previous(pod()) == {"worker": ["old"]}
    absent = {"edl.dev/role": "evaluator", RUN: "mnist-evaluator"}
    assert previous(pod(labels=absent)) == {"chief": ["old"]}


def test_it_knows_whether_and_until_when_they_terminate() -> None:
    worker = only(look(snapshot(MNIST, [pod()]))).roles[2]
    (found,) = worker.previous_pods
    assert (found.terminating, found.node, found.phase) == (True, "n1", PodPhase.RUNNING)
    assert found.deletion.due_at is not None
    assert worker.status.pods == ()
    assert worker.pods_in_quotas == 1


def test_their_capacity_counts_once_and_as_releasing() -> None:
    node, _ = look(snapshot(MNIST, [pod()])).nodes
    once = Resources.of({"cpu": 1000, "pods": 1})
    assert (node.used, node.releasing) == (once, once)


def test_a_pod_that_the_garbage_collector_has_yet_to_delete_is_one_of_them() -> None:
    assert previous(pod(metadata={})) == {"worker": ["old"]}


@pytest.mark.parametrize(
    "other",
    [
        pod(owner="mnist-worker"),
        pod(labels={"edl.dev/job": "other"}),
        pod(phase="Succeeded"),
        pod(node=""),
        pod(owner="", metadata={}),
        pod(labels={RUN: "nightly"}, metadata={}),
    ],
    ids=[
        "of a present Job",
        "of another job",
        "ended",
        "without node",
        "orphan that stays",
        "of a Job of another name",
    ],
)
def test_other_pods_are_none_of_them(other: Json) -> None:
    assert previous(other) == {}


def test_a_terminating_pod_of_a_job_of_another_name_is_one_of_them() -> None:
    assert previous(pod(labels={RUN: "mnist-7f9c"})) == {"worker": ["old"]}


def test_an_orphan_that_terminates_is_one_of_them() -> None:
    notes = {"edl.dev/roles": "chief=1,ps=1,worker=1..4", "edl.dev/rank": "0", "edl.dev/size": "1"}
    assert previous(pod(owner="", metadata=LEAVING | {"annotations": notes})) == {"worker": ["old"]}


def test_a_pod_of_a_job_that_is_being_deleted_is_one_of_them() -> None:
    leaving = member("worker", metadata=LEAVING)
    leaving["metadata"]["name"] = "mnist-before"
    leaving["metadata"]["uid"] = "uid-mnist-before"
    assert previous(pod(owner="mnist-before"), jobs=[*MNIST, leaving]) == {"worker": ["old"]}


def test_jobs_that_run_know_none() -> None:
    started = [member(role, suspend=False) for role in ("chief", "ps", "worker")]
    assert previous(pod(), jobs=started) == {}


def test_work_items_have_previous_pods_too() -> None:
    sweep = job("sweep", labels={"edl.dev/framework": "none", "edl.dev/job": "sweep"})
    items = pod(labels={"edl.dev/framework": "none", "edl.dev/job": "sweep", RUN: "sweep"})
    assert [*previous(items, jobs=[sweep]).values()] == [["old"]]


def sized(name: str, **more: Any) -> Json:  # noqa: ANN401
    labels = {"edl.dev/framework": "none", "edl.dev/job": name, "edl.dev/min": "3"}
    found = job(name, labels=labels | {"edl.dev/max": "3"}, **more)
    found["spec"] |= {"parallelism": 3, "completions": 3}
    return found


def test_a_job_may_start_once_a_finalizer_lets_a_deleted_job_go() -> None:
    """Background deletion keeps its pods until the finalizer is gone: then they go, too."""
    held = sized("held", suspend=False, metadata=LEAVING | {"finalizers": ["acme.io/report"]})
    pods = [job_pod(f"h{n}", n, "held", node="n1", phase="Running") for n in range(3)]
    nodes = [manifests.node("n1")]
    state = look(snapshot([held, sized("next")], pods, nodes=nodes))
    assert [job.key.name for job in state.jobs] == ["next"]
    assert [job.key.name for job in state.deleted_jobs] == ["held"]
    (waits,) = plan_for(state).waiting
    assert message(waits.reason).startswith("Insufficient cpu: needs 3 x 1 CPU")
    alone = look(snapshot([sized("next")], pods, nodes=nodes))
    (others,) = plan_for(alone).waiting
    assert message(others.reason).startswith("Insufficient cpu, even if no training job ran")
