"""kube-scheduler's rules about pods beside each other, as plainly as possible: one pod at a time.

Its plugins PodTopologySpread, InterPodAffinity and NodePorts, with nothing counted in advance.
"""

from dataclasses import dataclass, field

from edl.feasibility.eligibility import Eligibility
from edl.model import (
    HostPort,
    Node,
    PodAffinityTerm,
    PodConstraints,
    Selector,
    Shape,
    TopologySpread,
)


@dataclass(frozen=True)
class Placed:
    """A pod on a node."""

    node: Node
    rules: PodConstraints
    leaving: bool = False


@dataclass
class ReferenceScheduler:
    """Nodes and the pods on them."""

    nodes: tuple[Node, ...]
    pods: list[Placed] = field(default_factory=list)

    def allows(self, shape: Shape, node: Node) -> bool:
        rules = shape.constraints
        assert rules is not None
        return (
            all(self._level(shape, rules, spread, node) for spread in rules.spread)
            and self._near(rules, node)
            and not any(
                _meets(other, node, term, rules)
                for other in self.pods
                for term in rules.anti_affinity
            )
            and not any(_keeps_off(other, node, rules) for other in self.pods)
            and not any(
                _same_port(other, node, port) for other in self.pods for port in rules.ports
            )
        )

    def _near(self, rules: PodConstraints, node: Node) -> bool:
        if any(_label(node, term.key) is None for term in rules.affinity):
            return False
        friends = [
            other
            for other in self.pods
            if all(matches(term.selector, other.rules) for term in rules.affinity)
        ]
        # The scheduler counts pairs of label and value: friends without any of the labels are none.
        known = [
            other
            for other in friends
            if any(_label(other.node, term.key) is not None for term in rules.affinity)
        ]
        if all(
            any(_same(other.node, node, term.key) for other in friends) for term in rules.affinity
        ):
            return True
        return not known and all(matches(term.selector, rules) for term in rules.affinity)

    def _level(
        self, shape: Shape, rules: PodConstraints, spread: TopologySpread, node: Node
    ) -> bool:
        if _label(node, spread.key) is None:
            return False
        keys = [one.key for one in rules.spread]
        eligibility = Eligibility(self.nodes)
        chosen, tolerated = eligibility.selected(shape), eligibility.tolerated(shape)
        inside = [
            one
            for one, selected, may in zip(self.nodes, chosen, tolerated, strict=True)
            if all(_label(one, key) is not None for key in keys)
            and (selected or not spread.by_affinity)
            and (may or not spread.by_taints)
        ]
        names = {one.name for one in inside}
        counts = {_label(one, spread.key): 0 for one in inside}
        for other in self.pods:
            counted = spread.selector is not None and matches(spread.selector, other.rules)
            if counted and not other.leaving and other.node.name in names:
                counts[_label(other.node, spread.key)] += 1
        least = min(counts.values(), default=2**31) if len(counts) >= spread.domains else 0
        own = spread.selector is not None and matches(spread.selector, rules)
        return counts.get(_label(node, spread.key), 0) + own - least <= spread.skew


def matches(selector: Selector, rules: PodConstraints) -> bool:
    return selector.matches(rules.namespace, dict(rules.labels))


def _label(node: Node, key: str) -> str | None:
    return (node.labels or {}).get(key)


def _same(one: Node, other: Node, key: str) -> bool:
    return _label(one, key) is not None and _label(one, key) == _label(other, key)


def _meets(other: Placed, node: Node, term: PodAffinityTerm, _rules: PodConstraints) -> bool:
    return _same(other.node, node, term.key) and matches(term.selector, other.rules)


def _keeps_off(other: Placed, node: Node, rules: PodConstraints) -> bool:
    return any(
        _same(other.node, node, term.key) and matches(term.selector, rules)
        for term in other.rules.anti_affinity
    )


def _same_port(other: Placed, node: Node, port: HostPort) -> bool:
    every = "0.0.0.0"  # noqa: S104 - compared with
    return other.node.name == node.name and any(
        (one.protocol, one.number) == (port.protocol, port.number)
        and (one.address == port.address or every in (one.address, port.address))
        for one in other.rules.ports
    )
