"""The syntax tree of a template: steps of paths, and ranges over the values they find."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Text:
    """Text as it stands; inside braces it was quoted."""

    text: str


@dataclass(frozen=True, slots=True)
class Number:
    """A number or truth value, to compare with."""

    value: float | bool


@dataclass(frozen=True, slots=True)
class FieldStep:
    name: str


@dataclass(frozen=True, slots=True)
class Every:
    """`*`: all values of an object, all items of a list."""


@dataclass(frozen=True, slots=True)
class Below:
    """`..`: everything below that has something below it, and itself."""


@dataclass(frozen=True, slots=True)
class Slice:
    """`[first:last:step]`; `[n]` has a `last` that was not written."""

    first: int | None
    last: int | None
    step: int | None
    single: bool


@dataclass(frozen=True, slots=True)
class Union:
    """`['a','b']`: what each of these paths finds, one after another."""

    paths: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class Filter:
    """`[?(left operator right)]`; without an operator: for which `left` finds something."""

    left: Path
    operator: str
    right: Path


PathStep: TypeAlias = Text | Number | FieldStep | Every | Below | Slice | Union | Filter
Path: TypeAlias = tuple[PathStep, ...]


@dataclass(frozen=True, slots=True)
class Range:
    """`{range PATH}…{end}`: the template for each value that the path finds."""

    path: Path
    body: Template


Template: TypeAlias = "tuple[Text | Range | Path, ...]"
