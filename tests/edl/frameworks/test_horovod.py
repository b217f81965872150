import pytest

from edl import contract
from edl.frameworks import FRAMEWORKS, is_leader, is_service
from edl.model import ResizePolicy
from edl.parsing.parser import parse
from edl.writes import Json
from tests.edl.manifests import annotations, created, environment, horovod, pod_spec, template

LAUNCHER = created(horovod("launcher"))
WORKER = created(horovod("worker"))


def volumes(manifest: Json) -> dict[str, Json]:
    return {volume["name"]: volume for volume in pod_spec(manifest).get("volumes") or []}


def live_files(manifest: Json) -> dict[str, tuple[str, int | None]]:
    """Path → (annotation, mode) of every downward API file, at the path of its mount."""
    (container,) = pod_spec(manifest)["containers"]
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    return {
        f"{mounts[name]}/{item['path']}": (
            item["fieldRef"]["fieldPath"].split("'")[1],
            item.get("mode"),
        )
        for name, volume in volumes(manifest).items()
        if "downwardAPI" in volume
        for item in volume["downwardAPI"]["items"]
    }


def test_the_launcher_reads_live_files_where_users_commands_look() -> None:
    assert live_files(LAUNCHER) == {
        "/etc/edl/hostfile": (contract.HOSTFILE, None),
        "/etc/edl/discover_hosts.sh": (contract.DISCOVER_HOSTS, 0o755),
        "/etc/mpi/hostfile": (contract.MPI_HOSTFILE, None),
        "/etc/mpi/kubexec.sh": (contract.KUBEXEC_SCRIPT, 0o755),
        "/job/hostfile": (contract.MPI_HOSTFILE, None),
    }


def test_the_launcher_starts_its_workers_by_exec() -> None:
    found = environment(LAUNCHER)
    for before_release_5, since in (
        ("OMPI_MCA_plm_rsh_agent", "PRTE_MCA_plm_ssh_agent"),
        ("OMPI_MCA_orte_default_hostfile", "PRTE_MCA_prte_default_hostfile"),
    ):
        assert found[before_release_5] == found[since]
    assert found["PRTE_MCA_plm_ssh_agent"] == "/etc/mpi/kubexec.sh"
    assert found["PRTE_MCA_prte_default_hostfile"] == "/etc/mpi/hostfile"


def test_the_scripts_stand_on_the_launchers_pods() -> None:
    scripts = annotations(template(LAUNCHER))
    assert set(scripts) == {contract.DISCOVER_HOSTS, contract.KUBEXEC_SCRIPT}
    assert all(text.startswith("#!/bin/sh\n") for text in scripts.values())


def test_the_launcher_waits_for_its_first_host_list() -> None:
    assert pod_spec(LAUNCHER)["schedulingGates"] == [
        {"name": "edl.dev/hosts"},
        {"name": "edl.dev/placement"},
    ]
    assert pod_spec(WORKER)["schedulingGates"] == [{"name": "edl.dev/placement"}]


def test_the_launcher_gets_kubectl_and_the_right_to_use_it() -> None:
    spec = pod_spec(LAUNCHER)
    (init,) = spec["initContainers"]
    assert (init["name"], init["image"]) == ("edl-kubectl", "example/kubectl-edl:1")
    assert init["command"][-1] == "/opt/kube/kubectl"
    (mount,) = init["volumeMounts"]
    assert mount["mountPath"] == "/opt/kube"
    assert "emptyDir" in volumes(LAUNCHER)[mount["name"]]
    assert mount in spec["containers"][0]["volumeMounts"]
    assert spec["serviceAccountName"] == spec["serviceAccount"] == "mnist-launcher"


