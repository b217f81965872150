"""Types of the fields of a pod template that `convert` reads; other fields are not checked."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

from edl.convert.diagnostics import FieldPath, Remark
from edl.dns_names import is_label_key, is_label_value

FieldShape: TypeAlias = Any
"""`str`, `dict`, `{field: shape}`, `[shape]` for a list of them, or `{...: shape}` for a map.

`(shape, rule)` also has each remark of the function `rule` on a value of that shape.
"""

_KEY: Final = "such as team or example.com/team, with at most 63 characters after the slash"
_VALUE: Final = "at most 63 letters, digits, -, _ and .; the first and the last a letter or digit"


def labels(texts: Mapping[str, str], place: FieldPath) -> Iterator[Remark]:
    """Remarks on labels, or a node selector, that the API server would refuse."""
    for key, value in texts.items():
        if not is_label_key(key):
            yield Remark((*place, key), "is not a key of a label", _KEY)
        elif not is_label_value(value or ""):  # null reads as empty
            yield Remark((*place, key), f'"{value}" is not a value of a label', _VALUE)


def annotations(texts: Mapping[str, str], place: FieldPath) -> Iterator[Remark]:
    """Remarks on annotations that the API server would refuse; it takes A-Z in their domains."""
    for key in texts:
        if not is_label_key(key.lower()):
            yield Remark((*place, key), "is not a key of an annotation", _KEY)


_WITH_NAME: Final[FieldShape] = {"name": str}
RESOURCES: Final[FieldShape] = {"limits": dict, "requests": dict}
NAMED: Final[FieldShape] = [_WITH_NAME]
MOUNTS: Final[FieldShape] = [{"name": str, "mountPath": str}]
TEXTS: Final[FieldShape] = {...: str}
LABELS: Final[FieldShape] = (TEXTS, labels)
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
    "nodeSelector": LABELS,
    "subdomain": str,
    "serviceAccountName": str,
}
METADATA: Final[FieldShape] = {"labels": LABELS, "annotations": (TEXTS, annotations)}
TEMPLATE: Final[FieldShape] = {"metadata": METADATA, "spec": POD}

_WORDS: Final[Mapping[type, str]] = {
    str: "a text",
    int: "a whole number",
    dict: "an object",
    list: "a list",
}


def misfits(value: object, shape: FieldShape, place: FieldPath) -> Iterator[Remark]:
    """Remarks on values of the wrong type; null counts as absent."""
    if isinstance(shape, tuple):
        inner, rule = shape
        remarks = tuple(misfits(value, inner, place))
        yield from remarks or rule(value or {}, place)
        return
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
