from typing import Any

import pytest

from edl import contract
from edl.convert import convert
from edl.convert.diagnostics import Malformed, path_of
from edl.spec.job_spec import UNLIMITED
from edl.writes import Json
from tests.edl.convert.documents import (
    admitted,
    by_role,
    jobs,
    only,
    paths,
    replica,
    template,
    tfjob,
)

VERSIONS = ("v1alpha2", "v1beta1", "v1beta2", "v1")


def dragon(**spec: Any) -> Json:  # noqa: ANN401 - JSON
    usual: Json = {
        "max-instances": 4,
        "min-instances": 1,
        "cleanPodPolicy": "All",
        "tfReplicaSpecs": {
            "PS": replica("tensorflow", restartPolicy="OnFailure"),
            "Worker": replica("tensorflow", 2, restartPolicy="OnFailure"),
        },
    }
    document = tfjob(**(usual | spec))
    document["metadata"]["annotations"] = {"DRAGON_KUBESHARE": "true"}
    return document


@pytest.mark.parametrize("version", VERSIONS)
def test_workers_alone_become_one_job_of_the_same_name(version: str) -> None:
    job = only(jobs(tfjob(version)))
    assert job["metadata"] == {
        "name": "mnist",
        "namespace": "lab",
        "labels": {contract.FRAMEWORK: "tensorflow"},
    }
    assert job["spec"]["parallelism"] == 1


def test_every_role_becomes_a_job_that_knows_all_roles() -> None:
    roles = {"Chief": None, "PS": 2, "Worker": 3, "Evaluator": 1}
    specs = {name: replica("tensorflow", size) for name, size in roles.items()}
    found = by_role(jobs(tfjob(tfReplicaSpecs=specs)))
    assert list(found) == ["chief", "ps", "worker", "evaluator"]
    for role, job in found.items():
        assert job["metadata"]["name"] == f"mnist-{role}"
        assert job["metadata"]["labels"][contract.JOB] == "mnist"
        assert job["metadata"]["annotations"][contract.ROLES] == "chief=1,ps=2,worker=3,evaluator=1"
    assert [job["spec"]["parallelism"] for job in found.values()] == [1, 2, 3, 1]


@pytest.mark.parametrize("name", ["Master", "Chief", "CHIEF", "master"])
def test_a_master_is_a_chief_in_any_case(name: str) -> None:
    assert list(by_role(jobs(tfjob(tfReplicaSpecs={name: replica("tensorflow")})))) == ["chief"]


def test_dragons_bounds_are_the_workers() -> None:
    found = jobs(dragon())
    worker = by_role(found)["worker"]
    assert worker["metadata"]["labels"][contract.MIN] == "1"
    assert worker["metadata"]["labels"][contract.MAX] == "4"
    assert worker["metadata"]["annotations"] == {
        contract.ROLES: "ps=1,worker=1..4",
        contract.CLEAN_UP: "All",
    }
    assert worker["spec"]["parallelism"] == 2
    assert found.dropped == ()


def test_dragons_shares_are_the_contracts() -> None:
    worker = replica("tensorflow", 2)
    worker["template"]["metadata"] = {
        "annotations": {
            "kubeshare/gpu_request": "0.5",
            "kubeshare/gpu_limit": "1.0",
            "kubeshare/gpu_mem": "3189243904",
            "team": "vision",
        }
    }
    found = jobs(dragon(tfReplicaSpecs={"PS": replica("tensorflow"), "Worker": worker}))
    job = by_role(found)["worker"]
    assert job["metadata"]["labels"][contract.GPU] == "0.5"
    assert job["metadata"]["labels"][contract.GPU_MEMORY] == "3189243904"
    assert job["metadata"]["annotations"][contract.GPU_LIMIT] == "1.0"
    assert job["spec"]["template"]["metadata"] == {"annotations": {"team": "vision"}}
    labels = admitted(job)["spec"]["template"]["metadata"]["labels"]
    assert labels["sharedgpu/gpu_request"] == "0.5"
    assert labels["sharedgpu/gpu_limit"] == "1.0"
    assert labels["sharedgpu/gpu_mem"] == "3189243904"


