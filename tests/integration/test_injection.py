"""Every kind of injection, as the real API server stores it: called over TLS, by dry run."""

import json
from typing import Any

import pytest

from edl import contract
from edl.writes import Json
from tests.integration.support.stage import Stage, elastic, horovod, tensorflow

pytestmark = pytest.mark.integration


def stored(stage: Stage, manifest: Json) -> Json:
    """What a create would store."""
    text = stage.kubectl(
        *("create", "--dry-run=server", "--validate=strict", "-o", "json", "-f", "-"),
        text=json.dumps(manifest),
    )
    found: Json = json.loads(text)
    return found


def main_container(manifest: Json) -> Json:
    spec = manifest["spec"]
    pod = spec if manifest["kind"] == "Pod" else spec["template"]["spec"]
    found: Json = pod["containers"][0]
    return found


def env(manifest: Json) -> dict[str, Any]:
    return {entry["name"]: entry.get("value") for entry in main_container(manifest)["env"]}


def test_a_worker_with_parameter_servers_knows_max_workers(installed: Stage) -> None:
    worker = stored(installed, tensorflow("mnist", "1..3")[2])
    at = f"mnist.{installed.namespace}.svc:2222"
    workers = ",".join(f'"mnist-worker-{index}.{at}"' for index in range(3))
    assert env(worker)["TF_CONFIG"] == (
        f'{{"cluster":{{"chief":["mnist-chief-0.{at}"],"ps":["mnist-ps-0.{at}"],'
        f'"worker":[{workers}]}},"task":{{"type":"worker","index":$(JOB_COMPLETION_INDEX)}},'
        '"environment":"cloud"}'
    )
    assert next(iter(env(worker))) == "JOB_COMPLETION_INDEX"
    spec = worker["spec"]
    assert (spec["completionMode"], spec["suspend"]) == ("Indexed", True)
    assert spec["template"]["spec"]["subdomain"] == "mnist"
    assert spec["template"]["metadata"]["labels"][contract.ROLE] == "worker"


def test_a_collective_worker_reads_its_cluster_from_the_pod(installed: Stage) -> None:
    job = stored(installed, elastic("solo", labels={"framework": "tensorflow", "max": "3"}))
    names = [entry["name"] for entry in main_container(job)["env"]]
    assert names == ["JOB_COMPLETION_INDEX", "EDL_CLUSTER", "TF_CONFIG"]
    assert job["spec"]["successPolicy"] == {"rules": [{"succeededIndexes": "0"}]}


def test_a_launcher_gets_live_files_kubectl_and_gates(installed: Stage) -> None:
    launcher = stored(installed, horovod("ring", "2..4")[0])
    pod = launcher["spec"]["template"]["spec"]
    mounts = {mount["mountPath"] for mount in main_container(launcher)["volumeMounts"]}
    assert mounts == {"/etc/edl", "/etc/mpi", "/job", "/opt/kube"}
    assert env(launcher)["OMPI_MCA_plm_rsh_agent"] == "/etc/mpi/kubexec.sh"
    gates = (contract.HOSTS_GATE, contract.PLACEMENT_GATE)
    assert pod["schedulingGates"] == [{"name": name} for name in gates]
    assert pod["serviceAccountName"] == "ring-launcher"
    assert pod["initContainers"][0]["name"] == "edl-kubectl"
    files = [item["path"] for volume in pod["volumes"] for item in _items(volume)]
    assert files == ["hostfile", "discover_hosts.sh", "hostfile", "kubexec.sh", "hostfile"]


def test_kubectl_is_copied_within_the_resources_of_a_small_pod(installed: Stage) -> None:
    launcher = horovod("ring", "2..4")[0]
    pod = launcher["spec"]["template"]["spec"]
    pod["resources"] = {"limits": {"cpu": "50m", "memory": "64Mi"}}
    pod["containers"][0].pop("resources")
    (init,) = stored(installed, launcher)["spec"]["template"]["spec"]["initContainers"]
    assert init["resources"]["requests"] == {"cpu": "50m", "memory": "64Mi"}


def test_a_worker_without_a_command_waits_for_execs(installed: Stage) -> None:
    worker = horovod("ring", "2..4")[1]
    del worker["spec"]["template"]["spec"]["containers"][0]["command"]
    command = main_container(stored(installed, worker))["command"]
    assert command[:2] == ["/bin/sh", "-c"]
    assert "TERM" in command[2]


def test_whole_gpus_become_a_limit(installed: Stage) -> None:
    job = stored(installed, elastic("gpu", labels={"gpu": "2"}))
    assert main_container(job)["resources"]["limits"] == {"nvidia.com/gpu": "2"}


def test_a_share_of_a_gpu_goes_to_kubeshare(installed: Stage) -> None:
    job = stored(installed, elastic("share", labels={"gpu": "0.5", "gpu-memory": "3Gi"}))
    template = job["spec"]["template"]
    shares = {k: v for k, v in template["metadata"]["labels"].items() if k.startswith("sharedgpu/")}
    assert shares == {
        "sharedgpu/gpu_limit": "0.5",
        "sharedgpu/gpu_request": "0.5",
        "sharedgpu/gpu_mem": str(3 * 2**30),
    }
    assert template["spec"]["schedulerName"] == "kubeshare-scheduler"


def test_kubeshare_1_annotations_are_translated(installed: Stage) -> None:
    job = elastic("old")
    notes = {"kubeshare/gpu_request": "0.4", "kubeshare/gpu_limit": "1.0"}
    job["spec"]["template"]["metadata"] = {"annotations": notes}
    labels = stored(installed, job)["spec"]["template"]["metadata"]["labels"]
    assert labels["sharedgpu/gpu_request"] == "0.4"
    assert labels["sharedgpu/gpu_limit"] == "1.0"


def test_a_work_queue_keeps_its_spec_but_waits(installed: Stage) -> None:
    job = stored(installed, elastic("queue", labels={"max": "4"}, parallelism=2))
    assert "completions" not in job["spec"]
    assert (job["spec"]["parallelism"], job["spec"]["suspend"]) == (2, True)
    assert "env" not in main_container(job)


def test_a_bare_pod_gets_its_rank(installed: Stage) -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "mnist-w1",
            "labels": {
                contract.FRAMEWORK: "tensorflow",
                contract.JOB: "mnist",
                contract.ROLE: "worker",
            },
            "annotations": {contract.ROLES: "chief=1,ps=1,worker=2", contract.RANK: "1"},
        },
        "spec": {"containers": [{"name": "main", "image": "none"}]},
    }
    found = stored(installed, pod)
    assert env(found)["JOB_COMPLETION_INDEX"] == "1"
    assert (found["spec"]["hostname"], found["spec"]["subdomain"]) == ("mnist-worker-1", "mnist")


def test_a_dry_run_leaves_nothing(installed: Stage) -> None:
    stored(installed, elastic("ghost"))
    assert not installed.all("Job")
    assert not installed.all("Event")


def test_all_findings_come_at_once(installed: Stage) -> None:
    job = elastic("bad-chief", labels={"framework": "tensorflow", "job": "mnist", "role": "chief"})
    job["metadata"]["labels"] |= {contract.MIN: "x", contract.MAX: "4", contract.GPU: "1.5"}
    job["metadata"]["annotations"] = {contract.ROLES: "chief=1,ps=1,worker=3..2"}
    said = installed.refused(job)
    for part in ('"x"', "never resized", "1.5", "worker=3..2", "mnist-chief"):
        assert part in said, said


def _items(volume: Json) -> list[Json]:
    return list(volume.get("downwardAPI", {}).get("items", ()))
