"""Finds dependents and pods of training jobs that no longer exist, and Jobs that do not go."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import Final

import msgspec

from edl import contract
from edl.kube.cluster import RESOURCES, ListOptions, find
from edl.kube.decode.schemas import ENDED_PHASES
from edl.messages.scarcity_messages import listed
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
from kubectl_edl.output.age import duration

_KINDS: Final = ("Service", "PodDisruptionBudget", "ServiceAccount", "RoleBinding")
_OURS: Final = f"{contract.JOB},{contract.MANAGED}"
_RUN: Final = "batch.kubernetes.io/controller-uid"
"""The Job controller's label with the uid of the Job, which a pod keeps without its owner."""
_PODS: Final = f"{contract.FRAMEWORK},{_RUN}"
_OWNERS: Final = frozenset({"Job", "Pod"})
"""Kinds that own dependents of ours; an owner of another kind is assumed to exist."""
_PLURALS: Final = ",".join(RESOURCES[kind].plural for kind in _KINDS)
_GARBAGE_COLLECTION: Final = frozenset({"foregroundDeletion", "orphan"})
"""Finalizers that the garbage collector removes, once it has dealt with what the object owns."""
_NO_FINALIZERS: Final = '{"metadata":{"finalizers":null}}'
_SWEPT: Final = timedelta(minutes=2)
"""The age from which orphans are reported: the garbage collector deletes with a delay."""


def orphans(context: CheckContext) -> CheckResults:
    """Report objects that we created for Jobs that no longer exist; nothing else deletes them."""
    namespace = context.named
    jobs = [*_listed(context, ListOptions("Job", namespace, contract.FRAMEWORK))]
    labelled = frozenset(metadata["uid"] for metadata in jobs)
    used = {(metadata["namespace"], _job(metadata)) for metadata in jobs}
    alone = [
        (kind, metadata)
        for kind in _KINDS
        for metadata in _listed(context, ListOptions(kind, namespace, _OURS))
        if (metadata["namespace"], _job(metadata)) not in used  # a new Job uses it
        and _is_settled(metadata, context)
        and not _has_owner(metadata, labelled, context)
    ]
    objects = [_orphan(kind, metadata) for kind, metadata in alone]
    pods = list(
        _without_job(
            metadata
            for metadata in _pods_without_owner(context, namespace)
            if metadata["labels"][_RUN] not in labelled
        )
    )
    old = duration(_SWEPT)
    none = "" if objects or pods else f"no object older than {old} is left by a deleted Job"
    yield from first(
        objects, FixCommand(f"kubectl get {_PLURALS} {context.where} -l '{_OURS}'"), none
    )
    yield from first(pods, FixCommand(f"kubectl get pods {context.where} -l '{_PODS}'"))


def held(context: CheckContext) -> CheckResults:
    """Jobs that were deleted a while ago, and that a finalizer keeps: their pods use capacity."""
    jobs = _listed(context, ListOptions("Job", context.named, contract.FRAMEWORK))
    results = [
        _held(metadata, context.now - since)
        for metadata in jobs
        if (since := timestamp(metadata.get("deletionTimestamp") or ""))
        and context.now - since > _SWEPT
    ]
    yield from first(results, FixCommand(f"kubectl get jobs {context.where}"))


def _held(metadata: Json, past: timedelta) -> CheckResult:
    name, namespace = metadata["name"], metadata["namespace"]
    finalizers = metadata.get("finalizers") or ()
    others = [finalizer for finalizer in finalizers if finalizer not in _GARBAGE_COLLECTION]
    what = f"Job {namespace}/{name} was deleted {duration(past)} ago, but"
    if not others:
        pods = f"kubectl describe pods -l {_RUN}={metadata['uid']} -n {namespace}"
        return warning(f"{what} objects that it owns do not terminate", FixCommand(pods))
    unset = f"""kubectl patch job {name} -n {namespace} --type=merge -p '{_NO_FINALIZERS}'"""
    return warning(
        f"{what} no controller has removed {listed(others)} from its finalizers: its pods keep "
        "their capacity until then",
        FixCommand(f"if the controller that set it is gone: {unset}"),
    )


def _orphan(kind: str, metadata: Json) -> CheckResult:
    name, namespace = metadata["name"], metadata["namespace"]
    return warning(
        f"{kind} {namespace}/{name} is orphaned: its Job no longer exists",
        FixCommand(f"kubectl delete {RESOURCES[kind].plural} {name} -n {namespace}"),
    )


def _pods_without_owner(context: CheckContext, namespace: str) -> Iterator[Json]:
    """Metadata of pods of Jobs that no object owns, and that neither end nor have ended.

    The garbage collector deletes those that name a deleted owner. Each is decoded by itself, as
    there may be many.
    """
    for raw in context.cluster.list(ListOptions("Pod", namespace, _PODS)).items:
        manifest = msgspec.json.decode(raw)
        metadata = manifest["metadata"]
        leaves = metadata.get("ownerReferences") or metadata.get("deletionTimestamp")
        if not leaves and manifest.get("status", {}).get("phase") not in ENDED_PHASES:
            yield metadata


def _without_job(pods: Iterable[Json]) -> Iterator[CheckResult]:
    """One finding for each deleted Job whose pods remain; a new Job does not wait for them."""
    by_run: defaultdict[tuple[str, str, str], list[str]] = defaultdict(list)
    for metadata in pods:
        labels = metadata["labels"]
        job = labels.get(contract.JOB) or labels.get(contract.JOB_NAME_LABEL) or metadata["name"]
        run = (metadata["namespace"], job, labels[_RUN])
        by_run[run].append(metadata["name"])
    for (namespace, job, uid), names in sorted(by_run.items()):
        yield warning(
            f"pods of {namespace}/{job} keep running without their Job, which was deleted: "
            f"{listed(sorted(names))}",
            FixCommand(f"kubectl delete pods -l {_RUN}={uid} -n {namespace}"),
        )


def _job(metadata: Json) -> str:
    """The training job that an object of ours names; a Job has its own name by default."""
    return str((metadata.get("labels") or {}).get(contract.JOB) or metadata["name"])


def _listed(context: CheckContext, selection: ListOptions) -> Iterator[Json]:
    """The objects' metadata."""
    for manifest in context.cluster.list(selection).manifests():
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
    current = find(context.cluster, target)
    return current is not None and bool(current["metadata"]["uid"] == owner["uid"])
