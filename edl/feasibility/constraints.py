"""Whether placement constraints allow one more pod on a node, by counts updated per placement."""

from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from edl.feasibility.eligibility import Ints
from edl.feasibility.horizon import IDLE, Horizon


class DomainIndex(NamedTuple):
    """The number of each node's domain, -1 for none, and the number of domains."""

    of: list[int]
    of_nodes: Ints
    """`of` as an array; int64[nodes]."""
    size: int


@dataclass(slots=True, eq=False)
class ConstraintCount:
    """Pods that one constraint counts, by domain: now, and once terminating ones are gone.

    Domains without pods have no entry. `fixed` are domains with other owners' pods that stay.
    `eased` and `joined` are incremented when the constraint may allow what it forbade before:
    `eased` on fewer pods or a higher minimum, `joined` on pods in a new domain.
    """

    domains: DomainIndex
    of: list[int] = field(init=False)
    pods: dict[int, int] = field(default_factory=dict)
    future_pods: dict[int, int] = field(default_factory=dict)
    fixed: set[int] = field(default_factory=set)
    eased: int = 0
    joined: int = 0
    _least: int = 0
    _tally: Counter[int] = field(default_factory=Counter)
    """The number of domains by their number of pods; empty until `least` is read."""

    def __post_init__(self) -> None:
        self.of = self.domains.of

    def add_existing(self, node: int, pods: int, leaving: int, *, others: bool) -> None:
        """Count pods that exist before the decision; `leaving` of them are terminating."""
        domain = self.of[node]
        if domain >= 0:
            _add(self.pods, domain, pods)
            _add(self.future_pods, domain, pods - leaving)
            if others and pods > leaving:
                self.fixed.add(domain)

    def change(self, node: int, pods: int, horizon: Horizon) -> None:
        """Count pods that are placed, or removed if negative."""
        domain = self.of[node]
        if domain < 0:
            return
        before = self.future_pods.get(domain, 0)
        self.eased += pods < 0
        self.joined += not before or (horizon is IDLE and domain not in self.pods)
        _add(self.future_pods, domain, pods)
        if horizon is IDLE:
            _add(self.pods, domain, pods)
        if self._tally:
            self._recount(before, before + pods)

    @property
    def least(self) -> int:
        """The fewest future pods of any domain."""
        if not self._tally:
            self._tally.update(self.future_pods.values())
            self._tally[0] += self.domains.size - len(self.future_pods)
            self._recount(0, 0)
        return self._least

    def beside_others(self, pods: Ints) -> Ints:
        """`pods` per node, 0 in domains with other owners' pods that stay; int64[nodes]."""
        rest: Ints = np.where(np.isin(self.domains.of_nodes, list(self.fixed)), 0, pods)
        return rest

    def _recount(self, before: int, after: int) -> None:
        self._tally[before] -= 1
        self._tally[after] += 1
        if not self._tally[before]:
            del self._tally[before]
        if after < self._least or self._least not in self._tally:
            least = min(self._tally, default=0)
            self.eased += least > self._least
            self._least = least


def _add(pods: dict[int, int], domain: int, more: int) -> None:
    left = pods.get(domain, 0) + more
    if left:
        pods[domain] = left
    else:
        pods.pop(domain, None)


class SpreadConstraint(NamedTuple):
    """A topology spread constraint with its `maxSkew` and `minDomains`.

    `own` is 1 if the constraint selects the pod itself, else 0.
    """

    pod_count: ConstraintCount
    skew: int
    domains: int
    own: int

    def allows(self, node: int) -> bool:
        # Terminating pods do not count (kubernetes/kubernetes 87621), so future pods decide.
        domain = self.pod_count.of[node]
        least = 0 if self.pod_count.domains.size < self.domains else self.pod_count.least
        return (
            domain >= 0
            and self.pod_count.future_pods.get(domain, 0) + self.own - least <= self.skew
        )


class AffinityConstraint(NamedTuple):
    """Pod affinity, with a count per term.

    `may_be_first`: its terms select the pod itself, so it need not wait for a matching pod.
    """

    counts: tuple[ConstraintCount, ...]
    may_be_first: bool

    def has_no_match(self, horizon: Horizon) -> bool:
        """Whether no matching pod exists, and the pod may be the first."""
        return self.may_be_first and not any(
            count.future_pods or (horizon is IDLE and count.pods) for count in self.counts
        )

    def allows(self, node: int, horizon: Horizon) -> bool:
        """Whether the pod may run on this node; terminating pods do not satisfy affinity."""
        if any(count.of[node] < 0 for count in self.counts):
            return False
        soon = self._meets(node, [count.future_pods for count in self.counts])
        return soon and (
            horizon is not IDLE or self._meets(node, [count.pods for count in self.counts])
        )

    def _meets(self, node: int, pods: Sequence[dict[int, int]]) -> bool:
        """Whether all terms match pods in the node's domains, or the pod may be the first."""
        if all(count.of[node] in domains for count, domains in zip(self.counts, pods, strict=True)):
            return True
        return self.may_be_first and not any(pods)


