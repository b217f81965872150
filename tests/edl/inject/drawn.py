"""Manifests as users of each framework may write them, drawn at random."""

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from hypothesis import strategies as st

from edl import contract
from edl.parsing.manifest_reader import ManifestReader
from edl.spec.container_resources import own_gpus
from edl.writes import Json
from tests.edl.manifests import job, pod, role_manifest

_CHIEF: Final = "chief=1,ps=2,worker=1..3"
_SERVED: Final = "pserver=2,trainer=2..4"
_RING: Final = ("", "launcher=1,worker=2..4"), ("ssh", "launcher=1,worker=2..4")
ROLE_LISTS: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "tensorflow": (
        ("", _CHIEF),
        ("collective", _CHIEF),
        ("sparse", _CHIEF),
        ("", "ps=1,worker=2"),
        ("", "chief=1,worker=1,evaluator=1"),
    ),
    "mxnet": (
        ("", "scheduler=1,server=2,worker=1..4"),
        ("", "tunertracker=1,tunerserver=2,tuner=1"),
    ),
    "horovod": _RING,
    "aiacc": _RING,
    "paddle": (
        ("", _SERVED),
        ("", "master=1,trainer=1..3"),
        ("cloud", _SERVED),
        ("cloud", f"master=1,{_SERVED}"),
    ),
    "pytorch": (("", "rendezvous=1,worker=2..4"),),
    "none": (),
}
"""By framework: modes, empty for the default one, and lists of roles."""
_ELASTIC: Final[tuple[Mapping[str, str], ...]] = (
    {},
    {"max": "5"},
    {"min": "2"},
    {"min": "1", "max": "3"},
)
_ALONE: Final[Mapping[str, tuple[Mapping[str, str], ...]]] = {
    **dict.fromkeys(("tensorflow", "paddle", "pytorch", "none"), _ELASTIC),
    "mxnet": ({},),  # its local mode
}
"""By framework: the bounds of a Job that stands alone."""
_VARIABLES: Final[Mapping[str, tuple[str, ...]]] = {
    "tensorflow": ("TF_CONFIG", "EDL_CLUSTER"),
    "mxnet": ("MX_CONFIG", "EDL_CLUSTER", "DMLC_NUM_WORKER", "DMLC_ROLE"),
    "horovod": ("OMPI_MCA_plm_rsh_agent", "OMPI_MCA_orte_default_hostfile"),
    "aiacc": ("OMPI_MCA_plm_rsh_agent",),
    "paddle": ("PADDLE_TRAINERS_NUM", "PADDLE_TRAINER_ENDPOINTS", "POD_IP", "TRAINERS"),
    "pytorch": ("PET_NNODES", "PET_MAX_RESTARTS"),
    "none": (),
}
"""By framework: variables of ours that users set themselves."""
_WORDS: Final = st.sampled_from(["a", "b", "data", "edl-etc-edl", "edl-ssh", "etcd", "x-1"])
_PORTS: Final = st.lists(
    st.fixed_dictionaries(
        {
            "name": st.sampled_from(["tfjob-port", "mxjob-port", "board", "web"]),
            "containerPort": st.sampled_from([2222, 9091, 6006, 80]),
            "protocol": st.just("TCP"),
        }
    ),
    max_size=2,
    unique_by=lambda port: port["name"],
)
_PLACES: Final = ["/data", "/etc/edl", "/etc/mpi/", "/opt/kube", "/etc", "/job", "/root/.ssh"]
_MOUNTS: Final = st.lists(
    st.fixed_dictionaries({"name": _WORDS, "mountPath": st.sampled_from(_PLACES)}),
    max_size=3,
    unique_by=lambda mount: mount["mountPath"],
)
_GPU: Final = {"nvidia.com/gpu": "4"}
_LIFE: Final = {"preStop": {"exec": {"command": ["sleep", "1"]}}}
_TEXTS: Final = st.dictionaries(
    st.sampled_from(["team", "example.com/a"]), st.sampled_from(["", "x"])
)
_NOTES: Final = st.dictionaries(
    st.sampled_from(["team", "kubeshare/gpu_request", contract.REASON, contract.HOSTFILE]),
    st.sampled_from(["0.5", "1"]),
)
_SHARE: Final = {"gpu": "0.5"}
_GPUS: Final[tuple[Mapping[str, str], ...]] = (
    {},
    {"gpu": "2"},
    _SHARE,
    _SHARE | {"gpu_memory": "1Gi"},
)
_TOLD: Final = st.fixed_dictionaries(
    {},
    optional={
        "paused": st.just("true"),
        "slots": st.just("4"),
        "port": st.just("3333"),
        "clean-up": st.just("All"),
        "restart": st.sampled_from(["Never", "ExitCode"]),
        "reason": st.just("forged"),
        "injected-max": st.just("999"),
    },
)
_SIZES: Final = st.fixed_dictionaries(
    {"suspend": st.booleans()},
    optional={
        "backoffLimit": st.sampled_from([0, 6, 9]),
        "activeDeadlineSeconds": st.just(60),
        "ttlSecondsAfterFinished": st.sampled_from([0, 60, None]),
    },
)


