"""`SourceKind`, which reads one kind of document, and `Converted`, its result. Values only."""

from collections.abc import Callable, Sequence

import msgspec

from edl.convert.diagnostics import Remark
from edl.convert.tracked_object import Fields
from edl.writes import Json


class Converted(msgspec.Struct, frozen=True):
    """The manifests that replace a document, and remarks for its author.

    `dropped` are settings that the manifests do not carry; `notes` report no loss.
    """

    manifests: tuple[Json, ...]
    dropped: tuple[Remark, ...] = ()
    notes: tuple[Remark, ...] = ()


class SourceKind(msgspec.Struct, frozen=True):
    """One source kind: the API names under which it occurs, and its reader.

    `apis` are pairs of API group and kind, `versions` the known versions of the group. `read` takes
    each field that it carries; a field that it does not take is reported as dropped. `fits` decides
    by the content if the kind alone is ambiguous.
    """

    apis: tuple[tuple[str, str], ...]
    versions: tuple[str, ...]
    read: Callable[[Fields], Sequence[Json]]
    fits: Callable[[Json], bool] = lambda _: True
