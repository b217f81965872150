"""Types of the fields of a pod template that `convert` reads; other fields are not checked."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

from edl.convert.diagnostics import FieldPath, Remark

FieldShape: TypeAlias = Any
"""`str`, `dict`, `{field: shape}`, `[shape]` for a list of them, or `{...: shape}` for a map."""

_WITH_NAME: Final[FieldShape] = {"name": str}
RESOURCES: Final[FieldShape] = {"limits": dict, "requests": dict}
NAMED: Final[FieldShape] = [_WITH_NAME]
MOUNTS: Final[FieldShape] = [{"name": str, "mountPath": str}]
TEXTS: Final[FieldShape] = {...: str}
CONTAINER: Final[FieldShape] = {
    "name": str,
    "image": str,
    "command": [str],
    "args": [str],
    "env": NAMED,
    "ports": NAMED,
    "resources": RESOURCES,
    "volumeMounts": MOUNTS,
}
POD: Final[FieldShape] = {
    "containers": [CONTAINER],
    "initContainers": [CONTAINER],
    "volumes": NAMED,
    "restartPolicy": str,
    "priorityClassName": str,
    "schedulerName": str,
    "nodeName": str,
    "nodeSelector": TEXTS,
    "subdomain": str,
    "serviceAccountName": str,
}
METADATA: Final[FieldShape] = {"labels": TEXTS, "annotations": TEXTS}
TEMPLATE: Final[FieldShape] = {"metadata": METADATA, "spec": POD}

_WORDS: Final[Mapping[type, str]] = {
    str: "a text",
    int: "a whole number",
    dict: "an object",
    list: "a list",
}


def misfits(value: object, shape: FieldShape, place: FieldPath) -> Iterator[Remark]:
    """Remarks on values of the wrong type; null counts as absent."""
    kind = shape if isinstance(shape, type) else type(shape)
    if value is None:
        return
    if not isinstance(value, kind):
        yield Remark(place, f"{value!r} is not {_WORDS[kind]}", f"it must be {_WORDS[kind]}")
    elif isinstance(shape, list) and isinstance(value, list):
        for index, item in enumerate(value):
            if item is None:
                yield Remark((*place, index), "null in a list", "remove it")
            yield from misfits(item, shape[0], (*place, index))
    elif isinstance(shape, dict) and isinstance(value, dict):
        for name, item in value.items():
            inner = shape.get(..., shape.get(name))
            if inner is not None:
                yield from misfits(item, inner, (*place, name))
