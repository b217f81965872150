"""Rewrites streams of manifests: each document as it was, except for changed fields."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import NamedTuple

from edl.parsing.yaml_edits import EditError, edited, lost_comments
from edl.writes import Json
from kubectl_edl.output.yaml_writer import dump
from kubectl_edl.resources.manifest_sources import ManifestSource, Unreadable
from kubectl_edl.resources.yaml_reader import Document, documents


class Rewritten(NamedTuple):
    """A document as text and as value; `hint` says which comments it has lost, if any."""

    text: str
    value: Json
    hint: str = ""


def rewrite(
    found: Iterable[ManifestSource], change: Callable[[Json], Json | None]
) -> list[Rewritten]:
    """Every document, those for which `change` returns something replaced by it.

    Raises Unreadable at a document that is none.
    """
    return [
        rewritten(document, change(document.value))
        for source in found
        for document in documents(source)
    ]


def rewritten(document: Document, changed: Json | None) -> Rewritten:
    """The document with what changed; written anew where it is JSON or its aliases differ."""
    text = document.origin.text
    if changed is None:
        return Rewritten(text, document.value)
    new = _edited(document, changed)
    if not (lost := lost_comments(text, new)):
        return Rewritten(new, changed)
    hint = f"hint: {document.origin} has lost {len(lost)} of its comments: {lost[0]}"
    return Rewritten(new, changed, hint)


def _edited(document: Document, changed: Json) -> str:
    """Text that reads as `changed`."""
    text = document.origin.text
    if text.lstrip().startswith("{"):
        return dump(changed)
    with suppress(*EditError, Unreadable):
        text = edited(text, document.value, changed)
        if [one.value for one in documents(ManifestSource("", text))] == [changed]:
            return text
    return dump(changed)


def hints(found: Iterable[Rewritten]) -> list[str]:
    """What to say on stderr beside the texts."""
    return [one.hint for one in found if one.hint]
