"""The result of a command, independent of the output format."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, overload

from kubectl_edl.output.documents import API_VERSION
from kubectl_edl.output.table import Layout, Table

JsonDocument: TypeAlias = Mapping[str, Any]
"""An object for `-o json`: one of `output.documents`, or a Kubernetes object."""


def documents(kind: str, bodies: Iterable[JsonDocument]) -> tuple[JsonDocument, ...]:
    """The bodies, each with its `apiVersion` and `kind`."""
    head = {"apiVersion": API_VERSION, "kind": kind}
    return tuple({**head, **body} for body in bodies)


@dataclass(frozen=True, slots=True)
class LazyDocuments(Sequence[JsonDocument]):
    """Documents that are built on access: a table of a thousand jobs needs none of them."""

    kind: str
    make: Callable[[int], JsonDocument]
    length: int

    def __len__(self) -> int:
        return self.length

    @overload
    def __getitem__(self, index: int) -> JsonDocument: ...
    @overload
    def __getitem__(self, index: slice) -> list[JsonDocument]: ...
    def __getitem__(self, index: int | slice) -> JsonDocument | list[JsonDocument]:
        numbers = range(self.length)[index]
        if isinstance(numbers, int):
            return documents(self.kind, [self.make(numbers)])[0]
        return list(documents(self.kind, map(self.make, numbers)))


@dataclass(frozen=True, slots=True)
class Report:
    """A result as text and as documents.

    `objects` and `names` have the same order; a name has one or more lines that kubectl accepts
    (`job.batch/mnist-worker`). With `list_kind` each object is one row of the only table. Objects
    contain times, never ages, so that two reports of an unchanged cluster are equal.
    """

    sections: tuple[str | Table, ...]
    objects: Sequence[JsonDocument]
    names: tuple[str, ...]
    list_kind: str = ""
    """The kind of the list in documents; empty for a report about one object."""
    nothing: str = ""
    """The message on stderr if there are no objects."""
    hints: tuple[str, ...] = ()
    """Further messages for stderr, such as what could not be read."""
    list_version: str = API_VERSION
    """The API version of `list_kind`, which differs for Kubernetes' own objects."""
    absence: str = ""
    """What is said on stderr of an object that a later report of a watch lacks; empty: nothing."""
    picture: Callable[[Layout], str] | None = field(default=None, compare=False)
    """Text for a watching terminal, fitted to its height; None prints the sections."""

    @property
    def document(self) -> JsonDocument:
        if not self.list_kind:
            return self.objects[0]
        return {
            "apiVersion": self.list_version,
            "kind": self.list_kind,
            "items": list(self.objects),
        }

    def with_hints(self, hints: Iterable[str]) -> "Report":
        return replace(self, hints=(*self.hints, *hints))

    def only(self, indexes: Sequence[int]) -> "Report":
        """The report with only these objects of its list."""
        return replace(
            self,
            sections=tuple(
                section.only(indexes) if isinstance(section, Table) else section
                for section in self.sections
            ),
            objects=tuple(self.objects[index] for index in indexes),
            names=tuple(self.names[index] for index in indexes),
        )
