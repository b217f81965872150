"""Warnings about bare pods with settings that only have an effect on Jobs."""

from collections.abc import Iterator
from typing import Final

from edl import contract
from edl.contract.manifest_parts import annotations, metadata
from edl.errors import Finding
from edl.inject.warnings.creation_warnings import found_by_labels
from edl.spec import addresses
from edl.spec.job_spec import JobSpec
from edl.writes import Json

OF_JOBS: Final = (
    contract.REPLICAS,
    contract.PAUSED,
    contract.SCALE_TIMEOUT,
    contract.SCALE_FALLBACK,
    contract.REMOVE,
    contract.PROGRESS,
    contract.DURATION,
    contract.COOLDOWN,
    contract.PROVISION,
    contract.CLEAN_UP,
    contract.TTL,
)
"""Annotations that have no effect on bare pods."""
_WORKLOADS: Final = {
    "ReplicaSet": "Deployment",
    "StatefulSet": "StatefulSet",
    "DaemonSet": "DaemonSet",
}
"""The owner kinds of apps/v1, and the workload that their users write."""
_JOBS: Final = "neither queued nor resized: use a Job"


def warnings(manifest: Json, done: Json, spec: JobSpec) -> tuple[str, ...]:
    """Warnings for a new bare pod, which is stored as `done`.

    Addresses, host lists and GPU shares work as for pods of Jobs, so they cause no warning.
    """
    if manifest.get("kind") != "Pod" or done == manifest:
        return ()  # completed before, and warned about then
    names = [name for name in OF_JOBS if name in annotations(manifest)]
    texts: list[str] = []
    if spec.scaling.min < spec.scaling.max:
        bounds = f"{spec.scaling.min}..{spec.scaling.max}"
        texts.append(f"{spec.role} is {bounds}, but bare pods are {_JOBS}")
    elif not (spec.indexed or spec.resources.gpu) and done.get("spec") == manifest.get("spec"):
        label = f"{contract.FRAMEWORK}={spec.framework}"
        texts.append(f"{label} does nothing for bare pods: they are {_JOBS}")
    texts.extend(_of_address(done["spec"], spec))
    if names:
        verb = "does" if len(names) == 1 else "do"
        texts.append(f"{', '.join(names)} {verb} nothing on bare pods, which are {_JOBS}")
    return tuple(texts)


def _of_address(pod: Json, spec: JobSpec) -> Iterator[str]:
    """A host name or subdomain of the user's own, which stays."""
    if spec.rank is None or not spec.indexed or not pod.get("containers"):
        return  # Without containers it got no address: the API server refuses it.
    if found_by_labels(spec):
        return
    address = f"{pod['hostname']}.{pod['subdomain']}"
    expected = f"{addresses.hostname(addresses.job_name(spec, spec.role), spec.rank)}.{spec.job}"
    if address != expected:
        way_out = "leave hostname and subdomain out"
        yield f"the address of this pod is {address}, and its peers look for {expected}: {way_out}"


def made_by(manifest: Json) -> tuple[Finding, ...]:
    """Findings for a refused pod that a Deployment or the like creates: they name the workload."""
    owners = metadata(manifest).get("ownerReferences") or ()
    return tuple(
        Finding(
            f"metadata.labels[{contract.FRAMEWORK}]",
            f"{owner['kind']} {owner.get('name', '')} creates this pod, but only Jobs and bare "
            "pods can be training jobs",
            f"remove it from the pod template of the {_WORKLOADS[owner['kind']]}",
        )
        for owner in owners
        if owner.get("apiVersion") == "apps/v1" and owner.get("kind") in _WORKLOADS
    )
