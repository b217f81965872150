"""PyTorchJob: kubeflow.org/v1, with and without an elastic policy.

torchrun's agents are peers, so Master and Worker become one Job whose index 0 is the master.
Variables of the training operator other than PET_* are written into the template.
Fields: kubeflow/training-operator pkg/apis/kubeflow.org/v1; variables: pkg/controller.v1/pytorch.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from edl import contract
from edl.convert import training_manifest
from edl.convert.diagnostics import FieldPath
from edl.convert.parts import (
    object_metadata,
    pod_templates,
    replica_bounds,
    replica_specs,
    run_policy,
)
from edl.convert.parts.replica_bounds import Sizes
from edl.convert.parts.replica_specs import RendezvousPort, Replica
from edl.convert.parts.run_policy import RunPolicy
from edl.convert.source_kind import SourceKind
from edl.convert.tracked_object import Fields
from edl.convert.training_manifest import RoleManifest, TrainingManifest
from edl.parsing.yaml_values import whole
from edl.writes import Json

_ROLES: Final = {"master": "master", "worker": "worker"}
_PORT: Final = RendezvousPort("pytorch", "pytorchjob-port", 23456)
_FIRST_DECIDES: Final = {"successPolicy": {"rules": [{"succeededIndexes": "0"}]}}
_BACKENDS: Final = ("c10d", "etcd", "etcd-v2")


class _Words(msgspec.Struct, frozen=True):
    """Variables for the pods, and annotations for the Job."""

    env: Mapping[str, str] = msgspec.field(default_factory=dict)
    annotations: Mapping[str, str] = msgspec.field(default_factory=dict)

    def __or__(self, other: "_Words") -> "_Words":
        return _Words({**self.env, **other.env}, {**self.annotations, **other.annotations})


def read(document: Fields) -> Sequence[Json]:
    meta = object_metadata.read(document)
    spec = document.fields("spec")
    policy = run_policy.read(spec)
    replicas = replica_specs.read(spec.fields("pytorchReplicaSpecs"), _ROLES, "OnFailure")
    is_elastic = "elasticPolicy" in spec.names()
    elastic = spec.fields("elasticPolicy")
    limits = replica_bounds.read(elastic, "minReplicas", "maxReplicas")
    words = _elastic(elastic, meta.name) | _processes(elastic, "nProcPerNode")
    words |= _processes(spec, "nprocPerNode")
    if not replicas:
        return ()
    size = sum(replica.size for replica in replicas)
    port = _port(replicas, words, is_elastic=is_elastic)
    worker = _worker(replicas, port)
    run_policy.remark_on_retries(policy, spec, [worker.restart])
    if not is_elastic and any(replica.role == "master" for replica in replicas):
        words = _classic(meta.name, size, port or _PORT.usual, words) | words
    elif port and contract.PORT not in words.annotations:
        words |= _Words(annotations={contract.PORT: str(port)})
    part = _part(worker, limits.around(worker.fields, size), policy, words)
    if any(replica.role == "master" for replica in replicas):
        part = training_manifest.saying(part, _FIRST_DECIDES)
    annotations = {**policy.annotations, **words.annotations}
    return training_manifest.manifests(TrainingManifest(meta, "pytorch", (part,), annotations))


def _part(replica: Replica, sizes: Sizes, policy: RunPolicy, words: _Words) -> RoleManifest:
    failing = training_manifest.failing(replica, policy, _PORT)
    template = pod_templates.with_env(replica.template, words.env)
    return training_manifest.role(
        replica_specs.with_template(replica, template), sizes, failing, policy, _PORT
    )


def _port(replicas: Sequence[Replica], words: _Words, *, is_elastic: bool) -> int | None:
    """The rendezvous port: the master's, or worker 0's in an elastic job, if it names one."""
    if contract.PORT in words.annotations:
        return int(words.annotations[contract.PORT])
    asked = sorted(replicas, key=lambda replica: replica.role, reverse=is_elastic)
    return next((port for replica in asked if (port := _PORT.of(replica))), None)


def _worker(replicas: Sequence[Replica], port: int | None) -> Replica:
    """The worker's replica, or else the only one; differences of the master's are reported."""
    worker = next((replica for replica in replicas if replica.role == "worker"), replicas[0])
    for other in replicas:
        what = "the Worker's template says it otherwise, and Master and Worker are one Job here"
        for place in _differences(other, worker, port):
            way_out = "let the program look at RANK: 0 is the master"
            other.fields.lose(("template", *place), what, way_out)
        if other.restart != worker.restart:
            what = f"{other.restart} here and {worker.restart} in Worker"
            other.fields.lose("restartPolicy", what, "both are one Job, which has one policy")
    return replace(worker, role="worker")


def _differences(other: Replica, worker: Replica, port: int | None) -> Iterator[FieldPath]:
    """Paths at which the templates differ, apart from the rendezvous port, which all share."""
    bare = replica_specs.with_template(other, _PORT.without(other.template, port or 0))
    if _PORT.of(bare):
        return pod_templates.differences(other.template, worker.template)
    rest = _PORT.without(worker.template, _PORT.of(worker) or 0)
    return pod_templates.differences(bare.template, rest)


def _classic(name: str, size: int, port: int, words: _Words) -> _Words:
    """Variables for programs that do not use torchrun."""
    processes = int(words.annotations.get(contract.SLOTS, "1"))
    return _Words(
        env={
            "PYTHONUNBUFFERED": "1",
            "MASTER_ADDR": f"{name}-0",
            "MASTER_PORT": str(port),
            "WORLD_SIZE": str(size * processes),
            "RANK": f"$({contract.COMPLETION_INDEX_ENV})",
        }
    )


def _processes(fields: Fields, name: str) -> _Words:
    """Processes per pod: a number, or a value that torchrun resolves itself (auto, cpu, gpu)."""
    value = fields.value(name)
    if value is None:
        return _Words()
    text = str(value)
    if whole(text):
        return _Words(annotations={contract.SLOTS: text})
    if text not in ("auto", "cpu", "gpu"):
        fields.wrong(name, f'"{text}"', "auto, cpu, gpu or a whole number from 1")
    return _Words(env={"PET_NPROC_PER_NODE": text})


def _elastic(fields: Fields, name: str) -> _Words:
    fields.drop("metrics", instead="idle capacity and queued jobs decide: no metric does")
    port = fields.whole("rdzvPort", least=1)
    annotations = {} if port is None else {contract.PORT: str(port)}
    env = {
        "PET_RDZV_BACKEND": fields.choice("rdzvBackend", _BACKENDS),
        "PET_RDZV_ENDPOINT": _endpoint(fields, name, port),
        "PET_RDZV_ID": fields.text("rdzvId"),
        "PET_RDZV_CONF": ",".join(_conf(fields)),
    }
    if env["PET_RDZV_BACKEND"] == "c10d":
        del env["PET_RDZV_BACKEND"]  # the default
    restarts_ = fields.whole("maxRestarts")
    variables = {name: text for name, text in env.items() if text}
    if restarts_ is not None:
        variables["PET_MAX_RESTARTS"] = str(restarts_)
        what = "every worker that comes or goes costs each of the others one restart"
        fields.note("maxRestarts", what, "too few end a training that is resized often")
    if fields.flag("standalone"):
        # torch/distributed/argparse_util.py reads PET_STANDALONE as a number.
        what = "the empty PET_STANDALONE that the operator writes ends torchrun"
        fields.lose("standalone", what, "leave it out: workers that meet are not standalone")
    return _Words(variables, annotations)


def _endpoint(fields: Fields, name: str, port: int | None) -> str:
    """The rendezvous endpoint, if it is another host than worker 0, which is the default."""
    host = fields.text("rdzvHost")
    if not host or host == f"{name}-worker-0":
        return ""
    return f"{host}:{port or _PORT.usual}"


def _conf(fields: Fields) -> Iterator[str]:
    for entry in fields.entries("rdzvConf"):
        yield f"{entry.text('key')}={entry.text('value')}"


SOURCE: Final = SourceKind(apis=(("kubeflow.org", "PyTorchJob"),), versions=("v1",), read=read)
