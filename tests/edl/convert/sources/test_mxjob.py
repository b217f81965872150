from typing import Any

import pytest

from edl import contract
from edl.convert import convert
from edl.convert.diagnostics import Malformed, path_of
from edl.writes import Json
from tests.edl.convert.documents import admitted, by_role, jobs, paths, replica, template

MAPS = ("kubeflow.org/v1alpha2", "kubeflow.org/v1beta1", "kubeflow.org/v1")
LISTS = (
    ("kubeflow.org/v1alpha1", "MXJob"),
    ("mlkube.io/v1beta1", "MxJob"),
    ("mxnet.mlkube.io/v1beta1", "MxJob"),
)
QINIU = ("qiniu.com/v1alpha1", "ava.qiniu.com/v1alpha1")
DIST = {"scheduler": 1, "server": 2, "worker": 3}
TUNE = ("TunerTracker", "TunerServer", "Tuner")


def mxjob(api: str, kind: str = "MXJob", **spec: object) -> Json:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": "mx"}, "spec": spec}


def mapped(api: str = "kubeflow.org/v1", **spec: Any) -> Json:  # noqa: ANN401 - JSON
    specs = {name.title(): replica("mxnet", size) for name, size in DIST.items()}
    return mxjob(api, **{"jobMode": "MXTrain", "mxReplicaSpecs": specs} | spec)


def listed(api: str, kind: str, **spec: Any) -> Json:  # noqa: ANN401 - JSON
    specs = [{"mxReplicaType": name.upper()} | older(size) for name, size in DIST.items()]
    return mxjob(api, kind, **{"jobMode": "dist", "replicaSpecs": specs} | spec)


def older(size: int, policy: str = "OnFailure") -> Json:
    found = replica("mxnet", size)
    found["template"]["spec"]["restartPolicy"] = policy
    return found


def tuned(api: str = "kubeflow.org/v1", **server: object) -> Json:
    specs = {name: replica("mxnet") for name in TUNE}
    specs["TunerServer"] |= server
    return mxjob(api, jobMode="MXTune", mxReplicaSpecs=specs)


def env(job: Json) -> dict[str, str]:
    container = admitted(job)["spec"]["template"]["spec"]["containers"][0]
    return {entry["name"]: entry.get("value", "") for entry in container["env"]}


