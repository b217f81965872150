"""Streams of manifests: each document printed again as it came, but for what changed in it."""

from collections.abc import Callable, Iterable
from contextlib import suppress

from edl.parsing.yaml_edits import EditError, edited
from edl.writes import Json
from kubectl_edl.output.yaml_writer import dump
from kubectl_edl.resources.manifest_sources import ManifestSource, Unreadable
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
    return rewritten(document, changed), changed


def rewritten(document: Document, changed: Json) -> str:
    """The document's text with what changed; written anew where it is JSON or its aliases differ.

    What is returned reads as `changed`.
    """
    text = document.origin.text
    if text.lstrip().startswith("{"):
        return dump(changed)
    with suppress(*EditError, Unreadable):
        text = edited(text, document.value, changed)
        if [one.value for one in documents(ManifestSource("", text))] == [changed]:
            return text
    return dump(changed)
