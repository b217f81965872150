"""The selectors of all constraints that pods and training jobs have."""

from collections.abc import Iterable, Iterator
from itertools import chain

from edl.kube.cluster import Delta
from edl.kube.decode.object_facts import PodFacts
from edl.kube.tally import Tally
from edl.model import Demand, PodConstraints, Selector, Selectors, TrainingJob


class SelectorCounts:
    """How many constraints have each selector."""

    def __init__(self) -> None:
        self._counts: Tally[Selector] = Tally()
        self._distinct: frozenset[Selector] | None = frozenset()

    def add(self, selector: Selector, sign: int) -> None:
        present = selector in self._counts
        self._counts.add(selector, sign)
        if (selector in self._counts) != present:
            self._distinct = None

    @property
    def distinct(self) -> frozenset[Selector]:
        """The distinct selectors; the same object until one is added or removed."""
        if self._distinct is None:
            self._distinct = frozenset(self._counts)
        return self._distinct


class ConstraintSelectors:
    """Selectors of training jobs, of demands, and of all pods with required anti-affinity."""

    def __init__(self) -> None:
        self._counts = SelectorCounts()
        """Those of training jobs and pods."""
        self._repelling = SelectorCounts()
        """The part of them that anti-affinity has."""
        self._constrained_roles = 0
        self._demands: tuple[Demand, ...] = ()
        self._constrained_demands: list[PodConstraints] = []
        self._distinct = self._of_demands = frozenset[Selector]()
        self._repelled_by = self._demands_repel = frozenset[Selector]()
        self.selectors = Selectors(())
        self.repelling = Selectors(())
        """Those of anti-affinity, which pods without rules must obey, too."""

    @property
    def count_other_pods(self) -> bool:
        """Whether a role or a demand has constraints, which count other owners' pods."""
        return bool(self._constrained_roles or self._constrained_demands)

    def pod(self, pod: PodFacts, sign: int) -> None:
        """Adds the selectors of a pod that holds room, or subtracts them if `sign` is -1."""
        rules = pod.shape.constraints
        for term in rules.anti_affinity if rules and not pod.provisional else ():
            self._counts.add(term.selector, sign)
            self._repelling.add(term.selector, sign)

    def job(self, change: Delta[TrainingJob]) -> None:
        for job, sign in change.signed():
            for constraints in constraints_of((job,)):
                self._constrained_roles += sign
                for selector in constraints.selectors:
                    self._counts.add(selector, sign)
                for term in constraints.anti_affinity:
                    self._repelling.add(term.selector, sign)

    def renew(self, demands: tuple[Demand, ...]) -> bool:
        """Makes `selectors` of all that was added; returns whether they have changed."""
        if demands is not self._demands:
            self.demands(demands)
        repelling = self._repelling.distinct | self._demands_repel
        if repelling != self._repelled_by:
            self._repelled_by, self.repelling = repelling, Selectors(repelling)
        distinct = self._counts.distinct | self._of_demands
        if distinct == self._distinct:
            return False
        self._distinct, self.selectors = distinct, Selectors(distinct)
        return True

    def demands(self, demands: tuple[Demand, ...]) -> None:
        """Sets the demands, of which `renew` reads the selectors."""
        self._demands = demands
        constrained = [demand.shape.constraints for demand in demands if demand.shape.constraints]
        self._constrained_demands = constrained
        self._of_demands = frozenset(chain.from_iterable(one.selectors for one in constrained))
        terms = chain.from_iterable(constraints.anti_affinity for constraints in constrained)
        self._demands_repel = frozenset(term.selector for term in terms)


def constraints_of(jobs: Iterable[TrainingJob]) -> Iterator[PodConstraints]:
    for job in jobs:
        for role in job.roles:
            if rules := role.template.shape.constraints:
                yield rules
