"""Fills values into documents."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

from edl import contract
from edl.patches.merge_patch import merged
from manifests.documents import Documents
from manifests.templating import template_nodes as nodes


class _Context(Struct, frozen=True):
    """The installation's values as JSON, and the element of the innermost loop."""

    values: Mapping[str, Any]
    namespace: str
    element: Any = None

    def at(self, path: str) -> Any:  # noqa: ANN401 - JSON
        """The value at this path; None if it is neither set nor has a default."""
        value: Any = self.values
        for name in path.split("."):
            value = value.get(name) if isinstance(value, Mapping) else None
        return value

    def holds(self, condition: nodes.ValueCondition) -> bool:
        value = self.at(condition.path)
        match condition:
            case nodes.Enabled():
                return bool(value) is not condition.negated
            case nodes.Filled():
                return bool(value)
            case nodes.Given():
                return value is not None
            case nodes.Differs():
                return bool(value != condition.default)


def filled(
    documents: Iterable[nodes.TemplateDocument], values: Mapping[str, Any], namespace: str
) -> Documents:
    """The documents whose conditions hold, in order, with values filled in, in `namespace`."""
    context = _Context(values, namespace)
    return tuple(
        _tree(document.tree, context)
        for document in documents
        if document.condition is None or context.holds(document.condition)
    )


def _tree(tree: nodes.Tree, context: _Context) -> Any:  # noqa: ANN401 - JSON
    if isinstance(tree, dict):
        return {key: _tree(value, context) for key, value in _entries(tree, context)}
    if isinstance(tree, list):
        return [element for item in tree for element in _items(item, context)]
    if isinstance(tree, str):
        return tree.replace(contract.SYSTEM_NAMESPACE, context.namespace)
    fill = _PLACES.get(type(tree))
    return fill(tree, context) if fill else tree


def _entries(tree: Mapping[str, nodes.Tree], context: _Context) -> Iterator[tuple[str, nodes.Tree]]:
    for key, value in tree.items():
        chosen = value
        while isinstance(chosen, nodes.Choice):
            chosen = chosen.then if context.holds(chosen.condition) else chosen.otherwise
        if chosen is not nodes.ABSENT:
            yield key, chosen


def _items(item: nodes.Tree, context: _Context) -> Iterator[Any]:
    match item:
        case nodes.Items():
            for part in item.then if context.holds(item.condition) else item.otherwise:
                yield from _items(part, context)
        case nodes.Each():
            for element in _elements(context.at(item.path)):
                inner = _Context(context.values, context.namespace, element)
                for part in item.items:
                    yield from _items(part, inner)
        case _:
            yield _tree(item, context)


def _elements(value: Any) -> list[Any]:  # noqa: ANN401 - a list, or a map's pairs
    return sorted(value.items()) if isinstance(value, Mapping) else list(value or ())


def _text(value: object) -> str:
    """The value as text; numbers as in JSON, but 30 rather than 30.0."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value if isinstance(value, str) else json.dumps(value)


def _pair(_pair: nodes.Pair, context: _Context) -> str:
    key, value = context.element
    return f"{key}={_text(value)}"


_PLACES: Final[Mapping[type, Callable[[Any, _Context], Any]]] = {
    nodes.Value: lambda place, context: context.at(place.path),
    nodes.Word: lambda place, context: _text(context.at(place.path)),
    nodes.Joined: lambda place, context: f"{context.at(place.path)}{place.ending}",
    nodes.CelText: lambda place, context: json.dumps(context.at(place.path), ensure_ascii=False),
    nodes.Merged: lambda place, context: merged(context.at(place.path), _tree(place.base, context)),
    nodes.Element: lambda _place, context: context.element,
    nodes.Pair: _pair,
}