@pytest.mark.parametrize(
    ("own", "limits", "requests"),
    [
        ({}, ("100m", "128Mi"), ("100m", "128Mi")),
        ({"limits": {"cpu": "1", "memory": "64Mi"}}, ("100m", "64Mi"), ("100m", "64Mi")),
        ({"limits": {"cpu": "0.05"}, "requests": {"cpu": 0}}, ("0.05", "128Mi"), ("0", "128Mi")),
        ({"requests": {"memory": "1M"}}, ("100m", "128Mi"), ("100m", "1M")),
        ({"limits": {"cpu": "much"}}, ("100m", "128Mi"), ("100m", "128Mi")),
    ],
)
def test_the_copy_of_kubectl_fits_into_what_the_pod_has(
    own: Json, limits: tuple[str, str], requests: tuple[str, str]
) -> None:
    """The API server compares requests and limits of containers with those of their pod."""
    (init,) = pod_spec(created(horovod("launcher", pod={"resources": own})))["initContainers"]
    names = ("cpu", "memory")
    assert init["resources"] == {
        "limits": dict(zip(names, limits, strict=True)),
        "requests": dict(zip(names, requests, strict=True)),
    }


@pytest.mark.parametrize(("own", "user"), [(None, None), (1000, None), (0, 65532)])
def test_kubectl_is_copied_by_the_pods_user_unless_that_is_root(
    own: int | None, user: int | None
) -> None:
    given = horovod("launcher")
    if own is not None:
        given["spec"]["template"]["spec"]["securityContext"] = {"runAsUser": own}
    (init,) = pod_spec(created(given))["initContainers"]
    assert init["securityContext"]["runAsNonRoot"]
    assert init["securityContext"].get("runAsUser") == user


def test_a_worker_without_a_command_waits_for_commands() -> None:
    (container,) = pod_spec(WORKER)["containers"]
    assert container["command"][:2] == ["/bin/sh", "-c"]
    assert "sleep" in container["command"][2]
    assert "volumes" not in pod_spec(WORKER)


def test_a_launcher_runs_its_own_command() -> None:
    assert "command" not in pod_spec(LAUNCHER)["containers"][0]


def test_a_workers_own_command_stays() -> None:
    for own in ({"command": ["train"]}, {"args": ["--fast"]}):
        container = {"name": "main", "image": "busybox"} | own
        (found,) = pod_spec(created(horovod("worker", pod={"containers": [container]})))[
            "containers"
        ]
        assert {name: found.get(name) for name in ("command", "args")} == {
            "command": None,
            "args": None,
        } | own


def test_an_own_service_account_stays() -> None:
    manifest = created(horovod("launcher", pod={"serviceAccountName": "trainer"}))
    assert pod_spec(manifest)["serviceAccountName"] == "trainer"
    assert "serviceAccount" not in pod_spec(manifest)


def test_an_own_mount_at_our_directory_stays() -> None:
    own = {"name": "mine", "mountPath": "/etc/edl/"}
    container = {"name": "main", "image": "busybox", "volumeMounts": [own]}
    found = pod_spec(
        created(
            horovod(
                "launcher",
                pod={"containers": [container], "volumes": [{"name": "mine", "emptyDir": {}}]},
            )
        )
    )
    mounts = found["containers"][0]["volumeMounts"]
    assert own in mounts
    assert {mount["mountPath"] for mount in mounts} == {
        "/etc/edl/",
        "/etc/mpi",
        "/job",
        "/opt/kube",
    }


def test_own_init_containers_and_gates_stay() -> None:
    inits = [{"name": "fetch", "image": "busybox"}]
    gates = [{"name": "example.com/quota"}]
    manifest = horovod("launcher", pod={"initContainers": inits, "schedulingGates": gates})
    spec = pod_spec(created(manifest))
    assert [init["name"] for init in spec["initContainers"]] == ["edl-kubectl", "fetch"]
    assert [gate["name"] for gate in spec["schedulingGates"]] == [
        "example.com/quota",
        "edl.dev/hosts",
        "edl.dev/placement",
    ]


def test_the_launcher_decides_and_the_workers_serve() -> None:
    launcher, worker = parse(horovod("launcher")), parse(horovod("worker"))
    assert (is_leader(launcher), is_service(launcher)) == (True, False)
    assert (is_leader(worker), is_service(worker)) == (False, True)
    assert (launcher.scaling.resizing, worker.scaling.resizing) == (
        ResizePolicy.FIXED,
        ResizePolicy.LIVE,
    )


def test_workers_are_published() -> None:
    assert FRAMEWORKS["horovod"].publishes == "worker"
