"""What MXNet's operators told their pods, on plain Jobs.

Sources, by the names of their repositories: kubeflow/mxnet-operator, `pkg/trainer/replicas.go`
(v1alpha1), `pkg/controller.v2/mxnet/pod.go` (v1alpha2: no MX_CONFIG, but DMLC_TUNER_*),
`pkg/controller.v1/mxnet/{pod,mxnet}.go` (v1beta1, v1: MX_CONFIG too); kubeflow/training-operator,
`pkg/controller.v1/mxnet/mxnet.go` (DMLC_WORKER_ID too; labels from `tuner-server-key`).
"""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edl.errors import Denied
from edl.frameworks.mxnet import at_start
from edl.model import ResizePolicy
from edl.parsing.parser import parse
from edl.planner.plan import Admission
from edl.steps.sizes.start import start
from edl.writes import Json
from tests.edl import trainings
from tests.edl.kubelet import told
from tests.edl.manifests import created, pod, pod_spec
from tests.edl.mxnet import DIST, DIST_ROLES, OURS, TUNE, addresses, hosts, members, mxnet, ports
from tests.reasons import because

NAMES = {  # What training-operator's SetPodEnv sets in every pod of a training.
    "MX_CONFIG",
    "DMLC_PS_ROOT_PORT",
    "DMLC_PS_ROOT_URI",
    "DMLC_NUM_SERVER",
    "DMLC_NUM_WORKER",
    "DMLC_ROLE",
    "DMLC_USE_KUBERNETES",
}


def started(role: str, workers: int, index: int = 0, **fields: Any) -> Json:  # noqa: ANN401 - JSON
    """What a pod is told after a start with so many workers."""
    return told(mxnet(role, **fields), index, at_start(members(workers)))


@pytest.mark.parametrize("role", DIST_ROLES)
def test_every_pod_is_told_what_the_operator_told_it(role: str) -> None:
    found = started(role, workers=3)
    assert found.keys() - OURS == NAMES | ({"DMLC_WORKER_ID"} if role == "worker" else set())
    assert (
        found
        | {
            "DMLC_PS_ROOT_URI": "mnist-scheduler-0.mnist.lab.svc",
            "DMLC_PS_ROOT_PORT": "9091",
            "DMLC_NUM_SERVER": "2",
            "DMLC_NUM_WORKER": "3",
            "DMLC_ROLE": role,
            "DMLC_USE_KUBERNETES": "1",
        }
        == found
    )


@pytest.mark.parametrize("role", DIST_ROLES)
def test_mx_config_has_the_operators_shape(role: str) -> None:
    assert json.loads(started(role, workers=2, index=1)["MX_CONFIG"]) == {
        "cluster": {
            "scheduler": hosts("scheduler", 1),
            "server": hosts("server", 2),
            "worker": hosts("worker", 2),
        },
        "labels": {"scheduler": "", "server": "", "worker": ""},
        "task": {"type": role, "index": 1},
    }


def test_mx_config_is_spelled_as_go_spells_it() -> None:
    assert started("worker", workers=1)["MX_CONFIG"] == (
        '{"cluster":{"scheduler":[{"url":"mnist-scheduler-0.mnist.lab.svc","port":9091}],'
        '"server":[{"url":"mnist-server-0.mnist.lab.svc","port":9091},'
        '{"url":"mnist-server-1.mnist.lab.svc","port":9091}],'
        '"worker":[{"url":"mnist-worker-0.mnist.lab.svc","port":9091}]},'
        '"labels":{"scheduler":"","server":"","worker":""},'
        '"task":{"type":"worker","index":0}}'
    )


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_every_start_tells_its_own_size(workers: int) -> None:
    found = [started(role, workers) for role in DIST_ROLES]
    assert {env["DMLC_NUM_WORKER"] for env in found} == {str(workers)}
    clusters = [json.loads(env["MX_CONFIG"])["cluster"] for env in found]
    assert [len(cluster["worker"]) for cluster in clusters] == [workers] * 3


def test_a_start_is_written_where_the_pods_read_it() -> None:
    roles = [
        trainings.role("scheduler", suspended=True, port=9091),
        trainings.role("server", 2, suspended=True, port=9091),
        trainings.role("worker", 1, 3, suspended=True, port=9091, resizing=ResizePolicy.RESTART),
    ]
    training = trainings.training(*roles, framework="mxnet", mode="dist")
    sizes = (("scheduler", 1), ("server", 2), ("worker", 2))
    step = start(training, Admission(trainings.KEY, sizes, because("room")), trainings.NOW)
    notes = [
        patch.body["spec"]["template"]["metadata"]["annotations"]
        for patch in trainings.patches(step)
    ]
    assert notes == [dict(at_start(members(2)))] * 3
    assert told(mxnet("server"), 0, notes[1]) == started("server", 2)


def test_another_port_is_everybodys() -> None:
    manifest = mxnet("server", annotations={"port": "9999"})
    found = told(manifest, 0, at_start(members(1, 9999)))
    assert found["DMLC_PS_ROOT_PORT"] == "9999"
    assert json.loads(found["MX_CONFIG"])["cluster"]["server"] == hosts("server", 2, 9999)
    assert ports(manifest) == [("mxjob-port", 9999)]


