from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from edl import contract
from edl.model import DeviceTemplate, JobEnd, ObjectRef, ResizePolicy, Role, TrainingJob
from edl.planner.plan import Admission
from edl.reasons import started
from edl.steps.dependents import dependents_of
from edl.steps.running_jobs import upkeep_of_dependents
from edl.steps.sizes.start import start
from edl.writes import Create, Delete, Json
from tests.edl.trainings import NOW, role, training

CHIEF = role("chief")
WORKER = role("worker", 2, 4)
NOTHING: dict[ObjectRef, str] = {}


def target(kind: str, name: str) -> ObjectRef:
    return ObjectRef(kind, "lab", name)


def manifests(job: TrainingJob) -> dict[ObjectRef, Any]:
    return {
        write.target: write.manifest for write in dependents_of(job) if isinstance(write, Create)
    }


def budget(found: Role, framework: str = "tensorflow") -> Json:
    made = manifests(training(found, existing_dependents=NOTHING, framework=framework))
    (spec,) = [
        manifest["spec"]
        for written, manifest in made.items()
        if written.kind == "PodDisruptionBudget"
    ]
    return dict(spec)


def test_a_training_job_gets_a_service_and_a_budget_a_role() -> None:
    assert list(manifests(training(CHIEF, WORKER, existing_dependents=NOTHING))) == [
        target("Service", "mnist"),
        target("PodDisruptionBudget", "mnist-chief-first-1"),
        target("PodDisruptionBudget", "mnist-worker-first-2"),
    ]


@pytest.mark.parametrize(
    ("least", "remaining", "kept"),
    [(1, 9, []), (2, 9, [1]), (4, 9, [3]), (4, 4, [3]), (4, 3, []), (4, None, [3])],
)
def test_work_items_of_a_minimum_may_be_evicted_one_by_one(
    least: int, remaining: int | None, kept: list[int]
) -> None:
    """No replacement makes up for an evicted pod once fewer items remain than the minimum."""
    items = role("worker", least, 9, indexed=False, remaining=remaining)
    made = manifests(training(items, existing_dependents=NOTHING, framework="none"))
    assert list(made) == [
        target("PodDisruptionBudget", f"mnist-worker-first-{number}") for number in kept
    ]
    assert [manifest["spec"]["minAvailable"] for manifest in made.values()] == kept


def test_one_rank_alone_keeps_its_budget() -> None:
    alone = role("worker", 1, 1)
    made = manifests(training(alone, existing_dependents=NOTHING))
    assert target("PodDisruptionBudget", f"{alone.job}-first-1") in made


@pytest.mark.parametrize(
    ("ended", "name", "indexes"),
    [
        ((), "2", ["0", "1"]),
        ((0,), "2-of-3", ["0", "1", "2"]),
        ((2,), "2", ["0", "1"]),
        ((0, 1, 2), "1-of-4", ["0", "1", "2", "3"]),
    ],
)
def test_a_budget_protects_the_minimum_of_ranks_that_have_not_ended(
    ended: tuple[int, ...], name: str, indexes: list[str]
) -> None:
    """An extra becomes a part of it as soon as a rank before has ended."""
    workers = WORKER.changed(size=4, finished_indexes=frozenset(ended))
    made = manifests(training(workers, existing_dependents=NOTHING))
    target_name = target("PodDisruptionBudget", f"mnist-worker-first-{name}")
    spec = made[target_name]["spec"]
    assert (spec["minAvailable"], spec["selector"]["matchExpressions"][0]["values"]) == (
        int(name[0]),
        indexes,
    )
    there = {target("PodDisruptionBudget", "mnist-worker-first-1-of-3"): "uid"}
    writes = dependents_of(training(workers, existing_dependents=there))
    assert [one.target.name for one in writes if isinstance(one, Delete)] == [
        *(one.name for one in there)
    ]


def test_a_role_of_which_all_ranks_have_ended_needs_no_budget() -> None:
    over = WORKER.changed(size=2, finished_indexes=frozenset({0, 1}))
    made = manifests(training(over, existing_dependents=NOTHING))
    assert [one for one in made if one.kind == "PodDisruptionBudget"] == []


