"""Reads a scenario field by field and collects all findings, each with its file and line."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import inf, isfinite
from typing import Final

import msgspec

from edl import contract
from edl.convert.diagnostics import FieldPath, path_of
from edl.durations import parse_duration
from edl.errors import Finding
from edl.quantities import Resources, quantity
from edl.similar_names import did_you_mean
from kubectl_edl.resources.yaml_reader import Document

_SHARE: Final = f"; a share of a GPU is set in a job's manifest, by the label {contract.GPU}"


def amount(resource: str, value: object) -> Resources:
    """An amount of one resource. Raises ValueError with the allowed values."""
    result = Resources.parse({resource: value})
    if any(number < 0 for _, number in result):
        raise ValueError(f"{value} is below 0; allowed: 0 or more")
    # Extended resources (`nvidia.com/gpu`) are assigned in whole units.
    if "/" in resource and quantity(str(value)) % 1:
        share = _SHARE * resource.endswith("gpu")
        raise ValueError(f"{value} is not a whole number; allowed: 0, 1, 2, …{share}")
    return result


_cached_amount: Final = lru_cache(maxsize=4096, typed=True)(amount)
"""`amount` of numbers and texts, of which a trace repeats few."""
TIME: Final = "seconds, or 90s, 5m, 2h30m, 1d"
LONGEST_TIME: Final = 100 * 365 * 86_400
"""The longest time in seconds: 100 years. Sums of a few of them are still valid dates."""
SHOWN: Final = 80
"""The most characters of a value in a message."""
_PRIORITIES: Final = (-(2**31), 2**31 - 1)
TOO_LONG: Final = "more than 100 years"


@dataclass(frozen=True, slots=True)
class Reading:
    """One document, and its findings so far. `names` are those of fields in messages."""

    document: Document
    names: Mapping[str | int, str] = field(default_factory=dict)
    _found: list[tuple[int, Finding]] = field(default_factory=list)

    def add(self, line: int, finding: Finding) -> None:
        self._found.append((line, finding))

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Findings without repetition, in the order of their lines."""
        ordered = sorted(dict.fromkeys(self._found), key=lambda pair: pair[0])
        return tuple(finding for _, finding in ordered)

    def root(self) -> "Field":
        return Field(self, (), self.document.value)


