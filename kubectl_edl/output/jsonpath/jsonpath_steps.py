"""The steps of a path, each a function from the selected values to the values of the next step."""

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Any, Final, TypeAlias

PathValues: TypeAlias = list[Any]
PathStep: TypeAlias = Callable[[PathValues], PathValues]
Path: TypeAlias = tuple[PathStep, ...]
TemplatePart: TypeAlias = Callable[[object], Iterator[PathValues]]
"""A part of a template: text, a path, or a range, which repeats its own parts."""

OPERATORS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_EQUALITY: Final = frozenset({"==", "!="})


class TemplateError(ValueError):
    """An error in a template, or the reason why it cannot be applied to an object."""


def selected(path: Path, document: object) -> PathValues:
    """The values that a path selects; empty if it matches nothing."""
    return reduce(lambda values, step: step(values), path, [document])


def literal(text: str) -> PathStep:
    """Text: quoted inside braces, or anything outside them."""
    return lambda _: [text]


def number(value: float) -> PathStep:
    """A number or boolean, for comparisons."""
    return lambda values: [value for _ in values]


def field(name: str) -> PathStep:
    return lambda values: [
        value[name] for value in values if isinstance(value, dict) and name in value
    ]


def every(values: PathValues) -> PathValues:
    """`*`: all values of an object, all items of a list."""
    return [child for value in values for child in _children(value)]


def below(values: PathValues) -> PathValues:
    """`..`: the values themselves and all their descendants that have children."""
    parents = [value for value in values if _children(value)]
    return [value for parent in parents for value in (parent, *below([*_children(parent)]))]


def items(first: int | None, last: int | None, step: int | None, *, single: bool) -> PathStep:
    """`[first:last:step]`; for `[n]`, `single` is set and `last` is n + 1."""
    return lambda values: [
        item
        for value in values
        if value is not None
        for item in _sliced(value, (first, last, step), single=single)
    ]


def union(paths: Sequence[Path]) -> PathStep:
    """`['a','b']`: the values of each of these paths, one after another."""
    return lambda values: [
        value for path in paths for value in reduce(lambda now, step: step(now), path, values)
    ]


def filtered(left: Path, comparison: str, right: Path) -> PathStep:
    """`[?(left operator right)]`; without an operator, items in which `left` selects a value."""

    def passes(item: object) -> bool:
        if not comparison:
            return _leads_somewhere(item, left)
        return _compares(selected(left, item), comparison, selected(right, item))

    return lambda values: [item for value in values for item in _items(value) if passes(item)]


def _children(value: object) -> Sequence[object]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else ()


def _sliced(
    value: object, bounds: tuple[int | None, int | None, int | None], *, single: bool
) -> PathValues:
    if not isinstance(value, list):
        raise TemplateError(f"{_kind(value)} is not a list, so it has no [{bounds[0] or 0}]")
    first, last, step = bounds[0] or 0, len(value) if bounds[1] is None else bounds[1], bounds[2]
    first += len(value) if first < 0 else 0
    if last < 0 or (last == 0 and single):
        last += len(value)
    if first == last:
        return []
    for index in (first, last - 1):
        if not 0 <= index < len(value):
            raise TemplateError(f"[{index}] is out of bounds: the list has {len(value)}")
    if first > last:
        raise TemplateError(f"[{first}:{last}] begins after its end")
    if step is not None and step <= 0:
        raise TemplateError(f"a slice's step is above 0, not {step}")
    return value[first : last : step or 1]


def _items(value: object) -> PathValues:
    if not isinstance(value, list):
        raise TemplateError(f"{_kind(value)} is not a list, so [?(…)] cannot choose from it")
    return value


def _compares(left: PathValues, comparison: str, right: PathValues) -> bool:
    if not left or not right:
        return False
    if len(left) > 1 or len(right) > 1:
        raise TemplateError("[?(…)] compares one value with one, not several")
    kinds = {_kind(left[0]), _kind(right[0])}
    ordered = comparison not in _EQUALITY
    if len(kinds) > 1 or kinds & _INCOMPARABLE or (ordered and "a boolean" in kinds):
        raise TemplateError(f"cannot compare {_kind(left[0])} with {_kind(right[0])}")
    return OPERATORS[comparison](left[0], right[0])


def _leads_somewhere(item: object, path: Path) -> bool:
    try:
        return bool(selected(path, item))
    except TemplateError:
        return False


_KINDS: Final[tuple[tuple[type, str], ...]] = (
    (bool, "a boolean"),
    (int, "an integer"),
    (float, "a number"),
    (str, "a string"),
    (dict, "an object"),
    (list, "a list"),
)
"""bool before int, because in Python a bool is an int."""
_INCOMPARABLE: Final = frozenset({"an object", "a list", "null"})


def _kind(value: object) -> str:
    return next((name for kind, name in _KINDS if isinstance(value, kind)), "null")
