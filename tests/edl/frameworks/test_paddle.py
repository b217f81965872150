"""Paddle's modes. Sources, by the names of their repositories:

cloud: PaddlePaddle/edl, `pkg/updater/jobparser.go` (podEnv, podPorts, masterPorts, getEtcdPodSpec,
parseToMaster, parseToPserver, parseToTrainer), and PaddlePaddle/cloud, `docker/paddle_k8s` and
`docker/k8s_tools.py`, which read it. ps: `_ps_env` of Paddle 3.3.1's
`distributed/fleet/base/role_maker.py`. collective: its `distributed/parallel.py`. elastic: its
`distributed/launch/context/args_envs.py`, and `fleet/elastic/manager.py` for older releases.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edl import contract
from edl.frameworks import decides, serves
from edl.frameworks.paddle import at_start
from edl.model import Resizing
from edl.parse import parse
from edl.planner.plan import Admission
from edl.steps.start import start
from edl.steps.surroundings import surroundings
from edl.writes import Create, Json
from tests.edl import trainings
from tests.edl.kubelet import told
from tests.edl.manifests import cast, created, job, pod, pod_spec, template
from tests.edl.readings import annotation, findings

TOLERANT = "master=1,pserver=2,trainer=2..10"
STATIC = "pserver=2,trainer=2..10"
ELASTIC = "master=1,trainer=1..3"
SERVED = "pserver=2,trainer=1..4"
CASTS = {"cloud": TOLERANT, "ps": SERVED, "elastic": ELASTIC}
ETCD = "mnist-master-0.mnist.lab.svc:2379"
ROLES = ("master", "pserver", "trainer")
OURS = contract.COMPLETION_INDEX_ENV


def paddle(role: str, roles: str, **fields: Any) -> Json:  # noqa: ANN401 — JSON
    """One Job of the Paddle training job `mnist`."""
    return cast(role, roles, framework="paddle", **fields)


def cloud(role: str, roles: str = TOLERANT, **fields: Any) -> Json:  # noqa: ANN401 — JSON
    notes = {"mode": "cloud", **fields.pop("annotations", {})}
    return paddle(role, roles, annotations=notes, **fields)


def alone(**fields: Any) -> Json:  # noqa: ANN401 — JSON
    """A collective training of one Job."""
    return job("mnist", framework="paddle", min="2", max="4", **fields)


def asking(**resources: Any) -> Json:  # noqa: ANN401 — JSON
    container = {"name": "trainer", "image": "busybox", "resources": resources}
    return {"containers": [container]}


def env(manifest: Json, index: int = 0, trainers: Sequence[str] = ()) -> dict[str, str]:
    """What a pod's program sees after a start with these trainers, without the index."""
    found = told(manifest, index, at_start({"trainer": trainers}))
    del found[OURS]
    return found


def first(manifest: Json) -> Json:
    """The first container."""
    return dict(pod_spec(created(manifest))["containers"][0])


def hosts(role: str, count: int, port: int = 6170) -> list[str]:
    return [f"mnist-{role}-{index}.mnist.lab.svc:{port}" for index in range(count)]


# -- cloud -----------------------------------------------------------------------------------------

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


@pytest.mark.parametrize("role", ["master", "pserver"])
def test_every_role_is_told_the_same(role: str) -> None:
    found = env(cloud(role, annotations={**SPEC, "slots": "5"}))
    assert found == POD_ENV


def test_what_is_not_said_is_as_the_old_controller_had_it() -> None:
    """setDefaultAndValidate."""
    found = env(cloud("trainer"))
    assert {name: found[name] for name in found if "PORT" in name or "PASSES" in name} == {
        "PADDLE_INIT_PORT": "7164",
        "PADDLE_INIT_PORTS_NUM": "1",
        "PADDLE_INIT_PORTS_NUM_FOR_SPARSE": "1",
        "PADDLE_INIT_NUM_PASSES": "1",
    }
    assert (found["ENTRY"], found["TOPOLOGY"], found["TRAINER_PACKAGE"]) == ("", "", "")


def test_without_a_master_every_number_is_that_of_the_start() -> None:
    """Who does not tolerate faults waits for exactly so many: `wait_pods_running`."""
    found = env(cloud("trainer", STATIC), trainers=hosts("trainer", 7))
    assert (found["TRAINERS"], found["PADDLE_INIT_NUM_GRADIENT_SERVERS"]) == ("7", "7")
    assert parse(cloud("trainer", STATIC)).resizing is Resizing.RESTART
    assert parse(cloud("trainer", TOLERANT)).resizing is Resizing.LIVE


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
def test_who_has_no_command_gets_the_old_controllers(roles: str, role: str, command: str) -> None:
    assert first(cloud(role, roles))["command"] == command.split()


