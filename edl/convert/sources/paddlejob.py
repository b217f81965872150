"""PaddlePaddle's TrainingJob: v1 of the EDL controller, and of Fluid before it; v1alpha1 of baidu.

The resource has no pod templates, so they are built here as the controller built them. Mode
cloud provides the variables, commands and etcd that the images of that time expect.
Fields: elasticdeeplearning/edl and baidu/paddle-on-k8s-operator pkg/apis/paddlepaddle,
PaddlePaddle/cloud go/edl/resource; how pods were built: pkg/updater/jobparser.go.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Self

import msgspec

from edl import contract
from edl.convert import template_schema, training_manifest
from edl.convert.parts import object_metadata, pod_templates, replica_bounds, restart_policy
from edl.convert.source_kind import SourceKind
from edl.convert.template_schema import FieldShape
from edl.convert.tracked_object import Fields
from edl.convert.training_manifest import RoleManifest, TrainingManifest
from edl.writes import Json

_FRAMEWORK: Final = "paddle"
_PORT: Final = 7164
_NUMBERS: Final = {
    "ports_num": contract.PORTS_NUM,
    "ports_num_for_sparse": contract.PORTS_NUM_FOR_SPARSE,
    "passes": contract.PASSES,
}
_TEXTS: Final = {"entrypoint": contract.ENTRYPOINT, "workspace": contract.WORKSPACE}
_DROPPED: Final[Mapping[str, str]] = {
    "podGroupName": "kubectl-edl starts a job when all of it fits",
    "annotations": "kubectl-edl queues the Job; a PriorityClass orders it",
    "trainer_port": f"all roles have one port: {contract.PORT}",
    "trainer_ports_num": f"all roles have one number: {contract.PORTS_NUM}",
    "mountpath": "write it into volumes and VolumeMounts",
    "nfsmount": "write it into volumes and VolumeMounts",
    "is_nccl": f"{contract.MODE}: collective, without pservers and master",
    "local_job": f"{contract.MODE}: collective with one trainer, without pservers and master",
    "frame_work": f"{contract.MODE}: collective, or another {contract.FRAMEWORK}",
}


# Pods of a TrainingJob, as its controller built them.

_IMAGE: Final = "paddlepaddle/paddlecloud-job"
_MASTERS_RESOURCES: Final = {
    "limits": {"cpu": "2", "memory": "1Gi"},
    "requests": {"cpu": "1", "memory": "500Mi"},
}
"""The controller's fixed resources of every master."""
_OF_ALL: Final[Mapping[str, tuple[str, FieldShape]]] = {
    "volumes": ("volumes", template_schema.NAMED),
    "imagePullSecrets": ("imagePullSecrets", template_schema.NAMED),
    "schedulerName": ("schedulerName", str),
    "NodeSelector": ("nodeSelector", template_schema.LABELS),
}
_OF_POD: Final[Mapping[str, tuple[str, FieldShape]]] = {
    "grace_period_seconds": ("terminationGracePeriodSeconds", int),
    "tolerations": ("tolerations", [dict]),
    "node_selector": ("nodeSelector", template_schema.TEXTS),
    "imagePullSecrets": ("imagePullSecrets", template_schema.NAMED),
}
_OF_CONTAINER: Final[Mapping[str, tuple[str, FieldShape]]] = {
    "liveness_probe": ("livenessProbe", dict),
    "readiness_probe": ("readinessProbe", dict),
    "resources": ("resources", template_schema.RESOURCES),
}
"""The source's field, the pod's field, and its type."""
_OF_BAIDU: Final = (*_DROPPED, "schedulerName", "matrix")
"""Fields of baidu's API alone, in which an entrypoint is the container's command."""
_HOST_NETWORK: Final = ("host_network", "hostNetwork", "HostNetwork")
_WRITTEN: Final = ("replicaSpec", "index_succeed")
"""Fields that the controller writes."""


class PaddlePods(msgspec.Struct, frozen=True):
    """Settings that all pods of the training job share."""

    image: str
    pod: Json
    mounts: list[Any]
    run_entrypoints: bool
    """Whether an entrypoint is the command, and no variable of `paddle_k8s`."""

    @classmethod
    def read(cls, spec: Fields, *, run_entrypoints: bool) -> Self:
        flags = [spec.flag(name) for name in _HOST_NETWORK]
        network = {"hostNetwork": True} if any(flags) else {}
        mounts = spec.shaped("VolumeMounts", template_schema.MOUNTS) or []
        return cls(
            spec.text("image") or _IMAGE, network | _renamed(spec, _OF_ALL), mounts, run_entrypoints
        )

    def template(self, fields: Fields, role: str, *, mounts: bool, pulls: bool) -> Json:
        """One role's template. `mounts`: mount the volumes; `pulls`: always pull the image."""
        container: Json = {"name": role, "image": self.image}
        container |= {"imagePullPolicy": "Always"} if pulls else {}
        container |= _renamed(fields, _OF_CONTAINER)
        if role == "master":
            container.setdefault("resources", _MASTERS_RESOURCES)
        container |= {"volumeMounts": self.mounts} if mounts and self.mounts else {}
        container |= _env(fields) | _pre_stop(fields)
        entry = "" if role == "master" else fields.text("entrypoint")  # the operator's has none
        if entry and self.run_entrypoints:
            # As its operator splits it.
            container["command"] = entry.split(" ")
            fields.note(
                "entrypoint", "it is the command, as in baidu's operator, without paddle_k8s"
            )
        for name in _WRITTEN:
            if fields.value(name) is not None:
                fields.note(name, "written by the controller: left out")
        per_role = _renamed(fields, _OF_POD)
        if selector := {**self.pod.get("nodeSelector", {}), **per_role.get("nodeSelector", {})}:
            per_role["nodeSelector"] = selector
        pod = {**self.pod, **per_role, "containers": [container]}
        return pod_templates.todays(fields, "resources", {"spec": pod})


