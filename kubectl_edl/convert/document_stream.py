"""Converts a stream of documents: known kinds are converted, others pass through unchanged.

Queues refer to each other across documents: they are collected, and their teams come last.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from edl import contract
from edl.convert import convert
from edl.convert.diagnostics import FieldPath, Malformed, Remark, refusals
from edl.convert.queues.queue_conversion import is_queue, teams_of_queues
from edl.convert.sources import workload_priorities
from edl.convert.sources.unsupported_kinds import unread_resource
from edl.inject.handlers import AdmissionRequest, Context, mutate
from edl.writes import Json
from kubectl_edl.resources.manifest_sources import ManifestSource, Unreadable
from kubectl_edl.resources.yaml_reader import Document, documents

_WEBHOOK: Final = Context(frozenset(), "kubectl-edl")
_CUT: Final = "left out, with what follows it in this file"
_NO_TEAMS: Final = (
    "no ConfigMap of teams is printed: all queues are converted together, or none of them"
)


@dataclass(slots=True)
class DocumentStream:
    """The output and the remarks so far; remarks name file, document and line."""

    manifests: list[Json] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    """Custom resources without a reader: a loss only if nothing is converted."""
    converts: bool = False
    """Whether any document is converted."""
    empty: bool = True
    """Whether no document was found."""
    priority_classes: frozenset[str] = frozenset()
    """PriorityClasses that the documents are or become."""
    queues: "list[_Queue]" = field(default_factory=list)
    """Documents of queues, collected until all are read."""


@dataclass(frozen=True, slots=True)
class _Queue:
    document: Document
    place: FieldPath
    """The path in the document; not empty for an item of a list."""
    value: Json


def converted(
    sources: Iterable[ManifestSource], system_namespace: str = contract.SYSTEM_NAMESPACE
) -> DocumentStream:
    """Convert everything in these files, in order; `errors` report documents that are left out.

    The teams' ConfigMap is in `system_namespace`, where kubectl-edl is installed. It is left out if
    any document is unreadable, which may have been a queue.
    """
    stream = DocumentStream()
    documents = [document for source in sources for document in _read(source)]
    stream.empty = not documents
    stream.priority_classes = workload_priorities.classes(_objects(documents))
    for document in documents:
        if isinstance(document, Unreadable):
            stream.errors.append(f"{document}; {_CUT}")
        else:
            stream.manifests += _with_items(document, stream)
    if stream.queues:
        unread = any(isinstance(document, Unreadable) for document in documents)
        _add_teams(stream, system_namespace, whole=not unread)
    (stream.notes if stream.converts else stream.dropped).extend(stream.unread)
    return stream


def _read(source: ManifestSource) -> Iterator[Document | Unreadable]:
    """A file's documents, up to the first that is unreadable."""
    try:
        yield from documents(source)
    except Unreadable as error:
        yield error


def _objects(documents: Iterable[Document | Unreadable]) -> Iterator[Json]:
    """The documents and the items of their lists."""
    for document in documents:
        if not isinstance(document, Unreadable):
            yield from (item for _, item in _items(document.value) if isinstance(item, dict))


def _add_teams(stream: DocumentStream, system_namespace: str, *, whole: bool) -> None:
    teams = teams_of_queues([queue.value for queue in stream.queues], system_namespace)
    wrong = any(report.wrong for report in teams.reports)
    for queue, report in zip(stream.queues, teams.reports, strict=True):
        lines = partial(_lines, queue.document, queue.value, queue.place)
        stream.errors += lines(report.wrong)
        stream.dropped += lines(report.dropped)
        stream.notes += lines(report.notes)
    if wrong or not whole:
        stream.errors.append(_NO_TEAMS)
    elif teams.manifest:
        stream.manifests.append(teams.manifest)


def _with_items(document: Document, stream: DocumentStream) -> list[Json]:
    """Convert each item of a list; a list in which nothing changes is kept as it is."""
    items = _items(document.value)
    if items and items[0][0] == ():
        return _one(document, document.value, (), stream)
    results = [
        _one(document, item, place, stream) if isinstance(item, dict) else [item]
        for place, item in items
    ]
    changed = [item for result in results for item in result]
    if changed == [item for _, item in items]:
        return [document.value]
    if not changed:
        return []
    return [{"apiVersion": "v1", "kind": "List", "items": changed}]


def _items(value: Json) -> list[tuple[FieldPath, Any]]:
    """A list's items, each with its path and kind; other documents are one item."""
    items = value.get("items")
    if not str(value.get("kind") or "").endswith("List") or not isinstance(items, list):
        return [((), value)]
    return [(("items", index), _named(item, value)) for index, item in enumerate(items)]


def _named(item: Any, listing: Json) -> Any:  # noqa: ANN401 - JSON
    """An item with its kind; items of a TFJobList may omit it."""
    kind = str(listing["kind"]).removesuffix("List")
    if not isinstance(item, dict) or not kind or "kind" in item:
        return item
    return {"apiVersion": listing.get("apiVersion"), "kind": kind} | item


def _one(document: Document, value: Json, place: FieldPath, stream: DocumentStream) -> list[Json]:
    if is_queue(value):
        stream.queues.append(_Queue(document, place, value))
        stream.converts = True
        return []
    lines = partial(_lines, document, value, place)
    try:
        conversion = convert(value, stream.priority_classes)
    except Malformed as malformed:
        stream.errors += lines(malformed.remarks)
        return []
    if conversion is None:
        remark = unread_resource(value)
        stream.unread += lines([remark] if remark else [])
        return [value]
    converts = conversion.manifests != (value,)
    stream.converts |= converts
    jobs = [one for one in conversion.manifests if converts and one["kind"] == "Job"]
    refused = [line for job in jobs for line in lines(refusals(job, _review))]
    stream.errors += refused
    stream.dropped += lines(conversion.dropped)
    stream.notes += lines(conversion.notes)
    return [] if refused else list(conversion.manifests)


def _lines(
    document: Document, value: Json, place: FieldPath, remarks: Iterable[Remark]
) -> list[str]:
    return [
        f"{document.at((*place, *remark.place))}: {_name(value)}: {remark}" for remark in remarks
    ]


def _review(manifest: Json) -> None:
    """Raises Denied if the webhook would refuse the Job."""
    mutate(AdmissionRequest("CREATE", manifest, None, user=""), _WEBHOOK)


def _name(value: Json) -> str:
    """`TFJob mnist`."""
    metadata = value.get("metadata")
    fields = metadata if isinstance(metadata, dict) else {}
    name = fields.get("name", fields.get("generateName", "(no name)"))
    return f"{value.get('kind')} {name}"
