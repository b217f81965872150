"""The rights of the manifests one by one: taken away, given back, and what is asked of them."""

import copy
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final, TypeVar

from edl import contract
from edl.errors import Forbidden, Invalid
from edl.frameworks.base import ModeRight
from edl.kube.api.client import connect
from edl.kube.auth.access_review import AccessRight
from edl.kube.cluster import RESOURCES, Cluster, ListOptions, RawList, Watch
from edl.model import ObjectRef
from edl.writes import Json
from sandbox.cluster import Cluster as Machine

T = TypeVar("T")
_RBAC: Final = "rbac.authorization.k8s.io"
Asked = tuple[str, str]
"""A verb and a resource, in the words of RBAC."""
_WITHIN: Final = 120.0
OF_RECONCILER: Final = (
    "edl-reconciler",
    "edl-reconciler-secrets",
    "edl-reconciler-rolebindings",
    "edl-reconciler-provisioning",
)
"""The roles by which it reads and writes in every namespace."""
OF_MODES: Final[Mapping[ModeRight, tuple[AccessRight, ...]]] = {
    ModeRight.SECRETS: (AccessRight("create", "secrets"),),
    ModeRight.ROLEBINDINGS: (
        AccessRight("create", "serviceaccounts"),
        AccessRight("create", "rolebindings", _RBAC),
        AccessRight("bind", "clusterroles", _RBAC, name="edl-launcher"),
    ),
}
"""What an installation that withholds a right does not give."""


@dataclass(frozen=True, slots=True)
class Grant:
    """One verb on one resource, as one rule of one role gives it."""

    kind: str
    role: str
    group: str
    resource: str
    verb: str
    name: str = ""
    """Of the only object that it is about; empty: of all."""

    def __str__(self) -> str:
        return "-".join(filter(None, (self.verb, self.resource.replace("/", "-"), self.name)))

    @property
    def asked(self) -> Asked:
        return self.verb, self.resource

    def attributes(self, at: str) -> Json:
        """As an access review spells it. `at`: the namespace of what is asked; empty: all."""
        resource, _, part = self.resource.partition("/")
        return {
            "verb": self.verb,
            "group": self.group,
            "resource": resource,
            "subresource": part,
            "name": self.name,
            "namespace": contract.SYSTEM_NAMESPACE if self.kind == "Role" else at,
        }


def grants(documents: tuple[Json, ...], *roles: str) -> list[Grant]:
    """Every right that these ClusterRoles and Roles give."""
    return [
        grant
        for document in documents
        if document["kind"] in ("ClusterRole", "Role") and document["metadata"]["name"] in roles
        for grant in _of(document)
    ]


def _of(role: Json) -> Iterator[Grant]:
    for rule in role["rules"]:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                for verb in rule["verbs"]:
                    for name in rule.get("resourceNames", [""]):
                        yield Grant(
                            role["kind"], role["metadata"]["name"], group, resource, verb, name
                        )


@contextmanager
def without(machine: Machine, grant: Grant, account: str, at: str = "") -> Iterator[None]:
    """The cluster with all rights but this one. `account`: whose it is, as NAMESPACE:NAME.

    `at`: the namespace in which the account has it, empty where in all.
    """
    api = connect(str(machine.kubeconfig))
    namespace = contract.SYSTEM_NAMESPACE if grant.kind == "Role" else ""
    role = ObjectRef(grant.kind, namespace, grant.role)
    whole = api.get(role)["rules"]
    api.patch(role, {"rules": _less(whole, grant)})
    try:
        await_effect(machine, grant, account, at, allowed=False)
        yield
    finally:
        connect(str(machine.kubeconfig)).patch(role, {"rules": whole})
        await_effect(machine, grant, account, at, allowed=True)


def await_effect(machine: Machine, grant: Grant, account: str, at: str, *, allowed: bool) -> None:
    """The API server authorizes by what it has heard of rules, a moment after they were written."""
    api = connect(str(machine.kubeconfig))
    user = {
        "user": f"system:serviceaccount:{account}",
        "groups": ["system:serviceaccounts", "system:authenticated"],
    }
    review = {"spec": user | {"resourceAttributes": grant.attributes(at)}}
    question = ObjectRef("SubjectAccessReview", "", "")
    deadline = time.monotonic() + _WITHIN
    while bool(api.create(question, review)["status"].get("allowed")) != allowed:
        assert time.monotonic() < deadline, f"{grant} of {account} never became {allowed}"
        time.sleep(0.05)


def _less(rules: list[Json], grant: Grant) -> list[Json]:
    """Each rule as one rule a resource, verb and name, all but the one."""
    left = []
    for rule in copy.deepcopy(rules):
        for resource in rule["resources"]:
            for verb in rule["verbs"]:
                for name in rule.get("resourceNames", [""]):
                    found = (rule["apiGroups"], resource, verb, name)
                    if found != ([grant.group], grant.resource, grant.verb, grant.name):
                        names = {"resourceNames": [name]} if name else {}
                        one = {"apiGroups": rule["apiGroups"], "resources": [resource]}
                        left.append(one | {"verbs": [verb]} | names)
    return left


@dataclass(slots=True)
class Noted:
    """A `Cluster` that notes what was refused for lack of a right, and what was not."""

    cluster: Cluster
    refused: set[Asked] = field(default_factory=set)
    allowed: set[Asked] = field(default_factory=set)

    @property
    def system_namespace(self) -> str:
        return self.cluster.system_namespace

    def get(self, target: ObjectRef) -> Json:
        return self._noting("get", target.kind, lambda: self.cluster.get(target))

    def list(self, selection: ListOptions) -> RawList:
        return self._noting("list", selection.kind, lambda: self.cluster.list(selection))

    def pages(self, selection: ListOptions) -> Iterator[RawList]:
        pages = self._noting("list", selection.kind, lambda: [*self.cluster.pages(selection)])
        return iter(pages)

    def watch(self, selection: ListOptions, version: str) -> Watch:
        return self._noting("watch", selection.kind, lambda: self.cluster.watch(selection, version))

    def create(
        self, target: ObjectRef, manifest: Mapping[str, Any], *, dry_run: bool = False
    ) -> Json:
        return self._noting(
            "create",
            target.kind,
            lambda: self.cluster.create(target, manifest, dry_run=dry_run),
        )

    def patch(self, target: ObjectRef, body: Mapping[str, Any], *, dry_run: bool = False) -> Json:
        return self._noting(
            "patch", target.kind, lambda: self.cluster.patch(target, body, dry_run=dry_run)
        )

    def add_condition(self, target: ObjectRef, condition: Mapping[str, str], version: str) -> Json:
        return self._noting(
            "patch",
            f"{target.kind}/status",
            lambda: self.cluster.add_condition(target, condition, version),
        )

    def delete(self, target: ObjectRef, *, version: str = "", uid: str = "") -> None:
        self._noting(
            "delete", target.kind, lambda: self.cluster.delete(target, version=version, uid=uid)
        )

    def serves(self, kind: str) -> bool:
        return self.cluster.serves(kind)

    def clock_ahead(self) -> timedelta:
        return self.cluster.clock_ahead()

    def _noting(self, verb: str, kind: str, ask: Callable[[], T]) -> T:
        kind, slash, below = kind.partition("/")
        asked = (verb, f"{RESOURCES[kind].plural}{slash}{below}")
        try:
            answer = ask()
        except (Forbidden, Invalid) as error:
            if error.status == 403:
                self.refused.add(asked)
            raise
        self.allowed.add(asked)
        return answer