def test_peers_find_each_other_before_they_are_ready() -> None:
    made = manifests(training(CHIEF, WORKER, existing_dependents=NOTHING))
    assert made[target("Service", "mnist")]["spec"] == {
        "clusterIP": "None",
        "publishNotReadyAddresses": True,
        "selector": {contract.JOB: "mnist"},
    }


def test_a_pytorch_job_alone_has_its_first_pod_known_by_its_bare_host_name() -> None:
    alone = role("worker", 2, 4, job="mnist")
    made = manifests(training(alone, existing_dependents=NOTHING, framework="pytorch"))
    spec = made[target("Service", "mnist-0")]["spec"]
    assert (spec["clusterIP"], spec["publishNotReadyAddresses"]) == ("None", True)
    assert spec["selector"] == {
        contract.JOB_NAME_LABEL: "mnist",
        contract.COMPLETION_INDEX_ANNOTATION: "0",
    }
    store = role("rendezvous")
    made = manifests(training(store, WORKER, existing_dependents=NOTHING, framework="pytorch"))
    assert [written.name for written in made if written.kind == "Service"] == ["mnist"]


def test_everything_goes_with_the_jobs() -> None:
    for written, manifest in manifests(
        training(CHIEF, WORKER, existing_dependents=NOTHING)
    ).items():
        metadata = manifest["metadata"]
        assert (manifest["kind"], metadata["name"]) == (written.kind, written.name)
        assert metadata["namespace"] == "lab"
        assert metadata["labels"][contract.JOB] == "mnist"
        assert metadata["ownerReferences"] == [
            {"apiVersion": "batch/v1", "kind": "Job", "name": job, "uid": uid}
            for job, uid in (("mnist-chief", "uid-chief"), ("mnist-worker", "uid-worker"))
        ]


def test_only_what_is_missing_is_created() -> None:
    there = frozenset(
        {target("Service", "mnist"), target("PodDisruptionBudget", "mnist-chief-first-1")}
    )
    job = training(CHIEF, WORKER, existing_dependents=there)
    assert list(manifests(job)) == [target("PodDisruptionBudget", "mnist-worker-first-2")]
    assert dependents_of(training(CHIEF, WORKER)) == ()


def test_another_minimum_means_another_budget_and_the_new_one_comes_first() -> None:
    job = training(CHIEF, WORKER)
    changed = replace(job, roles=(CHIEF, WORKER.changed(min=3)))
    created, removed = dependents_of(changed)
    assert isinstance(created, Create)
    assert created.target.name == "mnist-worker-first-3"
    stale = target("PodDisruptionBudget", "mnist-worker-first-2")
    assert removed == Delete(stale, uid=job.existing_dependents[stale]), (
        "the very one that was seen"
    )


def test_a_role_that_has_ended_needs_no_budget() -> None:
    job = training(CHIEF, WORKER)
    ended = replace(job, roles=(CHIEF, WORKER.changed(ending=JobEnd.COMPLETE)))
    stale = target("PodDisruptionBudget", "mnist-worker-first-2")
    assert dependents_of(ended) == (Delete(stale, uid=job.existing_dependents[stale]),)


def test_foreign_dependents_are_never_removed() -> None:
    job = training(CHIEF, WORKER)
    around = {
        **job.existing_dependents,
        target("Secret", "mnist"): "uid",
        target("RoleBinding", "mnist"): "uid",
        target("PodDisruptionBudget", "mnist"): "uid",
        target("PodDisruptionBudget", "mnist-worker-first-class"): "uid",
        target("PodDisruptionBudget", "other-first-2"): "uid",
    }
    assert dependents_of(replace(job, existing_dependents=around)) == ()


def test_the_budget_of_ranks_protects_the_first_indexes() -> None:
    assert budget(WORKER) == {
        "minAvailable": 2,
        "selector": {
            "matchLabels": {"batch.kubernetes.io/job-name": "mnist-worker"},
            "matchExpressions": [
                {
                    "key": "batch.kubernetes.io/job-completion-index",
                    "operator": "In",
                    "values": ["0", "1"],
                }
            ],
        },
        "unhealthyPodEvictionPolicy": "AlwaysAllow",
    }


def test_the_budget_of_work_items_counts_any_of_them() -> None:
    items = role("worker", 2, 4, indexed=False, resizing=ResizePolicy.ITEMS)
    assert budget(items, "none")["selector"] == {
        "matchLabels": {"batch.kubernetes.io/job-name": "mnist-worker"}
    }


