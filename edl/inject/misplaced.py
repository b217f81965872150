"""Names of ours that mean nothing where they stand: labels among annotations, slips of the pen."""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Final

from edl import contract
from edl.entries import ENTRIES, Kind
from edl.writes import Json

_PLACES: Final = {"labels": Kind.LABEL, "annotations": Kind.ANNOTATION}
_WORDS: Final = {Kind.LABEL: "a label", Kind.ANNOTATION: "an annotation"}
_KNOWN: Final[Mapping[Kind, frozenset[str]]] = {
    kind: frozenset(entry.name for entry in ENTRIES if entry.kind is kind)
    for kind in _PLACES.values()
}
_OF_NAMESPACES: Final = frozenset(
    entry.name for entry in ENTRIES if entry.kind in (Kind.NAMESPACE, Kind.NAMESPACE_ANNOTATION)
)


def warnings(manifest: Json) -> tuple[str, ...]:
    """A sentence for each; the object is taken as it is."""
    metadata = manifest.get("metadata") or {}
    return tuple(
        sentence
        for place, kind in _PLACES.items()
        for name in sorted(metadata.get(place) or {})
        if name.startswith(contract.PREFIX) and name not in (*_KNOWN[kind], contract.INJECTION)
        for sentence in _said(name, kind)
    )


def _said(name: str, kind: Kind) -> Iterator[str]:
    other = next((one for one, names in _KNOWN.items() if name in names), None)
    if other is not None:
        yield f"{name} is {_WORDS[other]}, not {_WORDS[kind]}: it does nothing here"
        return
    if name in _OF_NAMESPACES:
        yield f"{name} belongs on a namespace: it does nothing here"
        return
    near = get_close_matches(name.lower(), sorted(_KNOWN[Kind.LABEL] | _KNOWN[Kind.ANNOTATION]), 1)
    meant = f": did you mean {near[0]}?" if near else ""
    yield f"{name} is unknown, and does nothing{meant}"
