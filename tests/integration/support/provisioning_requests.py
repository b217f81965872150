"""The API of ProvisioningRequests, and what cluster-autoscaler writes there.

The schema is cluster-autoscaler's own in what it demands and limits.
"""

import json
from typing import Final

from edl.writes import Json
from tests.integration.support.stage import Stage

_GROUP: Final = "autoscaling.x-k8s.io"
_TEXT: Final[Json] = {"type": "string"}
_NAME: Final[Json] = {
    "type": "string",
    "maxLength": 253,
    "pattern": r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
}
_FIXED: Final[Json] = {"x-kubernetes-validations": [{"rule": "self == oldSelf"}]}


def _object(required: tuple[str, ...] = (), **properties: Json) -> Json:
    demanded = {"required": [*required]} if required else {}
    return {"type": "object", "properties": properties} | demanded


def _map(longest: int, most: int) -> Json:
    values = _TEXT | {"maxLength": longest}
    return {"type": "object", "additionalProperties": values, "maxProperties": most}


_POD_SET: Final = _object(
    ("count", "podTemplateRef"),
    count={"type": "integer", "format": "int32", "minimum": 1},
    podTemplateRef=_object(("name",), name=_NAME),
)
_CONDITION: Final = _object(
    ("lastTransitionTime", "message", "reason", "status", "type"),
    lastTransitionTime=_TEXT | {"format": "date-time"},
    message=_TEXT | {"maxLength": 32768},
    observedGeneration={"type": "integer", "format": "int64", "minimum": 0},
    reason=_TEXT | {"minLength": 1, "maxLength": 1024},
    status=_TEXT | {"enum": ["True", "False", "Unknown"]},
    type=_TEXT | {"maxLength": 316},
)
_SCHEMA: Final = _object(
    ("spec",),
    apiVersion=_TEXT,
    kind=_TEXT,
    metadata={"type": "object"},
    spec=_object(
        ("podSets", "provisioningClassName"),
        parameters=_map(255, 100) | _FIXED,
        podSets={"type": "array", "minItems": 1, "maxItems": 32, "items": _POD_SET} | _FIXED,
        provisioningClassName=_NAME | _FIXED,
    ),
    status=_object(
        conditions={
            "type": "array",
            "items": _CONDITION,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["type"],
        },
        provisioningClassDetails=_map(32768, 64),
    ),
)
DEFINITION: Final[Json] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {
        "name": f"provisioningrequests.{_GROUP}",
        "annotations": {"api-approved.kubernetes.io": "unapproved, for tests"},
    },
    "spec": {
        "group": _GROUP,
        "scope": "Namespaced",
        "names": {"kind": "ProvisioningRequest", "plural": "provisioningrequests"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": _SCHEMA},
            }
        ],
    },
}


def told(at: Stage, name: str, condition: str, message: str) -> None:
    """What cluster-autoscaler writes into the status of a request."""
    one = {
        "type": condition,
        "status": "True",
        "reason": condition,
        "message": message,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    patch = json.dumps({"status": {"conditions": [one]}})
    words = ("provisioningrequest", name, "--subresource=status", "--type=merge", "-p", patch)
    at.kubectl("patch", *words)
