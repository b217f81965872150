import pytest

from edl import contract
from edl.convert import convert
from edl.convert.diagnostics import Malformed
from edl.spec.job_spec import UNLIMITED
from edl.writes import Json
from tests.edl.convert.documents import admitted, by_role, jobs, paths, replica, template


def mpijob(version: str = "v1", workers: Json | None = None, **spec: object) -> Json:
    launcher = replica("main")
    launcher["template"]["spec"]["containers"][0]["command"] = ["mpirun", "train"]
    specs = {"Launcher": launcher, "Worker": workers or replica("main", 2)}
    return {
        "apiVersion": f"kubeflow.org/{version}",
        "kind": "MPIJob",
        "metadata": {"name": "ring"},
        "spec": {"mpiReplicaSpecs": specs} | spec,
    }


def alpha(**spec: object) -> Json:
    document = mpijob("v1alpha1")
    document["spec"] = {"template": template(command=["mpirun"])} | spec
    return document


def first(job: Json) -> Json:
    found: Json = job["spec"]["template"]["spec"]["containers"][0]
    return found


def env(job: Json) -> dict[str, str]:
    return {entry["name"]: entry.get("value", "") for entry in first(job).get("env", ())}


@pytest.mark.parametrize("version", ["v1alpha2", "v1"])
def test_a_launcher_reaches_its_workers_by_exec(version: str) -> None:
    found = by_role(jobs(mpijob(version)))
    assert list(found) == ["launcher", "worker"]
    assert found["launcher"]["metadata"]["annotations"] == {
        contract.ROLES: "launcher=1,worker=2",
    }
    assert found["worker"]["spec"]["parallelism"] == 2
    assert env(admitted(found["launcher"]))["OMPI_MCA_plm_rsh_agent"] == contract.MPI_KUBEXEC


def test_a_namespace_must_allow_exec() -> None:
    document = mpijob()
    document["metadata"]["namespace"] = "lab"
    (note,) = jobs(document).notes
    assert note.instead == "kubectl label namespace lab edl.dev/kubexec=enabled"
    assert jobs(mpijob("v2beta1")).notes == ()


def test_since_v2beta1_by_ssh() -> None:
    found = by_role(jobs(mpijob("v2beta1")))
    assert {job["metadata"]["annotations"][contract.MODE] for job in found.values()} == {"ssh"}
    assert env(found["worker"]) == {"K_MPI_JOB_ROLE": "worker"}
    for variable in ("OMPI_MCA_plm_rsh_args", "PRTE_MCA_plm_ssh_args"):
        assert env(found["launcher"])[variable] == "-o ConnectionAttempts=10"


@pytest.mark.parametrize(
    ("name", "variable"), [("Intel", "I_MPI_HYDRA_HOST_FILE"), ("MPICH", "HYDRA_HOST_FILE")]
)
def test_hydra_reads_the_list_that_it_understands(name: str, variable: str) -> None:
    found = by_role(jobs(mpijob("v2beta1", mpiImplementation=name)))
    assert env(found["launcher"])[variable] == contract.EDL_HOSTFILE


def test_keys_are_mounted_where_the_images_look() -> None:
    found = by_role(jobs(mpijob("v2beta1", sshAuthMountPath="/home/mpiuser/.ssh")))
    for job in found.values():
        assert first(job)["volumeMounts"] == [
            {"name": "ssh-auth", "mountPath": "/home/mpiuser/.ssh", "subPath": ".ssh"}
        ]
        (volume,) = job["spec"]["template"]["spec"]["volumes"]
        assert volume["secret"]["secretName"] == "ring-ssh"
    assert "volumes" not in by_role(jobs(mpijob("v2beta1")))["worker"]["spec"]["template"]["spec"]


def test_a_launcher_that_works_too_is_named() -> None:
    assert paths(jobs(mpijob("v2beta1", runLauncherAsWorker=True))) == ["spec.runLauncherAsWorker"]


@pytest.mark.parametrize(("policy", "notes"), [("AtStartup", 1), ("WaitForWorkersReady", 0)])
def test_the_launcher_waits_for_its_workers(policy: str, notes: int) -> None:
    found = jobs(mpijob("v2beta1", launcherCreationPolicy=policy))
    assert (len(found.dropped), len(found.notes)) == (0, notes)


def test_the_launcher_counts_as_a_job_does() -> None:
    found = by_role(jobs(mpijob(backoffLimit=2, activeDeadlineSeconds=9)))
    assert found["launcher"]["spec"]["backoffLimit"] == 2
    assert found["worker"]["spec"]["backoffLimit"] == UNLIMITED
    assert [job["spec"]["activeDeadlineSeconds"] for job in found.values()] == [9, 9]
    assert "backoffLimit" not in by_role(jobs(mpijob()))["launcher"]["spec"]


