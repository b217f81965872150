"""Which of Karpenter's NodePools may add a node for a pod: by taints, labels and requirements.

The rules are Karpenter's (scheduling.Requirements.Compatible). Labels that it takes from instance
types are unknown unless the NodePool names them, and what is unknown excludes no NodePool.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from edl.feasibility.eligibility import NAME_FIELD
from edl.model import NodePoolHeadroom, Requirement, Shape

_ByKey: TypeAlias = Mapping[str, Sequence[Requirement]]

_COMPARED: Final = frozenset({"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"})
_BOUNDS: Final = ("Gt", "Lt")
_PROVIDERS: Final = (
    "kubernetes.io",
    "k8s.io",
    "x-k8s.io",
    "k8s.aws",
    "aws.com",
    "amazonaws.com",
    "azure.com",
    "google.com",
    "gke.io",
    "oraclecloud.com",
    "alibabacloud.com",
    "aliyun.com",
    "ibm.com",
)
"""Domains of labels that Karpenter may know from instance types, besides its own.

Among them those that it reads as others, as `topology.ebs.csi.aws.com/zone` is a zone to it.
"""


def usable(pools: Iterable[NodePoolHeadroom], shape: Shape) -> frozenset[int]:
    """The places of the NodePools that may add a node for a pod of this shape."""
    selected = _by_key(Requirement(key, "In", (value,)) for key, value in shape.node_selector)
    terms = [_by_key(term) for term in shape.affinity]
    return frozenset(
        place for place, pool in enumerate(pools) if _takes(pool, shape, selected, terms)
    )


def _takes(pool: NodePoolHeadroom, shape: Shape, selected: _ByKey, terms: Sequence[_ByKey]) -> bool:
    template = pool.template
    if template is None:
        return True
    if not all(taint.tolerated(shape.tolerations) for taint in template.taints):
        return False
    offered = _by_key(template.requirements)
    if not all(_meet(offered, key, asked) for key, asked in selected.items()):
        return False
    return not terms or any(
        all(_meet(offered, key, (*asked, *selected.get(key, ()))) for key, asked in term.items())
        for term in terms
    )


def _meet(offered: _ByKey, key: str, asked: Sequence[Requirement]) -> bool:
    """Whether a label of a new node may have a value that both sides accept, or may be absent."""
    without = all(need.holds(None) for need in asked)
    if key in offered:
        ours = [need for need in offered[key] if need.operator in _COMPARED]
        left = _values([*ours, *asked])
        return left is None or bool(left) or (without and _excludes(ours) and _excludes(asked))
    left = _values(asked)
    if _may_be_provided(key):
        return left is None or bool(left) or without
    return _excludes(asked) and (left is None or without)


def _values(needs: Sequence[Requirement]) -> Sequence[str] | None:
    """The values that a label may have, none if it has to be absent; None if no list limits them.

    Gt and Lt that no number meets count as met.
    """
    if any(need.operator == "DoesNotExist" for need in needs):
        return ()
    named = next((need.values for need in needs if need.operator == "In"), None)
    if named is None:
        return None
    return [value for value in named if all(need.holds(value) for need in needs)]


def _excludes(needs: Sequence[Requirement]) -> bool:
    """Whether Karpenter takes them together as NotIn or DoesNotExist, also beside Exists.

    Such a label may be absent in a NodePool, or in all: Karpenter then gives the node no such
    label, or another value. Values of NotIn count if Gt and Lt leave them.
    """
    if (left := _values(needs)) is not None:
        return not left
    bounds = [need for need in needs if need.operator in _BOUNDS]
    excluded = (value for need in needs if need.operator == "NotIn" for value in need.values)
    return any(all(bound.holds(value) for bound in bounds) for value in excluded)


def _may_be_provided(key: str) -> bool:
    """Whether Karpenter may give a node this label though its NodePool does not name it."""
    domain, slash, _ = key.partition("/")
    if not slash:
        return key == NAME_FIELD
    return "karpenter" in domain or f".{domain}".endswith(tuple(f".{one}" for one in _PROVIDERS))


def _by_key(requirements: Iterable[Requirement]) -> _ByKey:
    grouped: defaultdict[str, list[Requirement]] = defaultdict(list)
    for requirement in requirements:
        grouped[requirement.key].append(requirement)
    return grouped
