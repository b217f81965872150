"""Bare pods that ask for what only Jobs have: nothing queues or resizes them."""

from typing import Final

from edl import contract
from edl.errors import Finding
from edl.inject.manifest_parts import annotations
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
"""Annotations that no bare pod heeds."""
_WORKLOADS: Final = {
    "ReplicaSet": "Deployment",
    "StatefulSet": "StatefulSet",
    "DaemonSet": "DaemonSet",
}
"""Controllers of apps/v1, and what their users write."""
_JOBS: Final = "neither queued nor resized: use a Job"


def warnings(manifest: Json, done: Json, spec: JobSpec) -> tuple[str, ...]:
    """Warnings for a new bare pod, which is stored as `done`.

    Addresses, host lists and shares of GPUs are the same as for pods of Jobs.
    """
    if manifest.get("kind") != "Pod" or done == manifest:
        return ()  # complete: it was said before
    names = [name for name in OF_JOBS if name in annotations(manifest)]
    found: list[str] = []
    if spec.scaling.min < spec.scaling.max:
        bounds = f"{spec.scaling.min}..{spec.scaling.max}"
        found.append(f"{spec.role} is {bounds}, but bare pods are {_JOBS}")
    elif not (spec.indexed or spec.resources.gpu) and done.get("spec") == manifest.get("spec"):
        label = f"{contract.FRAMEWORK}={spec.framework}"
        found.append(f"{label} does nothing for bare pods: they are {_JOBS}")
    if names:
        verb = "does" if len(names) == 1 else "do"
        found.append(f"{', '.join(names)} {verb} nothing on bare pods, which are {_JOBS}")
    return tuple(found)


def made_by(manifest: Json) -> tuple[Finding, ...]:
    """For a refused pod of a Deployment or the like: its user has no file of the pod itself."""
    owners = (manifest.get("metadata") or {}).get("ownerReferences") or ()
    return tuple(
        Finding(
            f"metadata.labels[{contract.FRAMEWORK}]",
            f"{owner['kind']} {owner.get('name', '')} makes this pod, and only Jobs and bare pods "
            "train",
            f"take it out of the pod template of the {_WORKLOADS[owner['kind']]}",
        )
        for owner in owners
        if owner.get("apiVersion") == "apps/v1" and owner.get("kind") in _WORKLOADS
    )
