"""A role from the fields of all of its parts, for the builders of tests."""

# ruff: noqa: ANN401 (the builders pass any field on)

from typing import Any

from msgspec.structs import replace

from edl.model import Pod, PodTemplate, Role, RoleSpec, RoleStatus
from edl.model.pods import PlannedNode, PublishedHosts

_SPEC = ("min", "max", "resizing", "is_leader", "is_service", "indexed")


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


_PUBLISHED = {
    "hosts": "hosts",
    "leaving": "leaving",
    "published_at": "at",
    "confirmed_at": "confirmed_at",
}
_PLANNED = {
    "assigned": "name",
    "placed_at": "given_at",
    "node_affinity": "own_affinity",
    "says_disruption": "says_disruption",
    "scheduler": "scheduler",
    "refusal": "refusal",
}


def pod_of(**fields: Any) -> Pod:
    """A pod from its own fields and those of its parts: `hosts`, `published_at`, `assigned`, …"""
    hosts = {new: fields.pop(old) for old, new in _PUBLISHED.items() if old in fields}
    node = {new: fields.pop(old) for old, new in _PLANNED.items() if old in fields}
    return Pod(**fields, published=PublishedHosts(**hosts), planned=PlannedNode(**node))


def with_hosts(pod: Pod, **fields: Any) -> Pod:
    """The pod with another host list."""
    return replace(pod, published=replace(pod.published, **fields))


def planned(pod: Pod, **fields: Any) -> Pod:
    """The pod with another node of the plan."""
    return replace(pod, planned=replace(pod.planned, **fields))


def _taken(fields: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: fields.pop(name) for name in names}
