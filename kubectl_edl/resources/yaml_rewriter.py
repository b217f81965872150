"""Rewrites streams of manifests; only changed fields differ from the original text."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import NamedTuple

from edl.parsing.yaml_edits import EditError, edited, lost_comments
from edl.writes import Json
from kubectl_edl.output.yaml_writer import dump
from kubectl_edl.resources.manifest_items import changed
from kubectl_edl.resources.manifest_sources import ManifestSource, Unreadable
from kubectl_edl.resources.yaml_reader import Document, documents


class Rewritten(NamedTuple):
    """A document as text and as value; `hint` reports lost comments, if any."""

    text: str
    value: Json
    hint: str = ""


def rewrite(
    sources: Iterable[ManifestSource], change: Callable[[Json, str], Json | None]
) -> list[Rewritten]:
    """The documents, with manifests changed as in `manifest_items.changed`.

    Raises Unreadable for a malformed document.
    """
    return [
        rewritten(document, changed(document, change))
        for source in sources
        for document in documents(source)
    ]


def rewritten(document: Document, *changes: Json | None) -> Rewritten:
    """The document after some changes in turn, each the whole content, or None for no change.

    It is rewritten whole if it is JSON or aliases prevent edits.
    """
    text, value = document.origin.text, document.value
    for new in changes:
        if new is not None and new is not value:
            text, value = _edited(text, value, new), new
    if value is document.value or not (lost := lost_comments(document.origin.text, text)):
        return Rewritten(text, value)
    hint = f"hint: {document.origin} has lost {len(lost)} of its comments: {lost[0]}"
    return Rewritten(text, value, hint)


def _edited(text: str, old: Json, new: Json) -> str:
    """A text that parses as `new`."""
    if text.lstrip().startswith("{"):
        return dump(new)
    with suppress(*EditError, Unreadable):
        text = edited(text, old, new)
        if [document.value for document in documents(ManifestSource("", text))] == [new]:
            return text
    return dump(new)


def hints(documents: Iterable[Rewritten]) -> list[str]:
    """Hints on lost comments, for stderr."""
    return [document.hint for document in documents if document.hint]