def test_pods_carry_the_labels_that_their_peers_list_them_by() -> None:
    names = {
        "master": "paddle-job-master",
        "pserver": "paddle-job-pserver",
        "trainer": "paddle-job",
    }
    for role, name in names.items():
        found = template(created(cloud(role)))["metadata"]["labels"]
        assert {label for label in found if label.startswith("paddle-job")} == {name}
        assert found[name] == "mnist"


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


def test_the_master_has_an_etcd_beside_it() -> None:
    master, etcd = pod_spec(created(cloud("master")))["containers"]
    assert etcd["name"] == "etcd"
    assert " ".join(etcd["command"]) == (
        "etcd -name etcd0"
        " -advertise-client-urls http://$(POD_IP):2379,http://$(POD_IP):4001"
        " -listen-client-urls http://0.0.0.0:2379,http://0.0.0.0:4001"
        " -initial-advertise-peer-urls http://$(POD_IP):2380"
        " -listen-peer-urls http://0.0.0.0:2380"
        " -initial-cluster etcd0=http://$(POD_IP):2380"
        " -initial-cluster-state new"
    )
    assert etcd["env"] == master["env"]


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


def test_pods_may_list_each_other() -> None:
    for role in ROLES:
        assert pod_spec(created(cloud(role)))["serviceAccountName"] == "mnist-peers"
    own = {"containers": [{"name": "a", "image": "b"}], "serviceAccountName": "mine"}
    assert pod_spec(created(cloud("trainer", pod=own)))["serviceAccountName"] == "mine"


@pytest.mark.parametrize(
    ("accounts", "made", "bound"),
    [
        (("", "", ""), {"ServiceAccount", "RoleBinding"}, ["mnist-peers"]),
        (("", "mine", ""), {"ServiceAccount", "RoleBinding"}, ["mine", "mnist-peers"]),
        (("mine", "mine", "mine"), {"RoleBinding"}, ["mine"]),
    ],
)
def test_the_right_to_list_is_bound_to_whoever_runs_the_pods(
    accounts: Sequence[str], made: set[str], bound: Sequence[str]
) -> None:
    roles = [trainings.role(role, account=who) for role, who in zip(ROLES, accounts, strict=True)]
    found = trainings.training(*roles, framework="paddle", mode="cloud", surroundings=frozenset())
    rights = [write for write in surroundings(found) if isinstance(write, Create)]
    named = {write.target.kind: write for write in rights if write.target.name == "mnist-peers"}
    assert named.keys() == made
    binding = named["RoleBinding"].manifest
    assert binding["roleRef"]["name"] == "edl-peers"
    assert [subject["name"] for subject in binding["subjects"]] == bound


def test_other_modes_need_no_rights() -> None:
    roles = (trainings.role("master"), trainings.role("trainer"))
    found = trainings.training(*roles, framework="paddle", surroundings=frozenset())
    kinds = {write.target.kind for write in surroundings(found)}
    assert kinds == {"Service", "PodDisruptionBudget"}
    assert "serviceAccountName" not in pod_spec(created(paddle("trainer", ELASTIC)))


@pytest.mark.parametrize("name", ["ports-num", "ports-num-for-sparse", "passes"])
def test_a_number_that_is_none_is_refused(name: str) -> None:
    (finding,) = findings(cloud("trainer", annotations={name: "0"}))
    assert (finding.path, finding.what) == (annotation(name), '"0"')
    assert finding.allowed == "a whole number from 1"


# -- elastic ---------------------------------------------------------------------------------------


def test_a_launcher_is_told_everything_by_its_own_variables() -> None:
    assert env(paddle("trainer", ELASTIC)) == {
        "PADDLE_MASTER": f"etcd://{ETCD}",
        "PADDLE_JOB_ID": "mnist",
        "PADDLE_NNODES": "1:3",
        "PADDLE_NPROC_PER_NODE": "1",
        "PADDLE_MAX_RESTART": "1000",
        "PADDLE_ELASTIC_LEVEL": "1",
        "PADDLE_ELASTIC_TIMEOUT": "7",
        "PADDLE_ELASTIC_SERVER": ETCD,
        "PADDLE_ELASTIC_JOB_ID": "mnist",
        "PADDLE_ELASTIC_NP": "1:3",
        "POD_IP": "status.podIP",
    }


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


# -- collective and ps -----------------------------------------------------------------------------


def test_collective_trainers_are_told_who_runs() -> None:
    running = [f"mnist-{index}.mnist.lab.svc:6170" for index in range(3)]
    assert env(alone(), 1, running) == {
        "PADDLE_TRAINER_ID": "1",
        "PADDLE_TRAINERS_NUM": "3",
        "PADDLE_TRAINER_ENDPOINTS": ",".join(running),
        "PADDLE_CURRENT_ENDPOINT": running[1],
        "TRAINING_ROLE": "TRAINER",
        "PADDLE_DISTRI_BACKEND": "gloo",
    }


