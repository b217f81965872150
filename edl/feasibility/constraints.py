"""What rules say of one more pod of a shape on a node: from counts that follow every placement."""

from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from edl.feasibility.eligibility import Ints
from edl.feasibility.horizon import IDLE, Horizon


class DomainIndex(NamedTuple):
    """The domain of each node, -1 for none, and how many there are."""

    of: list[int]
    of_nodes: Ints
    """The same as an array; int64[nodes]."""
    size: int


class ConstraintCount:
    """Pods that one constraint counts, by domain: now, and once terminating ones are gone.

    Domains without any are not kept. `fixed` are those where pods of other owners stay. `eased`
    and `joined` grow where a rule may allow what it forbade: fewer pods or a higher minimum, and
    pods in another domain.
    """

    __slots__ = (
        "_least",
        "_tally",
        "domains",
        "eased",
        "fixed",
        "future_pods",
        "joined",
        "of",
        "pods",
    )

    def __init__(self, domains: DomainIndex) -> None:
        self.domains = domains
        self.of = domains.of
        self.pods: dict[int, int] = {}
        self.future_pods: dict[int, int] = {}
        self.fixed: set[int] = set()
        self.eased = self.joined = 0
        self._least = 0
        self._tally: Counter[int] = Counter()
        """The number of domains by their number of pods; empty until the fewest are asked for."""

    def add_existing(self, node: int, pods: int, leaving: int, *, others: bool) -> None:
        """Pods that stand there before the decision."""
        domain = self.of[node]
        if domain >= 0:
            _add(self.pods, domain, pods)
            _add(self.future_pods, domain, pods - leaving)
            if others and pods > leaving:
                self.fixed.add(domain)

    def change(self, node: int, pods: int, horizon: Horizon) -> None:
        """Pods that are placed, or go (negative)."""
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
        """The fewest pods soon in any domain."""
        if not self._tally:
            self._tally.update(self.future_pods.values())
            self._tally[0] += self.domains.size - len(self.future_pods)
            self._recount(0, 0)
        return self._least

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
    """A spread: no domain gets more than `skew` ahead. `own` is 1 where the pod counts itself."""

    pod_count: ConstraintCount
    skew: int
    domains: int
    own: int

    def allows(self, node: int) -> bool:
        # Pods that terminate do not count (kubernetes/kubernetes 87621): what will be soon does.
        domain = self.pod_count.of[node]
        least = 0 if self.pod_count.domains.size < self.domains else self.pod_count.least
        return (
            domain >= 0
            and self.pod_count.future_pods.get(domain, 0) + self.own - least <= self.skew
        )


class AffinityConstraint(NamedTuple):
    """Pod affinity, a count per term. `may_be_first`: of those that it looks for."""

    counts: tuple[ConstraintCount, ...]
    may_be_first: bool

    def has_no_match(self, horizon: Horizon) -> bool:
        """Whether none of the pods it looks for exists, and it need not wait for them."""
        return self.may_be_first and not any(
            count.future_pods or (horizon is IDLE and count.pods) for count in self.counts
        )

    def allows(self, node: int, horizon: Horizon) -> bool:
        """Whether it may come: next to pods that stay (pods that leave attract none)."""
        if any(count.of[node] < 0 for count in self.counts):
            return False
        soon = self._meets(node, [count.future_pods for count in self.counts])
        return soon and (
            horizon is not IDLE or self._meets(node, [count.pods for count in self.counts])
        )

    def _meets(self, node: int, pods: Sequence[dict[int, int]]) -> bool:
        """Whether all that it looks for are there, or none anywhere and it may be the first."""
        if all(count.of[node] in found for count, found in zip(self.counts, pods, strict=True)):
            return True
        return self.may_be_first and not any(pods)


@dataclass(slots=True)
class ConstraintState:
    """The rules of one shape: it keeps out of the domains of `anti_affinity`.

    `carried` are the counts in which its own pods count, those of other shapes' rules among them.
    """

    anti_affinity: Sequence[ConstraintCount] = ()
    affinity: AffinityConstraint | None = None
    spread: Sequence[SpreadConstraint] = ()
    carried: Sequence[ConstraintCount] = field(default_factory=tuple)

    @property
    def counts(self) -> frozenset[ConstraintCount]:
        """What decides where its pods may be."""
        near = self.affinity.counts if self.affinity else ()
        return frozenset(
            (
                *self.anti_affinity,
                *near,
                *(spread.pod_count for spread in self.spread),
            )
        )

    @property
    def follows_others(self) -> bool:
        """Whether others must be placed before it: it may not be the first."""
        return self.affinity is not None and not self.affinity.may_be_first

    @property
    def eased(self) -> int:
        """As long as it is the same, what is forbidden stays so."""
        found = 0
        for count in self.anti_affinity:
            found += count.eased
        for spread in self.spread:
            found += spread.pod_count.eased
        for count in self.affinity.counts if self.affinity else ():
            found += count.eased + count.joined
        return found

    def split_by_domains(self, few: int) -> tuple["ConstraintState", "ConstraintState"]:
        """Those of its rules over at most `few` domains, and the others."""

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
        """Whether one more pod may come to this node."""
        if self.anti_affinity and self.clashes(node, horizon):
            return False
        for spread in self.spread:  # asked for each node: all() costs as much as its answer
            if not spread.allows(node):
                return False
        return self.affinity is None or self.affinity.allows(node, horizon)

    def clashes(self, node: int, horizon: Horizon) -> bool:
        """Whether a pod is there that it must stay away from."""
        for count in self.anti_affinity:
            domain = count.of[node]
            if domain >= 0 and (
                domain in count.future_pods or (horizon is IDLE and domain in count.pods)
            ):
                return True
        return False

    def is_repelled_by(self, node: int, taken: Mapping[ConstraintCount, AbstractSet[int]]) -> bool:
        """Whether pods in these domains, by the counts in which they count, are in its way."""
        return any(count.of[node] in taken.get(count, ()) for count in self.anti_affinity)

    def change(self, node: int, pods: int, horizon: Horizon) -> None:
        for count in self.carried:
            count.change(node, pods, horizon)

    def pods_per_node(self, pods: Ints) -> Ints:
        """At most how many of these pods per node the rules allow; int64[nodes].

        Only what stands against it for good: others' pods, and its own beside each other.
        """
        for count in self.anti_affinity:
            nodes = count.domains.of_nodes
            pods = np.where(np.isin(nodes, list(count.fixed)), 0, pods)
            if count in self.carried:
                pods = np.where(nodes < 0, pods, _one_each(pods, nodes))
        return pods


def _one_each(pods: Ints, domains: Ints) -> Ints:
    """At most one pod a domain, on the node of it that has most room."""
    order = np.argsort(-pods, kind="stable")
    _, first = np.unique(domains[order], return_index=True)
    best = order[first]
    found = np.zeros_like(pods)
    found[best] = np.minimum(pods[best], 1)
    return found