def test_a_share_that_the_contract_cannot_say_stays_in_kubeshares_words() -> None:
    notes = {"kubeshare/gpu_request": "1.0", "kubeshare/gpu_limit": "1.0"}
    worker = replica("tensorflow")
    worker["template"]["metadata"] = {"annotations": notes}
    job = only(jobs(tfjob(tfReplicaSpecs={"Worker": worker})))
    assert job["spec"]["template"]["metadata"]["annotations"] == notes
    assert contract.GPU not in job["metadata"]["labels"]


def test_a_least_of_none_is_one_and_said_to_be() -> None:
    found = jobs(dragon(**{"min-instances": 0}))
    assert by_role(found)["worker"]["metadata"]["labels"][contract.MIN] == "1"
    assert paths(found) == ["spec.min-instances"]


def test_a_beginning_outside_the_bounds_is_moved_into_them() -> None:
    found = jobs(dragon(**{"max-instances": 1}))
    assert by_role(found)["worker"]["spec"]["parallelism"] == 1
    assert any("2 is outside 1..1" in str(note) for note in found.notes)
    assert found.dropped == ()


def test_bounds_without_a_worker_bound_nothing() -> None:
    found = jobs(dragon(tfReplicaSpecs={"Chief": replica("tensorflow")}))
    assert paths(found) == ["spec.min-instances", "spec.max-instances"]


def test_bounds_the_wrong_way_round_are_refused() -> None:
    with pytest.raises(Malformed, match="at least 5 and at most 4"):
        convert(dragon(**{"min-instances": 5}))


def test_run_policies_are_read_in_both_places() -> None:
    policy: Json = {
        "activeDeadlineSeconds": 60,
        "ttlSecondsAfterFinished": 5,
        "cleanPodPolicy": "None",
    }
    within = only(jobs(tfjob(runPolicy=policy)))
    assert only(jobs(tfjob(**policy))) == within
    assert within["spec"]["activeDeadlineSeconds"] == 60
    assert within["spec"]["ttlSecondsAfterFinished"] == 5
    assert within["metadata"]["annotations"] == {contract.CLEAN_UP: "None"}


def test_the_run_policy_wins_over_the_spec() -> None:
    found = jobs(tfjob(runPolicy={"activeDeadlineSeconds": 60}, activeDeadlineSeconds=9))
    assert only(found)["spec"]["activeDeadlineSeconds"] == 60
    assert paths(found) == ["spec.activeDeadlineSeconds"]


def test_a_suspended_job_is_paused() -> None:
    job = only(jobs(tfjob(runPolicy={"suspend": True})))
    assert job["metadata"]["annotations"] == {contract.PAUSED: "true"}


def test_a_gangs_priority_is_its_pods() -> None:
    policy = {
        "schedulingPolicy": {
            "priorityClass": "high",
            "minAvailable": 2,
            "queue": "gpu",
            "minResources": {"cpu": "1"},
            "scheduleTimeoutSeconds": 3,
        }
    }
    found = jobs(tfjob(runPolicy=policy))
    assert only(found)["spec"]["template"]["spec"]["priorityClassName"] == "high"
    at = "spec.runPolicy.schedulingPolicy"
    assert paths(found) == [
        f"{at}.minAvailable",
        f"{at}.minResources",
        f"{at}.scheduleTimeoutSeconds",
        f"{at}.queue",
    ]


def test_a_gang_may_be_said_in_the_spec_itself() -> None:
    found = jobs(tfjob(schedulingPolicy={"priorityClass": "high"}))
    assert only(found)["spec"]["template"]["spec"]["priorityClassName"] == "high"


def test_without_a_limit_failures_are_retried_for_ever() -> None:
    worker = {"Worker": replica("tensorflow", restartPolicy="OnFailure")}
    spec = only(jobs(tfjob(tfReplicaSpecs=worker)))["spec"]
    assert spec["backoffLimit"] == UNLIMITED
    assert spec["template"]["spec"]["restartPolicy"] == "OnFailure"
    assert only(jobs(tfjob(tfReplicaSpecs=worker, backoffLimit=3)))["spec"]["backoffLimit"] == 3