def test_trainers_with_a_gpu_take_the_first_that_they_see() -> None:
    found = env(alone(gpu="1"))
    assert found["FLAGS_selected_gpus"] == "0"
    assert "PADDLE_DISTRI_BACKEND" not in found


def test_bare_pods_are_the_whole_cast() -> None:
    manifest = pod("any", framework="paddle", job="mnist", annotations={"rank": "1", "size": "2"})
    found = env(manifest)
    assert found["PADDLE_TRAINER_ENDPOINTS"] == ",".join(hosts("trainer", 2))
    assert (found["PADDLE_TRAINERS_NUM"], found["PADDLE_TRAINER_ID"]) == ("2", "1")
    assert found["PADDLE_CURRENT_ENDPOINT"] == hosts("trainer", 2)[1]


def test_a_server_finds_itself_in_the_list() -> None:
    """role_maker: `server_endpoints.index(POD_IP:PADDLE_PORT)`."""
    found = env(paddle("pserver", SERVED), 1, hosts("trainer", 3))
    servers = found["PADDLE_PSERVERS_IP_PORT_LIST"].split(",")
    assert servers == hosts("pserver", 2)
    assert servers.index(f"{found['POD_IP']}:{found['PADDLE_PORT']}") == 1
    assert (found["TRAINING_ROLE"], found["PADDLE_TRAINERS_NUM"]) == ("PSERVER", "3")
    assert "PADDLE_TRAINER_ID" not in found


def test_trainers_of_servers_are_told_who_runs() -> None:
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
        trainings.role("trainer", 1, 4, suspended=True, port=6170, resizing=Resizing.RESTART),
    )
    waiting = trainings.training(*roles, framework="paddle", mode="ps")
    admission = Admission(waiting.key, (("pserver", 2), ("trainer", 3)), "room")
    for body in trainings.job_patches(start(waiting, admission, trainings.NOW)).values():
        assert body["template"]["metadata"]["annotations"] == {
            "edl.dev/cluster": ",".join(hosts("trainer", 3)),
            "edl.dev/workers": "3",
        }


# -- all of them -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("roles", "mode", "resizing"),
    [
        ("pserver=2,trainer=1..4", "ps", Resizing.RESTART),
        ("master=1,trainer=1..4", "elastic", Resizing.LIVE),
        ("trainer=1..4", "collective", Resizing.RESTART),
    ],
)
def test_the_cast_shows_the_mode(roles: str, mode: str, resizing: Resizing) -> None:
    spec = parse(paddle("trainer", roles))
    assert (spec.mode, spec.resizing) == (mode, resizing)


def test_trainers_decide_and_the_others_serve() -> None:
    specs = {role: parse(cloud(role)) for role in ROLES}
    assert {role for role, spec in specs.items() if decides(spec)} == {"trainer"}
    assert {role for role, spec in specs.items() if serves(spec)} == {"master", "pserver"}


@pytest.mark.parametrize(
    ("roles", "mode", "what"),
    [
        ("master=1,pserver=1,trainer=1", "", '"master" has no place in mode ps'),
        ("master=1,trainer=1", "cloud", "paddle needs a pserver"),
        ("master=2,trainer=1", "", "2 × master"),
        ("master=1", "", "paddle needs a trainer"),
        ("trainer=1", "cloud", '"cloud" does not fit'),
    ],
)
def test_a_cast_that_does_not_fit_is_refused(roles: str, mode: str, what: str) -> None:
    role = roles.partition("=")[0]
    notes = {"mode": mode} if mode else {}
    said = [finding.what for finding in findings(paddle(role, roles, annotations=notes))]
    assert what in said


def every_kind() -> list[Json]:
    """A Job of each role in each mode."""
    casts = [
        paddle(part.partition("=")[0], roles, annotations={"mode": mode})
        for mode, roles in CASTS.items()
        for part in roles.split(",")
    ]
    return [*casts, alone(), alone(gpu="1")]


def test_every_variable_and_label_stands_in_the_contract() -> None:
    entries = {entry.name for entry in contract.ENTRIES}
    for manifest in every_kind():
        assert env(manifest).keys() <= entries
        found = template(created(manifest))["metadata"]["labels"]
        assert {name for name in found if not name.startswith("batch")} <= entries


@given(
    which=st.integers(0, len(every_kind()) - 1),
    names=st.sets(st.sampled_from([name for name, _ in contract.PADDLE_ENV]), max_size=4),
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
