"""TFJob: kubeflow.org v1alpha2 to v1, and DRAGON's v1 with bounds and GPU shares.

Fields: kubeflow/training-operator pkg/apis/tensorflow and pkg/apis/kubeflow.org/v1,
NTHU-LSALAB/DRAGON pkg/apis/tensorflow/v1.
"""

from collections.abc import Sequence
from typing import Final

from edl import contract
from edl.convert import training_manifest
from edl.convert.parts import object_metadata, replica_bounds, replica_specs, run_policy
from edl.convert.parts.replica_specs import RendezvousPort, Replica
from edl.convert.parts.run_policy import RunPolicy
from edl.convert.source_kind import SourceKind
from edl.convert.tracked_object import Fields
from edl.convert.training_manifest import RoleManifest, TrainingManifest
from edl.frameworks import FRAMEWORKS
from edl.writes import Json

_ROLES: Final = {
    "chief": "chief",
    "master": "chief",
    "worker": "worker",
    "ps": "ps",
    "evaluator": "evaluator",
}
_FRAMEWORK: Final = FRAMEWORKS["tensorflow"]
_PORT: Final = RendezvousPort("tensorflow", "tfjob-port", _FRAMEWORK.port)
_DRAGON_KUBESHARE: Final = "DRAGON_KUBESHARE"
"""DRAGON's switch between whole GPUs and shares; here the pod template decides."""


def read(document: Fields) -> Sequence[Json]:
    meta = object_metadata.read(document, interpreted=(_DRAGON_KUBESHARE,))
    if _DRAGON_KUBESHARE in meta.interpreted:
        meta.annotated.note(_DRAGON_KUBESHARE, "what the pods ask for says it here")
    spec = document.fields("spec")
    policy = run_policy.read(spec)
    replicas = replica_specs.read(spec.fields("tfReplicaSpecs"), _ROLES, "Never")
    run_policy.remark_on_retries(policy, spec, [replica.restart for replica in replicas])
    limits = replica_bounds.read(spec, "min-instances", "max-instances")
    all_roles = _with_success(spec, tuple(_part(replica, policy, limits) for replica in replicas))
    roles = [part.role for part in all_roles]
    if "worker" not in roles:
        limits.lose(spec, "there is no Worker that they could bound")
    annotations = policy.annotations | _PORT.annotations(replicas) | _mode(spec, roles)
    return training_manifest.manifests(
        TrainingManifest(meta, _FRAMEWORK.name, all_roles, annotations)
    )


def _part(
    replica: Replica, policy: RunPolicy, limits: replica_bounds.ReplicaBounds
) -> RoleManifest:
    kind = _FRAMEWORK.kinds[replica.role]
    failing = training_manifest.failing(replica, policy, _PORT, serves=kind.serves)
    around = limits.around(replica.fields, replica.size) if kind.resizable else None
    return training_manifest.role(
        replica, around or replica_bounds.exactly(replica.size), failing, policy, _PORT
    )


def _with_success(spec: Fields, all_roles: tuple[RoleManifest, ...]) -> tuple[RoleManifest, ...]:
    """AllWorkers applies only without a chief, and a Job can express it only for a fixed size."""
    policy = spec.choice("successPolicy", ("AllWorkers",))
    worker = training_manifest.named(all_roles, "worker")
    if not policy:
        return all_roles
    if not worker or _FRAMEWORK.completion_role([part.role for part in all_roles]) != "worker":
        spec.note("successPolicy", f"{policy} never counted beside a chief, which decides")
        return all_roles
    if not worker.sizes.fixed:
        what = "a Job cannot express AllWorkers of a number that changes"
        spec.lose("successPolicy", what, "worker 0 decides, or write spec.successPolicy yourself")
        return all_roles
    all_of_them = {"successPolicy": {"rules": [{"succeededCount": worker.sizes.begin}]}}
    changed = training_manifest.saying(worker, all_of_them)
    return tuple(changed if part is worker else part for part in all_roles)


def _mode(spec: Fields, roles: Sequence[str]) -> dict[str, str]:
    if not spec.flag("enableDynamicWorker"):
        return {}
    if _FRAMEWORK.mode("sparse", roles) is None:
        what = "a worker map without gaps needs parameter servers"
        spec.lose("enableDynamicWorker", what, "the workers restart together at each resize")
        return {}
    return {contract.MODE: "sparse"}


SOURCE: Final = SourceKind(
    apis=(("kubeflow.org", "TFJob"),), versions=("v1alpha2", "v1beta1", "v1beta2", "v1"), read=read
)
