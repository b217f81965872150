"""Paddle's cloud mode: what PaddlePaddle's EDL controller gave the images of v1 and Fluid.

Names, values and commands are those of its pkg/updater/jobparser.go (podEnv, podPorts, parseTo…). A
master among the roles is what its spec called fault_tolerant: the master hands out tasks, so
trainers join and leave at any time. Without a master, every number is that of the last start.
"""

from collections.abc import Mapping
from typing import Final

from edl import contract
from edl.errors import Denied, Finding
from edl.frameworks.base import Companion, Env, FrameworkOption, Needs
from edl.spec.job_spec import JobSpec, ResourceSpec

_LAST_PORT: Final = 65535
_MAX_PORTS: Final = 1000
"""Each port is listed in the container."""
SETTINGS: Final = (
    FrameworkOption(contract.PORTS_NUM, "1", whole=True, most=_MAX_PORTS),
    FrameworkOption(contract.PORTS_NUM_FOR_SPARSE, "1", whole=True, most=_MAX_PORTS),
    FrameworkOption(contract.PASSES, "1", whole=True),
    FrameworkOption(contract.ENTRYPOINT),
    FrameworkOption(contract.WORKSPACE),
    FrameworkOption(contract.ETCD_IMAGE, "quay.io/coreos/etcd:v3.5.21"),
)
_MASTER: Final = "master"
_LABELS: Final = {
    _MASTER: contract.PADDLE_MASTER_LABEL,
    "pserver": contract.PADDLE_PSERVER_LABEL,
    "trainer": contract.PADDLE_TRAINER_LABEL,
}
_MASTER_PORTS: Final = (("master-port", 8080), ("etcd-port", 2379))
_TOLERANT: Final[Mapping[str, tuple[str, ...]]] = {
    _MASTER: ("paddle_k8s", "start_master"),
    "pserver": ("paddle_k8s", "start_new_pserver"),
    "trainer": ("paddle_k8s", "start_new_trainer"),
}
_STATIC: Final[Mapping[str, tuple[str, ...]]] = {
    "pserver": ("paddle_k8s", "start_pserver"),
    "trainer": ("paddle_k8s", "start_trainer", "v2"),
}
_ETCD: Final = (
    *("etcd", "-name", "etcd0"),
    *("-advertise-client-urls", "http://$(POD_IP):2379,http://$(POD_IP):4001"),
    *("-listen-client-urls", "http://0.0.0.0:2379,http://0.0.0.0:4001"),
    *("-initial-advertise-peer-urls", "http://$(POD_IP):2380"),
    *("-listen-peer-urls", "http://0.0.0.0:2380"),
    *("-initial-cluster", "etcd0=http://$(POD_IP):2380"),
    *("-initial-cluster-state", "new"),
)


def describe(spec: JobSpec) -> Needs:
    tolerant, master = _MASTER in spec.role_names, spec.role == _MASTER
    image = spec.setting(contract.ETCD_IMAGE)
    return Needs(
        env=_env(spec, tolerant=tolerant),
        ports=_MASTER_PORTS if master else _ports(spec),
        labels=((_LABELS[spec.role], spec.job),),
        command=(_TOLERANT if tolerant else _STATIC)[spec.role],
        companion=Companion("etcd", image, _ETCD) if master else None,
        # A bare pod cannot wait for its ServiceAccount.
        lists_pods=spec.rank is None,
    )


def _ports(spec: JobSpec) -> tuple[tuple[str, int], ...]:
    """The container ports. Raises Denied for ports that the API server would refuse."""
    names = (contract.PORTS_NUM, contract.PORTS_NUM_FOR_SPARSE)
    count = sum(int(spec.setting(name)) for name in names)
    if spec.port + count > _LAST_PORT + 1:
        path, what = f"metadata.annotations[{contract.PORT}]", f"{count} ports from {spec.port}"
        raise Denied([Finding(path, what, f"up to port {_LAST_PORT}")])
    return tuple((f"jobport-{port}", port) for port in range(spec.port, spec.port + count))


def _use_gpu(resources: ResourceSpec) -> dict[str, str]:
    """Whether there are GPUs; Paddle itself finds out for unknown devices."""
    unknown = resources.other_devices and not resources.accelerated
    return {} if unknown else {"PADDLE_INIT_USE_GPU": str(int(resources.accelerated))}


def _env(spec: JobSpec, *, tolerant: bool) -> tuple[Env, ...]:
    entry = spec.setting(contract.ENTRYPOINT)
    # Bare pods are never resized: they are all pods of the job.
    bare = spec.rank is not None
    sizes = {bounds.role: str(bounds.max if bare else bounds.min) for bounds in spec.all_roles}
    pairs = {
        "PSERVERS": sizes["pserver"],
        "ENTRY": entry,
        "TOPOLOGY": entry,
        "TRAINER_PACKAGE": spec.setting(contract.WORKSPACE),
        "PADDLE_INIT_PORT": str(spec.port),
        "PADDLE_INIT_TRAINER_COUNT": str(spec.resources.slots),
        "PADDLE_INIT_PORTS_NUM": spec.setting(contract.PORTS_NUM),
        "PADDLE_INIT_PORTS_NUM_FOR_SPARSE": spec.setting(contract.PORTS_NUM_FOR_SPARSE),
        "PADDLE_INIT_NUM_PASSES": spec.setting(contract.PASSES),
        **_use_gpu(spec.resources),
        "LD_LIBRARY_PATH": "/usr/local/cuda/lib64",
    }
    # With a master the number of trainers may vary; without one they wait for exactly this number.
    fixed = tolerant or bare
    trainers = {"value": sizes["trainer"]} if fixed else {"annotation": contract.WORKERS}
    return (
        Env("PADDLE_JOB_NAME", spec.job),
        Env("TRAINERS", **trainers),
        *(Env(name, value) for name, value in pairs.items()),
        Env("PADDLE_INIT_NUM_GRADIENT_SERVERS", **trainers),
        Env("NAMESPACE", field="metadata.namespace"),
        Env("POD_IP", field="status.podIP"),
    )
