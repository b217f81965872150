"""Evaluates a template on a document, and prints the selected values."""

import json
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Any, Final

from kubectl_edl.output.jsonpath.go_format import HTML, plain
from kubectl_edl.output.jsonpath.jsonpath_ast import (
    Below,
    Every,
    FieldStep,
    Filter,
    Number,
    Path,
    PathStep,
    Range,
    Slice,
    Template,
    Text,
    Union,
)
from kubectl_edl.output.jsonpath.jsonpath_parser import OPERATORS, TemplateError

Values = list[Any]

_COMPARE: Final[Mapping[str, Callable[[Any, Any], bool]]] = dict(
    zip(
        OPERATORS,
        (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge),
        strict=True,
    )
)
_EQUALITY: Final = frozenset({"==", "!="})


def execute(template: Template, document: object) -> str:
    """The printed text; raises TemplateError if the template cannot be applied to the document."""
    return "".join(" ".join(map(plain, values)) for values in _results(template, document))


def as_json(template: Template, document: object) -> str:
    """The selected values as JSON, one list per part of the template."""
    return "".join(
        json.dumps(values, indent=4, sort_keys=True, ensure_ascii=False).translate(HTML) + "\n"
        for values in _results(template, document)
    )


def found(path: Path, document: object) -> Values:
    """The values that a path selects; empty if it matches nothing."""
    return _walk([document], path)


def _results(template: Template, document: object) -> Iterator[Values]:
    """The values of each part of the template."""
    for part in template:
        if isinstance(part, Text):
            yield [part.text]
        elif isinstance(part, Range):
            for value in found(part.path, document):
                yield from _results(part.body, value)
        else:
            yield found(part, document)


def _walk(values: Values, path: Iterable[PathStep]) -> Values:
    return reduce(lambda now, step: _STEPS[type(step)](now, step), path, values)


def _fields(values: Values, step: FieldStep) -> Values:
    return [value[step.name] for value in values if isinstance(value, dict) and step.name in value]


def _every(values: Values, _: Every) -> Values:
    return [child for value in values for child in _children(value)]


def _children(value: object) -> Sequence[object]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else ()


def _below(values: Values, step: Below) -> Values:
    with_children = ((value, _children(value)) for value in values)
    return [
        one
        for value, children in with_children
        if children
        for one in (value, *_below(list(children), step))
    ]


def _slices(values: Values, step: Slice) -> Values:
    return [one for value in values if value is not None for one in _slice(value, step)]


def _slice(value: object, step: Slice) -> Values:
    if not isinstance(value, list):
        raise TemplateError(f"{_kind(value)} is not a list, so it has no [{step.first or 0}]")
    first, last = step.first or 0, len(value) if step.last is None else step.last
    first += len(value) if first < 0 else 0
    if last < 0 or (last == 0 and step.single):
        last += len(value)
    if first == last:
        return []
    for index in (first, last - 1):
        if not 0 <= index < len(value):
            raise TemplateError(f"[{index}] is out of bounds: the list has {len(value)}")
    if first > last:
        raise TemplateError(f"[{first}:{last}] begins after its end")
    if step.step is not None and step.step <= 0:
        raise TemplateError(f"a slice's step is above 0, not {step.step}")
    return value[first : last : step.step or 1]


def _unions(values: Values, step: Union) -> Values:
    return [one for path in step.paths for one in _walk(values, path)]


def _filtered(values: Values, step: Filter) -> Values:
    return [item for value in values for item in _items(value) if _passes(item, step)]


def _items(value: object) -> Values:
    if not isinstance(value, list):
        raise TemplateError(f"{_kind(value)} is not a list, so [?(…)] cannot choose from it")
    return value


def _passes(item: object, step: Filter) -> bool:
    if not step.operator:
        return _leads_somewhere(item, step.left)
    left, right = _walk([item], step.left), _walk([item], step.right)
    if not left or not right:
        return False
    if len(left) > 1 or len(right) > 1:
        raise TemplateError("[?(…)] compares one value with one, not several")
    kinds = {_kind(left[0]), _kind(right[0])}
    ordered = step.operator not in _EQUALITY
    if len(kinds) > 1 or kinds & _INCOMPARABLE or (ordered and "a truth value" in kinds):
        raise TemplateError(f"{_kind(left[0])} and {_kind(right[0])} do not {step.operator}")
    return _COMPARE[step.operator](left[0], right[0])


def _leads_somewhere(item: object, path: Path) -> bool:
    try:
        return bool(_walk([item], path))
    except TemplateError:
        return False


_KINDS: Final[tuple[tuple[type, str], ...]] = (
    (bool, "a truth value"),
    (int, "a whole number"),
    (float, "a number"),
    (str, "a text"),
    (dict, "an object"),
    (list, "a list"),
)
"""bool before int, because in Python a bool is an int."""
_INCOMPARABLE: Final = frozenset({"an object", "a list", "null"})


def _kind(value: object) -> str:
    return next((name for kind, name in _KINDS if isinstance(value, kind)), "null")


def _texts(values: Values, step: Text) -> Values:
    del values
    return [step.text]


def _numbers(values: Values, step: Number) -> Values:
    return [step.value for _ in values]


_STEPS: Final[Mapping[type[PathStep], Callable[[Values, Any], Values]]] = {
    Text: _texts,
    Number: _numbers,
    FieldStep: _fields,
    Every: _every,
    Below: _below,
    Slice: _slices,
    Union: _unions,
    Filter: _filtered,
}
