"""Kubeflow's PaddleJob, kubeflow.org/v1: its workers become Paddle trainers in mode collective.

Workers run `paddle.distributed.launch`, as trainers in that mode may. A PaddleJob with a Master is
not converted: there, each pod is both server and trainer, which no mode here supports.
Fields: kubeflow/training-operator pkg/apis/kubeflow.org/v1; variables: its
pkg/controller.v1/paddlepaddle.
"""

from collections.abc import Sequence
from typing import Final

from edl.contract.manifest_parts import mapping
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
from edl.writes import Json

_ROLES: Final = {"worker": "trainer"}
_PORT: Final = RendezvousPort("paddle", "master", 6170)
"""Our trainers' port instead of the operator's 36543, which templates do not mention."""
_HOST: Final = "POD_IP"
_ENV: Final = {"PYTHONUNBUFFERED": "1"}


def read(document: Fields) -> Sequence[Json]:
    meta = object_metadata.read(document)
    spec = document.fields("spec")
    policy = run_policy.read(spec)
    listed = replica_specs.read(spec.fields("paddleReplicaSpecs"), _ROLES, "OnFailure")
    run_policy.remark_on_retries(policy, spec, [replica.restart for replica in listed])
    limits = _limits(spec.fields("elasticPolicy"))
    replicas = map(_with_operator_env, listed)
    all_roles = tuple(_part(replica, policy, limits) for replica in replicas)
    annotations = policy.annotations | _PORT.annotations(listed)
    return training_manifest.manifests(TrainingManifest(meta, "paddle", all_roles, annotations))


def _part(replica: Replica, policy: RunPolicy, limits: ReplicaBounds) -> RoleManifest:
    failing = training_manifest.failing(replica, policy, _PORT)
    return training_manifest.role(
        replica, limits.around(replica.fields, replica.size), failing, policy, _PORT
    )


def _limits(elastic: Fields) -> ReplicaBounds:
    """The bounds; the operator only recorded them, and never resized a PaddleJob by itself."""
    elastic.drop("metrics", instead="idle capacity and queued jobs decide: no metric does")
    if elastic.whole("maxRestarts") is not None:
        elastic.note("maxRestarts", "it was never counted", "backoffLimit limits restarts")
    return replica_bounds.read(elastic, "minReplicas", "maxReplicas")


def _with_operator_env(replica: Replica) -> Replica:
    """The replica with the operator's variable; the webhook writes those of the rendezvous."""
    template = pod_templates.without_env(replica.template, _PORT.container, _HOST)
    if template is not replica.template:
        what = f"its own {_HOST} is left out: it hides the name by which a launcher is the first"
        replica.fields.lose("template", what, "the webhook sets it")
    return replica_specs.with_template(replica, pod_templates.with_env(template, _ENV))


def _has_workers_alone(document: Json) -> bool:
    specs = mapping(mapping(document.get("spec")).get("paddleReplicaSpecs"))
    return "master" not in map(str.lower, specs)


SOURCE: Final = SourceKind(
    apis=(("kubeflow.org", "PaddleJob"),), versions=("v1",), read=read, fits=_has_workers_alone
)
