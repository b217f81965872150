"""Reads a document field by field, so that no field is lost silently.

Each field that a reader takes must be carried over or reported by the reader; fields that are
not taken are reported as dropped automatically.
"""

import copy
from collections.abc import Mapping, Sequence
from typing import Any, Final

from edl.convert import template_schema
from edl.convert.diagnostics import FieldPath, Remark
from edl.convert.template_schema import FieldShape

_NOT_CARRIED: Final = "convert does not know it: write it into the Job if its pods need it"


class ConversionReport:
    """Remarks on one document, and every object of it that was opened."""

    def __init__(self) -> None:
        self.dropped: Final[list[Remark]] = []
        self.notes: Final[list[Remark]] = []
        self.wrong: Final[list[Remark]] = []
        self.opened: Final[list[Fields]] = []

    def finish(self) -> None:
        """Report each field that was not taken as dropped."""
        for fields in self.opened:
            self.dropped.extend(fields.leftovers())


class Fields:
    """One object of a document. A value of the wrong type is reported and reads as absent."""

    def __init__(
        self, fields: Mapping[str, Any], place: FieldPath, report: ConversionReport
    ) -> None:
        self.place: Final = place
        self._found: Final = fields
        self._left: Final = {name: None for name, value in fields.items() if value is not None}
        self._report: Final = report
        report.opened.append(self)

    # -- reading ----------------------------------------------------------------------------------

    def names(self) -> tuple[str, ...]:
        """Fields that are not taken yet, in the document's order."""
        return tuple(self._left)

    def has(self, name: str) -> bool:
        """Whether the field is set, taken or not."""
        return self._found.get(name) is not None

    def value(self, name: str) -> Any:  # noqa: ANN401 - JSON
        """Take a whole field; None if absent. The caller owns the returned copy."""
        self._left.pop(name, None)
        return copy.deepcopy(self._found.get(name))

    def peek_text(self, name: str) -> str:
        """A string field, without taking it; empty if absent."""
        value = self._found.get(name)
        return value if isinstance(value, str) else ""

    def is_array(self, name: str) -> bool:
        """Whether a field that has two forms is a list; does not take it."""
        return isinstance(self._found.get(name), list)

    def text(self, name: str) -> str:
        return str(self._typed(name, str, "a text") or "")

    def flag(self, name: str) -> bool:
        return bool(self._typed(name, bool, "true or false"))

    def whole(self, name: str, least: int = 0) -> int | None:
        value = self._typed(name, int, "a whole number")
        if value is not None and (isinstance(value, bool) or value < least):
            self.wrong(name, f"{value!r}", f"a whole number from {least}")
            return None
        return value if value is None else int(value)

    def choice(self, name: str, choices: Sequence[str]) -> str:
        """Take one of `choices`; empty if absent, or unknown (reported)."""
        text = self.text(name)
        if text and text not in choices:
            self.wrong(name, f'unknown "{text}"', f"one of {', '.join(choices)}")
            return ""
        return text

    def shaped(self, name: str, shape: FieldShape) -> Any:  # noqa: ANN401 - JSON
        """Take a whole field; None if absent, or if a part has the wrong type (reported)."""
        value = self.value(name)
        misfits = tuple(template_schema.misfits(value, shape, (*self.place, name)))
        self._report.wrong.extend(misfits)
        return None if misfits else value

    def fields(self, name: str) -> "Fields":
        """Take an object, to be read field by field."""
        return Fields(self._typed(name, dict, "an object") or {}, (*self.place, name), self._report)

    def entries(self, name: str) -> "list[Fields]":
        """Take a list of objects, each to be read field by field."""
        items = self._typed(name, list, "a list") or []
        for index, item in enumerate(items):
            if not isinstance(item, dict):
                self.wrong((name, index), f"{item!r}", "an object")
        return [
            Fields(item, (*self.place, name, index), self._report)
            for index, item in enumerate(items)
            if isinstance(item, dict)
        ]

    # -- reporting --------------------------------------------------------------------------------

    def drop(self, name: str, what: str = "", instead: str = _NOT_CARRIED) -> None:
        """Report a known field that is not carried over, unless it is absent or empty."""
        value = self.value(name)
        if value is not None and value not in ("", [], {}):
            text = what or f"{_shown(value)} is not carried"
            self._report.dropped.append(Remark((*self.place, name), text, instead))

    def lose(self, field: str | FieldPath, what: str, instead: str) -> None:
        """Report a field, or a part of one, that was taken and is not carried over as it is."""
        self._report.dropped.append(Remark(self._path(field), what, instead))

    def note(self, field: str | FieldPath, what: str, instead: str = "") -> None:
        """Report a note that loses nothing; an empty name is the object itself."""
        self._report.notes.append(Remark(self._path(field), what, instead))

    def wrong(self, field: str | FieldPath, what: str, allowed: str) -> None:
        """Report an error: the document cannot be converted."""
        self._report.wrong.append(Remark(self._path(field), what, allowed))

    @property
    def is_wrong(self) -> bool:
        """Whether the document has an error."""
        return bool(self._report.wrong)

    def leftovers(self) -> "tuple[Remark, ...]":
        return tuple(
            Remark((*self.place, name), f"{_shown(self._found[name])} is not carried", _NOT_CARRIED)
            for name in self._left
        )

    def _path(self, field: str | FieldPath) -> FieldPath:
        """The path from the document's root of a field here, of a part of one, or of here."""
        if field == "":
            return self.place
        return (*self.place, *((field,) if isinstance(field, str) else field))

    def _typed(self, name: str, kind: type, allowed: str) -> Any:  # noqa: ANN401 - JSON
        self._left.pop(name, None)
        value = self._found.get(name)
        if value is not None and not isinstance(value, kind):
            self.wrong(name, f"{_shown(value)}", allowed)
            return None
        return value


_LONGEST: Final = 40


def _shown(value: object) -> str:
    """A value for a message: shortened, and in YAML's spelling."""
    if isinstance(value, dict | list):
        return "a list" if isinstance(value, list) else "an object"
    text = f'"{value}"' if isinstance(value, str) else str(value)
    text = {"True": "true", "False": "false"}.get(text, text)
    return text if len(text) <= _LONGEST else f'{text[:_LONGEST]}…"'
