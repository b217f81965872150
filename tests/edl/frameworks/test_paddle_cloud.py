"""Paddle's mode cloud. Sources, by the names of their repositories:

PaddlePaddle/edl, `pkg/updater/jobparser.go` (podEnv, podPorts, masterPorts, getEtcdPodSpec,
parseToMaster, parseToPserver, parseToTrainer), and PaddlePaddle/cloud, `docker/paddle_k8s` and
`docker/k8s_tools.py`, which read it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from edl.errors import Denied
from edl.model import ResizePolicy
from edl.parsing.parser import parse
from edl.steps.dependents import dependents_of
from edl.writes import Create, Json
from tests.edl import trainings
from tests.edl.manifests import created, pod, pod_spec
from tests.edl.paddle import (
    ELASTIC,
    OTHER_DEVICES,
    ROLES,
    STATIC,
    TOLERANT,
    cloud,
    env,
    first,
    hosts,
    paddle,
)
from tests.edl.readings import annotation, findings


def asking(**resources: Any) -> Json:  # noqa: ANN401 - JSON
    container = {"name": "trainer", "image": "busybox", "resources": resources}
    return {"containers": [container]}


SPEC: Mapping[str, str] = {
    "entrypoint": "python train.py",
    "workspace": "/workspace",
    "port": "7200",
    "ports-num": "2",
    "ports-num-for-sparse": "3",
    "passes": "5",
}
POD_ENV = {
    "PADDLE_JOB_NAME": "mnist",
    "TRAINERS": "2",
    "PSERVERS": "2",
    "ENTRY": "python train.py",
    "TOPOLOGY": "python train.py",
    "TRAINER_PACKAGE": "/workspace",
    "PADDLE_INIT_PORT": "7200",
    "PADDLE_INIT_TRAINER_COUNT": "5",
    "PADDLE_INIT_PORTS_NUM": "2",
    "PADDLE_INIT_PORTS_NUM_FOR_SPARSE": "3",
    "PADDLE_INIT_NUM_GRADIENT_SERVERS": "2",
    "PADDLE_INIT_NUM_PASSES": "5",
    "PADDLE_INIT_USE_GPU": "0",
    "LD_LIBRARY_PATH": "/usr/local/cuda/lib64",
    "NAMESPACE": "metadata.namespace",
    "POD_IP": "status.podIP",
}
"""podEnv, for trainers of five CPUs; NAMESPACE and POD_IP are references to these fields."""


def test_trainers_are_told_what_the_old_controller_told_them() -> None:
    manifest = cloud("trainer", annotations=SPEC, pod=asking(requests={"cpu": "5"}))
    assert env(manifest) == POD_ENV


def test_without_a_master_every_number_is_that_of_the_start() -> None:
    """Who does not tolerate faults waits for exactly so many: `wait_pods_running`."""
    found = env(cloud("trainer", STATIC), trainers=hosts("trainer", 7))
    assert (found["TRAINERS"], found["PADDLE_INIT_NUM_GRADIENT_SERVERS"]) == ("7", "7")
    assert parse(cloud("trainer", STATIC)).scaling.resizing is ResizePolicy.RESTART
    assert parse(cloud("trainer", TOLERANT)).scaling.resizing is ResizePolicy.LIVE


@pytest.mark.parametrize(
    ("asked", "count", "use_gpu"),
    [
        ({}, "1", "0"),
        ({"pod": asking(requests={"cpu": "5"})}, "5", "0"),
        ({"pod": asking(requests={"cpu": "1500m"})}, "2", "0"),
        ({"pod": asking(limits={"cpu": "3"})}, "3", "0"),
        ({"pod": asking(requests={"cpu": "many"})}, "1", "0"),
        ({"pod": asking(requests={"cpu": "5"}), "annotations": {"slots": "1"}}, "1", "0"),
        ({"pod": asking(requests={"cpu": "5"}, limits={"nvidia.com/gpu": "4"})}, "4", "1"),
        ({"gpu": "2"}, "2", "1"),
        ({"gpu": "0.5"}, "1", "1"),
    ],
)
def test_a_trainer_counts_its_gpus_or_its_cpus(asked: Json, count: str, use_gpu: str) -> None:
    """Quantity.Value() rounds up."""
    found = env(cloud("trainer", **asked))
    assert found["PADDLE_INIT_TRAINER_COUNT"] == count
    assert found["PADDLE_INIT_USE_GPU"] == use_gpu


@pytest.mark.parametrize("resources", OTHER_DEVICES)
def test_a_trainer_with_other_devices_counts_no_cpus(resources: Json) -> None:
    found = env(cloud("trainer", pod=asking(**{"requests": {"cpu": "5"}} | resources)))
    assert found["PADDLE_INIT_TRAINER_COUNT"] == "1"
    assert "PADDLE_INIT_USE_GPU" not in found


@pytest.mark.parametrize(
    ("roles", "role", "command"),
    [
        (TOLERANT, "master", "paddle_k8s start_master"),
        (TOLERANT, "pserver", "paddle_k8s start_new_pserver"),
        (TOLERANT, "trainer", "paddle_k8s start_new_trainer"),
        (STATIC, "pserver", "paddle_k8s start_pserver"),
        (STATIC, "trainer", "paddle_k8s start_trainer v2"),
    ],
)
def test_a_container_without_a_command_gets_the_old_controllers_command(
    roles: str, role: str, command: str
) -> None:
    assert first(cloud(role, roles))["command"] == command.split()


def test_ports_are_numbered_from_the_first() -> None:
    found = first(cloud("pserver", annotations=SPEC))["ports"]
    assert [(port["name"], port["containerPort"]) for port in found] == [
        (f"jobport-{number}", number) for number in range(7200, 7205)
    ]
    master = first(cloud("master"))["ports"]
    assert [(port["name"], port["containerPort"]) for port in master] == [
        ("master-port", 8080),
        ("etcd-port", 2379),
    ]


def test_the_etcd_container_runs_as_the_masters_user_under_a_restricted_policy() -> None:
    manifest = cloud("master")
    own = {"runAsNonRoot": True, "runAsUser": 1000, "privileged": False}
    pod_spec(manifest)["containers"][0]["securityContext"] = own
    _, etcd = pod_spec(created(manifest))["containers"]
    assert etcd["securityContext"] == {
        "runAsNonRoot": True,
        "runAsUser": 1000,
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def test_the_etcds_image_is_chosen_and_the_users_own_etcd_stays() -> None:
    chosen = cloud("master", annotations={"etcd-image": "registry.lab/etcd:1"})
    assert pod_spec(created(chosen))["containers"][1]["image"] == "registry.lab/etcd:1"
    own = [{"name": "master", "image": "busybox"}, {"name": "etcd", "image": "mine", "args": ["x"]}]
    found = pod_spec(created(cloud("master", pod={"containers": own})))["containers"]
    assert [(each["name"], each["image"]) for each in found] == [
        ("master", "busybox"),
        ("etcd", "mine"),
    ]
    assert "command" not in found[1]


@pytest.mark.parametrize(
    ("accounts", "kinds"),
    [
        (("", "", ""), ["ServiceAccount", "RoleBinding"]),
        (("", "mine", ""), ["ServiceAccount", "RoleBinding"]),
        (("mine", "mine", "mine"), []),
    ],
)
def test_the_right_to_list_is_bound_to_the_generated_account_alone(
    accounts: Sequence[str], kinds: Sequence[str]
) -> None:
    roles = [trainings.role(role, account=who) for role, who in zip(ROLES, accounts, strict=True)]
    found = trainings.training(*roles, framework="paddle", mode="cloud", existing_dependents={})
    rights = [write for write in dependents_of(found) if isinstance(write, Create)]
    made = {one.target: one.manifest for one in rights if one.target.name == "mnist-peers"}
    assert [target.kind for target in made] == kinds
    for target, binding in made.items():
        if target.kind == "RoleBinding":
            assert binding["roleRef"]["name"] == "edl-peers"
            assert [subject["name"] for subject in binding["subjects"]] == ["mnist-peers"]


def test_other_modes_need_no_rights() -> None:
    roles = (trainings.role("master"), trainings.role("trainer"))
    found = trainings.training(*roles, framework="paddle", existing_dependents={})
    kinds = {write.target.kind for write in dependents_of(found)}
    assert kinds == {"Service", "PodDisruptionBudget"}
    assert "serviceAccountName" not in pod_spec(created(paddle("trainer", ELASTIC)))


@pytest.mark.parametrize("name", ["ports-num", "ports-num-for-sparse", "passes"])
def test_a_number_that_is_none_is_refused(name: str) -> None:
    (finding,) = findings(cloud("trainer", annotations={name: "0"}))
    assert (finding.path, finding.what) == (annotation(name), '"0"')
    most = "" if name == "passes" else " to 1000"
    assert finding.allowed == f"a whole number from 1{most}"


def test_no_more_ports_than_a_container_may_list() -> None:
    """Each would be listed, by whoever reads the Job."""
    (finding,) = findings(cloud("trainer", annotations={"ports-num": "999999999"}))
    assert finding.allowed == "a whole number from 1 to 1000"


def test_no_port_is_above_those_that_there_are() -> None:
    """The API server would refuse ports that the user never wrote."""
    many = {"port": "65000", "ports-num": "536"}
    with pytest.raises(Denied) as denied:
        created(cloud("trainer", annotations=many))
    (finding,) = denied.value.findings
    assert finding.path == annotation("port")
    assert (finding.what, finding.allowed) == ("537 ports from 65000", "up to port 65535")
    ports = first(cloud("trainer", annotations=many | {"ports-num": "535"}))["ports"]
    assert ports[-1]["containerPort"] == 65535


def test_bare_trainers_are_told_the_number_of_all() -> None:
    notes = {"roles": STATIC, "rank": "3", "mode": "cloud"}
    bare = pod(framework="paddle", role="trainer", job="mnist", annotations=notes)
    found = {one["name"]: one.get("value") for one in first(bare)["env"]}
    assert (found["TRAINERS"], found["PADDLE_INIT_NUM_GRADIENT_SERVERS"]) == ("10", "10")
