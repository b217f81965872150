"""Labels and annotations with our prefix that have no effect: misspelled, or in the wrong place."""

from collections.abc import Mapping, Sequence
from typing import Final

from edl import contract
from edl.contract.manifest_parts import has_our_prefix, labels, metadata, template, with_metadata
from edl.contract.registry import ENTRIES, EntryKind, Setter
from edl.inject.manifest_schema import is_labelled
from edl.inject.updates.released_jobs import is_released
from edl.messages.scarcity_messages import listed
from edl.similar_names import LONGEST, SIMILAR, nearest
from edl.writes import Json

_PLACES: Final = {"labels": EntryKind.LABEL, "annotations": EntryKind.ANNOTATION}
_WORDS: Final = {EntryKind.LABEL: "a label", EntryKind.ANNOTATION: "an annotation"}
_KNOWN: Final[Mapping[EntryKind, frozenset[str]]] = {
    kind: frozenset(entry.name for entry in ENTRIES if entry.kind is kind)
    for kind in _PLACES.values()
}
_EXPECTED: Final = {kind: names | {contract.INJECTION} for kind, names in _KNOWN.items()}
_WISHES: Final[Mapping[EntryKind, frozenset[str]]] = {
    kind: frozenset(
        entry.name for entry in ENTRIES if entry.kind is kind and entry.setter is Setter.USER
    )
    for kind in _PLACES.values()
}
_OF_NAMESPACES: Final = frozenset(
    entry.name
    for entry in ENTRIES
    if entry.kind in (EntryKind.NAMESPACE, EntryKind.NAMESPACE_ANNOTATION)
)
_PRIORITY: Final = frozenset(
    contract.PREFIX + name for name in ("priority", "priority-class", "priorityClassName")
)
"""Names of a setting that Kubernetes already has."""

_MAX_REPORTED: Final = 10
"""Names that are reported: each unknown name is compared with all known ones."""
_CLOSE: Final = 0.75
"""Similarity from which a name of the same kind is preferred to a more similar one of the other
kind."""
_SHORT: Final = 4
_SIMILAR_IF_SHORT: Final = 0.55
"""The least similarity of up to `_SHORT` characters of which the first is right (mox, maks: max):
one wrong character in three is less than `SIMILAR`."""


def warnings(manifest: Json, old: Json | None = None) -> tuple[str, ...]:
    """A sentence for each of the first unknown names, and the number of the rest.

    The object is admitted unchanged. For an update only names that it adds or changes are reported.
    """
    before = _misplaced(old or {})
    places = [place for place, text in _misplaced(manifest).items() if before.get(place) != text]
    texts = [_text_of(name, kind) for name, kind in sorted(places)[:_MAX_REPORTED]]
    left = len(places) - len(texts)
    more = "1 more name" if left == 1 else f"{left} more names"
    does = "does" if left == 1 else "do"
    return (*texts, f"{more} of {contract.PREFIX} {does} nothing here") if left else (*texts,)


def trains(manifest: Json) -> bool:
    """Whether it is a Job or a bare pod with `edl.dev/framework`."""
    return is_labelled(manifest) and manifest.get("kind", "Job") in ("Job", "Pod")


def on_creation(manifest: Json) -> tuple[str, ...]:
    """All warnings for a new object that does not train, including its pod template."""
    return (*unheeded(manifest), *in_template(manifest))


def on_update(manifest: Json, old: Json) -> tuple[str, ...]:
    """Warnings for what an update adds; a Job's pod template does not change."""
    gains = contract.FRAMEWORK not in labels(template(old)) and manifest.get("kind") != "Job"
    return (*unheeded(manifest, old), *(in_template(manifest) if gains else ()))


def on_stored(manifest: Json) -> tuple[str, ...]:
    """The same for an existing object.

    The pod template of a released Job keeps our labels, so it is not reported.
    """
    return unheeded(manifest) if is_released(manifest) else on_creation(manifest)


def unheeded(manifest: Json, old: Json | None = None) -> tuple[str, ...]:
    """As `warnings`, and a warning that names have no effect without `edl.dev/framework`."""
    found_warnings = warnings(manifest, old)
    new = _ours(manifest).items() - _ours(old or {}).items()
    names = sorted(name for (name, kind), _ in new if name in _WISHES[kind])
    if not names or is_labelled(manifest):
        return found_warnings
    shown, verb = _listed(names)
    return (*found_warnings, f"{shown} {verb} nothing without the label {contract.FRAMEWORK}")


