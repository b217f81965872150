"""Checks the user's rights to install before any change."""

from collections.abc import Sequence
from typing import Final

from edl.kube.auth.access_review import AccessRight, is_granted, lacking
from edl.kube.cluster import RESOURCES, Cluster
from edl.writes import Json
from kubectl_edl.cli.command_errors import Refused

_APPLY: Final = ("get", "create", "patch")


def check(cluster: Cluster, documents: Sequence[Json], verbs: Sequence[str] = _APPLY) -> None:
    """Raise Refused with every right that is missing."""
    if is_granted(cluster, AccessRight("*", "*", "*")):
        return
    needed = sorted({right for document in documents for right in _rights(document, verbs)})
    if missing := list(map(str, lacking(cluster, needed))):
        raise Refused(
            f"you may not {', '.join(missing)}; nothing was changed: ask a cluster-admin to "
            "do it, or choose other credentials with --context"
        )


def _rights(document: Json, verbs: Sequence[str]) -> list[AccessRight]:
    resource = RESOURCES[document["kind"]]
    namespace = document["metadata"].get("namespace", "")
    return [AccessRight(verb, resource.plural, resource.group, namespace) for verb in verbs]
