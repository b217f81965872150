"""Applies documents in order by server-side apply, after a check of the user's rights."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import Final, TypeGuard

import yaml

from edl.errors import Conflict, Forbidden, Invalid, KindNotServed, NotFound
from edl.kube.auth.access_review import AccessRight, is_granted, lacking
from edl.kube.cluster import RESOURCES, Cluster, PluginCluster, find
from edl.model import ObjectRef
from edl.writes import Json
from kubectl_edl.cli.command_errors import Refused
from kubectl_edl.cli.interaction import qualified_name
from kubectl_edl.resources.source_manifest import without_server_fields

_OPTIONAL: Final = {
    "cert-manager.io/v1": ("cert-manager", "certManager.enabled"),
    "monitoring.coreos.com/v1": ("the Prometheus operator", "monitoring.enabled"),
}
"""By API version, the project that serves it, and the value by which it is needed."""


@dataclass(frozen=True, slots=True)
class Applied:
    """One object before (None if it did not exist) and after."""

    target: ObjectRef
    before: Json | None
    after: Json

    @property
    def verb(self) -> str:
        if self.before is None:
            return "created"
        before, after = map(without_server_fields, (self.before, self.after))
        return "unchanged" if before == after else "changed"

    @property
    def differences(self) -> tuple[str, ...]:
        """`spec.replicas: 2 → 3`, one per field; empty for a new object or a Secret."""
        if self.before is None or self.target.kind == "Secret":
            return ()
        before, after = map(without_server_fields, (self.before, self.after))
        return tuple(_differences(before, after, ""))


@dataclass(frozen=True, slots=True)
class Apply:
    """`dry_run` is the API server's; `force` takes ownership of conflicting fields."""

    cluster: PluginCluster
    dry_run: bool = False
    force: bool = False

    def __call__(self, document: Json) -> Applied:
        """Apply one document. Raises Refused with a remedy, or ClusterError."""
        target = target_of(document)
        before = find(self.cluster, target)
        try:
            after = self.cluster.apply(target, document, force=self.force, dry_run=self.dry_run)
        except NotFound as error:
            after = self._missing(document, error)
        except Conflict as error:
            raise Refused(
                f"{name_of(target)}: {' '.join(str(error).split())}; "
                "to take ownership: --force-conflicts"
            ) from error
        except Invalid as error:
            raise Refused(f"{name_of(target)}: {error}") from error
        return Applied(target, before, after)

    def _missing(self, document: Json, error: NotFound) -> Json:
        """A dry run lacks what it has not created before: the namespace, or a role to bind.

        Raises Refused for a kind that is not served, and for a role that the user may not bind.
        """
        kind, version = document["kind"], document["apiVersion"]
        if isinstance(error, KindNotServed):
            what, value = _OPTIONAL.get(version, ("what serves it", ""))
            leave = f", or leave out {value}" if value else ""
            raise Refused(
                f"the API server does not serve {kind} ({version}): install {what} first{leave}"
            ) from error
        right = _binding(document)
        if right and self._is_denied(right):
            raise Refused(
                f"{name_of(target_of(document))}: you may not {right}; ask a cluster-admin to do "
                "it, or choose other credentials with --context"
            ) from error
        if not self.dry_run:
            raise Refused(f"{name_of(target_of(document))}: {error}") from error
        return document

    def _is_denied(self, right: AccessRight) -> bool:
        """Whether the user lacks the right; False if the user may not ask."""
        try:
            return not is_granted(self.cluster, right)
        except Forbidden:
            return False


def target_of(document: Json) -> ObjectRef:
    metadata = document["metadata"]
    return ObjectRef(document["kind"], metadata.get("namespace", ""), metadata["name"])


def name_of(target: ObjectRef) -> str:
    return qualified_name(target.kind, target.name)


def _differences(before: object, after: object, path: str) -> Iterator[str]:
    if before == after:
        return
    if isinstance(before, dict) and isinstance(after, dict):
        for name in sorted(before.keys() | after.keys()):
            yield from _differences(before.get(name), after.get(name), f"{path}.{name}")
    elif None not in (named := (_by_name(before), _by_name(after))):
        yield from _differences(*named, path)
    elif _is_of_maps(before) and _is_of_maps(after) and (changes := _entries(before, after)):
        yield from (
            f"{path.removeprefix('.')}: {_short(old)} → {_short(new)}" for old, new in changes
        )
    else:
        yield f"{path.removeprefix('.')}: {_short(before)} → {_short(after)}"


def _by_name(value: object) -> Json | None:
    """A list of objects with names, such as containers, variables or webhooks, as a map."""
    if not isinstance(value, list):
        return None
    has_names = all(isinstance(item, dict) and "name" in item for item in value)
    return {item["name"]: item for item in value} if has_names else None


def _is_of_maps(value: object) -> TypeGuard[list[Json]]:
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)


def _entries(before: list[Json], after: list[Json]) -> list[tuple[Json | None, Json | None]]:
    """The entries without names, such as RBAC rules, that only one of the lists has."""
    removed = [(entry, None) for entry in before if entry not in after]
    return [*removed, *((None, entry) for entry in after if entry not in before)]


def _short(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, dict):
        return yaml.safe_dump(value, default_flow_style=True, width=inf).strip()
    if isinstance(value, list):
        return f"[{' '.join(map(_short, value))}]"
    return " ".join(str(value).split())


_APPLY: Final = ("get", "create", "patch")


def check_rights(cluster: Cluster, documents: Sequence[Json]) -> str:
    """Raise Refused with every missing right; returns a hint if the user may not ask for them."""
    try:
        missing = _missing_rights(cluster, documents)
    except Forbidden as error:
        return (
            "hint: your rights are checked only by the dry run of each object, and the right to "
            f"bind roles is not checked: {error}"
        )
    if missing:
        raise Refused(
            f"you may not {', '.join(map(str, missing))}; nothing was changed: ask a cluster-admin "
            "to do it, or choose other credentials with --context"
        )
    return ""


def _missing_rights(cluster: Cluster, documents: Sequence[Json]) -> list[AccessRight]:
    """Raises Forbidden if the user may not ask."""
    if is_granted(cluster, AccessRight("*", "*", "*")):
        return []
    return lacking(cluster, sorted({right for one in documents for right in _rights(one)}))


def _binding(document: Json) -> AccessRight | None:
    """The right to bind the role of a (Cluster)RoleBinding; None for other kinds."""
    if "roleRef" not in document:
        return None
    role, namespace = document["roleRef"], document["metadata"].get("namespace", "")
    resource = RESOURCES[role["kind"]]
    return AccessRight("bind", resource.plural, resource.group, namespace, role["name"])


def _rights(document: Json) -> list[AccessRight]:
    resource = RESOURCES[document["kind"]]
    namespace = document["metadata"].get("namespace", "")
    return [AccessRight(verb, resource.plural, resource.group, namespace) for verb in _APPLY]
