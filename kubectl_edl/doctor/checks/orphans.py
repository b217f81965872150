"""Finds dependents of training jobs that no longer exist."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from edl import contract
from edl.kube.cluster import RESOURCES, ListOptions, find
from edl.model import ObjectRef
from edl.parsing.yaml_values import timestamp
from edl.writes import Json
from kubectl_edl.cli.suggested_commands import FixCommand
from kubectl_edl.doctor.checks.check import (
    CheckContext,
    CheckResult,
    CheckResults,
    first,
    warning,
)

_KINDS: Final = ("Service", "PodDisruptionBudget", "ServiceAccount", "RoleBinding")
_OURS: Final = f"{contract.JOB},app.kubernetes.io/managed-by={contract.MANAGED_BY}"
_OWNERS: Final = frozenset({"Job", "Pod"})
"""Kinds that own dependents of ours; an owner of another kind is assumed to exist."""
_ALL: Final = FixCommand(
    f"kubectl get {','.join(RESOURCES[kind].plural for kind in _KINDS)} -A -l '{_OURS}'"
)
_SWEPT: Final = timedelta(minutes=2)
"""The age from which orphans are reported: the garbage collector deletes with a delay."""


def orphans(context: CheckContext) -> CheckResults:
    """Report objects that we created for Jobs that no longer exist; nothing else deletes them."""
    namespace = context.connection.scope.namespace
    labelled = frozenset(_uids(context, namespace))
    alone = [
        (kind, metadata)
        for kind in _KINDS
        for metadata in _listed(context, ListOptions(kind, namespace, _OURS))
        if _is_settled(metadata, context) and not _has_owner(metadata, labelled, context)
    ]
    results = [_orphan(kind, metadata) for kind, metadata in alone]
    yield from first(results, _ALL, "there are no orphaned objects of deleted Jobs")


def _orphan(kind: str, metadata: Json) -> CheckResult:
    name, namespace = metadata["name"], metadata["namespace"]
    return warning(
        f"{kind} {namespace}/{name} is orphaned: its Job no longer exists",
        FixCommand(f"kubectl delete {RESOURCES[kind].plural} {name} -n {namespace}"),
    )


def _uids(context: CheckContext, namespace: str) -> Iterator[str]:
    for metadata in _listed(context, ListOptions("Job", namespace, contract.FRAMEWORK)):
        yield metadata["uid"]


def _listed(context: CheckContext, selection: ListOptions) -> Iterator[Json]:
    """The objects' metadata."""
    for manifest in context.connection.cluster.list(selection).manifests():
        yield manifest["metadata"]


def _is_settled(metadata: Json, context: CheckContext) -> bool:
    made = timestamp(metadata.get("creationTimestamp") or "")
    return made is None or context.now - made > _SWEPT


def _has_owner(metadata: Json, labelled: frozenset[str], context: CheckContext) -> bool:
    """Whether an owner exists; bare pods and Jobs that lost their labels are read one by one."""
    owners = metadata.get("ownerReferences") or ()
    if any(owner["uid"] in labelled for owner in owners):
        return True
    return any(_exists(owner, metadata["namespace"], context) for owner in owners)


def _exists(owner: Json, namespace: str, context: CheckContext) -> bool:
    """Whether this owner exists; a newer object of the same name does not count."""
    target = ObjectRef(owner["kind"], namespace, owner["name"])
    if target.kind not in _OWNERS:
        return True
    found = find(context.connection.cluster, target)
    return found is not None and bool(found["metadata"]["uid"] == owner["uid"])