def test_work_items_have_no_addresses() -> None:
    items = role("worker", 2, 4, indexed=False, resizing=ResizePolicy.ITEMS)
    found = manifests(training(items, framework="none", existing_dependents=NOTHING))
    assert [written.kind for written in found] == ["PodDisruptionBudget"]


def _rights(account: str, existing: Mapping[ObjectRef, str] = NOTHING) -> dict[ObjectRef, Any]:
    roles = (role("launcher", account=account), WORKER)
    made = manifests(training(*roles, framework="horovod", existing_dependents=existing))
    return {
        written: manifest
        for written, manifest in made.items()
        if written.kind in ("ServiceAccount", "RoleBinding")
    }


@pytest.mark.parametrize("account", ["", "mnist-launcher"])
def test_a_launcher_may_exec_into_its_workers(account: str) -> None:
    (own, _), (written, binding) = _rights(account).items()
    assert own == target("ServiceAccount", "mnist-launcher")
    assert written == target("RoleBinding", "mnist-launcher")
    assert _rights(account, {own: "uid"}) == {written: binding}
    assert binding["roleRef"] == {
        "apiGroup": "rbac.authorization.k8s.io",
        "kind": "ClusterRole",
        "name": "edl-launcher",
    }
    assert binding["subjects"] == [
        {"kind": "ServiceAccount", "name": "mnist-launcher", "namespace": "lab"}
    ]


@pytest.mark.parametrize("account", ["default", "trainer", "other-launcher"])
def test_an_account_that_the_user_names_gets_no_rights(account: str) -> None:
    assert _rights(account) == {}
    for named in (account, "mnist-launcher"):
        assert _rights(account, {target("ServiceAccount", named): "uid"}) == {}


@pytest.mark.parametrize(
    ("framework", "mode", "names", "account"),
    [
        ("horovod", "", ("launcher", "worker"), "mnist-launcher"),
        ("paddle", "cloud", ("master", "pserver", "trainer"), "mnist-peers"),
    ],
)
def test_a_start_comes_after_the_rights_of_its_pods(
    framework: str, mode: str, names: tuple[str, ...], account: str
) -> None:
    """If the binding is refused, so is the start; an account of another owner gets no rights."""
    roles = (role(name, suspended=True, size=0) for name in names)
    job = training(*roles, framework=framework, mode=mode, existing_dependents=NOTHING)
    own = target("ServiceAccount", account)
    for existing, needs in ({}, own), ({own: "uid"}, None):
        admission = Admission(job.key, tuple((name, 1) for name in names), started(len(names)))
        step = start(replace(job, existing_dependents=existing), admission, NOW)
        binding, *starts = step.writes[-1 - len(names) :]
        assert isinstance(binding, Create)
        assert (binding.target, binding.needs) == (target("RoleBinding", account), needs)
        assert [one.target.kind for one in starts] == ["Job"] * len(names)


def test_a_waiting_job_is_surrounded_already() -> None:
    waiting = (CHIEF.changed(suspended=True), WORKER.changed(suspended=True))
    (step,) = upkeep_of_dependents(training(*waiting, existing_dependents=NOTHING), NOW)
    assert len(step.writes) == 3


def test_an_incomplete_job_waits_for_its_dependents() -> None:
    """Whoever comes last must be an owner too."""
    incomplete = training(CHIEF, missing=("worker",), existing_dependents=NOTHING)
    assert upkeep_of_dependents(incomplete, NOW) == ()


def test_a_role_with_gpus_of_a_class_gets_its_template() -> None:
    found = WORKER.changed(device_template=DeviceTemplate("mnist-gpus-2.gpu.x", "gpu.x", 2))
    name = target("ResourceClaimTemplate", "mnist-gpus-2.gpu.x")
    made = manifests(training(CHIEF, found, existing_dependents=NOTHING))[name]
    assert made["apiVersion"] == "resource.k8s.io/v1"
    assert [owner["name"] for owner in made["metadata"]["ownerReferences"]]
    (request,) = made["spec"]["spec"]["devices"]["requests"]
    assert request["exactly"] == {
        "allocationMode": "ExactCount",
        "deviceClassName": "gpu.x",
        "count": 2,
    }
    assert name not in manifests(training(CHIEF, found, existing_dependents={name: ""}))