@pytest.mark.parametrize(
    ("policy", "restart", "lost"),
    [("Never", "Never", 0), ("Always", "OnFailure", 0), ("ExitCode", "OnFailure", 1)],
)
def test_workers_that_fail_are_made_again(policy: str, restart: str, lost: int) -> None:
    found = jobs(mpijob(workers=replica("main", 2, restartPolicy=policy)))
    worker = by_role(found)["worker"]
    assert worker["spec"]["template"]["spec"]["restartPolicy"] == restart
    assert len(found.dropped) == lost
    assert any("restartPolicy" in str(remark) for remark in (*found.dropped, *found.notes))


@pytest.mark.parametrize(("version", "slots"), [("v1alpha2", None), ("v1", "1"), ("v2beta1", "1")])
def test_newer_slots_are_one_whatever_the_gpus(version: str, slots: str | None) -> None:
    workers = replica("main", 2)
    limits = {"limits": {contract.GPU_RESOURCE: 4}}
    workers["template"] = template(resources=limits)
    worker = by_role(jobs(mpijob(version, workers)))["worker"]
    assert worker["metadata"]["annotations"].get(contract.SLOTS) == slots
    said = by_role(jobs(mpijob(version, workers, slotsPerWorker=2)))["worker"]
    assert said["metadata"]["annotations"][contract.SLOTS] == "2"


def test_the_main_container_is_where_commands_are_run() -> None:
    found = by_role(jobs(mpijob(mainContainer="main")))
    for job in found.values():
        annotations = job["spec"]["template"]["metadata"]["annotations"]
        assert annotations == {"kubectl.kubernetes.io/default-container": "main"}


def test_the_discovery_script_is_where_it_is_here() -> None:
    document = mpijob()
    launcher = document["spec"]["mpiReplicaSpecs"]["Launcher"]
    launcher["template"] = template(
        command=["horovodrun", "--host-discovery-script", "/etc/mpi/discover_hosts.sh"]
    )
    found = jobs(document)
    assert first(by_role(found)["launcher"])["command"][2] == "/etc/edl/discover_hosts.sh"
    assert "/etc/mpi/discover_hosts.sh is /etc/edl/discover_hosts.sh" in str(found.notes[1])


def test_a_command_that_is_elastic_is_pointed_out() -> None:
    document = mpijob("v2beta1")
    launcher = document["spec"]["mpiReplicaSpecs"]["Launcher"]
    launcher["template"] = template(command=["horovodrun", "-np", "2", "--min-np", "1"])
    (note,) = jobs(document).notes
    assert note.instead == "write edl.dev/min and edl.dev/max on its Job, worker=MIN..MAX on both"


def test_the_first_version_has_one_template_for_all() -> None:
    found = by_role(jobs(alpha(replicas=3)))
    assert first(found["launcher"])["command"] == ["mpirun"]
    assert "command" not in first(found["worker"])
    assert found["worker"]["spec"]["parallelism"] == 3


@pytest.mark.parametrize(
    ("spec", "workers", "limits"),
    [
        ({"gpus": 16, "gpusPerNode": 4}, 4, {contract.GPU_RESOURCE: 4}),
        ({"processingUnits": 2, "processingUnitsPerNode": 4}, 1, {contract.GPU_RESOURCE: 2}),
        (
            {"processingUnits": 8, "processingUnitsPerNode": 4, "processingResourceType": "cpu"},
            2,
            {"cpu": 4},
        ),
        ({"gpus": 16}, 2, {contract.GPU_RESOURCE: 8}),
    ],
)
def test_the_first_version_counts_units(spec: Json, workers: int, limits: Json) -> None:
    found = by_role(jobs(alpha(**spec)))
    assert found["worker"]["spec"]["parallelism"] == workers
    assert first(found["worker"])["resources"]["limits"] == limits
    assert "resources" not in first(found["launcher"])


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"gpus": 10, "gpusPerNode": 4}, "10 units are not a multiple of 4"),
        ({"gpus": 4, "replicas": 2}, "conflicts with a number of processing units"),
        ({"gpus": 4, "processingUnits": 4}, "spec.gpus: conflicts with processingUnits"),
    ],
)
def test_units_that_do_not_come_out_even_are_refused(spec: Json, said: str) -> None:
    with pytest.raises(Malformed, match=said):
        convert(alpha(**spec))


def test_a_launcher_on_the_master_stays_there() -> None:
    found = by_role(jobs(alpha(launcherOnMaster=True)))
    launcher = found["launcher"]["spec"]["template"]["spec"]
    assert launcher["tolerations"][0]["key"] == "node-role.kubernetes.io/master"
    assert "nodeAffinity" in launcher["affinity"]
    assert "affinity" not in found["worker"]["spec"]["template"]["spec"]


def test_a_launcher_without_workers_is_refused() -> None:
    document = mpijob()
    del document["spec"]["mpiReplicaSpecs"]["Worker"]
    with pytest.raises(Malformed, match="horovod needs a worker"):
        convert(document)