def test_a_limit_that_counts_differently_is_pointed_out() -> None:
    specs = {
        "PS": replica("tensorflow", restartPolicy="Never"),
        "Worker": replica("tensorflow", restartPolicy="OnFailure"),
    }
    found = jobs(tfjob(tfReplicaSpecs=specs, backoffLimit=3))
    assert found.dropped == ()
    assert [str(note) for note in found.notes] == [
        "spec: backoffLimit 3 never counted under restartPolicy Never: a failure is final",
        "spec: backoffLimit 3 was of all replicas together, and is each role's here",
    ]
    assert jobs(tfjob(tfReplicaSpecs=specs)).notes == ()


@pytest.mark.parametrize(("limit", "stored", "notes"), [(5, 5, 0), (6, 12, 1), (7, 7, 0)])
def test_a_limit_that_kubernetes_has_by_default_is_noted(
    limit: int, stored: int, notes: int
) -> None:
    workers = {"Worker": replica("tensorflow", 2, restartPolicy="OnFailure")}
    found = jobs(tfjob(tfReplicaSpecs=workers, runPolicy={"backoffLimit": limit}))
    assert admitted(only(found))["spec"]["backoffLimit"] == stored
    assert len(found.notes) == notes


def test_never_fails_the_job_at_once_unless_the_pod_was_disturbed() -> None:
    spec = only(jobs(tfjob()))["spec"]
    assert spec["backoffLimit"] == 0
    assert spec["template"]["spec"]["restartPolicy"] == "Never"
    (rule,) = spec["podFailurePolicy"]["rules"]
    assert (rule["action"], rule["onPodConditions"][0]["type"]) == ("Ignore", "DisruptionTarget")


def test_exit_codes_below_128_fail_the_job() -> None:
    worker = {"Worker": replica("tensorflow", restartPolicy="ExitCode")}
    found = jobs(tfjob(tfReplicaSpecs=worker))
    spec = only(found)["spec"]
    rule = spec["podFailurePolicy"]["rules"][1]
    assert rule["action"] == "FailJob"
    assert rule["onExitCodes"] == {
        "containerName": "tensorflow",
        "operator": "In",
        "values": list(range(1, 128)),
    }
    assert spec["backoffLimit"] == UNLIMITED
    assert found.dropped == ()


@pytest.mark.parametrize(("role", "lost"), [("PS", False), ("Worker", True)])
def test_always_is_lost_where_a_replica_can_end_well(role: str, *, lost: bool) -> None:
    specs = {"PS": replica("tensorflow"), "Worker": replica("tensorflow")}
    specs[role]["restartPolicy"] = "Always"
    found = jobs(tfjob(tfReplicaSpecs=specs))
    assert paths(found) == [f"spec.tfReplicaSpecs.{role}.restartPolicy"] * lost
    job = by_role(found)[role.lower()]
    assert job["spec"]["template"]["spec"]["restartPolicy"] == "OnFailure"


def test_a_templates_restart_policy_never_counted() -> None:
    worker = replica("tensorflow")
    worker["template"]["spec"]["restartPolicy"] = "Always"
    found = jobs(tfjob(tfReplicaSpecs={"Worker": worker}))
    assert only(found)["spec"]["template"]["spec"]["restartPolicy"] == "Never"
    assert found.dropped == ()
    assert any("never counted: Never wins" in str(note) for note in found.notes)


def test_all_workers_must_succeed_where_the_source_says_so() -> None:
    worker = {"Worker": replica("tensorflow", 3)}
    job = only(jobs(tfjob(tfReplicaSpecs=worker, successPolicy="AllWorkers")))
    assert job["spec"]["successPolicy"] == {"rules": [{"succeededCount": 3}]}
    assert admitted(job)["spec"]["successPolicy"] == {"rules": [{"succeededCount": 3}]}


def test_all_workers_of_a_changing_number_cannot_be_said() -> None:
    found = jobs(dragon(successPolicy="AllWorkers"))
    assert paths(found) == ["spec.successPolicy"]


def test_all_workers_never_counted_beside_a_chief() -> None:
    specs = {"Chief": replica("tensorflow"), "Worker": replica("tensorflow", 2)}
    found = jobs(tfjob(tfReplicaSpecs=specs, successPolicy="AllWorkers"))
    assert "successPolicy" not in by_role(found)["worker"]["spec"]
    assert found.dropped == ()