def _renamed(fields: Fields, names: Mapping[str, tuple[str, FieldShape]]) -> Json:
    values = {field: fields.shaped(name, shape) for name, (field, shape) in names.items()}
    return {field: value for field, value in values.items() if value is not None}


def _env(fields: Fields) -> Json:
    envs = fields.fields("envs")
    variables = {name: envs.text(name) for name in envs.names()}
    return (
        {"env": [{"name": name, "value": variables[name]} for name in variables]}
        if variables
        else {}
    )


def _pre_stop(fields: Fields) -> Json:
    command = fields.shaped("pre_stop_cmd", [str])
    return {"lifecycle": {"preStop": {"exec": {"command": command}}}} if command else {}


# The training job as a whole.


def read(document: Fields) -> Sequence[Json]:
    meta = object_metadata.read(document)
    spec = document.fields("spec")
    trainer, pserver, master = (spec.fields(name) for name in ("trainer", "pserver", "master"))
    limits = replica_bounds.read(trainer, "min-instance", "max-instance")
    is_baidu = document.peek_text("apiVersion").endswith("/v1alpha1")
    is_baidu |= pserver.has("entrypoint") or any(map(spec.has, _OF_BAIDU))
    pods = PaddlePods.read(spec, run_entrypoints=is_baidu)
    parts = [_pserver(pserver, pods), _trainer(trainer, pods, limits)]
    if _is_tolerant(spec, master, limits):
        parts.insert(0, _master(master, pods))
    annotations = {contract.MODE: "cloud"} | _settings(spec, trainer)
    for name, instead in _DROPPED.items():
        # A typed client writes false and 0.
        if spec.value(name):
            spec.drop(name, instead=instead)
    if spec.value("matrix"):
        spec.drop("matrix")
    return training_manifest.manifests(
        TrainingManifest(meta, _FRAMEWORK, tuple(parts), annotations)
    )


def _is_tolerant(spec: Fields, master: Fields, limits: replica_bounds.ReplicaBounds) -> bool:
    """Only fault-tolerant jobs have a master; Fluid treated master + bounds as fault-tolerant."""
    stated = "fault_tolerant" in spec.names()
    tolerant = spec.flag("fault_tolerant")
    elastic = (limits.least or 0) < (limits.most or 0)
    if not tolerant and not stated and master.names() and elastic:
        tolerant = True
        what = "master, and max-instance above min-instance: it is fault_tolerant here"
        spec.note("", what, "fault_tolerant: false restarts all trainers at each resize")
    if tolerant:
        return True
    for name in master.names():
        master.drop(name, "there is no master without fault_tolerant", "set fault_tolerant")
    return False


def _trainer(
    fields: Fields, pods: PaddlePods, limits: replica_bounds.ReplicaBounds
) -> RoleManifest:
    """Trainers: they start at their minimum, as the controller started them."""
    fields.drop("etcd-endpoint", instead="the master brings its etcd")
    sizes = limits.around(fields, max(limits.least or 1, 1), "min-instance")
    template = pods.template(fields, "trainer", mounts=True, pulls=True)
    return RoleManifest("trainer", sizes, pod_templates.with_restart(template, "Never"))


def _pserver(fields: Fields, pods: PaddlePods) -> RoleManifest:
    size = fields.whole("min-instance") or 0
    if not size:
        what = "there was none, and mode cloud needs one: it is 1 here"
        fields.note("", what, "trainers without pserver are mode collective or elastic")
    size, most = size or 1, fields.whole("max-instance") or size or 1
    if most != size:
        fields.lose("max-instance", "parameter servers are never resized", "min-instance counts")
    template = pods.template(fields, "pserver", mounts=False, pulls=False)
    return _serving("pserver", size, template)


def _master(fields: Fields, pods: PaddlePods) -> RoleManifest:
    fields.drop("etcd-endpoint", instead="the master brings its etcd")
    template = pods.template(fields, "master", mounts=True, pulls=True)
    return _serving("master", 1, template)


def _serving(role: str, size: int, template: Json) -> RoleManifest:
    """The controller created a ReplicaSet for it, which restarts its pods without limit."""
    restart, job = restart_policy.restarted("OnFailure", None)
    return RoleManifest(
        role, replica_bounds.exactly(size), pod_templates.with_restart(template, restart), job
    )


def _settings(spec: Fields, trainer: Fields) -> dict[str, str]:
    annotations: dict[str, str] = {}
    for name, annotation in _NUMBERS.items():
        # Some manifests set `passes` on the trainer, next to its entrypoint.
        places = (spec, trainer) if name == "passes" else (spec,)
        pairs = [(place, value) for place in places if (value := place.whole(name)) is not None]
        for place, value in pairs[1:]:
            if value != pairs[0][1]:
                what = f"{value} here and {pairs[0][1]} in spec, which counts"
                place.lose(name, what, "say it once")
        first = pairs[0][1] if pairs else 0
        annotations |= {annotation: str(first)} if first else {}
    port = spec.whole("port") or _PORT
    annotations |= {} if port == _PORT else {contract.PORT: str(port)}
    texts = {annotation: trainer.text(name) for name, annotation in _TEXTS.items()}
    return annotations | {name: text for name, text in texts.items() if text}


SOURCE: Final = SourceKind(
    apis=(("paddlepaddle.org", "TrainingJob"), ("paddlepaddle.org", "PaddleJob")),
    versions=("v1", "v1alpha1"),
    read=read,
)
