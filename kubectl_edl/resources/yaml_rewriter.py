"""Streams of manifests: each document printed again as it came unless it changed."""

from collections.abc import Callable, Iterable

from edl.writes import Json
from kubectl_edl.output.yaml_writer import dump
from kubectl_edl.resources.manifest_sources import ManifestSource
from kubectl_edl.resources.yaml_reader import Document, documents


def rewrite(
    found: Iterable[ManifestSource], change: Callable[[Json], Json | None]
) -> list[tuple[str, Json]]:
    """Text and value of every document, those for which `change` returns something replaced by it.

    Raises Unreadable at a document that is none.
    """
    return [
        _rewritten(document, change(document.value))
        for source in found
        for document in documents(source)
    ]


def _rewritten(document: Document, changed: Json | None) -> tuple[str, Json]:
    if changed is None:
        return document.origin.text, document.value
    return dump(changed), changed
