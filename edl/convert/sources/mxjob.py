"""MXJob and MxJob, in all their variants.

| API | replicas |
|---|---|
| mlkube.io, mxnet.mlkube.io v1beta1 (MxJob) | the list `replicaSpecs`, `jobMode` dist or local |
| kubeflow.org v1alpha1 | the same list |
| kubeflow.org v1alpha2, v1beta1, v1 | the map `mxReplicaSpecs`, `jobMode` MXTrain or MXTune |
| qiniu.com, ava.qiniu.com v1alpha1 | the map `replicaSpecs` |

Fields: deepinsight, kubeflow and qiniu-ava mxnet-operator, kubeflow/training-operator.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from edl import contract
from edl.contract.manifest_parts import annotations
from edl.convert import training_manifest
from edl.convert.parts import (
    object_metadata,
    pod_templates,
    replica_bounds,
    replica_specs,
    run_policy,
)
from edl.convert.parts.replica_specs import RendezvousPort, Replica
from edl.convert.parts.run_policy import RunPolicy
from edl.convert.source_kind import SourceKind
from edl.convert.tracked_object import Fields
from edl.convert.training_manifest import RoleManifest, TrainingManifest
from edl.frameworks import FRAMEWORKS
from edl.writes import Json

_FRAMEWORK: Final = FRAMEWORKS["mxnet"]
_MODES: Final = {"MXTrain": "", "MXTune": "tune", "dist": "dist", "local": "local"}
_PORT_ENV: Final = "DMLC_PS_ROOT_PORT"
_PORT: Final = RendezvousPort("mxnet", "mxjob-port", _FRAMEWORK.port)


def read(document: Fields) -> Sequence[Json]:
    meta = object_metadata.read(document)
    spec = document.fields("spec")
    policy = run_policy.read(spec, clean_up="cleanupPodPolicy")
    replicas, port = read_replicas(spec)
    run_policy.remark_on_retries(policy, spec, [replica.restart for replica in replicas])
    roles = [replica.role for replica in replicas]
    annotations = policy.annotations | _mode(spec, roles) | _port(replicas, port)
    if "scheduler" in roles:  # mode local has neither variables nor MX_CONFIG
        _note_own_ports(replicas, int(annotations.get(contract.PORT, _PORT.usual)))
    _drop_the_rest(spec)
    scheduler = spec.text("schedulerName")
    all_roles = tuple(_part(replica, policy, scheduler) for replica in replicas)
    return training_manifest.manifests(
        TrainingManifest(meta, _FRAMEWORK.name, all_roles, annotations)
    )


def _part(replica: Replica, policy: RunPolicy, scheduler: str) -> RoleManifest:
    serves = _FRAMEWORK.kinds[replica.role].serves
    failing = training_manifest.failing(replica, policy, _PORT, serves=serves)
    template = pod_templates.with_default(
        replica.fields, replica.template, "schedulerName", scheduler
    )
    replica = replica_specs.with_template(replica, template)
    return training_manifest.role(
        replica, replica_bounds.exactly(replica.size), failing, policy, _PORT
    )


def _mode(spec: Fields, roles: Sequence[str]) -> dict[str, str]:
    """The mode annotation, unless the mode follows from the roles."""
    wanted = _MODES.get(spec.choice("jobMode", tuple(_MODES)), "")
    usual = _FRAMEWORK.mode("", roles)
    return {contract.MODE: wanted} if wanted and usual and usual.name != wanted else {}


def _port(replicas: Sequence[Replica], number: int | None) -> dict[str, str]:
    """The port annotation: the list form has a port field, the map form a container port."""
    return (
        _PORT.annotations(replicas)
        if number is None
        else replica_specs.port_annotation(number, _PORT.usual)
    )


def _note_own_ports(replicas: Sequence[Replica], number: int) -> None:
    """Report variables that name another port than the scheduler's: they win over the webhook's."""
    for replica in replicas:
        main = pod_templates.main_container(replica.template, _PORT.container)
        for entry in main.get("env") or ():
            if entry.get("name") == _PORT_ENV and entry.get("value") not in (None, str(number)):
                what = f"{_PORT_ENV} of its env wins, and MX_CONFIG has the port {number}"
                replica.fields.note("template", what, "use one number")


def _drop_the_rest(spec: Fields) -> None:
    if spec.value("RuntimeId") is not None:
        spec.note("RuntimeId", "written by the operator: left out")
    spec.drop("mxImage", instead="each template names its image")
    if spec.choice("successPolicy", ("AllWorkers",)):
        what = "the scheduler ends when all workers have, and it decides"
        spec.note("successPolicy", what)
    for name in ("startWebhook", "finishWebhook"):
        spec.drop(name, instead="watch the Job, or its Events")
    spec.drop("schedulingSpec", instead="kubectl-edl starts a job when all of it fits")
    chief = spec.fields("terminationPolicy").fields("chief")
    name, index = chief.text("replicaName"), chief.whole("replicaIndex")
    if name and (name.lower(), index or 0) != ("scheduler", 0):
        what = f"{name} {index or 0} decided when the job is done"
        chief.lose("replicaName", what, "the scheduler decides here")


# The replicas of an MXJob: a map by role, or a list whose entries name their role.

ROLES: Final = {
    "scheduler": "scheduler",
    "server": "server",
    "worker": "worker",
    "tunertracker": "tunertracker",
    "tunerserver": "tunerserver",
    "tuner": "tuner",
}
_TYPES: Final = ("mxReplicaType", "MxReplicaType")
_PORTS: Final = ("PsRootPort", "psRootPort")
_SERVER: Final = "tunerserver"


def read_replicas(spec: Fields) -> tuple[tuple[Replica, ...], int | None]:
    """The replicas, and the scheduler's port if one of them sets it."""
    if "mxReplicaSpecs" in spec.names():
        replicas = replica_specs.read(spec.fields("mxReplicaSpecs"), ROLES, "Never")
    else:
        replicas = tuple(_entries(spec))
        if not replicas:
            spec.wrong("", "has no replicas", "mxReplicaSpecs, or replicaSpecs of older versions")
    return _with_key(_with_verbosity(replicas)), _root_port(replicas)


