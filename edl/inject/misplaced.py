"""Names of ours that mean nothing where they stand: labels among annotations, slips of the pen."""

from collections.abc import Mapping
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
_EXPECTED: Final = {kind: names | {contract.INJECTION} for kind, names in _KNOWN.items()}
_OF_NAMESPACES: Final = frozenset(
    entry.name for entry in ENTRIES if entry.kind in (Kind.NAMESPACE, Kind.NAMESPACE_ANNOTATION)
)

_MOST: Final = 10
"""Names that are spoken of: each unknown one is compared with all that are known."""
_LONGEST: Final = 63
"""Characters of a name that is compared, or quoted: none of ours is longer."""


def warnings(manifest: Json) -> tuple[str, ...]:
    """A sentence for each of the first names, and their number; the object is taken as it is."""
    metadata = manifest.get("metadata") or {}
    found = [
        (name, kind)
        for place, kind in _PLACES.items()
        for name in metadata.get(place) or {}
        if name.startswith(contract.PREFIX) and name not in _EXPECTED[kind]
    ]
    told = [_said(name, kind) for name, kind in sorted(found)[:_MOST]]
    left = len(found) - len(told)
    return (*told, f"{left} more names of {contract.PREFIX} do nothing here") if left else (*told,)


def _said(name: str, kind: Kind) -> str:
    other = next((one for one, names in _KNOWN.items() if name in names), None)
    if other is not None:
        return f"{name} is {_WORDS[other]}, not {_WORDS[kind]}: it does nothing here"
    if name in _OF_NAMESPACES:
        return f"{name} belongs on a namespace: it does nothing here"
    if len(name) > _LONGEST:
        return f"{name[:_LONGEST]}… is unknown, and does nothing"
    near = get_close_matches(name.lower(), sorted(_KNOWN[Kind.LABEL] | _KNOWN[Kind.ANNOTATION]), 1)
    meant = f": did you mean {near[0]}?" if near else ""
    return f"{name} is unknown, and does nothing{meant}"
