"""kustomize's components as conditions: the changes of each component depend on one value.

Supported is only what our components use: `resources`, and for a target of a kind and name JSON
6902 patches and `$patch: delete`. A test compares the result with `kubectl kustomize`.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from edl.writes import Json
from manifests.documents import HERE, load, read
from manifests.templating.template_nodes import (
    ABSENT,
    Choice,
    Enabled,
    Items,
    TemplateDocument,
    Tree,
    ValueCondition,
)

FOLDER: Final = HERE / "components"


def with_component(
    documents: Sequence[TemplateDocument], name: str, condition: ValueCondition
) -> tuple[TemplateDocument, ...]:
    """The documents with a component of `manifests/components` applied under the condition."""
    folder = FOLDER / name
    added = (TemplateDocument(name, tree, condition) for tree in load(folder))
    patched = (*documents, *added)
    for patch in _kustomization(folder).get("patches", ()):
        (change,) = read(folder / patch["path"])
        patched = tuple(_changed(patched, patch["target"], change, condition))
    return patched


def _changed(
    documents: Iterable[TemplateDocument],
    target: Json,
    change: list[Json] | Json,
    condition: ValueCondition,
) -> Iterator[TemplateDocument]:
    for doc in documents:
        if (doc.tree["kind"], doc.tree["metadata"]["name"]) != (target["kind"], target["name"]):
            yield doc
        elif isinstance(change, list):
            for operation in change:
                _apply(doc.tree, operation, condition)
            yield doc
        elif (
            change.get("$patch") == "delete"
            and doc.condition is None
            and isinstance(condition, Enabled)
        ):
            yield replace(doc, condition=replace(condition, negated=not condition.negated))
        else:
            raise ValueError(f"{target['kind']} {target['name']}: no patch that is applied here")


def _apply(document: Json, operation: Json, condition: ValueCondition) -> None:
    """Change the document in place. ValueError, TypeError: not supported."""
    *parents, last = _names(operation["path"])
    place: Tree = document
    for name in parents:
        place = place[int(name)] if isinstance(place, list) else place[name]
    if isinstance(place, list):
        _apply_to_list(place, last, operation, condition)
    elif isinstance(place, dict):
        _apply_to_map(place, last, operation, condition)
    else:
        raise TypeError(f"{operation['path']} depends on a value already")


def _names(pointer: str) -> list[str]:
    """The parts of a JSON pointer (RFC 6901)."""
    parts = pointer.removeprefix("/").split("/")
    return [part.replace("~1", "/").replace("~0", "~") for part in parts]


def _apply_to_list(
    place: list[Tree], last: str, operation: Json, condition: ValueCondition
) -> None:
    if operation["op"] == "add" and last == "-":
        place.append(Items(condition, (operation["value"],)))
        return
    index = int(last)
    match operation["op"]:
        case "replace":
            place[index] = Items(condition, (operation["value"],), (place[index],))
        case "remove":
            place[index] = Items(condition, (), (place[index],))
        case "test":
            _test(place[index], operation, condition)
        case other:
            raise ValueError(f"{operation['path']}: {other} is not applied here")


def _apply_to_map(place: Json, last: str, operation: Json, condition: ValueCondition) -> None:
    match operation["op"]:
        case "add" | "replace":
            place[last] = Choice(condition, operation["value"], place.get(last, ABSENT))
        case "test":
            _test(place[last], operation, condition)
        case other:
            raise ValueError(f"{operation['path']}: {other} is not applied here")


def _test(tree: Tree, operation: Json, condition: ValueCondition) -> None:
    """Compare the operation's value with the value that is in place if the component is enabled."""
    while isinstance(tree, Items) and tree.condition == condition:
        (tree,) = tree.then or tree.otherwise
    if tree != operation["value"]:
        raise ValueError(f"{operation['path']}: {tree!r} is not {operation['value']!r}")


def _kustomization(folder: Path) -> Json:
    (document,) = read(folder / "kustomization.yaml")
    return document
