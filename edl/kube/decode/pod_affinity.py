"""Decodes the required rules of a pod's `spec` about other pods: affinity, spread, host ports.

`pod_limits` bounds their number.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from sys import intern
from typing import Any, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from edl import contract
from edl.contract import pod_limits
from edl.kube.decode.schemas import Container, PodSpec, RawJson
from edl.model import (
    HostPort,
    Labels,
    PodAffinityTerm,
    PodConstraints,
    Requirement,
    Selector,
    TopologySpread,
)
from edl.writes import Json

_NUMBERS: Final = frozenset(
    {
        contract.COMPLETION_INDEX_ANNOTATION,
        "apps.kubernetes.io/pod-index",
        "statefulset.kubernetes.io/pod-name",
    }
)
"""Labels by which pods of one template differ."""
_CLAIM: Final = b'"persistentVolumeClaim"'
_MARKS: Final = (b",", b"{", b"[")
_MATCHES_NONE: Final = Requirement("", "In", ())
"""The meaning of a missing labelSelector."""


class PodIdentity(NamedTuple):
    """A pod as selectors see it."""

    namespace: str
    labels: Labels = ()


NO_IDENTITY: Final = PodIdentity("")


def identity(namespace: str, labels: Mapping[str, str]) -> PodIdentity:
    """Labels of a pod with too many count as absent."""
    if len(labels) > pod_limits.MAX_LABELS + pod_limits.ADDED:
        labels = {}
    pairs = ((intern(name), text) for name, text in labels.items() if name not in _NUMBERS)
    return PodIdentity(intern(namespace), tuple(sorted(pairs)))


def asked(spec: PodSpec) -> tuple[bytes, ...]:
    """The JSON that contains the rules; empty, which is usual, if there can be none."""
    affinity = bytes(spec.affinity)
    spread = bytes(spec.topology_spread_constraints)
    ports = [bytes(container.ports) for container in _containers(spec)]
    held = spec.host_network or any(b"hostPort" in text for text in ports)
    if not (held or b"DoNotSchedule" in spread or b"pod" in affinity):
        return ()
    return (affinity, spread, b"%d" % spec.host_network, *(ports if held else ()))


def asks_for_little(spec: PodSpec, labels: Mapping[str, str]) -> bool:
    """Whether a pod is certainly within `pod_limits`: most are, and need not be decoded for it."""
    rules = (spec.tolerations, spec.affinity, spec.topology_spread_constraints)
    containers = (*spec.containers, *(spec.init_containers or ()))
    names = (spec.node_selector, spec.overhead, spec.resources)
    return (
        len(labels) <= pod_limits.MAX_LABELS
        and len(spec.resource_claims or ()) <= pod_limits.MAX_NAMES
        and _entries(rules) <= pod_limits.MAX_RULES
        and _entries((*names, *(one.resources for one in containers))) <= pod_limits.MAX_NAMES
        and _entries(one.ports for one in containers) <= pod_limits.MAX_PORTS
        and bytes(spec.volumes).count(_CLAIM) <= pod_limits.MAX_VOLUMES
    )


def _entries(texts: Iterable[RawJson]) -> int:
    """An upper bound of the entries of all lists and objects in these JSON texts."""
    return sum(bytes(text).count(mark) for text in texts for mark in _MARKS)


def without_rules(spec: PodSpec) -> PodSpec:
    """The spec with its requests, and without what decides where the pod may run."""
    none = msgspec.Raw(b"null")
    return replace(
        spec,
        node_selector=none,
        tolerations=none,
        affinity=none,
        topology_spread_constraints=none,
        containers=[replace(one, ports=none) for one in spec.containers],
        init_containers=[replace(one, ports=none) for one in spec.init_containers or ()],
    )


def _containers(spec: PodSpec) -> Iterator[Container]:
    yield from spec.containers
    yield from (one for one in spec.init_containers or () if one.restart_policy == "Always")


def rules(spec: Json, pod: PodIdentity) -> PodConstraints | None:
    """The rules in a decoded `spec` of a pod or a pod template; None without any."""
    affinity = spec.get("affinity") or {}
    spread, ports = tuple(_spreads(spec, pod)), tuple(_ports(spec))
    near = tuple(_terms(affinity.get("podAffinity"), pod))
    apart = tuple(_terms(affinity.get("podAntiAffinity"), pod))
    if not (spread or near or apart or ports):
        return None
    return PodConstraints(pod.namespace, pod.labels, spread, near, apart, ports)


def _spreads(spec: Json, pod: PodIdentity) -> Iterator[TopologySpread]:
    for entry in spec.get("topologySpreadConstraints") or ():
        if entry.get("whenUnsatisfiable", "DoNotSchedule") == "DoNotSchedule":
            selector = _selector(entry, (pod.namespace,), dict(pod.labels))
            yield TopologySpread(
                key=entry["topologyKey"],
                # kube-scheduler counts no pods for an empty selector, although it selects all.
                selector=selector if selector.requirements else None,
                skew=entry["maxSkew"],
                domains=entry.get("minDomains") or 1,
                by_affinity=entry.get("nodeAffinityPolicy") != "Ignore",
                by_taints=entry.get("nodeTaintsPolicy") == "Honor",
            )


def _terms(affinity: Json | None, pod: PodIdentity) -> Iterator[PodAffinityTerm]:
    for entry in (affinity or {}).get(contract.REQUIRED_AFFINITY) or ():
        namespaces = entry.get("namespaces") or ()
        chosen = entry.get("namespaceSelector")
        if chosen:
            continue  # The selected namespaces are unknown: it counts as met.
        within = None if chosen is not None else tuple(sorted(namespaces)) or (pod.namespace,)
        yield PodAffinityTerm(entry["topologyKey"], _selector(entry, within, dict(pod.labels)))


def _selector(
    entry: Json, namespaces: tuple[str, ...] | None, labels: Mapping[str, str]
) -> Selector:
    """A label selector, with the requirements that `matchLabelKeys` adds at a pod's creation."""
    selector = entry.get("labelSelector")
    if selector is None:
        return Selector(namespaces, (_MATCHES_NONE,))
    named = sorted((selector.get("matchLabels") or {}).items())
    expressions = selector.get("matchExpressions") or ()
    return Selector(
        namespaces,
        tuple(
            dict.fromkeys(
                chain(
                    (Requirement(key, "In", (value,)) for key, value in named),
                    map(_requirement, expressions),
                    _by_keys(entry.get("matchLabelKeys") or (), "In", labels),
                    _by_keys(entry.get("mismatchLabelKeys") or (), "NotIn", labels),
                )
            )
        ),
    )


def _requirement(entry: Mapping[str, Any]) -> Requirement:
    return Requirement(entry["key"], entry["operator"], tuple(entry.get("values") or ()))


def _by_keys(
    keys: Iterable[str], operator: str, labels: Mapping[str, str]
) -> Iterator[Requirement]:
    return (Requirement(key, operator, (labels[key],)) for key in keys if key in labels)


def _ports(spec: Json) -> Iterator[HostPort]:
    """Host ports; in the host's network, every container port is one."""
    sidecars = (one for one in _all(spec, "initContainers") if one.get("restartPolicy") == "Always")
    for container in chain(_all(spec, "containers"), sidecars):
        for entry in container.get("ports") or ():
            of_node = entry.get("containerPort") if spec.get("hostNetwork") else 0
            if number := entry.get("hostPort") or of_node:
                address = entry.get("hostIP") or "0.0.0.0"  # noqa: S104 - read, never bound to
                yield HostPort(entry.get("protocol") or "TCP", number, address)


def _all(spec: Json, field: str) -> Sequence[Json]:
    return spec.get(field) or ()
