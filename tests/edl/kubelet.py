"""What the kubelet makes of a pod's environment: the values that a container's program sees."""

import re
from collections.abc import Mapping

from edl import contract
from edl.writes import Json
from tests.edl.manifests import created, pod_spec


def told(
    manifest: Json, index: int = 0, annotations: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The first container's environment, in order: `$(NAME)` stands for a name before it.

    `manifest` as its user wrote it; `annotations` of the pod, besides its index; those that are
    missing are empty.
    """
    notes = {contract.COMPLETION_INDEX_ANNOTATION: str(index), **(annotations or {})}
    found: dict[str, str] = {}
    for entry in pod_spec(created(manifest))["containers"][0].get("env") or []:
        if "valueFrom" in entry:
            path = entry["valueFrom"]["fieldRef"]["fieldPath"]
            # Of other fields, their paths: `status.podIP`.
            found[entry["name"]] = notes.get(path.split("'")[1], "") if "'" in path else path
        else:
            found[entry["name"]] = expanded(entry.get("value", ""), found)
    return found


def expanded(text: str, known: Mapping[str, str]) -> str:
    """`$$` is a dollar; a name that is not known stays as it is."""
    return re.sub(
        r"\$(\$|\(([^()]*)\))",
        lambda match: "$" if match[1] == "$" else known.get(match[2], match[0]),
        text,
    )
