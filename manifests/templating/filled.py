"""Fills values into documents."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

from edl import contract
from edl.patches.merge_patch import merged
from manifests.documents import Documents
from manifests.templating import template_nodes as nodes


class _World(Struct, frozen=True):
    """The installation's values as JSON, and the element of the innermost loop."""

    values: Mapping[str, Any]
    namespace: str
    element: Any = None

    def at(self, path: str) -> Any:  # noqa: ANN401 - JSON
        """The value at this path; None if it is neither set nor has a default."""
        found: Any = self.values
        for name in path.split("."):
            found = found.get(name) if isinstance(found, Mapping) else None
        return found

    def holds(self, condition: nodes.ValueCondition) -> bool:
        found = self.at(condition.path)
        match condition:
            case nodes.Enabled():
                return bool(found) is not condition.negated
            case nodes.Filled():
                return bool(found)
            case nodes.Given():
                return found is not None
            case nodes.Differs():
                return bool(found != condition.default)


def filled(
    documents: Iterable[nodes.TemplateDocument], values: Mapping[str, Any], namespace: str
) -> Documents:
    """The documents whose conditions hold, in order, with values filled in, in `namespace`."""
    world = _World(values, namespace)
    return tuple(
        _tree(one.tree, world)
        for one in documents
        if one.condition is None or world.holds(one.condition)
    )


def _tree(tree: nodes.Tree, world: _World) -> Any:  # noqa: ANN401 - JSON
    if isinstance(tree, dict):
        return {key: _tree(value, world) for key, value in _entries(tree, world)}
    if isinstance(tree, list):
        return [one for item in tree for one in _items(item, world)]
    if isinstance(tree, str):
        return tree.replace(contract.SYSTEM_NAMESPACE, world.namespace)
    fill = _PLACES.get(type(tree))
    return fill(tree, world) if fill else tree


def _entries(tree: Mapping[str, nodes.Tree], world: _World) -> Iterator[tuple[str, nodes.Tree]]:
    for key, value in tree.items():
        chosen = value
        while isinstance(chosen, nodes.Choice):
            chosen = chosen.then if world.holds(chosen.condition) else chosen.otherwise
        if chosen is not nodes.ABSENT:
            yield key, chosen


def _items(item: nodes.Tree, world: _World) -> Iterator[Any]:
    match item:
        case nodes.Items():
            for one in item.then if world.holds(item.condition) else item.otherwise:
                yield from _items(one, world)
        case nodes.Each():
            for element in _elements(world.at(item.path)):
                inner = _World(world.values, world.namespace, element)
                for one in item.items:
                    yield from _items(one, inner)
        case _:
            yield _tree(item, world)


def _elements(found: Any) -> list[Any]:  # noqa: ANN401 - a list, or a map's pairs
    return sorted(found.items()) if isinstance(found, Mapping) else list(found or ())


def _text(value: object) -> str:
    """The value as text; numbers as in JSON, but 30 rather than 30.0."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value if isinstance(value, str) else json.dumps(value)


def _pair(_pair: nodes.Pair, world: _World) -> str:
    key, value = world.element
    return f"{key}={_text(value)}"


_PLACES: Final[Mapping[type, Callable[[Any, _World], Any]]] = {
    nodes.Value: lambda place, world: world.at(place.path),
    nodes.Word: lambda place, world: _text(world.at(place.path)),
    nodes.Joined: lambda place, world: f"{world.at(place.path)}{place.ending}",
    nodes.CelText: lambda place, world: json.dumps(world.at(place.path), ensure_ascii=False),
    nodes.Merged: lambda place, world: merged(_tree(place.base, world), world.at(place.path)),
    nodes.Element: lambda _place, world: world.element,
    nodes.Pair: _pair,
}
