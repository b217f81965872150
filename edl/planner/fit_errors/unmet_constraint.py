"""Placement constraints that no eligible node satisfies, however much capacity is free there."""

from collections.abc import Iterable, Sequence

import numpy as np

from edl.feasibility.constraints import ConstraintCount
from edl.feasibility.eligibility import Ints, Mask
from edl.model import PodAffinityTerm, Selector
from edl.model.causes.scarcity import NodeRule, NoEligibleNode
from edl.planner.packing.pod_class import PodClass
from edl.planner.snapshot.cluster_snapshot import Snapshot


def unmet_constraint(snapshot: Snapshot, pod_class: PodClass) -> NoEligibleNode | None:
    """The topology spread or pod (anti-)affinity that excludes every eligible node; None if none.

    Pods of training jobs do not count against it: they come and go with the plan.
    """
    rules, state, nodes = pod_class.shape.constraints, pod_class.constraints, pod_class.nodes
    if rules is None or state is None:
        return None
    keys = tuple(dict.fromkeys(spread.key for spread in rules.spread))
    if absent := tuple((key, "") for key in keys if not _has_label(snapshot, key, nodes)):
        return NoEligibleNode(NodeRule.TOPOLOGY_SPREAD, absent)
    if missing := _absent_pods(snapshot, pod_class):
        return missing
    terms = dict.fromkeys(rules.anti_affinity)
    for term, count in zip(terms, state.anti_affinity, strict=False):  # then others' terms, ports
        if _in(nodes, count, count.fixed).all() and not _is_by_node(snapshot, term.key, nodes):
            return _of_pods(NodeRule.POD_ANTI_AFFINITY, term)
    return None


def _absent_pods(snapshot: Snapshot, pod_class: PodClass) -> NoEligibleNode | None:
    """The pod affinity for which no pod runs near an eligible node, and no training job has one."""
    rules, state = pod_class.shape.constraints, pod_class.constraints
    near = state.affinity if state else None
    if rules is None or near is None or near.may_be_first:
        return None
    for term, count in zip(rules.affinity, near.counts, strict=True):
        if not _in(pod_class.nodes, count, count.future_pods).any():
            queued = _training_pods_match(snapshot, rules.affinity)
            return None if queued else _of_pods(NodeRule.POD_AFFINITY, term)
    return None


def _of_pods(rule: NodeRule, term: PodAffinityTerm) -> NoEligibleNode:
    return NoEligibleNode(rule, _labels(term.selector), names=(term.key,))


def _in(nodes: Ints, count: ConstraintCount, domains: Iterable[int]) -> Mask:
    """Which nodes are in these domains of a count; bool[nodes]."""
    mask: Mask = np.isin(count.domains.of_nodes[nodes], list(domains))
    return mask


def _has_label(snapshot: Snapshot, key: str, nodes: Ints) -> bool:
    values = snapshot.eligibility.values(key)
    return any(values[node] is not None for node in nodes)


def _is_by_node(snapshot: Snapshot, key: str, nodes: Ints) -> bool:
    """Whether a label's values are the names of the nodes, so that a new node is a new domain."""
    values = snapshot.eligibility.values(key)
    return all(values[node] == snapshot.capacity.node_names[node] for node in nodes)


def _training_pods_match(snapshot: Snapshot, terms: Sequence[PodAffinityTerm]) -> bool:
    """Whether pods of a training job, which may be queued, match these terms."""
    return any(snapshot.role_labels.selected([term.selector for term in terms]))


def _labels(selector: Selector) -> tuple[tuple[str, str], ...]:
    """What a selector requires: labels with their first value, or a requirement in words."""
    labels = (
        (requirement.key, requirement.values[0])
        if requirement.operator == "In"
        else (" ".join((requirement.key, requirement.operator, *requirement.values)), "")
        for requirement in selector.requirements
    )
    return tuple(labels) or (("any labels", ""),)
