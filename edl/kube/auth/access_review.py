"""RBAC permissions, and the access reviews that check them at the API server."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import msgspec

from edl.kube.cluster import Cluster
from edl.model import ObjectRef
from edl.writes import Json

_ASKERS: Final = 8
_SHOWN: Final = 4
_THE_USER: Final[Json] = {}


class AccessRight(msgspec.Struct, frozen=True, order=True):
    """One verb on one resource. An empty `namespace` means the whole cluster."""

    verb: str
    resource: str
    group: str = ""
    namespace: str = ""
    name: str = ""

    def __str__(self) -> str:
        resource = f"{self.resource}.{self.group}" if self.group else self.resource
        where = f" in namespace {self.namespace}" if self.namespace else ""
        return " ".join(filter(None, (self.verb, resource, self.name))) + where

    @property
    def attributes(self) -> Json:
        """The `resourceAttributes` of an access review."""
        resource, _, part = self.resource.partition("/")
        return {
            "verb": self.verb,
            "resource": resource,
            "subresource": part,
            "group": self.group,
            "namespace": self.namespace,
            "name": self.name,
        }


def listed(rights: Sequence[object]) -> str:
    """`patch jobs.batch, create events and 3 more`."""
    shown = ", ".join(map(str, rights[:_SHOWN]))
    return f"{shown} and {len(rights) - _SHOWN} more" if len(rights) > _SHOWN else shown


def is_granted(cluster: Cluster, right: AccessRight, subject: Json = _THE_USER) -> bool:
    """Whether `subject`, as in a SubjectAccessReview, has the right; by default our own user."""
    kind = "SubjectAccessReview" if subject else "SelfSubjectAccessReview"
    spec = {"resourceAttributes": right.attributes, **subject}
    return bool((_asked(cluster, kind, {"spec": spec}).get("status") or {}).get("allowed"))


def lacking(
    cluster: Cluster, rights: Sequence[AccessRight], subject: Json = _THE_USER
) -> list[AccessRight]:
    """The rights that `subject` does not have, in their order. Requests run in parallel."""
    with ThreadPoolExecutor(_ASKERS) as pool:
        granted = list(pool.map(lambda right: is_granted(cluster, right, subject), rights))
    return [right for right, is_ in zip(rights, granted, strict=True) if not is_]


def whoami(cluster: Cluster) -> str:
    """The user name of our credentials."""
    answer = _asked(cluster, "SelfSubjectReview", {})
    return str(((answer.get("status") or {}).get("userInfo") or {}).get("username") or "")


def _asked(cluster: Cluster, kind: str, body: Json) -> Json:
    """Sends a review. Nothing is stored: the response is the answer."""
    return cluster.create(ObjectRef(kind, "", ""), body)
