"""What a command found, before anybody chose how it is printed."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, overload

from edl.writes import Json
from kubectl_edl.output.table import Layout, Table

API_VERSION: Final = "edl.dev/v1"
"""The version of the shapes that `-o json` and `-o yaml` print: fields are added, never changed."""


@dataclass(frozen=True, slots=True)
class Made(Sequence[Json]):
    """Documents that are made when they are read: a table of a thousand jobs needs none."""

    make: Callable[[int], Json]
    many: int

    def __len__(self) -> int:
        return self.many

    @overload
    def __getitem__(self, index: int) -> Json: ...
    @overload
    def __getitem__(self, index: slice) -> list[Json]: ...
    def __getitem__(self, index: int | slice) -> Json | list[Json]:
        numbers = range(self.many)[index]
        return self.make(numbers) if isinstance(numbers, int) else [*map(self.make, numbers)]


@dataclass(frozen=True, slots=True)
class Report:
    """The same finding as text and as documents.

    `objects` and `names` (`trainingjob.edl.dev/mnist`) stand in the same order; with `list_kind`
    each of them is one row of the only table. Objects carry times, never ages: two reports of an
    unchanged cluster are equal.
    """

    sections: tuple[str | Table, ...]
    objects: Sequence[Json]
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
    def document(self) -> Json:
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
