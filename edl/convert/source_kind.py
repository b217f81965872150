"""What a source kind is, and what comes out of one document. Values only."""

from collections.abc import Callable, Sequence

import msgspec

from edl.convert.diagnostics import Remark
from edl.convert.tracked_object import Fields
from edl.writes import Json


class Converted(msgspec.Struct, frozen=True):
    """The manifests that a document became, and what its author should know.

    `dropped` is what the manifests do not say any more; `notes` are harmless.
    """

    manifests: tuple[Json, ...]
    dropped: tuple[Remark, ...] = ()
    notes: tuple[Remark, ...] = ()


class SourceKind(msgspec.Struct, frozen=True):
    """One source kind: under which names it comes, and how it is read.

    `apis` are pairs of API group and kind, `versions` those of the group that are known. `read`
    takes every field it carries; what it leaves is reported as dropped. `fits` looks closer, where
    the kind alone does not tell.
    """

    apis: tuple[tuple[str, str], ...]
    versions: tuple[str, ...]
    read: Callable[[Fields], Sequence[Json]]
    fits: Callable[[Json], bool] = lambda _: True
