"""Reading a scenario field by field: every finding with its file and line, all of them at once."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from math import isfinite
from typing import Final

from edl.convert.remarks import Place, path_of
from edl.errors import Finding
from edl.form import duration
from edl.resources import Resources
from kubectl_edl.documents import Document

TIME: Final = "seconds, or 90s, 5m, 2h30m, 1d"


@dataclass(frozen=True, slots=True)
class Reading:
    """One document, and what is wrong with it so far."""

    document: Document
    _found: list[tuple[int, Finding]] = field(default_factory=list)

    def add(self, line: int, finding: Finding) -> None:
        self._found.append((line, finding))

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Each once, in the order of their lines."""
        ordered = sorted(dict.fromkeys(self._found), key=lambda pair: pair[0])
        return tuple(finding for _, finding in ordered)

    def root(self) -> "Field":
        return Field(self, (), self.document.value)


@dataclass(frozen=True, slots=True)
class Field:
    """A value of the document and its place, `jobs[2].roles.worker`; None where nothing stands."""

    reading: Reading
    place: Place
    value: object

    def found(self, what: str, allowed: str = "") -> None:
        """Something is wrong here."""
        document = self.reading.document
        line = document.line_of(self.place)
        where = f"{document.origin.where}:{line}"
        path = f"{where}: {path_of(self.place)}" if self.place else where
        allowed = f"allowed: {allowed}" if allowed else ""
        self.reading.add(line, Finding(path, what, allowed))

    def __bool__(self) -> bool:
        """Whether something stands here."""
        return self.value is not None

    # -- parts -------------------------------------------------------------------------------

    def __getitem__(self, name: str) -> "Field":
        value = self.value.get(name) if isinstance(self.value, Mapping) else None
        return Field(self.reading, (*self.place, name), value)

    def only(self, names: Sequence[str]) -> "Field":
        """This object, after finding what it has beside these fields."""
        if self and not isinstance(self.value, Mapping):
            self.found(_kind(self.value), f"an object with {', '.join(names)}")
        for name, part in self.members():
            if name not in names:
                close = get_close_matches(name, names, n=1)
                hint = f" (did you mean {close[0]}?)" if close else ""
                part.found(f"is no field here{hint}", ", ".join(names))
        return self

    def members(self) -> Iterator[tuple[str, "Field"]]:
        """The fields of an object, none for anything else."""
        if isinstance(self.value, Mapping):
            for name, value in self.value.items():
                yield name, Field(self.reading, (*self.place, name), value)

    def items(self) -> list["Field"]:
        """The items of a list; one value stands for a list of it."""
        values = self.value if isinstance(self.value, list) else [self.value] if self else []
        return [Field(self.reading, (*self.place, at), one) for at, one in enumerate(values)]

    def listed(self) -> list["Field"]:
        """The items of what must be a list."""
        if self and not isinstance(self.value, list):
            self.found(_kind(self.value), "a list")
            return []
        return self.items()

    # -- values ------------------------------------------------------------------------------

    def text(self, default: str = "") -> str:
        if not self:
            return default
        if isinstance(self.value, bool | int | float | str):
            return str(self.value)
        self.found(_kind(self.value), "a text")
        return default

    def choice(self, options: Sequence[str], default: str) -> str:
        found = self.text(default)
        if found not in options:
            self.found(f'"{found}"', ", ".join(options))
            return default
        return found

    def whole(self, default: int, least: int = 0) -> int:
        """A whole number from `least` on."""
        if not self:
            return default
        if isinstance(self.value, int) and not isinstance(self.value, bool):
            if self.value >= least:
                return self.value
            self.found(str(self.value), f"a whole number from {least}")
            return default
        self.found(_kind(self.value), f"a whole number from {least}")
        return default

    def number(self, default: float, least: float = 0) -> float:
        if not self:
            return default
        found = self.value
        if isinstance(found, int | float) and not isinstance(found, bool) and isfinite(found):
            if found >= least:
                return float(found)
            self.found(f"{found}", f"a number from {least:g}")
            return default
        self.found(_kind(found), f"a number from {least:g}")
        return default

    def seconds(self, default: float) -> float:
        """A time: seconds, or a duration as annotations spell it."""
        if not self or (isinstance(self.value, int | float) and not isinstance(self.value, bool)):
            return self.number(default)
        text = self.value if isinstance(self.value, str) else ""
        length = duration(text)
        if length is None and text.strip("0smhd") != "":
            self.found(_kind(self.value), TIME)
            return default
        return length.total_seconds() if length else 0.0

    def resources(self, names: Mapping[str, str]) -> Resources:
        """Quantities: `names` maps fields to resources."""
        amounts = Resources()
        for name, resource in names.items():
            part = self[name]
            try:
                amounts += Resources.parse({resource: part.value} if part else {})
            except ValueError as error:
                part.found(str(error))
        return amounts


def _kind(value: object) -> str:
    """What was found, as users wrote it."""
    names = {dict: "an object", list: "a list", type(None): "nothing"}
    return names.get(type(value), f'"{value}"')
