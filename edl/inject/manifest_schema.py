"""Checks the types of the fields that the core reads: objects, lists and strings.

The API server sends only these types; a file that is injected offline, or a client that poses as
the API server, may send others. The check runs once on arrival: later code relies on it.
"""

import json
from collections.abc import Iterator
from itertools import islice
from typing import Annotated, Any, Final, TypeAlias

import msgspec

from edl import contract
from edl.contract.manifest_parts import has_our_prefix, mapping
from edl.errors import Denied, Finding
from edl.parsing.yaml_values import misread
from edl.writes import Json

_Shape: TypeAlias = "type[str | int] | dict[str, _Shape] | list[_Shape]"
"""A scalar type, an object whose members have these shapes (others are unchecked), or a list of one
shape."""

_MAP: Final[_Shape] = {}
_TEXTS: Final[dict[str, _Shape]] = {}
"""An object whose values are all strings: annotations. Recognized by identity."""
_LABELS: Final[dict[str, _Shape]] = {}
"""Labels: an object of short strings. Recognized by identity."""
_LONGEST: Final = 63
"""Characters of a label's value. The API server validates the length only after its webhooks."""
_MAX_FINDINGS: Final = 100
_META: Final[_Shape] = {
    **dict.fromkeys(("name", "generateName", "namespace"), str),
    "labels": _LABELS,
    "annotations": _TEXTS,
    "finalizers": [str],
    "ownerReferences": [dict.fromkeys(("apiVersion", "kind", "name"), str)],
}
_CONTAINER: Final[_Shape] = {
    **dict.fromkeys(("name", "image", "restartPolicy"), str),
    "command": [str],
    "args": [str],
    "env": [{"name": str, "value": str}],
    "ports": [{"name": str, "containerPort": int}],
    "volumeMounts": [{"name": str, "mountPath": str}],
    "resources": {"limits": _MAP, "requests": _MAP, "claims": [{"name": str}]},
    "lifecycle": {"preStop": _MAP},
    "securityContext": _MAP,
}
_EXPRESSION: Final[_Shape] = {"key": str, "values": [str]}
_TERM: Final[_Shape] = {"matchExpressions": [_EXPRESSION], "matchFields": [_EXPRESSION]}
_NODE_AFFINITY: Final[_Shape] = {contract.REQUIRED_AFFINITY: {"nodeSelectorTerms": [_TERM]}}
_POD: Final[_Shape] = {
    **dict.fromkeys(
        (
            *("hostname", "nodeName", "priorityClassName", "restartPolicy", "schedulerName"),
            *("serviceAccount", "serviceAccountName", "subdomain"),
        ),
        str,
    ),
    "affinity": {"nodeAffinity": _NODE_AFFINITY},
    "containers": [_CONTAINER],
    "initContainers": [_CONTAINER],
    "nodeSelector": _MAP,
    "overhead": _MAP,
    "resourceClaims": [{"name": str, "resourceClaimTemplateName": str}],
    "resources": {"limits": _MAP, "requests": _MAP},
    "schedulingGates": [{"name": str}],
    "securityContext": _MAP,
    "volumes": [{"name": str, "projected": {"sources": [{"serviceAccountToken": _MAP}]}}],
}
_JOB: Final[_Shape] = {
    "backoffLimit": int,
    "completions": int,
    "managedBy": str,
    "parallelism": int,
    "podFailurePolicy": {
        "rules": [
            {
                "action": str,
                "onExitCodes": {"operator": str, "containerName": str, "values": [int]},
                "onPodConditions": [{"type": str, "status": str}],
            }
        ]
    },
    "suspend": bool,
    "template": {"metadata": _META, "spec": _POD},
}
_SPECS: Final[dict[str, _Shape]] = {"Job": _JOB, "Pod": _POD, "Namespace": _MAP}


def _whole(spec: _Shape) -> _Shape:
    return {"kind": str, "metadata": _META, "spec": spec, "status": {"failed": int}}


