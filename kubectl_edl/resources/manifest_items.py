"""The manifests of a document (itself, or the items of a List), and errors in their types.

The API server checks types before it calls the webhook; manifests in files are checked here.
"""

from collections.abc import Callable, Iterable
from typing import Final

from edl.contract.manifest_parts import JOB_TEMPLATE, job_template
from edl.errors import Finding, findings_of
from edl.inject import manifest_schema
from edl.parsing.parser import parse
from edl.writes import Json
from kubectl_edl.resources.yaml_reader import Document

JOB_KINDS: Final = ("Job", "CronJob", "Pod")
"""Kinds on which our labels and annotations have an effect."""
_KUBECTL_NAMES: Final = {
    "Job": "job.batch",
    "CronJob": "cronjob.batch",
    "Pod": "pod",
    "Namespace": "namespace",
}


def changed(document: Document, change: Callable[[Json, str], Json | None]) -> Json | None:
    """The changed document; None if `change` returns None for each of its manifests.

    `change` receives a manifest and its location: `jobs.yaml: document 2, item 1`.
    """
    return _changed(document.value, str(document.origin), change)


def _changed(manifest: Json, where: str, change: Callable[[Json, str], Json | None]) -> Json | None:
    kind = manifest.get("kind")
    if kind != "List":
        return change(manifest, where) if isinstance(kind, str) else None
    value = manifest.get("items")
    items = value if isinstance(value, list) else []
    done = [
        _changed(item, f"{where}, item {number}", change) if isinstance(item, dict) else None
        for number, item in enumerate(items, 1)
    ]
    if not any(new is not None for new in done):
        return None
    return manifest | {
        "items": [old if new is None else new for new, old in zip(done, items, strict=True)]
    }


def name_of(manifest: Json) -> str:
    """The name; empty if there is none, or if the manifest is malformed."""
    metadata = manifest.get("metadata")
    return str(metadata.get("name") or "") if isinstance(metadata, dict) else ""


def titled(manifest: Json) -> str:
    """`job.batch/mnist`, as kubectl names it; `job.batch/mnist-…` for a generated name.

    The manifest may be malformed.
    """
    metadata = manifest.get("metadata")
    generated = metadata.get("generateName") if isinstance(metadata, dict) else None
    name = name_of(manifest) or f"{generated or ''}…"
    return f"{_KUBECTL_NAMES[manifest['kind']]}/{name}"


def prefixed(place: str, findings: Iterable[Finding]) -> list[Finding]:
    """The findings with `place` before each path."""
    return [Finding(f"{place}{one.path}", one.what, one.allowed) for one in findings]


def misshapen(manifest: Json, where: str) -> list[Finding]:
    """The findings of `edl.inject.manifest_schema`, for a CronJob on its jobTemplate as well."""
    if manifest.get("kind") != "CronJob":
        return _findings(manifest, f"{where}: ")
    job: Json = {"kind": "Job", "metadata": manifest.get("metadata")}
    made = job_template(manifest)
    if made is None:
        what, allowed = "is missing, or not an object", "a template of Jobs belongs here"
        return [Finding(f"{where}: {JOB_TEMPLATE}", what, allowed)]
    template = _findings({**made, "kind": "Job"}, f"{where}: {JOB_TEMPLATE}.")
    return [*_findings(job, f"{where}: "), *template]


def _findings(manifest: Json, place: str) -> list[Finding]:
    """The findings, followed by those on the labels of the same manifest at other paths."""
    findings = findings_of(manifest_schema.check, manifest)
    paths = {finding.path for finding in findings}
    read = findings and manifest_schema.is_labelled(manifest)
    others = findings_of(parse, manifest) if read else ()
    return prefixed(place, [*findings, *(one for one in others if one.path not in paths)])