def _entries(spec: Fields) -> Iterator[Replica]:
    """Older replica specs: an entry's role is its type, or in a map its key."""
    for fields, replica_type in _named(spec):
        role = ROLES.get(replica_type.lower())
        if role is None:
            fields.wrong("", f'"{replica_type}" is not a role', f"one of {', '.join(ROLES)}")
            continue
        size = fields.whole("replicas", least=1)
        yield replica_specs.by_template(fields, role, 1 if size is None else size)


def _named(spec: Fields) -> Iterator[tuple[Fields, str]]:
    if not spec.is_array("replicaSpecs"):
        specs = spec.fields("replicaSpecs")
        yield from ((specs.fields(name), name) for name in specs.names())
        return
    for fields in spec.entries("replicaSpecs"):
        types = [fields.text(name) for name in _TYPES]
        yield fields, next((text for text in types if text), "worker")


def _root_port(replicas: Sequence[Replica]) -> int | None:
    """The scheduler's port, which any replica may set; None if none does."""
    ports = [
        (replica.fields, name, port)
        for replica in replicas
        for name in _PORTS
        if (port := replica.fields.whole(name, least=1)) is not None
    ]
    first = ports[0][2] if ports else None
    for fields, name, port in ports:
        if port != first:
            fields.lose(name, f"{port} here and {first} in another role", "the first one counts")
    return first


def _with_verbosity(replicas: Sequence[Replica]) -> tuple[Replica, ...]:
    """Set ps-lite's verbosity variable."""

    def env(replica: Replica) -> dict[str, str]:
        level = replica.fields.whole("psVerbose")
        return {} if level is None else {"PS_VERBOSE": str(level)}

    return replica_specs.with_templates(
        replicas, lambda replica: pod_templates.with_env(replica.template, env(replica))
    )


def _with_key(replicas: Sequence[Replica]) -> tuple[Replica, ...]:
    """Set the key of the tuner servers on every pod; MX_CONFIG contains it, too."""
    keys = [key for replica in replicas for key in _keys(replica)]
    if not keys:
        return tuple(replicas)
    _, _, first = keys[0]
    for fields, name, key in keys:
        if key != first:
            fields.lose(name, f'"{key}" is another key than "{first}"', "all servers have one key")
    note = {contract.TUNER_SERVER_KEY: first}
    return replica_specs.with_templates(
        replicas, lambda replica: pod_templates.annotated(replica.template, note)
    )


def _keys(replica: Replica) -> Iterator[tuple[Fields, str, str]]:
    """Keys from a replica's label, the tuner's spec, and the tuner servers' annotation."""
    fields = replica.fields
    spec = fields.fields("tunerSpec")
    instead = "write a TunerServer into mxReplicaSpecs"
    spec.drop("tunerServerReplicas", instead=instead)
    spec.drop("tunerServerGPU", instead=f"{instead}, with its GPUs")
    notes = annotations(replica.template)
    noted = notes.get(contract.TUNER_SERVER_KEY, "") if replica.role == _SERVER else ""
    keys = (
        (fields, "label", fields.text("label")),
        (spec, "tunerServerKey", spec.text("tunerServerKey")),
        (fields, "template", noted),
    )
    yield from (key for key in keys if key[2])


SOURCE: Final = SourceKind(
    apis=(
        ("kubeflow.org", "MXJob"),
        ("mlkube.io", "MxJob"),
        ("mxnet.mlkube.io", "MxJob"),
        ("qiniu.com", "MXJob"),
        ("ava.qiniu.com", "MXJob"),
    ),
    versions=("v1alpha1", "v1alpha2", "v1beta1", "v1"),
    read=read,
)
