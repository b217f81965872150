"""Specs of pods with any number of entries of one kind, as valid objects of the API server."""

from collections.abc import Callable
from typing import NamedTuple

from edl.contract import pod_limits
from edl.writes import Json

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


class Kind(NamedTuple):
    """A kind of which `pod_limits` allow `most`; `spec` gives the spec of a pod with so many."""

    path: str
    name: str
    most: int
    spec: Callable[[int], Json]


def anti_affinity(*terms: Json) -> Json:
    return {"affinity": {"podAntiAffinity": {REQUIRED: [{"topologyKey": "z"} | x for x in terms]}}}


def _near(count: int) -> Json:
    """A term for each two rules."""
    terms = ({"matchLabels": {"a": f"{n}"}} for n in range(count // 2))
    found: Json = {
        "podAffinity": {REQUIRED: [{"topologyKey": "z", "labelSelector": x} for x in terms]}
    }
    return {"affinity": found}


def _on_nodes(*terms: Json) -> Json:
    return {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [*terms]}}}}


def _spread(count: int) -> Json:
    rule = {"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
    return {"topologySpreadConstraints": [rule | {"topologyKey": f"{n}"} for n in range(count)]}


def _expressions(count: int) -> list[Json]:
    return [{"key": f"{n}", "operator": "Exists"} for n in range(count)]


def _values(count: int) -> Json:
    return {"key": "a", "operator": "In", "values": [f"{n}" for n in range(count)]}


def _ports(count: int) -> list[Json]:
    return [{"containerPort": n + 1, "hostPort": n + 1} for n in range(count)]


def _container(**fields: object) -> Json:
    return {"containers": [{"name": "c"} | fields]}


def _volumes(count: int) -> Json:
    return {"volumes": [{"persistentVolumeClaim": {"claimName": f"{n}"}} for n in range(count)]}


def _claims(count: int) -> Json:
    return {"resourceClaims": [{"name": f"{n}", "resourceClaimName": "c"} for n in range(count)]}


def _names(count: int) -> Json:
    return {"requests": {f"e.com/{n}": "1" for n in range(count)}}


_ANTI, _NODE, _SPREAD = (
    *("spec.affinity.podAntiAffinity", "spec.affinity.nodeAffinity"),
    "spec.topologySpreadConstraints",
)
_TERMS, _VALUES = "terms and expressions", "values"
KINDS = (
    Kind("spec.nodeSelector", "labels", pod_limits.MAX_NAMES,
         lambda n: {"nodeSelector": {f"{x}": "" for x in range(n)}}),
    Kind("spec.tolerations", "tolerations", pod_limits.MAX_RULES,
         lambda n: {"tolerations": [{"operator": "Exists"}] * n}),
    Kind(_NODE, _TERMS, pod_limits.MAX_RULES,
         lambda n: _on_nodes({"matchExpressions": _expressions(n - 2)}, {})),
    Kind(_NODE, _VALUES, pod_limits.MAX_VALUES,
         lambda n: _on_nodes({"matchFields": [_values(n)]})),
    Kind("spec.affinity.podAffinity", _TERMS, pod_limits.MAX_RULES, _near),
    Kind(_ANTI, _TERMS, pod_limits.MAX_RULES,
         lambda n: anti_affinity({"labelSelector": {"matchExpressions": _expressions(n - 1)}})),
    Kind(_ANTI, _TERMS, pod_limits.MAX_RULES,
         lambda n: anti_affinity({"matchLabelKeys": ["a"], "mismatchLabelKeys": ["b"] * (n - 2)})),
    Kind(_ANTI, _VALUES, pod_limits.MAX_VALUES,
         lambda n: anti_affinity({"labelSelector": {"matchExpressions": [_values(n)]}})),
    Kind(_ANTI, _VALUES, pod_limits.MAX_VALUES,
         lambda n: anti_affinity({"namespaces": [f"{x}" for x in range(n)]})),
    Kind(_ANTI, "terms about other namespaces", pod_limits.MAX_FOREIGN_TERMS,
         lambda n: anti_affinity(*[{"namespaceSelector": {}}] * n)),
    Kind(_SPREAD, "constraints and expressions", pod_limits.MAX_RULES, _spread),
    Kind("spec.containers", "resource names", pod_limits.MAX_NAMES,
         lambda n: _container(resources=_names(n))),
    Kind("spec.containers", "host ports", pod_limits.MAX_PORTS,
         lambda n: _container(ports=_ports(n))),
    Kind("spec.volumes", "PersistentVolumeClaims", pod_limits.MAX_VOLUMES, _volumes),
    Kind("spec.resourceClaims", "ResourceClaims", pod_limits.MAX_NAMES, _claims),
)  # fmt: skip