def test_the_port_of_the_containers_is_the_clusters() -> None:
    worker = replica("tensorflow")
    ports = [{"name": "tfjob-port", "containerPort": 3333}]
    worker["template"] = template("tensorflow", ports=ports)
    job = only(jobs(tfjob(tfReplicaSpecs={"Worker": worker})))
    assert job["metadata"]["annotations"] == {contract.PORT: "3333"}
    assert job["spec"]["template"]["spec"]["containers"][0]["ports"] == ports


def test_two_ports_cannot_both_be_the_clusters() -> None:
    specs = {name: replica("tensorflow") for name in ("PS", "Worker")}
    for name, port in (("PS", 2222), ("Worker", 3333)):
        ports = [{"name": "tfjob-port", "containerPort": port}]
        specs[name]["template"] = template("tensorflow", ports=ports)
    assert paths(jobs(tfjob(tfReplicaSpecs=specs))) == ["spec.tfReplicaSpecs.Worker.template"]


def test_a_role_of_no_replicas_is_dropped() -> None:
    specs = {"Chief": replica("tensorflow"), "Worker": replica("tensorflow", 0)}
    found = jobs(tfjob(tfReplicaSpecs=specs))
    assert list(by_role(found)) == ["chief"]
    assert paths(found) == ["spec.tfReplicaSpecs.Worker"]


def test_what_kubectl_get_prints_is_left_out_without_being_lost() -> None:
    document = tfjob() | {"status": {"conditions": []}}
    document["metadata"] |= {
        "uid": "1",
        "resourceVersion": "2",
        "generation": 3,
        "creationTimestamp": "2020-01-01T00:00:00Z",
        "managedFields": [{}],
        "labels": {"team": "vision"},
        "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"},
    }
    found = jobs(document)
    assert found.dropped == ()
    assert len(found.notes) == 3
    assert only(found)["metadata"] == {
        "name": "mnist",
        "namespace": "lab",
        "labels": {"team": "vision", contract.FRAMEWORK: "tensorflow"},
    }


def test_another_queues_label_is_dropped() -> None:
    document = tfjob()
    document["metadata"]["labels"] = {contract.KUEUE_QUEUE: "gpu"}
    assert paths(jobs(document)) == [f"metadata.labels[{contract.KUEUE_QUEUE}]"]


@pytest.mark.parametrize(("label", "noted"), [(contract.KUEUE_QUEUE, 1), ("team", 0)])
def test_a_pause_that_kueue_may_have_made_is_noted(label: str, noted: int) -> None:
    document = tfjob(runPolicy={"suspend": True})
    document["metadata"]["labels"] = {label: "gpu"}
    found = jobs(document)
    assert only(found)["metadata"]["annotations"][contract.PAUSED] == "true"
    assert [path_of(note.place) for note in found.notes] == ["spec.runPolicy.suspend"] * noted


@pytest.mark.parametrize(
    ("roles", "more", "noted"),
    [
        ({"Worker": 3}, {}, 1),
        ({"Worker": 1}, {}, 0),
        ({"Worker": 3}, {"successPolicy": "AllWorkers"}, 0),
        ({"Worker": 3, "Chief": 1}, {}, 0),
    ],
)
def test_pods_that_end_with_their_own_job_are_noted(
    roles: dict[str, int], more: Json, noted: int
) -> None:
    specs = {name: replica("tensorflow", size) for name, size in roles.items()}
    found = jobs(tfjob(tfReplicaSpecs=specs, runPolicy={"cleanPodPolicy": "None"}, **more))
    assert sum(note.what.startswith("cleanPodPolicy: None keeps") for note in found.notes) == noted


