"""Paddle's modes of today. Sources, by their files in Paddle 3.3.1's package:

ps: `_ps_env` of `distributed/fleet/base/role_maker.py`. collective: `distributed/parallel.py`.
elastic: `distributed/launch/context/args_envs.py`, and `distributed/fleet/elastic/manager.py` for
older releases. Mode cloud has tests of its own.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edl.contract import registry
from edl.contract.registry import EntryKind
from edl.frameworks import is_leader, is_service
from edl.model import ResizePolicy
from edl.parsing.parser import parse
from edl.planner.plan import Admission
from edl.steps.sizes.start import start
from edl.writes import Json
from tests.edl import trainings
from tests.edl.kubelet import told
from tests.edl.manifests import created, pod_spec, template
from tests.edl.paddle import (
    ELASTIC,
    OTHER_DEVICES,
    ROLES,
    SERVED,
    TOLERANT,
    alone,
    cloud,
    env,
    first,
    hosts,
    paddle,
)
from tests.edl.readings import findings
from tests.reasons import because

ROLE_LISTS = {"cloud": TOLERANT, "ps": SERVED, "elastic": ELASTIC}
VARIABLES = [entry.name for entry in registry.ENTRIES if entry.kind is EntryKind.ENV]
# -- elastic ---------------------------------------------------------------------------------------


def test_no_launcher_ends_because_its_peers_are_late() -> None:
    """One that misses its minimum ends with 0; who cannot do with less waits for an hour."""
    found = env(paddle("trainer", "master=1,trainer=2..3"))
    assert (found["PADDLE_NNODES"], found["PADDLE_ELASTIC_NP"]) == ("1:3", "2:3")
    fixed = env(paddle("trainer", "master=1,trainer=3"))
    assert (fixed["PADDLE_NNODES"], fixed["PADDLE_ELASTIC_NP"]) == ("3", "3")
    assert fixed["PADDLE_ELASTIC_TIMEOUT"] == "360"


def test_a_launcher_leaves_before_it_is_told_to_end() -> None:
    program, flag, script = first(paddle("trainer", ELASTIC))["lifecycle"]["preStop"]["exec"][
        "command"
    ]
    assert (program, flag) == ("python3", "-c")
    compile(script, "leave", "exec")
    assert "revoke_lease" in script


@pytest.mark.parametrize("hook", ["preStop", "postStart"])
def test_a_users_own_hooks_stay(hook: str) -> None:
    own = {hook: {"exec": {"command": ["mine"]}}}
    container = {"name": "a", "image": "b", "lifecycle": own}
    found = first(paddle("trainer", ELASTIC, pod={"containers": [container]}))["lifecycle"]
    assert found[hook] == own[hook]
    assert "preStop" in found


def test_a_master_without_a_command_is_an_etcd() -> None:
    manifest = paddle("master", ELASTIC, annotations={"port": "3333"})
    assert " ".join(first(manifest)["command"]) == (
        "etcd --data-dir /tmp/edl-etcd --listen-client-urls http://0.0.0.0:3333"
        " --advertise-client-urls http://mnist-master-0.mnist.lab.svc:3333"
    )
    assert first(manifest)["ports"] == [{"name": "etcd", "containerPort": 3333, "protocol": "TCP"}]
    trainer = paddle("trainer", ELASTIC, annotations={"port": "3333"})
    assert env(trainer)["PADDLE_MASTER"] == "etcd://mnist-master-0.mnist.lab.svc:3333"


def test_an_etcd_that_is_drained_does_not_complete_its_job() -> None:
    """As process 1 it would end with 0."""
    assert pod_spec(created(paddle("master", ELASTIC)))["shareProcessNamespace"] is True
    own = {"containers": [{"name": "a", "image": "b"}], "shareProcessNamespace": False}
    assert pod_spec(created(paddle("master", ELASTIC, pod=own)))["shareProcessNamespace"] is False
    assert "shareProcessNamespace" not in pod_spec(created(paddle("trainer", ELASTIC)))


def test_an_etcd_among_the_processes_of_its_node_is_not_process_1_either() -> None:
    """The API server refuses hostPID and shareProcessNamespace together (core/validation)."""
    own = {"containers": [{"name": "a", "image": "b"}], "hostPID": True}
    found = pod_spec(created(paddle("master", ELASTIC, pod=own)))
    assert "shareProcessNamespace" not in found


# -- collective and ps -----------------------------------------------------------------------------


def test_collective_trainers_get_the_list_of_running_trainers() -> None:
    running = [f"mnist-{index}.mnist.lab.svc:6170" for index in range(3)]
    assert env(alone(), 1, running) == {
        "PADDLE_TRAINER_ID": "1",
        "PADDLE_TRAINERS_NUM": "3",
        "PADDLE_TRAINER_ENDPOINTS": ",".join(running),
        "PADDLE_CURRENT_ENDPOINT": running[1],
        "PADDLE_NNODES": "3",
        "PADDLE_MASTER": running[0],
        "PADDLE_JOB_ID": "mnist",
        "POD_IP": "mnist-1.mnist.lab.svc",
        "TRAINING_ROLE": "TRAINER",
        "PADDLE_DISTRI_BACKEND": "gloo",
    }


@pytest.mark.parametrize("resources", OTHER_DEVICES)
def test_paddle_finds_out_what_other_devices_are(resources: Json) -> None:
    """gloo would mean CPUs, in a build with CUDA too (`is_cpu_only` of distributed/parallel.py)."""
    containers = [{"name": "a", "image": "b", "resources": resources}]
    found = env(alone(pod={"containers": containers}))
    assert {"FLAGS_selected_gpus", "PADDLE_DISTRI_BACKEND"}.isdisjoint(found)
    labelled = env(alone(gpu="1", pod={"containers": containers}))
    assert labelled["FLAGS_selected_gpus"] == "0"


@pytest.mark.parametrize(
    "limits",
    [{"cpu": "4", "hugepages-2Mi": "1Gi"}, {"kubernetes.io/batch-cpu": "4"}, {"amd.com/gpu": "0"}],
)
def test_trainers_without_devices_use_gloo(limits: Json) -> None:
    containers = [{"name": "a", "image": "b", "resources": {"limits": limits}}]
    assert env(alone(pod={"containers": containers}))["PADDLE_DISTRI_BACKEND"] == "gloo"


def test_launchers_of_one_training_meet_at_the_first_trainer() -> None:
    """controllers/master.py: the launcher whose host is the master's serves the others."""
    running = [f"mnist-{index}.mnist.lab.svc:6170" for index in range(2)]
    envs = [env(alone(gpu="4"), index, running) for index in range(2)]
    serves = [found["PADDLE_MASTER"] == f"{found['POD_IP']}:6170" for found in envs]
    assert serves == [True, False]
    assert {found["PADDLE_NNODES"] for found in envs} == {"2"}


