"""The shapes that injection relies on: the API server validates them before it calls the webhook.

Offline manifests are not validated: this module finds a wrong shape before anything reads it.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from edl.errors import Finding
from edl.writes import Json

_Shape = type | list["_Shape"] | Mapping[str, "_Shape"]
"""Texts and whole numbers by their type; lists of a shape; objects by the members that are read."""
_ANY: Final[Mapping[str, _Shape]] = {}
_METADATA: Final[_Shape] = {
    "name": str,
    "generateName": str,
    "namespace": str,
    "labels": _ANY,
    "annotations": _ANY,
}
_CONTAINER: Final[_Shape] = {
    "name": str,
    "image": str,
    "command": [str],
    "args": [str],
    "env": [{"name": str, "value": str}],
    "ports": [{"name": str, "containerPort": int}],
    "volumeMounts": [{"name": str, "mountPath": str}],
    "resources": {"limits": _ANY, "requests": _ANY},
    "lifecycle": {"preStop": _ANY},
}
_NODE_AFFINITY: Final[_Shape] = {
    "requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [
            {"matchExpressions": [{"key": str, "values": [str]}], "matchFields": [_ANY]}
        ]
    }
}
_POD: Final[_Shape] = {
    "containers": [_CONTAINER],
    "initContainers": [_CONTAINER],
    "volumes": [{"name": str}],
    "schedulingGates": [{"name": str}],
    "affinity": {"nodeAffinity": _NODE_AFFINITY},
    "nodeSelector": _ANY,
    "serviceAccountName": str,
    "serviceAccount": str,
    "subdomain": str,
    "hostname": str,
    "restartPolicy": str,
    "schedulerName": str,
}
_SHAPES: Final[Mapping[str, _Shape]] = {
    "Job": {"metadata": _METADATA, "spec": {"template": {"metadata": _METADATA, "spec": _POD}}},
    "Pod": {"metadata": _METADATA, "spec": _POD},
}


def misshapen(manifest: Json) -> list[Finding]:
    """Each field of the wrong type, with its path; members may be null."""
    kind = manifest["kind"]
    allowed = f"compare with kubectl explain {kind.lower()}"
    return list(_findings(manifest, _SHAPES[kind], "", allowed))


def _findings(value: object, shape: _Shape, path: str, allowed: str) -> Iterator[Finding]:
    if isinstance(shape, list) and isinstance(value, list):
        for index, item in enumerate(value):
            yield from _findings(item, shape[0], f"{path}[{index}]", allowed)
    elif isinstance(shape, Mapping) and isinstance(value, Mapping):
        for name in (name for name in shape if value.get(name) is not None):
            place = f"{path}.{name}" if path else name
            yield from _findings(value[name], shape[name], place, allowed)
    elif not isinstance(shape, type) or type(value) is not shape:
        yield Finding(path, f"must be {_word(shape)}, not {value!r}", allowed)


def _word(shape: _Shape) -> str:
    if isinstance(shape, type):
        return "text" if shape is str else "a whole number"
    return "a list" if isinstance(shape, list) else "an object"
