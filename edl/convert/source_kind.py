"""`SourceKind`, which reads one kind of document, and `Converted`, its result."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import msgspec

from edl.convert.diagnostics import Remark
from edl.convert.tracked_object import Fields
from edl.writes import Json

ApiKind: TypeAlias = tuple[str, str]
"""(API group, kind)."""


def api_of(document: Json) -> tuple[ApiKind, str]:
    """The API kind and the version of a document, which may be malformed."""
    group, _, version = str(document.get("apiVersion") or "").rpartition("/")
    return (group, str(document.get("kind"))), version


def unknown_version(api: ApiKind, version: str, versions: Sequence[str]) -> Remark:
    names = ", ".join(f"{api[0]}/{name}" for name in versions)
    what = f"unknown version {version[:63]}: left as it is"
    return Remark(("apiVersion",), what, f"known: {names}")


class Converted(msgspec.Struct, frozen=True):
    """The manifests that replace a document, and remarks for its author.

    `dropped` are settings that the manifests do not carry; `notes` report no loss.
    """

    manifests: tuple[Json, ...]
    dropped: tuple[Remark, ...] = ()
    notes: tuple[Remark, ...] = ()


class SourceKind(msgspec.Struct, frozen=True):
    """One source kind: the API names under which it occurs, and its reader.

    `versions` are the known versions of the API groups. `read` takes each field that it carries; a
    field that it does not take is reported as dropped. `fits` decides by the content if the kind
    alone is ambiguous.
    """

    apis: tuple[ApiKind, ...]
    versions: tuple[str, ...]
    read: Callable[[Fields], Sequence[Json]]
    fits: Callable[[Json], bool] = lambda _: True
