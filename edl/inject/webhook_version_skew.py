"""During a rollout two releases of the webhook serve: neither may refuse the other's objects."""

from edl import contract
from edl.contract.manifest_parts import annotated, annotations, labels
from edl.errors import Finding, refuse
from edl.frameworks import FRAMEWORKS
from edl.writes import Json


def marked(manifest: Json, release: str) -> Json:
    """The object marked with the release that completed it.

    Another release does not complete it a second time to compare the results.
    """
    return annotated(manifest, {contract.COMPLETED_BY: release}) if release else manifest


def completed_by(manifest: Json) -> str:
    return annotations(manifest).get(contract.COMPLETED_BY, "")


def check(manifest: Json) -> None:
    """Checks what every release relies on in an object that another release completed.

    Raises Denied if a part is missing.
    """
    if manifest.get("kind") == "Pod":
        return
    spec = manifest.get("spec") or {}
    framework = FRAMEWORKS.get(labels(manifest)[contract.FRAMEWORK])
    ranked = framework is not None and framework.ranked
    cause = "kubectl-edl's webhook was not called, or another one changed it: kubectl edl doctor"
    findings = [
        Finding(path, what, cause)
        for path, what, holds in (
            ("spec.suspend", "it is not true", spec.get("suspend") is True),
            (
                "spec.completionMode",
                "it is not Indexed",
                not ranked or spec.get("completionMode") == "Indexed",
            ),
            (
                f"metadata.annotations[{contract.INJECTED_MAX}]",
                "it is missing",
                contract.INJECTED_MAX in annotations(manifest),
            ),
        )
        if not holds
    ]
    refuse(findings)