def test_a_server_finds_itself_in_the_list() -> None:
    """role_maker: `server_endpoints.index(POD_IP:PADDLE_PORT)`."""
    found = env(paddle("pserver", SERVED), 1, hosts("trainer", 3))
    servers = found["PADDLE_PSERVERS_IP_PORT_LIST"].split(",")
    assert servers == hosts("pserver", 2)
    assert servers.index(f"{found['POD_IP']}:{found['PADDLE_PORT']}") == 1
    assert (found["TRAINING_ROLE"], found["PADDLE_TRAINERS_NUM"]) == ("PSERVER", "3")
    assert "PADDLE_TRAINER_ID" not in found


def test_parameter_server_trainers_get_the_list_of_running_pods() -> None:
    running = hosts("trainer", 3)
    assert env(paddle("trainer", SERVED), 2, running) == {
        "TRAINING_ROLE": "TRAINER",
        "PADDLE_PSERVERS_IP_PORT_LIST": ",".join(hosts("pserver", 2)),
        "PADDLE_TRAINERS_NUM": "3",
        "PADDLE_TRAINER_ENDPOINTS": ",".join(running),
        "PADDLE_PORT": "6170",
        "POD_IP": "mnist-trainer-2.mnist.lab.svc",
        "PADDLE_TRAINER_ID": "2",
    }