def _compiled(shape: _Shape) -> Any:  # noqa: ANN401 - a type
    """The shape as a msgspec type, whose check takes a twentieth of the time."""
    if shape is _TEXTS:
        return dict[str, str]
    if shape is _LABELS:
        return dict[str, Annotated[str, msgspec.Meta(max_length=_LONGEST)]]
    if shape is _MAP:
        return dict[str, Any]
    if isinstance(shape, dict):
        members = [(name, _compiled(inner) | None, None) for name, inner in shape.items()]
        return msgspec.defstruct("Checked", members)
    return list[_compiled(shape[0])] if isinstance(shape, list) else shape  # type: ignore[misc]


_COMPILED: Final = {kind: _compiled(_whole(spec)) for kind, spec in _SPECS.items()}
for _each in _COMPILED.values():  # before threads use them: see `edl.kube.api.api_errors`
    msgspec.json.Decoder(_each)
_WORDS: Final[dict[type, str]] = {
    dict: "an object",
    list: "a list",
    str: "a text",
    bool: "true or false",
    int: "a whole number",
}


def check(manifest: Json) -> None:
    """Checks a Job, pod or Namespace.

    Raises Denied with the first hundred paths of a wrong type.
    """
    value = manifest.get("kind")
    kind = value if isinstance(value, str) and value in _SPECS else "Job"
    try:
        msgspec.convert(manifest, _COMPILED[kind])
    except msgspec.ValidationError:
        if findings := list(islice(_misfits("", manifest, _whole(_SPECS[kind])), _MAX_FINDINGS)):
            raise Denied(findings) from None


def is_labelled(manifest: Json | None) -> bool:
    """Whether the manifest carries `edl.dev/framework`, whatever the types of its other fields."""
    metadata = mapping((manifest or {}).get("metadata"))
    return contract.FRAMEWORK in mapping(metadata.get("labels"))


def _misfits(path: str, value: Any, shape: _Shape) -> Iterator[Finding]:  # noqa: ANN401 - JSON
    belongs = shape if isinstance(shape, type) else type(shape)
    actual = type(value)
    if actual is not belongs:
        yield _misfit(path, value, belongs)
    elif shape is _TEXTS or shape is _LABELS:
        yield from _no_texts(path, value)
        yield from _too_long(path, value) if shape is _LABELS else ()
    elif isinstance(shape, dict):
        for name, inner in shape.items():
            # The API server treats a null member as absent.
            if (member := value.get(name)) is not None:
                yield from _misfits(f"{path}.{name}" if path else name, member, inner)
    elif isinstance(shape, list):
        for index, item in enumerate(value):
            yield from _misfits(f"{path}[{index}]", item, shape[0])


def _misfit(path: str, value: Any, belongs: type) -> Finding:  # noqa: ANN401 - JSON
    """The finding for one value. A number in place of a string most likely lacks its quotes."""
    if belongs is str and isinstance(value, int | float):
        return misread(path, value)
    what = _WORDS[type(value)] if isinstance(value, dict | list) else _shown(value)
    return Finding(path, what, f"{_WORDS[belongs]} belongs here")


def _shown(value: str | float | None) -> str:
    """A value as JSON, cut to the length of a label."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _no_texts(path: str, values: Json) -> Iterator[Finding]:
    """Findings for values that are not strings.

    The API server reads null as an empty string, which is not a valid value for our own names.
    """
    for name, value in values.items():
        null = value is None and not has_our_prefix(name)
        if not isinstance(value, str) and not null:
            yield misread(f"{path}[{name}]", value)


def _too_long(path: str, labels: Json) -> Iterator[Finding]:
    for name, value in labels.items():
        if isinstance(value, str) and len(value) > _LONGEST:
            what = f'"{value[:_LONGEST]}…" has {len(value)} characters'
            yield Finding(f"{path}[{name}]", what, f"at most {_LONGEST}")
