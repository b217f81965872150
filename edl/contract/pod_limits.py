"""How much of each kind a pod may ask of schedulers; what people write stays far below.

Any user may create a pod, and a decision compares what it asks for with every node and with other
pods. A labelled Job or pod with more is refused. Plans leave no capacity to other owners' pods with
more, and do not follow their rules.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, Final, NamedTuple

from edl import contract

MAX_RULES: Final = 128
"""Tolerations; also terms and expressions of one sort of affinity, and of spread constraints."""
MAX_FOREIGN_TERMS: Final = 16
"""Terms of one sort of affinity about pods of other namespaces, which all of them may match."""
MAX_VALUES: Final = 4096
"""Values in expressions of one sort of affinity: a list may name all nodes of a large cluster."""
MAX_LABELS: Final = 256
"""Labels of the pod."""
MAX_NAMES: Final = 64
"""Resources; also ResourceClaims, and labels in nodeSelector."""
MAX_PORTS: Final = 512
"""Ports of the node."""
MAX_VOLUMES: Final = 256
"""PersistentVolumeClaims."""
ADDED: Final = 16
"""What the webhook may add to each kind: the limits of completed pods and Jobs are so much higher.
"""
WRITTEN_LABELS: Final = frozenset(
    {contract.FRAMEWORK, contract.ROLE, contract.JOB, contract.HOST}
    | {contract.PADDLE_TRAINER_LABEL, contract.PADDLE_PSERVER_LABEL, contract.PADDLE_MASTER_LABEL}
    | {*contract.KUBESHARE_1.values()}
)
"""Labels of pods that the webhook writes; with the Job controller's 5 these are fewer than ADDED.
"""
FREE_OF_COST: Final = 32
"""Rules of a pod that do not count in MAX_RULES_OF_ALL."""
COST_ABROAD: Final = 8
"""What a term about pods of other namespaces counts there, as it concerns the pods of all."""
VALUES_PER_COST: Final = 32
"""Values in expressions that count there as one rule."""
MAX_RULES_OF_ALL: Final = 2048
"""Rules of all pending pods of other owners, each shape once, beyond FREE_OF_COST."""
MAX_COMPARED_SELECTORS: Final = 2048
"""Selectors of all pods with which one pod is compared, for one namespace and one label."""
_NODE_TERMS: Final = "nodeSelectorTerms"
_WITHIN_NODES: Final = ("matchExpressions", "matchFields")
_OF_LABELS: Final = ("matchLabelKeys", "mismatchLabelKeys")


class PodCount(NamedTuple):
    """How many of one kind a pod has; `path` begins with `metadata` or `spec`.

    `most` are allowed: to the pod, or if `of_all` to all pending pods of other owners together.
    The webhook may have written `ours` of them.
    """

    path: str
    kind: str
    number: int
    most: int
    of_all: bool = False
    ours: int = 0


def excess(labels: object, spec: object, added: int = 0) -> Iterator[PodCount]:
    """Each kind of which a pod with these labels and this spec has more than its limit."""
    return (one for one in _counts(labels, _map(spec)) if one.number > one.most + added)


def own_excess(labels: object, spec: object) -> Iterator[PodCount]:
    """`excess`, without what the webhook may have written: up to ADDED of a kind are left out."""
    counts = (
        count._replace(number=count.number - min(count.ours, ADDED))
        for count in _counts(labels, _map(spec))
    )
    return (count for count in counts if count.number > count.most)


def _counts(labels: object, spec: Mapping[str, Any]) -> Iterator[PodCount]:
    names, selector = _map(labels), _map(spec.get("nodeSelector"))
    written = len(WRITTEN_LABELS & names.keys())
    yield PodCount("metadata.labels", "labels", len(names), MAX_LABELS, ours=written)
    shared = contract.SHARED_GPU_NODE in selector
    yield PodCount("spec.nodeSelector", "labels", len(selector), MAX_NAMES, ours=shared)
    yield PodCount(
        "spec.tolerations", "tolerations", len(_list(spec.get("tolerations"))), MAX_RULES
    )
    affinity = _map(spec.get("affinity"))
    nodes = _map(_map(affinity.get("nodeAffinity")).get(contract.REQUIRED_AFFINITY))
    node_terms = [*map(_map, _list(nodes.get(_NODE_TERMS)))]
    yield from _rules("spec.affinity.nodeAffinity", "terms", map(_of_nodes, node_terms))
    for kind in ("podAffinity", "podAntiAffinity"):
        required = map(_map, _list(_map(affinity.get(kind)).get(contract.REQUIRED_AFFINITY)))
        yield from _rules(f"spec.affinity.{kind}", "terms", map(_of_pods, required))
    spread = map(_map, _list(spec.get("topologySpreadConstraints")))
    followed = (one for one in spread if one.get("whenUnsatisfiable") != "ScheduleAnyway")
    yield from _rules("spec.topologySpreadConstraints", "constraints", map(_of_pods, followed))
    amounts = _resource_names(spec)
    gpu = contract.GPU_RESOURCE in amounts
    yield PodCount("spec.containers", "resource names", len(amounts), MAX_NAMES, ours=gpu)
    yield PodCount("spec.containers", "host ports", _host_ports(spec), MAX_PORTS)
    volumes = map(_map, _list(spec.get("volumes")))
    claims = sum("persistentVolumeClaim" in one for one in volumes)
    yield PodCount("spec.volumes", "PersistentVolumeClaims", claims, MAX_VOLUMES)
    devices = [_map(one).get("name") for one in _list(spec.get("resourceClaims"))]
    ours = contract.GPU_CLAIM in devices
    yield PodCount("spec.resourceClaims", "ResourceClaims", len(devices), MAX_NAMES, ours=ours)


class _Term(NamedTuple):
    """The number of expressions of a term, and of values in them.

    `abroad`: whether it may be about pods of other namespaces; `ours`: as in `PodCount`.
    """

    expressions: int
    values: int
    abroad: bool = False
    ours: int = 0


def _rules(path: str, name: str, terms: Iterable[_Term]) -> Iterator[PodCount]:
    all_terms = [*terms]
    rules = len(all_terms) + sum(term.expressions for term in all_terms)
    ours = sum(term.ours for term in all_terms)
    yield PodCount(path, f"{name} and expressions", rules, MAX_RULES, ours=ours)
    yield PodCount(path, "values", sum(term.values for term in all_terms), MAX_VALUES)
    abroad = sum(term.abroad for term in all_terms)
    yield PodCount(path, "terms about other namespaces", abroad, MAX_FOREIGN_TERMS)


def _of_nodes(term: Mapping[str, Any]) -> _Term:
    expressions = [*map(_map, chain.from_iterable(_list(term.get(name)) for name in _WITHIN_NODES))]
    values = sum(len(_list(part.get("values"))) for part in expressions)
    ours = sum(part.get("key") == contract.SHARED_GPU_NODE for part in expressions)
    return _Term(len(expressions), values, ours=ours)


def _of_pods(term: Mapping[str, Any]) -> _Term:
    selector = _map(term.get("labelSelector"))
    expressions = [*map(_map, _list(selector.get("matchExpressions")))]
    same = sum(len(_list(term.get(name))) for name in _OF_LABELS)
    values = sum(len(_list(part.get("values"))) for part in expressions)
    namespaces = _list(term.get("namespaces"))
    return _Term(
        len(_map(selector.get("matchLabels"))) + len(expressions) + same,
        values + len(namespaces),
        abroad=bool(namespaces) or term.get("namespaceSelector") is not None,
    )


def _resource_names(spec: Mapping[str, Any]) -> set[str]:
    owners = [spec, *_containers(spec)]
    resources = [_map(owner.get("resources")) for owner in owners]
    kinds = [_map(part.get(name)) for part in resources for name in ("limits", "requests")]
    return set(chain(_map(spec.get("overhead")), *kinds))


def _host_ports(spec: Mapping[str, Any]) -> int:
    """In the host's network, every port of a container is one of the host."""
    ports = (_map(port) for one in _containers(spec) for port in _list(one.get("ports")))
    return sum(bool(spec.get("hostNetwork") or port.get("hostPort")) for port in ports)


def _containers(spec: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    return (_map(one) for name in ("containers", "initContainers") for one in _list(spec.get(name)))


def _map(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
