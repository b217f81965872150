"""Remarks on fields of a source document, with the field's path."""

from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeAlias

import msgspec

from edl.errors import EdlError, findings_of
from edl.writes import Json

FieldPath: TypeAlias = tuple[str | int, ...]
"""A field's path in a document: `("spec", "volumes", 0, "name")`."""

_BRACKETED: Final = frozenset("./ ")


def path_of(place: FieldPath) -> str:
    """`spec.volumes[0].name`; keys that contain a dot, a slash or a space are put in brackets."""
    text = ""
    for step in place:
        if isinstance(step, int) or _BRACKETED & set(step):
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return text


class Remark(msgspec.Struct, frozen=True):
    """A remark on one field: what was found (`what`), and what to do about it (`instead`)."""

    place: FieldPath
    what: str
    instead: str = ""

    def __str__(self) -> str:
        path = path_of(self.place)
        text = f"{path}: {self.what}" if path else self.what
        return text + (f"; {self.instead}" if self.instead else "")


def refusals(manifest: Json, check: Callable[[Json], object]) -> Iterator[Remark]:
    """Remarks on a converted Job: the findings with which `check` refuses it."""
    name = manifest["metadata"].get("name", "")
    return (Remark((), f"as Job {name}: {finding}") for finding in findings_of(check, manifest))


class Malformed(EdlError):
    """A document that cannot be converted; `remarks` holds every reason."""

    def __init__(self, remarks: Iterable[Remark]) -> None:
        self.remarks = tuple(remarks)
        super().__init__(" | ".join(str(remark) for remark in self.remarks))