@st.composite
def manifests(draw: st.DrawFn, framework: str) -> Json:
    """A labelled Job or bare pod that makes sense, with whatever else users write."""
    kinds = [*([_of_several_roles, _bare] if ROLE_LISTS[framework] else [_bare_alone])]
    kind = draw(st.sampled_from([*kinds, *([_alone] if framework in _ALONE else [])]))
    told = draw(_TOLD)
    if kind in (_bare, _bare_alone):
        told.pop("restart", None)  # a bare pod is not recreated
    manifest: Json = kind(draw, framework, pod=draw(_pods(framework)), annotations=told)
    waits = manifest["metadata"]["labels"].get(contract.ROLE) == "launcher"
    # KubeShare would not wait for a launcher's host list: a share on it is refused. So it is beside
    # whole GPUs of a container's own.
    whole = waits or own_gpus(ManifestReader(manifest).pod)
    gpus = draw(st.sampled_from(_GPUS[:2] if whole else _GPUS))
    named = {contract.PREFIX + name.replace("_", "-"): text for name, text in gpus.items()}
    manifest["metadata"]["labels"] |= draw(_TEXTS) | named
    if "template" in manifest["spec"]:
        notes = _TEXTS if waits else _NOTES
        optional = {"labels": _TEXTS, "annotations": notes}
        manifest["spec"]["template"]["metadata"] = draw(
            st.fixed_dictionaries({}, optional=optional)
        )
        manifest["spec"] |= draw(_SIZES)
    return manifest


def _of_several_roles(draw: st.DrawFn, framework: str, **fields: Any) -> Json:  # noqa: ANN401
    mode, roles = draw(st.sampled_from(ROLE_LISTS[framework]))
    role = draw(st.sampled_from([part.partition("=")[0] for part in roles.split(",")]))
    fields["annotations"] = fields["annotations"] | ({"mode": mode} if mode else {})
    return role_manifest(role, roles, framework=framework, **fields)


def _alone(draw: st.DrawFn, framework: str, **fields: Any) -> Json:  # noqa: ANN401
    bounds: Json = {**draw(st.sampled_from(_ALONE[framework]))}
    return job("mnist", framework=framework, **bounds, **fields)


def _bare(draw: st.DrawFn, framework: str, **fields: Any) -> Json:  # noqa: ANN401
    """A bare pod of the same job."""
    made = _of_several_roles(draw, framework, **fields)
    told = made["metadata"]["annotations"] | {contract.RANK: "0"}
    named = made["metadata"]["labels"]
    # The API server refuses a bare pod whose account there is not: a launcher's is its user's.
    account = {"serviceAccountName": "trainer"} if named[contract.ROLE] == "launcher" else {}
    return pod("any", annotations=told, spec=fields["pod"] | account, **named)


def _bare_alone(draw: st.DrawFn, framework: str, **fields: Any) -> Json:  # noqa: ANN401
    told = fields["annotations"] | draw(st.sampled_from([{}, {"rank": "1", "size": "3"}]))
    return pod("any", framework=framework, job="mnist", annotations=told, spec=fields["pod"])


@cache
def _containers(framework: str) -> st.SearchStrategy[Json]:
    ours = [contract.COMPLETION_INDEX_ENV, *_VARIABLES[framework]]
    variable = st.fixed_dictionaries(
        {
            "name": st.sampled_from(["A", "PATH", *ours]),
            "value": st.sampled_from(["1", "$(JOB_COMPLETION_INDEX)", "{}"]),
        }
    )
    optional = {
        "env": st.lists(variable, max_size=4, unique_by=lambda entry: entry["name"]),
        "ports": _PORTS,
        "volumeMounts": _MOUNTS,
        "resources": st.sampled_from([{}, {"limits": {"cpu": "1"}}, {"limits": _GPU}]),
        "command": st.just(["train"]),
        "args": st.just(["--fast"]),
        "lifecycle": st.just(_LIFE),
    }
    return st.fixed_dictionaries({"name": _WORDS, "image": st.just("busybox")}, optional=optional)


@cache
def _pods(framework: str) -> st.SearchStrategy[Json]:
    """Pod specs."""
    container = _containers(framework)
    inits = container.map(lambda found: found | {"name": f"init-{found['name']}"})
    volume = st.fixed_dictionaries({"name": _WORDS, "emptyDir": st.just({})})
    optional = {
        "initContainers": _named(inits, 0),
        "volumes": _named(volume, 0),
        "affinity": st.sampled_from([{}, {"podAntiAffinity": {}}, {"nodeAffinity": {"a": 1}}]),
        "schedulerName": st.sampled_from(["default-scheduler", "mine"]),
        "serviceAccountName": st.just("trainer"),
        "nodeSelector": st.just({"disk": "ssd"}),
        "schedulingGates": st.just([{"name": "example.com/gate"}]),
        "shareProcessNamespace": st.just(False),  # noqa: FBT003 - JSON
    }
    return st.fixed_dictionaries({"containers": _named(container, 1)}, optional=optional)


def _named(items: st.SearchStrategy[Json], least: int) -> st.SearchStrategy[list[Json]]:
    return st.lists(items, min_size=least, max_size=2, unique_by=lambda item: str(item["name"]))