def test_every_reason_against_it_is_told_at_once() -> None:
    specs = {
        "Worker": replica("tensorflow", replicas=-1, restartPolicy="Sometimes"),
        "Gpu": replica("tensorflow"),
        "Chief": {"replicas": "two"},
    }
    with pytest.raises(Malformed) as caught:
        convert(tfjob(tfReplicaSpecs=specs, runPolicy={"backoffLimit": True}))
    assert [str(remark) for remark in caught.value.remarks] == [
        "spec.runPolicy.backoffLimit: True; a whole number from 0",
        "spec.tfReplicaSpecs.Worker.replicas: -1; a whole number from 0",
        (
            'spec.tfReplicaSpecs.Worker.restartPolicy: unknown "Sometimes"; '
            "one of Always, OnFailure, Never, ExitCode"
        ),
        'spec.tfReplicaSpecs.Gpu: "Gpu" is not a role; one of chief, master, worker, ps, evaluator',
        'spec.tfReplicaSpecs.Chief.replicas: "two"; a whole number',
        (
            "spec.tfReplicaSpecs.Chief.template: has no containers; "
            "a pod template: spec.containers with one at least"
        ),
    ]


def test_what_the_webhook_would_refuse_is_refused_here() -> None:
    with pytest.raises(Malformed, match=r"as Job mnist-chief: .*tensorflow has exactly one"):
        convert(tfjob(tfReplicaSpecs={"Chief": replica("tensorflow", 2), "PS": replica("x")}))


def test_two_chiefs_are_refused() -> None:
    specs = {name: replica("tensorflow") for name in ("Chief", "Master")}
    with pytest.raises(Malformed, match="two roles are a chief"):
        convert(tfjob(tfReplicaSpecs=specs))


def test_an_unknown_version_stays_as_it_is() -> None:
    document = tfjob("v7")
    found = convert(document)
    assert found is not None
    assert found.manifests == (document,)
    assert [str(remark) for remark in found.dropped] == [
        (
            "apiVersion: unknown version v7: left as it is; known: kubeflow.org/v1alpha2, "
            "kubeflow.org/v1beta1, kubeflow.org/v1beta2, kubeflow.org/v1"
        )
    ]


def test_a_host_that_the_user_wrote_himself_is_pointed_out() -> None:
    args = ["--ps=mnist-ps-0:2222,mnist-ps-1.lab.svc", "--logs=/mnist-worker", "mnist-ps-0.mnist"]
    worker = replica("tensorflow")
    worker["template"] = template("tensorflow", args=args)
    found = jobs(tfjob(tfReplicaSpecs={"Worker": worker}))
    assert found.dropped == ()
    said = [note.what for note in found.notes]
    assert [text.split('"')[1] for text in said] == ["mnist-ps-0", "mnist-ps-1"]


def test_the_pods_own_priority_wins_over_the_gangs() -> None:
    worker = replica("tensorflow")
    worker["template"]["spec"]["priorityClassName"] = "low"
    policy = {"schedulingPolicy": {"priorityClass": "high"}}
    found = jobs(tfjob(tfReplicaSpecs={"Worker": worker}, runPolicy=policy))
    assert only(found)["spec"]["template"]["spec"]["priorityClassName"] == "low"
    assert 'priorityClassName "low" of the template wins over "high"' in str(found.notes[0])


def test_dynamic_workers_get_the_sparse_map_where_there_are_servers() -> None:
    specs = {"PS": replica("tensorflow"), "Worker": replica("tensorflow", 2)}
    found = jobs(tfjob(tfReplicaSpecs=specs, enableDynamicWorker=True))
    assert by_role(found)["worker"]["metadata"]["annotations"][contract.MODE] == "sparse"
    assert paths(jobs(tfjob(enableDynamicWorker=True))) == ["spec.enableDynamicWorker"]


@pytest.mark.parametrize(
    "status",
    [
        {
            "conditions": [
                {"type": "Created", "status": "True"},
                {"type": "Failed", "status": "True"},
            ]
        },
        {"phase": "Done"},
        {"state": "Succeeded"},
    ],
)
def test_a_job_that_has_ended_would_begin_anew(status: Json) -> None:
    found = jobs(tfjob() | {"status": status})
    assert found.dropped == ()
    assert "it has ended" in str(found.notes[0])


@pytest.mark.parametrize(
    "status", [{"conditions": [{"type": "Succeeded", "status": "False"}]}, {"conditions": "x"}]
)
def test_a_job_that_runs_has_not_ended(status: Json) -> None:
    (note,) = jobs(tfjob() | {"status": status}).notes
    assert "ended" not in str(note)
