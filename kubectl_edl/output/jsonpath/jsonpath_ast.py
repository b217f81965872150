"""The syntax tree of a template: paths of steps, and ranges over the values they select."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Text:
    """Literal text; inside braces it was quoted."""

    text: str


@dataclass(frozen=True, slots=True)
class Number:
    """A number or boolean, for comparisons."""

    value: float | bool


@dataclass(frozen=True, slots=True)
class FieldStep:
    name: str


@dataclass(frozen=True, slots=True)
class Every:
    """`*`: all values of an object, all items of a list."""


@dataclass(frozen=True, slots=True)
class Below:
    """`..`: the value itself and all its descendants that have children."""


@dataclass(frozen=True, slots=True)
class Slice:
    """`[first:last:step]`; for `[n]`, `single` is set and `last` is n + 1."""

    first: int | None
    last: int | None
    step: int | None
    single: bool


@dataclass(frozen=True, slots=True)
class Union:
    """`['a','b']`: the values of each of these paths, one after another."""

    paths: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class Filter:
    """`[?(left operator right)]`; without an operator, items in which `left` selects a value."""

    left: Path
    operator: str
    right: Path


PathStep: TypeAlias = Text | Number | FieldStep | Every | Below | Slice | Union | Filter
Path: TypeAlias = tuple[PathStep, ...]


@dataclass(frozen=True, slots=True)
class Range:
    """`{range PATH}…{end}`: the template, repeated for each value that the path selects."""

    path: Path
    body: Template


Template: TypeAlias = "tuple[Text | Range | Path, ...]"