@dataclass(slots=True)
class ConstraintState:
    """The placement constraints of one shape.

    `anti_affinity` counts pods that exclude it from their domain, with those of `ports`, which use
    its host ports. `carried` are the counts that its
    own pods change, including those of other shapes' constraints.
    """

    anti_affinity: Sequence[ConstraintCount] = ()
    affinity: AffinityConstraint | None = None
    spread: Sequence[SpreadConstraint] = ()
    carried: Sequence[ConstraintCount] = field(default_factory=tuple)
    ports: Sequence[ConstraintCount] = ()

    @property
    def by_ports(self) -> "ConstraintState":
        """Its host ports alone."""
        return ConstraintState(self.ports, carried=self.carried)

    @property
    def counts(self) -> frozenset[ConstraintCount]:
        """All counts that decide where its pods may run."""
        near = self.affinity.counts if self.affinity else ()
        return frozenset(
            (*self.anti_affinity, *near, *(spread.pod_count for spread in self.spread))
        )

    @property
    def follows_others(self) -> bool:
        """Whether pods that match its affinity must be placed first."""
        return self.affinity is not None and not self.affinity.may_be_first

    @property
    def eased(self) -> int:
        """A version: while it is unchanged, a node that was forbidden stays forbidden."""
        version = 0
        for count in self.anti_affinity:
            version += count.eased
        for spread in self.spread:
            version += spread.pod_count.eased
        for count in self.affinity.counts if self.affinity else ():
            version += count.eased + count.joined
        return version

    def split_by_domains(self, few: int) -> tuple["ConstraintState", "ConstraintState"]:
        """Its constraints over at most `few` domains, and its other constraints."""

        def coarse(count: ConstraintCount) -> bool:
            return count.domains.size <= few

        def part(near: AffinityConstraint | None, *, is_coarse: bool) -> ConstraintState:
            apart = [count for count in self.anti_affinity if coarse(count) == is_coarse]
            spread = [one for one in self.spread if coarse(one.pod_count) == is_coarse]
            return ConstraintState(apart, near, spread)

        is_coarse = self.affinity is not None and all(map(coarse, self.affinity.counts))
        nears = (self.affinity, None) if is_coarse else (None, self.affinity)
        return part(nears[0], is_coarse=True), part(nears[1], is_coarse=False)

    def allows(self, node: int, horizon: Horizon) -> bool:
        """Whether one more pod may run on this node."""
        if self.anti_affinity and self.clashes(node, horizon):
            return False
        for spread in self.spread:  # innermost loop: all() would double its cost
            if not spread.allows(node):
                return False
        return self.affinity is None or self.affinity.allows(node, horizon)

    def clashes(self, node: int, horizon: Horizon) -> bool:
        """Whether anti-affinity, or a used host port, excludes it from this node."""
        for count in self.anti_affinity:
            domain = count.of[node]
            if domain >= 0 and (
                domain in count.future_pods or (horizon is IDLE and domain in count.pods)
            ):
                return True
        return False

    def is_repelled_by(self, node: int, taken: Mapping[ConstraintCount, AbstractSet[int]]) -> bool:
        """Whether pods in the domains `taken`, by the counts that they change, exclude it here."""
        return any(count.of[node] in taken.get(count, ()) for count in self.anti_affinity)

    def change(self, node: int, pods: int, horizon: Horizon) -> None:
        for count in self.carried:
            count.change(node, pods, horizon)

    def pods_per_node(self, pods: Ints) -> Ints:
        """An upper bound of `pods` per node by anti-affinity; int64[nodes].

        Only permanent conflicts count: with other owners' pods, and among its own pods.
        """
        return self._apart(self.beside_others(pods))

    def beside_others(self, pods: Ints) -> Ints:
        """`pods` per node, 0 where a pod of another owner excludes it; int64[nodes]."""
        for count in self.anti_affinity:
            pods = count.beside_others(pods)
        return pods

    def surely(self, pods: Ints) -> Ints:
        """A lower bound of `pods` per node beside all pods that exist or are placed; int64[nodes].

        None where affinity or spread constraints would have to be weighed pod by pod.
        """
        if self.affinity is not None or self.spread:
            return np.zeros_like(pods)
        for count in self.anti_affinity:
            nodes = count.domains.of_nodes
            taken = [*count.pods.keys() | count.future_pods.keys()]
            pods = np.where(np.isin(nodes, taken), 0, pods)
        return self._apart(pods)

    def _apart(self, pods: Ints) -> Ints:
        """`pods` per node, at most one in each domain in which its own pods exclude each other."""
        for count in self.anti_affinity:
            if count in self.carried:
                nodes = count.domains.of_nodes
                pods = np.where(nodes < 0, pods, _one_each(pods, nodes))
        return pods


def _one_each(pods: Ints, domains: Ints) -> Ints:
    """At most one pod per domain, on its node with the most capacity."""
    order = np.argsort(-pods, kind="stable")
    _, first = np.unique(domains[order], return_index=True)
    best = order[first]
    counts = np.zeros_like(pods)
    counts[best] = np.minimum(pods[best], 1)
    return counts
