"""What a command found, before anybody chose how it is printed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from edl.writes import Json
from kubectl_edl.printers.table import Table

API_VERSION: Final = "edl.dev/v1"
"""The version of the shapes that `-o json` and `-o yaml` print: fields are added, never changed."""


@dataclass(frozen=True, slots=True)
class Report:
    """The same finding as text and as documents.

    `objects` and `names` (`trainingjob.edl.dev/mnist`) stand in the same order; with `list_kind`
    each of them is one row of the only table. Objects carry times, never ages: two reports of an
    unchanged cluster are equal.
    """

    sections: tuple[str | Table, ...]
    objects: tuple[Json, ...]
    names: tuple[str, ...]
    list_kind: str = ""
    """The kind of the list in documents; empty for a report about one object."""
    nothing: str = ""
    """What stderr says when there are no objects."""
    hints: tuple[str, ...] = ()
    """What stderr says besides: what could not be read."""

    @property
    def document(self) -> Json:
        """What `-o json` prints."""
        if not self.list_kind:
            return self.objects[0]
        return {"apiVersion": API_VERSION, "kind": self.list_kind, "items": list(self.objects)}

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
