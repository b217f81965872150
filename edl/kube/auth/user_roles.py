"""The ClusterRoles for users in manifests/base/users-rights.yaml: a test compares the two."""

from collections.abc import Mapping
from typing import Final

VIEWER: Final = "edl-viewer"
EDITOR: Final = "edl-editor"
_READING: Final = frozenset({"get", "list", "watch"})
_GET_AND_LIST: Final = frozenset({"get", "list"})

_VIEWED: Final[Mapping[str, frozenset[str]]] = {
    **dict.fromkeys(("jobs.batch", "cronjobs.batch", "pods", "events"), _READING),
    **dict.fromkeys(("nodes", "namespaces", "services", "persistentvolumeclaims"), _READING),
    **dict.fromkeys(("resourcequotas", "limitranges"), _READING),
    "priorityclasses.scheduling.k8s.io": _READING,
    "runtimeclasses.node.k8s.io": _READING,
    **dict.fromkeys(
        (
            f"{plural}.resource.k8s.io"
            for plural in (
                *("resourceslices", "deviceclasses"),
                *("resourceclaims", "resourceclaimtemplates"),
            )
        ),
        _READING,
    ),
    "nodepools.karpenter.sh": _READING,
    "provisioningrequests.autoscaling.x-k8s.io": _READING,
    "pods.metrics.k8s.io": _GET_AND_LIST,
    "nodes.metrics.k8s.io": _GET_AND_LIST,
    "pods/log": frozenset({"get"}),
    "leases.coordination.k8s.io edl-reconciler": frozenset({"get"}),
    "configmaps edl-queue": frozenset({"get"}),
    "configmaps edl-teams": _GET_AND_LIST,
    "configmaps edl-teams-applied": frozenset({"get"}),
}
"""Verbs by resource as in `kubectl auth can-i`; with an object's name where the role has one."""
_EDITED: Final[Mapping[str, frozenset[str]]] = {
    "jobs.batch": frozenset({"create", "patch", "update", "delete"})
}
"""In addition to what a viewer may read."""


def role_with(verb: str, resource: str, name: str = "") -> str:
    """The role that grants this right, the viewer's if it does; empty if neither does."""
    for role, given in ((VIEWER, _VIEWED), (EDITOR, _EDITED)):
        if any(verb in given.get(right, ()) for right in (resource, f"{resource} {name}")):
            return role
    return ""
