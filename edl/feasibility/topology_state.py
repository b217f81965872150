"""Counts pods by topology domain, as far as placement constraints need it.

The rules are those of kube-scheduler's plugins PodTopologySpread, InterPodAffinity and NodePorts.
What is not modelled counts as fitting: a namespaceSelector with terms, labels that differ between
pods of one template, other owners' pending pods. Preferences are ignored.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from edl.feasibility.constraints import (
    AffinityConstraint,
    ConstraintCount,
    ConstraintState,
    DomainIndex,
    SpreadConstraint,
)
from edl.feasibility.eligibility import Eligibility, Mask
from edl.model import (
    ClusterState,
    HostPort,
    Node,
    OwnedSelector,
    PodAffinityTerm,
    PodConstraints,
    Role,
    Selector,
    Selectors,
    Shape,
    TopologySpread,
)

_EVERY_ADDRESS: Final = "0.0.0.0"  # noqa: S104 - compared with, never bound to
_SOME_ADDRESS: Final = ""


class _Matching(NamedTuple):
    """Pods that all of these selectors select."""

    selectors: tuple[Selector, ...]


class _Repelling(NamedTuple):
    """Pods with any of these anti-affinity terms, which exclude the pods that they select.

    The terms have one label, so one count suffices, however many pods have a term of their own.
    """

    terms: tuple[PodAffinityTerm, ...]


_Mark: TypeAlias = _Matching | _Repelling | HostPort
"""A property of pods that constraints count. A port with _SOME_ADDRESS stands for any address."""


class TopologyState:
    """A `ConstraintState` per shape with constraints; reservations update the shared counts."""

    def __init__(
        self,
        nodes: Sequence[Node],
        eligibility: Eligibility,
        planned: Sequence[PodConstraints],
        existing: Iterable[PodConstraints] = (),
    ) -> None:
        self._nodes = nodes
        self._eligibility = eligibility
        others = dict.fromkeys(existing)
        self._selectors = Selectors(_owned(planned), _owned(others))
        distinct = dict.fromkeys(chain(planned, others))
        self._terms: defaultdict[Selector, list[PodAffinityTerm]] = defaultdict(list)
        for term in dict.fromkeys(term for rules in distinct for term in rules.anti_affinity):
            self._terms[term.selector].append(term)
        self._together = dict.fromkeys(
            tuple(term.selector for term in rules.affinity)
            for rules in distinct
            if len(rules.affinity) > 1
        )
        self._domains: dict[object, DomainIndex] = {}
        self._nowhere = _domains(eligibility.absent)
        """The index of all labels that no node has, of which a pod may name many."""
        self._with_all: dict[tuple[str, ...], Mask | None] = {}
        self._counts: dict[object, ConstraintCount] = {}
        self._by_mark: defaultdict[_Mark, list[ConstraintCount]] = defaultdict(list)
        self._by_term: defaultdict[PodAffinityTerm, list[ConstraintCount]] = defaultdict(list)
        self._counting = Selectors(())
        """The selectors of counts; others, such as those of bound pods, concern no count."""
        self._states: dict[Shape, ConstraintState] = {}

    def constraints_of(self, shape: Shape) -> ConstraintState | None:
        """The constraints of a registered shape, or None."""
        return self._states.get(shape)

    def register(self, shapes: Iterable[Shape]) -> None:
        """Build the constraints of each shape: first all counts, then which of them it changes."""
        pairs = [(shape, shape.constraints) for shape in dict.fromkeys(shapes) if shape.constraints]
        for shape, rules in pairs:
            self._states[shape] = self._made(shape, rules)
        self._counting = Selectors(_owned(rules for _, rules in pairs))
        for shape, rules in pairs:
            self._states[shape].carried = self.carried(rules)

    def carried(self, rules: PodConstraints) -> tuple[ConstraintCount, ...]:
        """The counts that a pod with these constraints changes."""
        counts = [self._by_mark.get(mark, ()) for mark in self._marks(rules)]
        counts += [self._by_term.get(term, ()) for term in rules.anti_affinity]
        return tuple(dict.fromkeys(chain.from_iterable(counts)))

    def _made(self, shape: Shape, rules: PodConstraints) -> ConstraintState:
        matching = _selecting(self._selectors, rules)
        apart = [self._count(_Matching((term.selector,)), term.key) for term in rules.anti_affinity]
        apart += self._repelling(matching)
        ports = [self._count(port, None) for own in rules.ports for port in _taken_by(own)]
        return ConstraintState(
            # A label that no node has keeps no pods apart.
            anti_affinity=tuple(
                count for count in dict.fromkeys((*apart, *ports)) if count.domains.size
            ),
            ports=tuple(ports),
            affinity=self._near(rules, matching),
            spread=tuple(self._levels(shape, rules, matching)),
        )

    def _repelling(self, matching: Iterable[Selector]) -> Iterator[ConstraintCount]:
        """The counts of pods whose anti-affinity has one of these selectors: one for each label."""
        by_label: defaultdict[str, list[PodAffinityTerm]] = defaultdict(list)
        for selector in matching:
            for term in self._terms.get(selector, ()):
                by_label[term.key].append(term)
        for key, terms in by_label.items():
            yield self._count(_Repelling(tuple(terms)), key)

    def _near(
        self, rules: PodConstraints, matching: Collection[Selector]
    ) -> AffinityConstraint | None:
        if not rules.affinity:
            return None
        mark = _Matching(tuple(term.selector for term in rules.affinity))
        first = all(selector in matching for selector in mark.selectors)
        return AffinityConstraint(
            tuple(self._count(mark, term.key) for term in rules.affinity), first
        )

    def _levels(
        self, shape: Shape, rules: PodConstraints, matching: Collection[Selector]
    ) -> Iterator[SpreadConstraint]:
        keys = tuple(spread.key for spread in rules.spread)
        for spread in rules.spread:
            domains = self._spread_over(shape, spread, keys)
            mark = _Matching((spread.selector,)) if spread.selector else None
            added = int(spread.selector in matching)
            yield SpreadConstraint(self._counted(mark, domains), spread.skew, spread.domains, added)

    def _count(self, mark: _Mark, key: str | None) -> ConstraintCount:
        """The count of a mark by the domains of a label; without a label, by node."""
        return self._counted(mark, self._by_label(key))

    def _counted(self, mark: _Mark | None, domains: DomainIndex) -> ConstraintCount:
        name = (mark, id(domains))
        if name not in self._counts:
            made = self._counts[name] = ConstraintCount(domains)
            if isinstance(mark, _Repelling):
                for term in mark.terms:
                    self._by_term[term].append(made)
            elif mark is not None:
                self._by_mark[mark].append(made)
        return self._counts[name]

    def _by_label(self, key: str | None) -> DomainIndex:
        if key not in self._domains:
            nodes = self._nodes
            values = [node.name for node in nodes] if key is None else self._eligibility.values(key)
            if values is self._eligibility.absent:
                return self._nowhere
            self._domains[key] = _domains(values)
        return self._domains[key]

    def _spread_over(
        self, shape: Shape, spread: TopologySpread, keys: tuple[str, ...]
    ) -> DomainIndex:
        """Domains of nodes that have the labels of all of a pod's spread constraints.

        Nodes that its nodeAffinityPolicy or nodeTaintsPolicy excludes are left out.
        """
        labelled = self._labelled(keys)
        if labelled is None:
            return self._nowhere
        affinity = (shape.node_selector, shape.affinity) if spread.by_affinity else None
        tolerations = shape.tolerations if spread.by_taints else None
        name = (spread.key, keys, affinity, tolerations)
        if name not in self._domains:
            included = labelled & self._honoured(shape, spread)
            self._domains[name] = _part(self._by_label(spread.key), included)
        return self._domains[name]

    def _labelled(self, keys: tuple[str, ...]) -> Mask | None:
        """Nodes that have all of these labels, once for all rules of a pod; bool[nodes].

        None if no node has one of the labels. An empty value is one, too.
        """
        if keys not in self._with_all:
            indexes = [self._by_label(key) for key in keys]
            absent = any(index is self._nowhere for index in indexes)
            nodes = None if absent else np.all([one.of_nodes >= 0 for one in indexes], axis=0)
            self._with_all[keys] = nodes
        return self._with_all[keys]

    def _honoured(self, shape: Shape, spread: TopologySpread) -> Mask:
        mask: Mask = np.ones(len(self._nodes), dtype=np.bool_)
        if spread.by_affinity:
            mask &= self._eligibility.selected(shape)
        if spread.by_taints:
            mask &= self._eligibility.tolerated(shape)
        return mask

    def _marks(self, rules: PodConstraints) -> Iterator[_Mark]:
        matching = _selecting(self._counting, rules).keys()
        yield from (_Matching((selector,)) for selector in matching)
        yield from (_Matching(group) for group in self._together if matching >= {*group})
        yield from dict.fromkeys(mark for port in rules.ports for mark in _held_by(port))


def _owned(all_rules: Iterable[PodConstraints]) -> Iterator[OwnedSelector]:
    return chain.from_iterable(rules.owned_selectors for rules in all_rules)


def _selecting(index: Selectors, rules: PodConstraints) -> dict[Selector, None]:
    """The selectors that match a pod; its own are among them, however many the index leaves out."""
    labels = dict(rules.labels)
    matching = (one for one in rules.selectors if one.matches(rules.namespace, labels))
    return dict.fromkeys(chain(index.matching(rules.namespace, rules.labels), matching))


def _domains(values: Sequence[str | None]) -> DomainIndex:
    numbers: dict[str | None, int] = {}
    of = [-1 if value is None else numbers.setdefault(value, len(numbers)) for value in values]
    return DomainIndex(of, np.array(of, dtype=np.int64), len(numbers))


def _part(domains: DomainIndex, nodes: Mask) -> DomainIndex:
    """The domains of these nodes alone; the same index if no other node has one."""
    if not (domains.of_nodes[~nodes] >= 0).any():
        return domains
    of_nodes = np.where(nodes, domains.of_nodes, -1)
    return DomainIndex(of_nodes.tolist(), of_nodes, len(np.unique(of_nodes[of_nodes >= 0])))


def _held_by(port: HostPort) -> tuple[HostPort, ...]:
    return (port, port._replace(address=_SOME_ADDRESS))


def _taken_by(port: HostPort) -> tuple[HostPort, ...]:
    """The marks of pods that conflict with this host port."""
    if port.address == _EVERY_ADDRESS:
        return (port._replace(address=_SOME_ADDRESS),)
    return (port, port._replace(address=_EVERY_ADDRESS))


def topology_state_of(
    state: ClusterState, nodes: Sequence[Node], eligibility: Eligibility
) -> TopologyState | None:
    """The existing pods, counted; None if no shape has constraints, which is the usual case."""
    roles = [role for job in state.jobs for role in job.roles if role.template.shape.constraints]
    shapes = [role.template.shape for role in roles]
    shapes += [demand.shape for demand in state.demands if demand.shape.constraints]
    if not shapes:
        return None
    constrained = [shape.constraints for shape in shapes if shape.constraints]
    topology = TopologyState(
        nodes, eligibility, constrained, (group.constraints for group in state.foreign_pods)
    )
    topology.register(shapes)
    indexes = {node.name: index for index, node in enumerate(nodes)}
    for role in roles:
        _stand(topology, role, indexes)
    carried: dict[PodConstraints, tuple[ConstraintCount, ...]] = {}
    for group in state.foreign_pods:
        if group.constraints not in carried:
            carried[group.constraints] = topology.carried(group.constraints)
        if group.node in indexes:
            for count in carried[group.constraints]:
                count.add_existing(indexes[group.node], group.pods, group.terminating, others=True)
    return topology


def _stand(topology: TopologyState, role: Role, nodes: dict[str, int]) -> None:
    """Count the bound pods of a role, as they are before the plan."""
    if not role.status.pods or role.template.shape.constraints is None:
        return
    carried = topology.carried(role.template.shape.constraints)
    for pod in role.status.pods:
        if pod.node in nodes and not pod.ended:
            for count in carried:
                count.add_existing(nodes[pod.node], 1, int(pod.terminating), others=False)
