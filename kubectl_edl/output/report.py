"""The result of a command, before it is printed in one format."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, overload

from kubectl_edl.output.documents.field_kinds import API_VERSION
from kubectl_edl.output.table import Layout, Table

JsonDocument: TypeAlias = Mapping[str, Any]
"""What `-o json` prints of one object: one of `output.documents`, or an object of Kubernetes."""


@dataclass(frozen=True, slots=True)
class Made(Sequence[JsonDocument]):
    """Documents that are built when they are read: a table of a thousand jobs needs none."""

    make: Callable[[int], JsonDocument]
    many: int

    def __len__(self) -> int:
        return self.many

    @overload
    def __getitem__(self, index: int) -> JsonDocument: ...
    @overload
    def __getitem__(self, index: slice) -> list[JsonDocument]: ...
    def __getitem__(self, index: int | slice) -> JsonDocument | list[JsonDocument]:
        numbers = range(self.many)[index]
        return self.make(numbers) if isinstance(numbers, int) else [*map(self.make, numbers)]


@dataclass(frozen=True, slots=True)
class Report:
    """The same finding as text and as documents.

    `objects` and `names` stand in the same order; a name is a line or more, as kubectl resolves
    them (`job.batch/mnist-worker`). With `list_kind` each object is one row of the only table.
    Objects carry times, never ages: two reports of an unchanged cluster are equal.
    """

    sections: tuple[str | Table, ...]
    objects: Sequence[JsonDocument]
    names: tuple[str, ...]
    list_kind: str = ""
    """The kind of the list in documents; empty for a report about one object."""
    nothing: str = ""
    """What stderr says when there are no objects."""
    hints: tuple[str, ...] = ()
    """What stderr says besides: what could not be read."""
    list_version: str = API_VERSION
    """The version of `list_kind`, where the objects are Kubernetes' own."""
    picture: Callable[[Layout], str] | None = field(default=None, compare=False)
    """What a terminal shows while it is watched, in as many lines as it has; else the sections."""

    @property
    def document(self) -> JsonDocument:
        """What `-o json` prints."""
        if not self.list_kind:
            return self.objects[0]
        return {
            "apiVersion": self.list_version,
            "kind": self.list_kind,
            "items": list(self.objects),
        }

    def hinting(self, hints: Iterable[str]) -> "Report":
        return replace(self, hints=(*self.hints, *hints))

    def only(self, indexes: Sequence[int]) -> "Report":
        """A list with some of its objects."""
        return replace(
            self,
            sections=tuple(
                section.only(indexes) if isinstance(section, Table) else section
                for section in self.sections
            ),
            objects=tuple(self.objects[index] for index in indexes),
            names=tuple(self.names[index] for index in indexes),
        )
