"""A role from the fields of all of its parts, for the builders of tests."""

# ruff: noqa: ANN401 (the builders pass any field on)

from typing import Any

from edl.model import PodTemplate, Role, RoleSpec, RoleStatus


def role_of(**fields: Any) -> Role:
    """A role whose parts have these fields, wherever each of them lies."""
    own = {name: fields.pop(name) for name in ("name", "job", "uid", "version")}
    return Role(
        **own,
        spec=RoleSpec(**_taken(fields, "min", "max", "resizing", "decides", "serves", "indexed")),
        template=PodTemplate(**_taken(fields, "shape")),
        status=RoleStatus(**_taken(fields, "size", "suspended")),
    ).changed(**fields)


def _taken(fields: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: fields.pop(name) for name in names}
