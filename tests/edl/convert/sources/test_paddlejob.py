from typing import Any

import pytest

from edl import contract
from edl.convert import convert
from edl.convert.diagnostics import Malformed
from edl.spec.job_spec import UNLIMITED
from edl.writes import Json
from tests.edl.convert.documents import admitted, by_role, jobs, paths

CPU = {"limits": {"cpu": "2"}, "requests": {"cpu": "1"}}


def paddlejob(trainer: Json | None = None, pserver: Json | None = None, **spec: object) -> Json:
    return {
        "apiVersion": "paddlepaddle.org/v1",
        "kind": "TrainingJob",
        "metadata": {"name": "ctr"},
        "spec": {
            "image": "paddle:v1",
            "trainer": {"min-instance": 2, "max-instance": 2, "resources": CPU} | (trainer or {}),
            "pserver": {"min-instance": 2, "max-instance": 2, "resources": CPU} | (pserver or {}),
        }
        | spec,
    }


def elastic(**spec: Any) -> Json:  # noqa: ANN401 - JSON
    return paddlejob({"max-instance": 30}, fault_tolerant=True, **spec)


def pod(job: Json) -> Json:
    found: Json = job["spec"]["template"]["spec"]
    return found


def admitted_container(job: Json) -> Json:
    found: Json = pod(admitted(job))["containers"][0]
    return found


def test_it_was_also_called_a_paddlejob() -> None:
    assert jobs(paddlejob() | {"kind": "PaddleJob"}) == jobs(paddlejob())


def test_without_fault_tolerance_there_is_no_master() -> None:
    found = by_role(jobs(paddlejob()))
    assert list(found) == ["pserver", "trainer"]
    assert found["trainer"]["metadata"]["annotations"] == {
        contract.ROLES: "pserver=2,trainer=2",
        contract.MODE: "cloud",
    }


def test_a_tolerant_job_has_a_master_and_bounds() -> None:
    found = by_role(jobs(elastic()))
    assert list(found) == ["master", "pserver", "trainer"]
    annotations = found["trainer"]["metadata"]["annotations"]
    assert annotations[contract.ROLES] == "master=1,pserver=2,trainer=2..30"
    assert found["trainer"]["spec"]["parallelism"] == 2


def test_in_fluids_days_bounds_and_a_master_were_enough() -> None:
    found = jobs(paddlejob({"max-instance": 6}, master={"resources": CPU}))
    assert list(by_role(found)) == ["master", "pserver", "trainer"]
    assert found.dropped == ()
    assert ["it is fault_tolerant here" in str(note) for note in found.notes] == [True]
    assert jobs(elastic(master={"resources": CPU})).notes == ()


def test_a_master_that_was_never_made_is_named() -> None:
    found = jobs(paddlejob(fault_tolerant=False, master={"resources": CPU}))
    assert list(by_role(found)) == ["pserver", "trainer"]
    assert paths(found) == ["spec.master.resources"]


def test_pods_are_made_as_the_controller_made_them() -> None:
    volumes = [{"name": "data", "hostPath": {"path": "/data"}}]
    mounts = [{"name": "data", "mountPath": "/data"}]
    found = by_role(jobs(elastic(volumes=volumes, VolumeMounts=mounts, host_network=True)))
    trainer = {
        "name": "trainer",
        "image": "paddle:v1",
        "imagePullPolicy": "Always",
        "resources": CPU,
        "volumeMounts": mounts,
    }
    assert pod(found["trainer"]) == {
        "restartPolicy": "Never",
        "hostNetwork": True,
        "volumes": volumes,
        "containers": [trainer],
    }
    assert pod(found["pserver"])["containers"] == [
        {"name": "pserver", "image": "paddle:v1", "resources": CPU}
    ]
    assert pod(found["master"])["containers"][0]["resources"]["limits"] == {
        "cpu": "2",
        "memory": "1Gi",
    }
    assert found["pserver"]["spec"]["backoffLimit"] == UNLIMITED
    assert "backoffLimit" not in found["trainer"]["spec"]


def test_its_settings_reach_the_variables_of_its_days() -> None:
    document = paddlejob(
        {"entrypoint": "python train.py", "workspace": "/job", "passes": 7},
        port=7000,
        ports_num=2,
        ports_num_for_sparse=3,
    )
    job = admitted(by_role(jobs(document))["trainer"])
    env = {
        entry["name"]: entry.get("value")
        for entry in job["spec"]["template"]["spec"]["containers"][0]["env"]
    }
    assert env["ENTRY"] == env["TOPOLOGY"] == "python train.py"
    assert env["TRAINER_PACKAGE"] == "/job"
    assert env["PADDLE_INIT_PORT"] == "7000"
    assert env["PADDLE_INIT_PORTS_NUM"] == "2"
    assert env["PADDLE_INIT_PORTS_NUM_FOR_SPARSE"] == "3"
    assert env["PADDLE_INIT_NUM_PASSES"] == "7"


def test_the_words_of_later_versions_are_a_pods() -> None:
    words = {
        "envs": {"A": "b"},
        "grace_period_seconds": 5,
        "pre_stop_cmd": ["sh", "-c", "leave"],
        "tolerations": [{"key": "gpu"}],
        "node_selector": {"disk": "ssd"},
        "imagePullSecrets": [{"name": "key"}],
        "liveness_probe": {"tcpSocket": {"port": 1}},
        "readiness_probe": {"tcpSocket": {"port": 2}},
        "index_succeed": True,
    }
    found = jobs(paddlejob(words))
    assert found.dropped == ()
    made = pod(by_role(found)["trainer"])
    assert made["terminationGracePeriodSeconds"] == 5
    assert made["tolerations"] == [{"key": "gpu"}]
    assert made["nodeSelector"] == {"disk": "ssd"}
    assert made["imagePullSecrets"] == [{"name": "key"}]
    (container,) = made["containers"]
    assert container["env"] == [{"name": "A", "value": "b"}]
    assert container["lifecycle"]["preStop"]["exec"]["command"] == ["sh", "-c", "leave"]
    assert container["livenessProbe"] == {"tcpSocket": {"port": 1}}
    assert container["readinessProbe"] == {"tcpSocket": {"port": 2}}