def test_a_start_writes_the_trainers_that_run() -> None:
    roles = (
        trainings.role("pserver", 2, suspended=True, port=6170),
        trainings.role("trainer", 1, 4, suspended=True, port=6170, resizing=ResizePolicy.RESTART),
    )
    waiting = trainings.training(*roles, framework="paddle", mode="ps")
    admission = Admission(waiting.key, (("pserver", 2), ("trainer", 3)), because("room"))
    for body in trainings.job_patches(start(waiting, admission, trainings.NOW)).values():
        assert body["template"]["metadata"]["annotations"] == {
            "edl.dev/cluster": ",".join(hosts("trainer", 3)),
            "edl.dev/workers": "3",
        }


# -- all of them -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("roles", "mode", "resizing"),
    [
        ("pserver=2,trainer=1..4", "ps", ResizePolicy.RESTART),
        ("master=1,trainer=1..4", "elastic", ResizePolicy.LIVE),
        ("trainer=1..4", "collective", ResizePolicy.RESTART),
    ],
)
def test_the_roles_select_the_mode(roles: str, mode: str, resizing: ResizePolicy) -> None:
    spec = parse(paddle("trainer", roles))
    assert (spec.mode, spec.scaling.resizing) == (mode, resizing)


def test_trainers_decide_and_the_others_serve() -> None:
    specs = {role: parse(cloud(role)) for role in ROLES}
    assert {role for role, spec in specs.items() if is_leader(spec)} == {"trainer"}
    assert {role for role, spec in specs.items() if is_service(spec)} == {"master", "pserver"}


@pytest.mark.parametrize(
    ("roles", "mode", "what"),
    [
        ("master=1,pserver=1,trainer=1", "", '"master" has no place in mode ps'),
        ("master=1,trainer=1", "cloud", "paddle needs a pserver"),
        ("master=2,trainer=1", "", "2 × master"),
        ("master=1", "", "paddle needs a trainer"),
        ("master=1", "collective", "paddle needs a trainer"),
        ("trainer=1", "cloud", '"cloud" does not fit'),
    ],
)
def test_a_list_of_roles_that_does_not_fit_is_refused(roles: str, mode: str, what: str) -> None:
    role = roles.partition("=")[0]
    notes = {"mode": mode} if mode else {}
    said = [finding.what for finding in findings(paddle(role, roles, annotations=notes))]
    assert what in said


def test_a_role_that_another_mode_accepts_is_refused_with_that_mode() -> None:
    (known,) = findings(paddle("master", "master=1,pserver=1,trainer=1"))
    assert known.allowed == "leave it out or choose mode cloud"


def every_kind() -> list[Json]:
    """A Job of each role in each mode."""
    roles = [
        paddle(part.partition("=")[0], roles, annotations={"mode": mode})
        for mode, roles in ROLE_LISTS.items()
        for part in roles.split(",")
    ]
    return [*roles, alone(), alone(gpu="1")]


def test_every_variable_and_label_stands_in_the_contract() -> None:
    known = {entry.name for entry in registry.ENTRIES}
    for manifest in every_kind():
        assert env(manifest).keys() <= known
        found = template(created(manifest))["metadata"]["labels"]
        assert {name for name in found if not name.startswith("batch")} <= known


@given(
    which=st.integers(0, len(every_kind()) - 1),
    names=st.sets(st.sampled_from(VARIABLES), max_size=4),
    command=st.sampled_from([None, ["mine"]]),
)
@settings(deadline=None, max_examples=60)
def test_whatever_the_user_set_stays_and_twice_is_once(
    which: int, names: set[str], command: list[str] | None
) -> None:
    manifest = every_kind()[which]
    own = {name: f"{name} is mine" for name in sorted(names)}
    container = pod_spec(manifest)["containers"][0]
    container["env"] = [{"name": name, "value": value} for name, value in own.items()]
    if command:
        container["command"] = command
    once = created(manifest)
    found = told(manifest)
    assert {name: found[name] for name in own} == own
    assert command is None or first(manifest)["command"] == command
    assert created(once) == once
