"""Mounting in a container what it has not mounted itself."""

from edl.writes import Json


def mounted(container: Json, mount: Json) -> Json:
    """The container with this mount, unless something of its own is at that path."""
    own = container.get("volumeMounts") or []
    taken = {(one.get("mountPath") or "").rstrip("/") for one in own}
    if mount["mountPath"] in taken:
        return container
    return container | {"volumeMounts": [*own, mount]}
