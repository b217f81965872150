"""What the scheduler looks at in a pod's spec, as a `Shape`; equal shapes are one object."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import msgspec

from edl.kube.objects import Container, PodSpec, Undecoded
from edl.model import Requirement, Shape, Toleration
from edl.resources import SHARED_GPU, Resources, pod_requests
from edl.writes import Json

NODE_NAME: Final = "metadata.name"
"""Nodes carry their name under this label too, for affinities that match fields."""

_NO_NODE: Final = (Requirement(NODE_NAME, "In", ()),)
_MOST_KEPT: Final = 8192
_Key: TypeAlias = tuple[bytes, ...]


class Shapes:
    """Shapes by the JSON they came from: pods of one template cost one look-up each."""

    def __init__(self) -> None:
        self._by_json: dict[_Key, Shape] = {}
        self._interned: dict[Shape, Shape] = {}

    def of(self, spec: PodSpec, share: int = 0) -> Shape:
        """`share`: what the pod holds of a shared GPU, in thousandths."""
        key = (*_key(spec), b"%d" % share)
        if (known := self._by_json.get(key)) is not None:
            return known
        if len(self._by_json) >= _MOST_KEPT:
            self._by_json.clear()
            self._interned.clear()
        shape = self.of_json(_json(spec), share)
        self._by_json[key] = shape
        return shape

    def of_json(self, spec: Json, share: int = 0) -> Shape:
        """The shape of a decoded `spec` of a pod, or of a pod template."""
        shape = Shape(
            requests=pod_requests(spec) + Resources.of({SHARED_GPU: share}),
            node_selector=tuple(sorted((spec.get("nodeSelector") or {}).items())),
            tolerations=tuple(_toleration(entry) for entry in spec.get("tolerations") or ()),
            affinity=_affinity(spec),
        )
        return self._interned.setdefault(shape, shape)


def _key(spec: PodSpec) -> _Key:
    inits = spec.init_containers or ()
    return (
        *(bytes(container.resources) for container in spec.containers),
        *(container.restart_policy.encode() + bytes(container.resources) for container in inits),
        len(inits).to_bytes(2),
        *(bytes(part) for part in _parts(spec).values()),
    )


def _parts(spec: PodSpec) -> Mapping[str, Undecoded]:
    return {
        "resources": spec.resources,
        "overhead": spec.overhead,
        "nodeSelector": spec.node_selector,
        "tolerations": spec.tolerations,
        "affinity": spec.affinity,
    }


def _json(spec: PodSpec) -> Json:
    decoded = {name: msgspec.json.decode(part) for name, part in _parts(spec).items()}
    return decoded | {
        "containers": _containers(spec.containers),
        "initContainers": _containers(spec.init_containers or ()),
    }


def _containers(containers: Sequence[Container]) -> list[Json]:
    return [
        {
            "resources": msgspec.json.decode(container.resources),
            "restartPolicy": container.restart_policy,
        }
        for container in containers
    ]


def _toleration(entry: Mapping[str, Any]) -> Toleration:
    return Toleration(
        key=entry.get("key") or "",
        operator=entry.get("operator") or "Equal",
        value=entry.get("value") or "",
        effect=entry.get("effect") or "",
    )


def _affinity(spec: Json) -> tuple[tuple[Requirement, ...], ...]:
    """The alternatives of the required node affinity.

    A term without requirements matches no node (core/v1 NodeSelectorTerm).
    """
    node_affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = node_affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if not required:
        return ()
    terms = [_term(term) for term in required.get("nodeSelectorTerms") or ()]
    return tuple(term for term in terms if term) or (_NO_NODE,)


def _term(term: Mapping[str, Any]) -> tuple[Requirement, ...]:
    entries = [*(term.get("matchExpressions") or ()), *(term.get("matchFields") or ())]
    return tuple(
        Requirement(entry["key"], entry["operator"], tuple(entry.get("values") or ()))
        for entry in entries
    )