def test_edls_node_selector_is_that_of_all_pods() -> None:
    found = jobs(elastic(NodeSelector={"disk": "ssd"}, master={"node_selector": {"zone": "a"}}))
    assert found.dropped == ()
    assert {role: pod(job)["nodeSelector"] for role, job in by_role(found).items()} == {
        "master": {"disk": "ssd", "zone": "a"},
        "pserver": {"disk": "ssd"},
        "trainer": {"disk": "ssd"},
    }


def test_empty_values_of_a_typed_client_lose_nothing() -> None:
    found = jobs(elastic(master={"etcd-endpoint": "", "resources": CPU}))
    assert found.dropped == ()
    unset: Json = {"is_nccl": False, "local_job": False, "trainer_port": 0, "matrix": False}
    document = paddlejob({"etcd-endpoint": ""}, mountpath="", annotations={}, **unset)
    assert jobs(document).dropped == ()


def test_no_grace_at_all_is_said() -> None:
    found = by_role(jobs(paddlejob({"grace_period_seconds": 0})))
    assert pod(found["trainer"])["terminationGracePeriodSeconds"] == 0


@pytest.mark.parametrize(
    ("pserver", "spec"),
    [
        ({"entrypoint": "python  ps.py"}, {}),
        (None, {"schedulerName": "kube-batchd"}),
        (None, {"matrix": False}),
        (None, {"apiVersion": "paddlepaddle.org/v1alpha1"}),
    ],
)
def test_an_entrypoint_of_baidus_operator_is_the_command(pserver: Json | None, spec: Json) -> None:
    version = {"apiVersion": spec.pop("apiVersion", "paddlepaddle.org/v1")}
    document = paddlejob({"entrypoint": "python a.py"}, pserver, **spec) | version
    found = by_role(jobs(document))
    assert admitted_container(found["trainer"])["command"] == ["python", "a.py"]
    words = ["python", "", "ps.py"] if pserver else ["paddle_k8s", "start_pserver"]
    assert admitted_container(found["pserver"])["command"] == words


def test_an_entrypoint_of_edl_is_what_paddle_k8s_runs() -> None:
    trainer = admitted_container(
        by_role(jobs(paddlejob({"entrypoint": "python a.py"}, imagePullSecrets=[])))["trainer"]
    )
    assert trainer["command"] == ["paddle_k8s", "start_trainer", "v2"]


@pytest.mark.parametrize("version", ["v1", "v1alpha1"])
def test_an_entrypoint_of_a_master_is_reported(version: str) -> None:
    """No controller had one: the master's command is its own."""
    document = elastic(master={"entrypoint": "python master.py"})
    found = jobs(document | {"apiVersion": f"paddlepaddle.org/{version}"})
    assert paths(found) == ["spec.master.entrypoint"]
    assert admitted_container(by_role(found)["master"])["command"] == ["paddle_k8s", "start_master"]


@pytest.mark.parametrize("pserver", [None, {"min-instance": 0, "max-instance": 0}])
def test_a_pserver_that_was_not_asked_for_is_reported(pserver: Json | None) -> None:
    document = paddlejob(pserver=pserver)
    if pserver is None:
        del document["spec"]["pserver"]
    found = jobs(document)
    assert by_role(found)["pserver"]["spec"]["parallelism"] == 1
    assert found.dropped == ()
    assert ["spec.pserver: there was none" in str(note) for note in found.notes] == [True]


def test_what_has_no_place_here_is_named() -> None:
    found = jobs(
        paddlejob(
            {"etcd-endpoint": "http://etcd:2379"},
            {"max-instance": 5},
            podGroupName="gang",
            annotations={"priority": "high"},
            matrix=True,
        )
    )
    assert paths(found) == [
        "spec.pserver.max-instance",
        "spec.trainer.etcd-endpoint",
        "spec.podGroupName",
        "spec.annotations",
        "spec.matrix",
    ]


def test_a_gpus_old_name_is_todays() -> None:
    resources = {"limits": {"alpha.kubernetes.io/nvidia-gpu": 4}}
    found = jobs(paddlejob({"resources": resources}))
    container = pod(by_role(found)["trainer"])["containers"][0]
    assert container["resources"] == {"limits": {contract.GPU_RESOURCE: 4}}
    assert found.dropped == ()


@pytest.mark.parametrize(
    ("trainer", "said"),
    [
        ({"min-instance": 3}, "at least 3 and at most 2"),
        ({"resources": "big"}, "spec.trainer.resources: 'big' is not an object"),
        ({"tolerations": {}}, "spec.trainer.tolerations: {} is not a list"),
    ],
)
def test_what_cannot_be_read_is_refused(trainer: Json, said: str) -> None:
    with pytest.raises(Malformed, match=said):
        convert(paddlejob(trainer))


def test_passes_that_stand_in_two_places_and_differ_are_named() -> None:
    def dropped(trainer: int) -> list[str]:
        return paths(jobs(paddlejob({"passes": trainer}, passes=2)))

    assert dropped(2) == []
    assert dropped(5) == ["spec.trainer.passes"]