class Field(msgspec.Struct, frozen=True, gc=False):
    """A value of the document and its path, `jobs[2].roles.worker`; None if it is absent."""

    reading: Reading
    place: FieldPath
    value: object
    ways: tuple[str, ...] = ()
    """The distributions that are allowed here, for messages about misspelt ones."""

    def report(self, what: str, allowed: str = "") -> None:
        """Report a finding on this field."""
        document = self.reading.document
        line = document.line_of(self.place)
        where = f"{document.origin.where}:{line}"
        named = tuple(self.reading.names.get(step, step) for step in self.place)
        path = f"{where}: {path_of(named)}" if named else where
        allowed = f"allowed: {allowed}" if allowed else ""
        self.reading.add(line, Finding(path, what, allowed))

    def __bool__(self) -> bool:
        """Whether the field is set."""
        return self.value is not None

    # -- parts -------------------------------------------------------------------------------

    def __getitem__(self, name: str) -> "Field":
        value = self.value.get(name) if isinstance(self.value, dict) else None
        return Field(self.reading, (*self.place, name), value, self.ways)

    def _part(self, step: str | int, value: object) -> "Field":
        return Field(self.reading, (*self.place, step), value, self.ways)

    def only(self, names: Sequence[str]) -> "Field":
        """This object, after reporting fields other than these."""
        if self and not isinstance(self.value, dict):
            self.report(_kind(self.value), f"an object with {', '.join(names)}")
        for name, part in self.parts():
            if name not in names:
                part.report(_no_field(name, names), ", ".join(names))
        return self

    def parts(self) -> Iterator[tuple[str, "Field"]]:
        """The fields of an object; none for other values."""
        if isinstance(self.value, dict):
            for name, value in self.value.items():
                yield name, self._part(name, value)

    def members(self) -> Iterator[tuple[str, "Field"]]:
        """The fields of an object; another type of value is reported."""
        if self and not isinstance(self.value, dict):
            self.report(_kind(self.value), "an object, such as {name: value}")
        return self.parts()

    def items(self) -> list["Field"]:
        """The items of a list; a single value counts as a list of one."""
        values = self.value if isinstance(self.value, list) else [self.value] if self else []
        return [self._part(index, value) for index, value in enumerate(values)]

    def listed(self) -> list["Field"]:
        """The items of a list; another type of value is reported."""
        if self and not isinstance(self.value, list):
            self.report(_kind(self.value), "a list")
            return []
        return self.items()

    # -- values ------------------------------------------------------------------------------

    def text(self, default: str = "") -> str:
        if not self:
            return default
        if isinstance(self.value, bool):  # kubectl reads y, n, yes, no, on and off as booleans, too
            self._misread("a text, in quotes")
        elif isinstance(self.value, int | float | str):
            return str(self.value)
        else:
            self._misread("a text")
        return default

    def choice(self, options: Sequence[str], default: str) -> str:
        text = self.text(default)
        if text not in options:
            self.report(f'"{text}"', ", ".join(options))
            return default
        return text

    def whole(self, default: int, least: int = 0, most: int | None = None) -> int:
        """A whole number from `least` to `most`; another value is reported."""
        if not self:
            return default
        value, end = self.value, inf if most is None else most
        allowed = f"a whole number from {least}" + ("" if most is None else f" to {most}")
        if not isinstance(value, int) or isinstance(value, bool):
            self._misread(allowed)
        elif not least <= value <= end:
            self.report(str(value)[:SHOWN], allowed)
        else:
            return value
        return default

    def priority(self) -> int:
        """A whole number in the range of a PriorityClass's value."""
        return self.whole(0, *_PRIORITIES)

    def number(self, default: float, least: float = 0, most: float = inf) -> float:
        if not self:
            return default
        value = as_number(self.value)
        allowed = f"a number from {least:g}" + ("" if most == inf else f" to {most:g}")
        if value is None:
            self._misread(allowed)
        elif not least <= value <= most:
            self.report(f"{self.value}", allowed)
        else:
            return value
        return default

    def seconds(self, default: float) -> float:
        """A time in seconds, or a duration in the format of annotations."""
        is_number = isinstance(self.value, int | float) and not isinstance(self.value, bool)
        if is_number or not self:
            seconds = self.number(default)
        elif isinstance(self.value, str) and (length := parse_duration(self.value)) is not None:
            seconds = length.total_seconds()
        else:
            self._misread(TIME)
            return default
        if seconds > LONGEST_TIME and self:
            self.report(f"{self.value} is {TOO_LONG}", TIME)
            return default
        return seconds

    def resources(self, names: Mapping[str, str]) -> Resources:
        """Quantities; `names` maps fields to resources."""
        amounts = Resources()
        for name, resource in names.items():
            part = self[name]
            read = _cached_amount if isinstance(part.value, str | int | float) else amount
            try:
                amounts += read(resource, part.value) if part else Resources()
            except ValueError as error:
                what, _, allowed = str(error).partition("; ")
                part.report(what, allowed.removeprefix("allowed: "))
        return amounts

    def _misread(self, allowed: str) -> None:
        """Report a value of the wrong type; for an object, each unknown field in it."""
        unknown = [(name, part) for name, part in self.parts() if name not in self.ways]
        drawn = f", or drawn by one of {', '.join(self.ways)}" if self.ways else ""
        for name, part in unknown:
            part.report(_no_field(name, self.ways), allowed + drawn)
        if not unknown:
            self.report(_kind(self.value), allowed + drawn * isinstance(self.value, dict))


def as_number(value: object) -> float | None:
    """A number that a float can represent; None for anything else."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if isfinite(number) else None


def _no_field(name: str, names: Sequence[str]) -> str:
    meant = did_you_mean(name, names)
    return f"is not a field here{meant and f' ({meant})'}"


def _kind(value: object) -> str:
    """The value as users wrote it, for a message."""
    names = {dict: "an object", list: "a list", type(None): "nothing"}
    return names.get(type(value), f'"{str(value)[:SHOWN]}"')
