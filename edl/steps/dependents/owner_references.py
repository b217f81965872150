"""Owner references of dependents, to Jobs or bare pods, so that deletion cleans up."""

from collections.abc import Mapping
from typing import Any, Final

from edl import contract
from edl.model import ObjectRef, Owner, TrainingJob
from edl.writes import Json

_API_VERSIONS: Final = {
    "Pod": "v1",
    "Service": "v1",
    "ServiceAccount": "v1",
    "Secret": "v1",
    "PodDisruptionBudget": "policy/v1",
    "ResourceClaimTemplate": "resource.k8s.io/v1",
    "RoleBinding": "rbac.authorization.k8s.io/v1",
}


def owned(job: TrainingJob, target: ObjectRef, fields: Mapping[str, Any]) -> Json:
    """The manifest of `target` with these fields beside its metadata."""
    metadata = {
        "name": target.name,
        "namespace": target.namespace,
        "labels": {contract.JOB: job.key.name, "app.kubernetes.io/managed-by": contract.MANAGED_BY},
        "ownerReferences": [_reference(owner) for owner in job.owners],
    }
    version = _API_VERSIONS[target.kind]
    return {"apiVersion": version, "kind": target.kind, "metadata": metadata, **fields}


def _reference(owner: Owner) -> Json:
    return {
        "apiVersion": owner.api_version,
        "kind": owner.kind,
        "name": owner.name,
        "uid": owner.uid,
    }