def test_all_containers_are_told() -> None:
    containers = [{"name": "mxnet", "image": "busybox"}, {"name": "helper", "image": "busybox"}]
    manifest = created(mxnet("worker", pod={"containers": containers}))
    first, second = pod_spec(manifest)["containers"]
    assert first["env"] == second["env"]


def test_bare_pods_are_told_all_roles() -> None:
    notes = {"roles": "scheduler=1,server=1,worker=2", "rank": "1", "size": "2"}
    found = told(pod("any", framework="mxnet", job="mnist", role="worker", annotations=notes))
    assert found["DMLC_NUM_WORKER"] == "2"
    assert found["DMLC_WORKER_ID"] == "1"
    assert found["DMLC_PS_ROOT_URI"] == "mnist-scheduler-0.mnist.lab.svc"
    config = json.loads(found["MX_CONFIG"])
    assert config["cluster"]["worker"] == hosts("worker", 2)
    assert config["task"] == {"type": "worker", "index": 1}


# -- one scheduler -----------------------------------------------------------------------------


@pytest.mark.parametrize("roles", ["scheduler=2,server=1,worker=2", "scheduler=1..2,server=1"])
def test_there_is_exactly_one_scheduler(roles: str) -> None:
    with pytest.raises(Denied) as denied:
        created(mxnet("scheduler", roles))
    assert any("scheduler" in finding.what for finding in denied.value.findings)


@pytest.mark.parametrize(
    ("roles", "absent"),
    [
        ("scheduler=1,worker=2", "server"),
        ("scheduler=1,server=2", "worker"),
        ("server=2,worker=2", "scheduler"),
    ],
)
def test_a_training_needs_all_its_roles(roles: str, absent: str) -> None:
    with pytest.raises(Denied) as denied:
        created(mxnet(roles.partition("=")[0], roles))
    assert [finding.what for finding in denied.value.findings] == [f"mxnet needs a {absent}"]


def test_only_workers_are_resized() -> None:
    found = {role: parse(mxnet(role)).scaling.resizing for role in DIST_ROLES}
    assert found == {
        "scheduler": ResizePolicy.FIXED,
        "server": ResizePolicy.FIXED,
        "worker": ResizePolicy.RESTART,
    }
    with pytest.raises(Denied):
        created(mxnet("server", "scheduler=1,server=1..2,worker=1"))


# -- laws --------------------------------------------------------------------------------------

LAW = settings(deadline=None, max_examples=50)
OWN = st.dictionaries(
    st.sampled_from([*sorted(NAMES), "DMLC_WORKER_ID", *sorted(OURS), "PATH", "DMLC_INTERFACE"]),
    st.sampled_from(["", "7", "eth1", "$(DMLC_ROLE)", "{}"]),
    max_size=4,
)


@st.composite
def jobs(draw: st.DrawFn) -> tuple[Json, Mapping[str, str]]:
    """A Job of any mode and role, and what its user sets himself."""
    roles, mode = draw(st.sampled_from([(DIST, ""), (DIST, "fork"), (TUNE, ""), (TUNE, "tune")]))
    role = draw(st.sampled_from([part.split("=")[0] for part in roles.split(",")]))
    own = draw(OWN)
    env = [{"name": name, "value": value} for name, value in own.items()]
    container = {"name": "mxnet", "image": "busybox", "env": env}
    notes = {"mode": mode} if mode else {}
    return mxnet(role, roles, annotations=notes, pod={"containers": [container]}), own


@LAW
@given(jobs())
def test_twice_is_once(given_job: tuple[Json, Mapping[str, str]]) -> None:
    once = created(given_job[0])
    assert created(once) == once


@LAW
@given(jobs())
def test_what_the_user_sets_wins(given_job: tuple[Json, Mapping[str, str]]) -> None:
    manifest, own = given_job
    (container,) = pod_spec(created(manifest))["containers"]
    values = {entry["name"]: entry.get("value") for entry in container["env"]}
    assert own.items() <= values.items()
    assert len(values) == len(container["env"]), "no name stands twice"


@LAW
@given(st.integers(1, 300), st.integers(1, 300), st.integers(1, 65535), st.integers(0, 299))
def test_what_every_role_reads_is_one_truth(
    workers: int, servers: int, port: int, index: int
) -> None:
    roles = f"scheduler=1,server={servers},worker=1..300"
    sizes = {"scheduler": 1, "server": servers, "worker": workers}
    notes = at_start({role: addresses(role, size, port) for role, size in sizes.items()})
    found = [
        told(mxnet(role, roles, annotations={"port": str(port)}), index, notes)
        for role in DIST_ROLES
    ]
    for role, env in zip(DIST_ROLES, found, strict=True):
        config = json.loads(env["MX_CONFIG"])
        assert {name: len(entries) for name, entries in config["cluster"].items()} == sizes
        (scheduler,) = config["cluster"]["scheduler"]
        assert env["DMLC_PS_ROOT_URI"] == scheduler["url"]
        assert env["DMLC_PS_ROOT_PORT"] == str(scheduler["port"]) == str(port)
        assert env["DMLC_NUM_SERVER"] == str(servers)
        assert env["DMLC_NUM_WORKER"] == str(workers)
        assert config["task"] == {"type": role, "index": index}