def test_a_port_in_the_env_that_differs_from_the_schedulers_is_reported() -> None:
    def notes(value: Json, **spec: Any) -> list[bool]:  # noqa: ANN401 - JSON
        document = mapped(**spec)
        for one in document["spec"]["mxReplicaSpecs"].values():
            one["template"] = template("mxnet", env=[{"name": "DMLC_PS_ROOT_PORT"} | value])
        return ["MX_CONFIG has the port 9091" in str(note) for note in jobs(document).notes]

    assert notes({"value": "9300"}) == [True] * 3
    assert notes({"value": "9091"}) == []
    assert notes({"valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}) == []
    alone = {"Worker": replica("mxnet")}
    assert notes({"value": "9300"}, jobMode="local", mxReplicaSpecs=alone) == []


@pytest.mark.parametrize("api", MAPS)
def test_a_map_of_replicas_is_the_listed_roles(api: str) -> None:
    assert_roles(mapped(api))


@pytest.mark.parametrize(("api", "kind"), LISTS)
def test_a_list_of_replicas_is_the_listed_roles(api: str, kind: str) -> None:
    assert_roles(listed(api, kind))


@pytest.mark.parametrize("api", QINIU)
def test_a_map_under_the_lists_name_is_the_listed_roles(api: str) -> None:
    assert_roles(mxjob(api, replicaSpecs={name: older(size) for name, size in DIST.items()}))


def assert_roles(document: Json) -> None:
    found = jobs(document)
    assert found.dropped == ()
    all_roles = by_role(found)
    assert {role: job["spec"]["parallelism"] for role, job in all_roles.items()} == DIST
    worker = all_roles["worker"]
    assert worker["metadata"]["annotations"][contract.ROLES] == "scheduler=1,server=2,worker=3"
    assert contract.MODE not in worker["metadata"]["annotations"]
    assert env(worker)["DMLC_NUM_SERVER"] == "2"


def test_the_policy_of_a_list_stands_in_its_templates() -> None:
    found = by_role(jobs(listed(*LISTS[0])))
    assert found["worker"]["spec"]["template"]["spec"]["restartPolicy"] == "OnFailure"
    newer = by_role(jobs(mapped()))
    assert newer["worker"]["spec"]["template"]["spec"]["restartPolicy"] == "Never"


def test_the_port_is_said_at_a_replica_or_by_a_container() -> None:
    document = listed(*LISTS[0])
    document["spec"]["replicaSpecs"][0]["PsRootPort"] = 9000
    assert by_role(jobs(document))["worker"]["metadata"]["annotations"][contract.PORT] == "9000"
    specs = {name.title(): replica("mxnet", size) for name, size in DIST.items()}
    ports = [{"name": "mxjob-port", "containerPort": 9100}]
    specs["Scheduler"]["template"] = template("mxnet", ports=ports)
    found = by_role(jobs(mapped(mxReplicaSpecs=specs)))
    assert found["worker"]["metadata"]["annotations"][contract.PORT] == "9100"


def test_a_local_job_is_one_worker() -> None:
    document = listed(*LISTS[1], jobMode="local", replicaSpecs=[older(1)])
    (job,) = jobs(document).manifests
    assert job["metadata"]["labels"] == {contract.FRAMEWORK: "mxnet"}


def test_old_names_of_policies_still_count() -> None:
    found = by_role(jobs(listed(*LISTS[0], cleanupPodPolicy="All", schedulerName="gang")))
    assert found["worker"]["metadata"]["annotations"][contract.CLEAN_UP] == "All"
    assert found["worker"]["spec"]["template"]["spec"]["schedulerName"] == "gang"


def test_what_the_operators_alone_understood_is_named() -> None:
    spec: Json = {
        "RuntimeId": "ab12",
        "mxImage": "mxjob/mxnet:gpu",
        "terminationPolicy": {"chief": {"replicaName": "WORKER", "replicaIndex": 0}},
        "startWebhook": {"name": "x"},
        "schedulingSpec": {"minAvailable": 2},
    }
    found = jobs(listed(*LISTS[0], **spec))
    assert paths(found) == [
        "spec.mxImage",
        "spec.startWebhook",
        "spec.schedulingSpec",
        "spec.terminationPolicy.chief.replicaName",
    ]
    assert [path_of(note.place) for note in found.notes] == ["spec.RuntimeId"]


def test_the_scheduler_may_be_named_as_the_chief() -> None:
    policy = {"chief": {"replicaName": "SCHEDULER", "replicaIndex": 0}}
    assert jobs(listed(*LISTS[0], terminationPolicy=policy)).dropped == ()


def test_ps_lites_log_level_is_its_variable() -> None:
    specs = {name: older(size) for name, size in DIST.items()}
    specs["scheduler"]["psVerbose"] = 2
    found = by_role(jobs(mxjob(QINIU[1], replicaSpecs=specs)))
    assert env(found["scheduler"])["PS_VERBOSE"] == "2"
    assert "PS_VERBOSE" not in env(found["worker"])


@pytest.mark.parametrize("way", ["label", "tunerSpec", "annotation"])
def test_every_pod_gets_the_key_of_the_tuner_servers(way: str) -> None:
    said: Json = {"label": {"label": "2080ti"}, "tunerSpec": {}, "annotation": {}}[way]
    document = tuned(**said)
    specs = document["spec"]["mxReplicaSpecs"]
    if way == "tunerSpec":
        specs["Tuner"]["tunerSpec"] = {"tunerServerKey": "2080ti"}
    if way == "annotation":
        metadata = {"annotations": {contract.TUNER_SERVER_KEY: "2080ti"}}
        specs["TunerServer"]["template"] |= {"metadata": metadata}
    found = jobs(document)
    assert found.dropped == ()
    for job in found.manifests:
        annotations = job["spec"]["template"]["metadata"]["annotations"]
        assert annotations[contract.TUNER_SERVER_KEY] == "2080ti"


def test_servers_that_the_tuner_asked_for_are_to_be_written_out() -> None:
    document = tuned("kubeflow.org/v1alpha2")
    spec = {"tunerServerReplicas": 2, "tunerServerGPU": True}
    document["spec"]["mxReplicaSpecs"]["Tuner"]["tunerSpec"] = spec
    at = "spec.mxReplicaSpecs.Tuner.tunerSpec"
    assert paths(jobs(document)) == [f"{at}.tunerServerReplicas", f"{at}.tunerServerGPU"]


def test_the_old_name_of_a_gpu_is_todays() -> None:
    specs = [older(1)]
    limits = {"limits": {"alpha.kubernetes.io/nvidia-gpu": 1}}
    specs[0]["template"]["spec"]["containers"][0]["resources"] = limits
    found = jobs(listed(*LISTS[1], jobMode="local", replicaSpecs=specs))
    container = found.manifests[0]["spec"]["template"]["spec"]["containers"][0]
    assert container["resources"] == {"limits": {contract.GPU_RESOURCE: 1}}
    assert found.dropped == ()


@pytest.mark.parametrize(
    ("document", "said"),
    [
        (mxjob("kubeflow.org/v1", jobMode="MXTrain"), "spec: has no replicas"),
        (mxjob("kubeflow.org/v1alpha1", replicaSpecs=[{"mxReplicaType": "GPU"}]), '"GPU" is no'),
        (mapped(jobMode="fast"), 'spec.jobMode: unknown "fast"'),
        (listed(*LISTS[0], jobMode="local"), "has no place in mode local"),
    ],
)
def test_a_malformed_mxjob_is_refused(document: Json, said: str) -> None:
    with pytest.raises(Malformed, match=said):
        convert(document)
