"""Bare pods with our labels: a training job that nobody queues or resizes."""

from datetime import UTC, datetime

import msgspec
import pytest
from msgspec.structs import replace

from edl import contract, reasons
from edl.job_state.phases import unready
from edl.kube.decode import object_facts
from edl.kube.decode.object_facts import NamespaceFacts
from edl.kube.decode.pod_shapes import ShapeInterner
from edl.model import ClusterState, ObjectRef, Owner, ResizePolicy
from edl.parsing.namespace_policy import NamespacePolicy
from edl.writes import Json
from tests.edl.kube import manifests
from tests.edl.kube.whole_state import ManyFacts, observed
from tests.reasons import problem_of

NOW = datetime(2026, 1, 1, 1, tzinfo=UTC)
ALL_ROLES = {contract.ROLES: "launcher=1,worker=2"}


def bare(role: str, rank: int = 0, **more: object) -> Json:
    labels = {contract.FRAMEWORK: "horovod", contract.JOB: "mnist", contract.ROLE: role}
    notes = ALL_ROLES | {contract.RANK: str(rank)}
    spec = {"serviceAccountName": "mine", "schedulingGates": more.pop("gates", [])}
    meta = {"labels": labels, "annotations": notes} | dict(more)
    return manifests.pod(f"any-{role}-{rank}", metadata=meta, spec=spec)


WORKERS = [bare("worker", rank) for rank in range(2)]


def look(
    *pods: Json, kubexec: bool = True, jobs: tuple[Json, ...] = (), terminating: bool = False
) -> ClusterState:
    shapes = ShapeInterner()
    found = ManyFacts(
        pods=[object_facts.pod(msgspec.json.encode(body), shapes) for body in pods],
        namespaces=[
            NamespaceFacts("web", NamespacePolicy("web", kubexec=kubexec), terminating=terminating)
        ],
        owned_objects=[
            object_facts.owned_object("Service", msgspec.json.encode(body)) for body in jobs
        ],
    )
    return observed(found, NOW)


def test_pods_of_one_name_form_a_training_job_of_their_own() -> None:
    state = look(bare("launcher"), *reversed(WORKERS))
    (job,) = state.bare_jobs
    assert state.jobs == (), "nobody queues it"
    assert (job.key, job.framework, job.mode) == (("web", "mnist"), "horovod", "kubexec")
    launcher, worker = job.roles
    assert (worker.job, worker.status.size, worker.spec.resizing) == (
        "mnist-worker",
        2,
        ResizePolicy.FIXED,
    )
    assert [pod.index for pod in worker.status.pods] == [0, 1]
    assert (launcher.spec.is_leader, launcher.template.account) == (True, "mine")
    assert job.owners == (
        Owner("v1", "Pod", "any-launcher-0", "uid-any-launcher-0"),
        Owner("v1", "Pod", "any-worker-0", "uid-any-worker-0"),
        Owner("v1", "Pod", "any-worker-1", "uid-any-worker-1"),
    )


def test_pending_bare_pods_demand_room_like_foreign_pods() -> None:
    gate = [{"name": contract.HOSTS_GATE}]
    (demand,) = look(bare("launcher", gates=gate), *WORKERS).demands
    assert demand.count == 2


def test_a_role_without_pods_keeps_its_size() -> None:
    (job,) = look(WORKERS[1]).bare_jobs
    launcher, worker = job.roles
    assert (launcher.status.size, launcher.status.pods) == (1, ())
    assert [pod.index for pod in worker.status.pods] == [1]


def test_what_stands_around_it_is_known() -> None:
    service = {"metadata": manifests.metadata("mnist", "web", labels={contract.JOB: "mnist"})}
    (job,) = look(*WORKERS, jobs=(service,)).bare_jobs
    assert set(job.existing_dependents) == {ObjectRef("Service", "web", "mnist")}


def test_a_launcher_needs_a_namespace_that_lets_it_exec() -> None:
    (job,) = look(bare("launcher"), *WORKERS, kubexec=False).bare_jobs
    assert problem_of(job) == (
        "namespace web does not let launchers exec into workers, as mode kubexec does: "
        "recreate the job with edl.dev/mode: ssh (create: --mode ssh), or: "
        "kubectl label namespace web edl.dev/kubexec=enabled"
    )
    (workers,) = look(*WORKERS, kubexec=False).bare_jobs
    assert problem_of(workers) == ""


def test_the_problem_of_bare_pods_is_that_their_namespace_is_being_deleted() -> None:
    (job,) = look(bare("launcher"), *WORKERS, kubexec=False, terminating=True).bare_jobs
    assert unready(job) == reasons.NAMESPACE_TERMINATING


def test_labels_that_make_no_sense_are_nobodys() -> None:
    assert look(bare("boss")).bare_jobs == ()


@pytest.mark.parametrize(
    "owner", [("batch/v1", "Job"), ("batch.volcano.sh/v1alpha1", "Job"), ("apps/v1", "ReplicaSet")]
)
def test_only_pods_that_no_job_made_are_bare(owner: tuple[str, str]) -> None:
    reference = {"apiVersion": owner[0], "kind": owner[1], "name": "x", "uid": "u"}
    found = look(bare("worker", ownerReferences=[reference | {"controller": True}])).bare_jobs
    assert bool(found) == (owner != ("batch/v1", "Job"))


def test_the_same_pods_make_the_same_job_whatever_their_order() -> None:
    first, second = look(*WORKERS), look(*reversed(WORKERS))
    assert first.bare_jobs == second.bare_jobs
    assert replace(first, unplanned_jobs=()) == replace(second, unplanned_jobs=())
