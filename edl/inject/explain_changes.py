"""Lists each change that `mutate` made, with its reason.

The reasons are in `edl.inject.change_reasons`. The original and the completed manifest are walked
in parallel; the topmost path that a table knows counts as one change: a new volume is one, not
five.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

import msgspec

from edl import contract
from edl.contract import registry
from edl.contract.registry import EntryKind
from edl.inject import change_reasons
from edl.inject.pods.volumes import SSH_VOLUME, volume_name
from edl.writes import Json

_Path: TypeAlias = tuple[str, ...]
_MISSING: Final = object()
_ANY: Final = "*"
_LONGEST: Final = 60
_KEYS: Final = {"volumeMounts": "mountPath"}
"""The field that identifies the items of a list; by default `name`."""
_NAMED: Final = frozenset(
    {"labels", "annotations", "limits", "requests", "containers", "initContainers"}
    | {"env", "ports", "volumes", "volumeMounts", "schedulingGates", "claims", "resourceClaims"}
)
"""Fields whose members are written in brackets, as in findings: `labels[edl.dev/min]`."""
_VARIABLE: Final[Mapping[str, Callable[[Json], object]]] = {
    "value": lambda text: text,
    "valueFrom": lambda source: f"= {source.get('fieldRef', {}).get('fieldPath', '…')}",
}
"""How the value of a variable is shown, by the member that holds it."""
_SSH: Final = change_reasons.MEANINGS[contract.SSH_DIRECTORY]
_DIRECTORIES: Final = {
    volume_name(directory): directory
    for directory in (
        *change_reasons.PROGRAMS,
        *(one.name.rpartition("/")[0] for one in registry.ENTRIES if one.kind is EntryKind.PATH),
    )
}
"""Where our volumes are mounted."""


class FieldChange(msgspec.Struct, frozen=True):
    """One difference: `spec.suspend`, `true` (or `6 → 72`, or `removed "x"`), and its reason.

    List items appear under their names: `containers[main].env[TF_CONFIG]`.
    """

    path: str
    what: str
    why: str
    """Empty if no table explains the change: a gap that a test finds."""


def changes(before: Json, after: Json) -> tuple[FieldChange, ...]:
    """Every difference between a manifest and what `mutate` made of it, in document order."""
    return tuple(_Explanation(after).differences((), before, after))


class _Explanation:
    """The tables for one manifest, the path at which each begins, and the files of its volumes."""

    def __init__(self, after: Json) -> None:
        template = () if after.get("kind") == "Pod" else ("spec", "template")
        self._pod: _Path = (*template, "spec")
        self._tables: tuple[tuple[_Path, Mapping[str, str]], ...] = (
            (self._pod, change_reasons.POD),
            ((*template, "metadata"), change_reasons.POD_METADATA),
            ((), change_reasons.JOB if template else {}),
        )
        self._files = _files(_value_at(after, (*self._pod, "volumes")))

    def differences(self, path: _Path, old: object, new: object) -> Iterator[FieldChange]:
        """The changes at a path and below it."""
        if old is not _MISSING and old == new:
            return
        why = self._why(path, old, new)
        if why is None and (members := _members(path, old, new)) is not None:
            for name, was, becomes in members:
                yield from self.differences((*path, name), was, becomes)
            return
        yield FieldChange(_spelled(path), _what(path[-1], old, new), why or "")

    def _why(self, path: _Path, old: object, new: object) -> str | None:
        """The reason for a change at this path; None if no table has one."""
        if new is _MISSING:
            owned = bool(path) and path[-1] in registry.OWNED_ANNOTATIONS
            return change_reasons.DROPPED if owned else None
        added = ((self._pod, change_reasons.NEW_IN_POD),) if old is _MISSING else ()
        for place, table in (*added, *self._tables):
            if path[: len(place)] == place and (words := _fitting(table, path[len(place) :])):
                return self._filled(words, path[-1])
        return None

    def _filled(self, words: str, name: str) -> str | None:
        """A text of the tables with its placeholder filled; None if the name is unknown."""
        if words == "{files}":
            return self._files.get(name.rstrip("/"))
        if "{meaning}" not in words:
            return words
        meaning = change_reasons.MEANINGS.get(name)
        return words.format(meaning=meaning) if meaning else None


def _fitting(table: Mapping[str, str], path: _Path) -> str:
    for pattern, words in table.items():
        parts = pattern.split()
        if len(parts) == len(path) and all(
            part in (_ANY, name) for part, name in zip(parts, path, strict=True)
        ):
            return words
    return ""


def _files(volumes: object) -> Mapping[str, str]:
    """The reasons for each volume of ours, by its name and by its mount directory."""
    reasons: dict[str, str] = {contract.SSH_DIRECTORY: _SSH, SSH_VOLUME: _SSH}
    for volume in volumes if isinstance(volumes, list) else ():
        directory = _DIRECTORIES.get(volume.get("name"), "")
        shown = (volume.get("downwardAPI") or {}).get("items") or ()
        meanings = {
            item["path"]: change_reasons.MEANINGS.get(f"{directory}/{item['path']}")
            for item in shown
        }
        shown_meanings = "; ".join(
            f"{file}: {meaning}" for file, meaning in meanings.items() if meaning
        )
        why = shown_meanings or change_reasons.PROGRAMS.get(directory, change_reasons.OWN_VOLUME)
        if directory:
            reasons |= {volume["name"]: why, directory: why}
    return reasons


def _value_at(manifest: Json, path: _Path) -> object:
    place: object = manifest
    for name in path:
        place = place.get(name) if isinstance(place, dict) else None
    return place


def _members(path: _Path, old: object, new: object) -> list[tuple[str, object, object]] | None:
    """(name, before, after) of each member of an object or list; None for scalars."""
    was, becomes = _named(path, old), _named(path, new)
    if was is None or becomes is None:
        return None
    names = dict.fromkeys((*becomes, *was))
    return [(name, was.get(name, _MISSING), becomes.get(name, _MISSING)) for name in names]


def _named(path: _Path, value: object) -> Mapping[str, object] | None:
    if value is _MISSING or value is None:
        return {}
    if isinstance(value, list) and all(isinstance(item, dict) for item in value):
        return _items(path, value)
    return value if isinstance(value, dict) else None


def _items(path: _Path, items: Sequence[Json]) -> Mapping[str, object]:
    field = _KEYS.get(path[-1], "name")
    return {str(item.get(field) or index): item for index, item in enumerate(items)}


def _spelled(path: _Path) -> str:
    """`spec.template.spec.containers[main].env[TF_CONFIG]`."""
    text, parent = "", ""
    for name in path:
        text += f"[{name}]" if parent in _NAMED else f".{name}"
        parent = "" if parent in _NAMED else name
    return text.removeprefix(".")


def _what(name: str, old: object, new: object) -> str:
    if old is _MISSING or old is None:
        return _short(name, new)
    before = _short(name, old)
    return f"removed {before}" if new is _MISSING else f"{before} → {_short(name, new)}"


def _short(name: str, value: object) -> str:
    """A string as it is, other values as compact JSON, shortened; the name is not repeated."""
    if isinstance(value, dict) and value.get("name") == name:
        value = {member: inner for member, inner in value.items() if member != "name"}
    if isinstance(value, dict) and len(value) == 1:
        ((member, inner),) = value.items()
        value = _VARIABLE.get(member, lambda _: value)(inner)
    text = value if isinstance(value, str) else _compact(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
