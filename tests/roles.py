"""A role from the fields of all of its parts, for the builders of tests."""

# ruff: noqa: ANN401 - the builders pass any field on

from typing import Any

import msgspec
from msgspec.structs import replace

from edl.model import Pod, PodTemplate, Role, RoleSpec, RoleStatus
from edl.model.pods import (
    PlannedNode,
    PodContainers,
    PodDeletion,
    PublishedHosts,
    SchedulingStatus,
)


def role_of(**fields: Any) -> Role:
    """A role whose parts have these fields, wherever each of them lies."""
    own = {name: fields.pop(name) for name in ("name", "job", "uid", "version")}
    return Role(
        **own,
        spec=RoleSpec(
            **_taken(fields, "min", "max", "resizing", "is_leader", "is_service", "indexed")
        ),
        template=PodTemplate(**_taken(fields, "shape")),
        status=RoleStatus(**_taken(fields, "size", "suspended")),
    ).changed(**fields)


_PARTS: dict[str, type[msgspec.Struct]] = {
    "published": PublishedHosts,
    "planned": PlannedNode,
    "scheduling": SchedulingStatus,
    "deletion": PodDeletion,
    "containers": PodContainers,
}


def pod_of(**fields: Any) -> Pod:
    """A pod from its own fields and those of its parts; `assigned`: the planned node."""
    parts: dict[str, Any] = {
        name: kind(**_fields_of(kind, fields)) for name, kind in _PARTS.items()
    }
    return Pod(**fields, **parts)


def changed_pod(pod: Pod, **fields: Any) -> Pod:
    """The pod with other fields, its own or those of its parts; `assigned`: the planned node."""
    parts: dict[str, Any] = {
        name: replace(getattr(pod, name), **_fields_of(kind, fields))
        for name, kind in _PARTS.items()
    }
    return replace(pod, **fields, **parts)


def _fields_of(kind: type[msgspec.Struct], fields: dict[str, Any]) -> dict[str, Any]:
    """Takes the fields of one part. `assigned` is the planned node: `node` is the pod's own."""
    names = {"assigned" if name == "node" else name: name for name in kind.__struct_fields__}
    return {name: fields.pop(given) for given, name in names.items() if given in fields}


def _taken(fields: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: fields.pop(name) for name in names}
