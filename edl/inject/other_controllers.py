"""Jobs that another controller runs or queues, or that opt out."""

from typing import Final

from edl import contract
from edl.contract.manifest_parts import labels
from edl.errors import Finding
from edl.writes import Json

_DEFAULTED: Final = "; Kueue adds it in a namespace with a LocalQueue named default"


def manager(manifest: Json) -> str:
    """The controller in `spec.managedBy`; empty for the Job controller."""
    owner: str = (manifest.get("spec") or {}).get("managedBy") or ""
    return "" if owner == contract.JOB_CONTROLLER else owner


def findings(manifest: Json) -> list[Finding]:
    """Findings for a labelled Job that another controller runs or queues, or that opts out."""
    conflicts = []
    if owner := manager(manifest):
        what = f'this Job belongs to "{owner}"'
        conflicts.append(Finding("spec.managedBy", what, f"remove it, or {contract.FRAMEWORK}"))
    if contract.KUEUE_QUEUE in labels(manifest):
        path = f"metadata.labels[{contract.KUEUE_QUEUE}]"
        added = _DEFAULTED if labels(manifest)[contract.KUEUE_QUEUE] == "default" else ""
        ways = f"remove it, or {contract.FRAMEWORK}: a Job has exactly one queue{added}"
        what = "this Job waits in a Kueue queue, and both would suspend and start it"
        conflicts.append(Finding(path, what, ways))
    if labels(manifest).get(contract.INJECTION, contract.ENABLED) != contract.ENABLED:
        path = f"metadata.labels[{contract.INJECTION}]"
        what = f'"{labels(manifest)[contract.INJECTION]}" beside {contract.FRAMEWORK}'
        conflicts.append(Finding(path, what, "remove one of them"))
    return conflicts
