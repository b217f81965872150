"""PaddlePaddle's TrainingJob: paddlepaddle.org/v1, of the EDL controller and of Fluid before it.

It has no pod templates: they are made here as the controller made them, and the images of those
days get their variables, commands and etcd from mode cloud.

Fields: elasticdeeplearning/edl and baidu/paddle-on-k8s-operator pkg/apis/paddlepaddle/v1,
PaddlePaddle/cloud go/edl/resource; what became of them: pkg/updater/jobparser.go.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from edl import contract
from edl.convert import training_manifest
from edl.convert.parts import object_metadata, pod_templates, replica_bounds, restart_policy
from edl.convert.source_kind import SourceKind
from edl.convert.sources import paddle_templates
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


def read(document: Fields) -> Sequence[Json]:
    meta = object_metadata.read(document)
    spec = document.fields("spec")
    trainer, pserver, master = (spec.fields(name) for name in ("trainer", "pserver", "master"))
    limits = replica_bounds.read(trainer, "min-instance", "max-instance")
    pods = paddle_templates.PaddlePods.read(spec)
    parts = [_pserver(pserver, pods), _trainer(trainer, pods, limits)]
    if _is_tolerant(spec, master, limits):
        parts.insert(0, _master(master, pods))
    annotations = {contract.MODE: "cloud"} | _settings(spec, trainer)
    for name, instead in _DROPPED.items():
        spec.drop(name, instead=instead)
    return training_manifest.manifests(
        TrainingManifest(meta, _FRAMEWORK, tuple(parts), annotations)
    )


def _is_tolerant(spec: Fields, master: Fields, limits: replica_bounds.ReplicaBounds) -> bool:
    """Only fault-tolerant jobs have a master; Fluid treated master + bounds as fault-tolerant."""
    said = "fault_tolerant" in spec.names()
    tolerant = spec.flag("fault_tolerant")
    elastic = (limits.least or 0) < (limits.most or 0)
    if tolerant or (not said and master.names() and elastic):
        return True
    for name in master.names():
        master.drop(name, "there is no master without fault_tolerant", "set fault_tolerant")
    return False


def _trainer(
    fields: Fields, pods: paddle_templates.PaddlePods, limits: replica_bounds.ReplicaBounds
) -> RoleManifest:
    """It began with its least; the controller grew it from there."""
    fields.drop("etcd-endpoint", instead="the master brings its etcd")
    sizes = limits.around(fields, max(limits.least or 1, 1), "min-instance")
    template = pods.template(fields, "trainer", mounts=True, pulls=True)
    return RoleManifest("trainer", sizes, pod_templates.with_restart(template, "Never"))


def _pserver(fields: Fields, pods: paddle_templates.PaddlePods) -> RoleManifest:
    size = fields.whole("min-instance", least=1) or 1
    most = fields.whole("max-instance", least=1)
    if most is not None and most != size:
        fields.lose("max-instance", "parameter servers are never resized", "min-instance counts")
    template = pods.template(fields, "pserver", mounts=False, pulls=False)
    return _serving("pserver", size, template)


def _master(fields: Fields, pods: paddle_templates.PaddlePods) -> RoleManifest:
    fields.drop("etcd-endpoint", instead="the master brings its etcd")
    template = pods.template(fields, "master", mounts=True, pulls=True)
    return _serving("master", 1, template)


def _serving(role: str, size: int, template: Json) -> RoleManifest:
    """A ReplicaSet it was, which restarts for ever."""
    restart, job = restart_policy.restarted("OnFailure", None)
    return RoleManifest(
        role, replica_bounds.exactly(size), pod_templates.with_restart(template, restart), job
    )


def _settings(spec: Fields, trainer: Fields) -> dict[str, str]:
    said: dict[str, str] = {}
    for name, annotation in _NUMBERS.items():
        # Some wrote the passes beside the trainer's entrypoint.
        places = (spec, trainer) if name == "passes" else (spec,)
        found = [value for place in places if (value := place.whole(name)) is not None]
        said |= {annotation: str(found[0])} if found and found[0] > 0 else {}
    port = spec.whole("port") or _PORT
    said |= {} if port == _PORT else {contract.PORT: str(port)}
    texts = {annotation: trainer.text(name) for name, annotation in _TEXTS.items()}
    return said | {name: text for name, text in texts.items() if text}


SOURCE: Final = SourceKind(
    apis=(("paddlepaddle.org", "TrainingJob"), ("paddlepaddle.org", "PaddleJob")),
    versions=("v1",),
    read=read,
)
