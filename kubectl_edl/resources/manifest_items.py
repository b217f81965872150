"""The manifests of a document: itself, or the items of a List; and what is wrong with their types.

The API server checks types before it calls the webhook; the manifests of a file are checked here.
"""

from collections.abc import Callable
from typing import Final

from edl.errors import Denied, Finding
from edl.inject import manifest_types
from edl.writes import Json
from kubectl_edl.resources.yaml_reader import Document

JOB_KINDS: Final = ("Job", "CronJob", "Pod")
"""The kinds on which our labels and annotations do something."""


def changed(document: Document, change: Callable[[Json, str], Json | None]) -> Json | None:
    """The document, changed; None where `change` returns None for each of its manifests.

    `change` gets a manifest and where it stands: `jobs.yaml: document 2, item 1`.
    """
    return _changed(document.value, str(document.origin), change)


def _changed(manifest: Json, where: str, change: Callable[[Json, str], Json | None]) -> Json | None:
    kind = manifest.get("kind")
    if kind != "List":
        return change(manifest, where) if isinstance(kind, str) else None
    found = manifest.get("items")
    items = found if isinstance(found, list) else []
    done = [
        _changed(item, f"{where}, item {number}", change) if isinstance(item, dict) else None
        for number, item in enumerate(items, 1)
    ]
    if not any(one is not None for one in done):
        return None
    return manifest | {
        "items": [old if new is None else new for new, old in zip(done, items, strict=True)]
    }


def name_of(manifest: Json) -> str:
    """Its name, empty where it has none, whatever its shape is otherwise."""
    metadata = manifest.get("metadata")
    return str(metadata.get("name") or "") if isinstance(metadata, dict) else ""


def misshapen(manifest: Json, where: str) -> list[Finding]:
    """What `edl.inject.manifest_types` finds, of a CronJob also in the Jobs that it makes."""
    if manifest.get("kind") != "CronJob":
        return _findings(manifest, f"{where}: ")
    own: Json = {"kind": "Job", "metadata": manifest.get("metadata")}
    spec = manifest.get("spec")
    made = spec.get("jobTemplate") if isinstance(spec, dict) else None
    if not isinstance(made, dict):
        allowed = "a template of Jobs belongs here"
        what = "is missing" if made is None else "not an object"
        return [Finding(f"{where}: spec.jobTemplate", what, allowed)]
    template = _findings({**made, "kind": "Job"}, f"{where}: spec.jobTemplate.")
    return [*_findings(own, f"{where}: "), *template]


def _findings(manifest: Json, place: str) -> list[Finding]:
    try:
        manifest_types.check(manifest)
    except Denied as denied:
        return [Finding(f"{place}{one.path}", one.what, one.allowed) for one in denied.findings]
    return []
