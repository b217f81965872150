"""Kubeflow's PaddleJob, kubeflow.org/v1: its workers become Paddle trainers in mode collective.

Workers run `paddle.distributed.launch`. A launcher reads its peers and the rendezvous address
from the list of trainers, and the first launcher runs their store (3.3.1). A PaddleJob with a
Master is not converted: there, each pod is both server and trainer, which no mode here supports.
Fields: kubeflow/training-operator pkg/apis/kubeflow.org/v1; variables: its
pkg/controller.v1/paddlepaddle.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from edl import contract
from edl.convert import training_manifest
from edl.convert.parts import (
    object_metadata,
    pod_templates,
    replica_bounds,
    replica_specs,
    run_policy,
)
from edl.convert.parts.replica_bounds import ReplicaBounds
from edl.convert.parts.replica_specs import RendezvousPort, Replica
from edl.convert.parts.run_policy import RunPolicy
from edl.convert.source_kind import SourceKind
from edl.convert.tracked_object import Fields
from edl.convert.training_manifest import RoleManifest, TrainingManifest
from edl.spec import addresses
from edl.writes import Json

_ROLES: Final = {"worker": "trainer"}
_PORT: Final = RendezvousPort("paddle", "master", 6170)
"""Our trainers' port instead of the operator's 36543, which templates do not mention."""
_HOST: Final = "POD_IP"
_NAMESPACE: Final = "PADDLE_JOB_NAMESPACE"
"""A name that no template uses: our variables, which refer to it, precede the user's."""


def read(document: Fields) -> Sequence[Json]:
    meta = object_metadata.read(document)
    spec = document.fields("spec")
    policy = run_policy.read(spec)
    listed = replica_specs.read(spec.fields("paddleReplicaSpecs"), _ROLES, "OnFailure")
    run_policy.remark_on_retries(policy, spec, [replica.restart for replica in listed])
    limits = _limits(spec.fields("elasticPolicy"))
    replicas = [_with_operator_env(replica, meta.name) for replica in listed]
    all_roles = tuple(_part(replica, policy, limits) for replica in replicas)
    annotations = policy.annotations | _PORT.annotations(listed)
    return training_manifest.manifests(TrainingManifest(meta, "paddle", all_roles, annotations))


def _part(replica: Replica, policy: RunPolicy, limits: ReplicaBounds) -> RoleManifest:
    failing = training_manifest.failing(replica, policy, _PORT)
    return training_manifest.role(
        replica, limits.around(replica.fields, replica.size), failing, policy
    )


def _limits(elastic: Fields) -> ReplicaBounds:
    """The bounds; the operator only recorded them, and never resized a PaddleJob by itself."""
    elastic.drop("metrics", instead="idle capacity and queued jobs decide: no metric does")
    if elastic.whole("maxRestarts") is not None:
        elastic.note("maxRestarts", "it was never counted", "backoffLimit limits restarts")
    return replica_bounds.read(elastic, "minReplicas", "maxReplicas")


def _with_operator_env(replica: Replica, job: str) -> Replica:
    if _HOST in pod_templates.env_names(replica.template):
        what = f"its own {_HOST} hides the name by which a launcher knows that it is the first"
        replica.fields.lose("template", what, "leave it out")
    env = _env(job, _PORT.of(replica) or _PORT.usual)
    return replica_specs.with_template(replica, pod_templates.with_env(replica.template, env))


def _env(job: str, port: int) -> Mapping[str, str | Json]:
    """The operator's variables. Launchers compare POD_IP with the name of the first trainer."""

    def host(index: int | str) -> str:
        return addresses.host(job, index, job, f"$({_NAMESPACE})")

    return {
        "PYTHONUNBUFFERED": "1",
        _NAMESPACE: {"fieldRef": {"fieldPath": "metadata.namespace"}},
        _HOST: host(f"$({contract.COMPLETION_INDEX_ENV})"),
        "PADDLE_JOB_ID": job,
        "PADDLE_MASTER": f"{host(0)}:{port}",
        # The number of trainers at each start.
        "PADDLE_NNODES": "$(PADDLE_TRAINERS_NUM)",
    }


def _has_workers_alone(document: Json) -> bool:
    spec = document.get("spec")
    specs = spec.get("paddleReplicaSpecs") if isinstance(spec, dict) else None
    return "master" not in map(str.lower, specs if isinstance(specs, dict) else ())


SOURCE: Final = SourceKind(
    apis=(("kubeflow.org", "PaddleJob"),), versions=("v1",), read=read, fits=_has_workers_alone
)