def corrected(manifest: Json) -> Json:
    """The manifest with each of the first unknown names replaced by the name that was meant."""
    places = {place: dict(metadata(manifest).get(place) or {}) for place in _PLACES}
    of_kind = {kind: places[place] for place, kind in _PLACES.items()}
    for name, kind in sorted(_misplaced(manifest))[:_MAX_REPORTED]:
        if (meant := _meant(name, kind)) is not None:
            other, its_kind = meant
            of_kind[its_kind][other] = of_kind[kind].pop(name)
    return with_metadata(manifest, **places)


def on_cron_job(manifest: Json) -> str:
    """A warning about names with our prefix on a CronJob itself; empty if it has none.

    Its Jobs take theirs from jobTemplate. The types in the manifest are unchecked.
    """
    metadata = manifest.get("metadata")
    places = [metadata.get(place) for place in _PLACES] if isinstance(metadata, dict) else []
    names = sorted(
        name
        for entries in places
        if isinstance(entries, dict)
        for name in entries
        if has_our_prefix(name)
    )
    if not names:
        return ""
    shown, verb = _listed(names)
    return f"{shown} {verb} nothing on a CronJob itself: its Jobs get spec.jobTemplate.metadata"


def in_template(manifest: Json) -> tuple[str, ...]:
    """Warnings for a pod template with `edl.dev/framework` whose Job does not have it."""
    pods = template(manifest)
    names = sorted(name for name, kind in _ours(pods) if name in _WISHES[kind])
    if contract.FRAMEWORK not in labels(pods) or trains(manifest):
        return ()
    if (kind := manifest.get("kind", "Job")) != "Job":  # items of a list have no kind
        shown = f"{contract.FRAMEWORK} in its pod template: pods of a {kind} are refused with it"
        return (f"{shown}, because only Jobs are elastic: remove it, or write a Job",)
    if not labels(manifest):
        return ()
    shown, verb = _listed(names)
    return (f"{shown} {verb} nothing in spec.template: write this on the Job's own metadata",)


def _listed(names: Sequence[str]) -> tuple[str, str]:
    """The first of the names, and the verb that fits their number."""
    shown = listed([name[:LONGEST] for name in names])
    return shown, "does" if len(names) == 1 else "do"


def _misplaced(manifest: Json) -> Mapping[tuple[str, EntryKind], str]:
    ours = _ours(manifest).items()
    return {(name, kind): text for (name, kind), text in ours if name not in _EXPECTED[kind]}


def _ours(manifest: Json) -> Mapping[tuple[str, EntryKind], str]:
    return {
        (name, kind): text
        for place, kind in _PLACES.items()
        for name, text in (metadata(manifest).get(place) or {}).items()
        if has_our_prefix(name)
    }


def _text_of(name: str, kind: EntryKind) -> str:
    meant, its_kind = _meant(name, kind) or ("", kind)
    if meant == name:
        return f"{name} is {_WORDS[its_kind]}, not {_WORDS[kind]}: it does nothing here"
    if name in _OF_NAMESPACES:
        return f"{name} belongs on a namespace: it does nothing here"
    if len(name) > LONGEST:
        return f"{name[:LONGEST]}… is unknown, and does nothing"
    if name in _PRIORITY:
        return f"{name} is unknown, and does nothing: a priority is the pods' priorityClassName"
    question = f": did you mean {meant}?" if meant else ""
    return f"{name} is unknown, and does nothing{question}"


def _meant(name: str, kind: EntryKind) -> tuple[str, EntryKind] | None:
    """The same name of the other kind, else the most similar one; None if none is similar."""
    every = frozenset().union(*_KNOWN.values())
    if name in every:
        similar = name
    elif name in _OF_NAMESPACES or len(name) > LONGEST:
        return None
    else:
        similar = (
            _nearest(name, _KNOWN[kind], _CLOSE)
            or _nearest(name, every)
            or _nearest(name, _alike_short(name, every), _SIMILAR_IF_SHORT)
        )
    kinds = (kind, *_KNOWN)
    return next(((similar, other) for other in kinds if similar in _KNOWN[other]), None)


def _alike_short(name: str, candidates: frozenset[str]) -> frozenset[str]:
    """For a short name, the known names with the same first character; else none."""
    first = name[: len(contract.PREFIX) + 1]
    is_short = len(name) <= len(contract.PREFIX) + _SHORT
    return frozenset(key for key in candidates if is_short and key.startswith(first))


def _nearest(name: str, candidates: frozenset[str], cutoff: float = SIMILAR) -> str:
    """The most similar known name, or the longest with which it begins; empty if there is none.

    Names are compared without the prefix, which would make any two of them similar.
    """
    short = name.removeprefix(contract.PREFIX).lower()
    names = sorted(key.removeprefix(contract.PREFIX) for key in candidates)
    begins = max(filter(short.startswith, names), key=len, default="")  # maximum: max
    near = nearest(short, names, cutoff) or begins
    return f"{contract.PREFIX}{near}" if near else ""
