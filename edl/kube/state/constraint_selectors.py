"""The selectors of all constraints that pods and training jobs have."""

from collections.abc import Iterable, Iterator
from itertools import chain

from edl.kube.cluster import Delta
from edl.kube.decode.object_facts import PodFacts
from edl.kube.tally import Tally
from edl.model import Demand, OwnedSelector, PodConstraints, Selectors, TrainingJob


class ConstraintSelectors:
    """Selectors of training jobs, of demands, and of all pods with required anti-affinity."""

    def __init__(self) -> None:
        self._jobs = Tally[OwnedSelector]()
        """How many constraints of each namespace have each selector."""
        self._pods = Tally[OwnedSelector]()
        self._jobs_repel = Tally[OwnedSelector]()
        """Those of training jobs that anti-affinity has; pods count with no others."""
        self._constrained_roles = 0
        self._demands: tuple[Demand, ...] = ()
        self._constrained_demands: list[PodConstraints] = []
        self._of_demands = self._demands_repel = frozenset[OwnedSelector]()
        self._all = _SelectorIndex()
        self._repelling = _SelectorIndex()

    @property
    def selectors(self) -> Selectors:
        return self._all.index

    @property
    def repelling(self) -> Selectors:
        """Those of anti-affinity, which pods without rules must obey, too."""
        return self._repelling.index

    @property
    def count_other_pods(self) -> bool:
        """Whether a role or a demand has constraints, which count other owners' pods."""
        return bool(self._constrained_roles or self._constrained_demands)

    def count_pod(self, pod: PodFacts, sign: int) -> None:
        """Adds the selectors of a pod that holds room, or subtracts them if `sign` is -1."""
        rules = pod.shape.constraints
        for owned in _repelling(rules) if rules and not pod.provisional else ():
            self._pods.add(owned, sign)

    def apply_job(self, change: Delta[TrainingJob]) -> None:
        for job, sign in change.signed():
            for constraints in constraints_of((job,)):
                self._constrained_roles += sign
                for owned in constraints.owned_selectors:
                    self._jobs.add(owned, sign)
                for owned in _repelling(constraints):
                    self._jobs_repel.add(owned, sign)

    def renew(self, demands: tuple[Demand, ...]) -> bool:
        """Makes `selectors` of all that was added; returns whether they have changed."""
        if demands is not self._demands:
            self.set_demands(demands)
        pods = frozenset(self._pods)
        self._repelling.renew(self._demands_repel.union(self._jobs_repel), pods)
        return self._all.renew(self._of_demands.union(self._jobs), pods)

    def set_demands(self, demands: tuple[Demand, ...]) -> None:
        """Sets the demands, of which `renew` reads the selectors."""
        self._demands = demands
        constrained = [demand.shape.constraints for demand in demands if demand.shape.constraints]
        self._constrained_demands = constrained
        owned = chain.from_iterable(one.owned_selectors for one in constrained)
        self._of_demands = frozenset(owned)
        self._demands_repel = frozenset(chain.from_iterable(map(_repelling, constrained)))


class _SelectorIndex:
    """An index that is made anew only if it would differ."""

    def __init__(self) -> None:
        self.index = Selectors(())
        self._planned = self._distinct = frozenset[OwnedSelector]()

    def renew(self, planned: frozenset[OwnedSelector], pods: frozenset[OwnedSelector]) -> bool:
        """Make it of these selectors; returns whether it has changed."""
        distinct = planned | pods
        same = distinct == self._distinct
        if same and not (self.index.crowded and planned != self._planned):
            return False
        self._planned, self._distinct = planned, distinct
        self.index = Selectors(planned, pods)
        return True


def _repelling(rules: PodConstraints) -> Iterator[OwnedSelector]:
    return (OwnedSelector(rules.namespace, term.selector) for term in rules.anti_affinity)


def constraints_of(jobs: Iterable[TrainingJob]) -> Iterator[PodConstraints]:
    for job in jobs:
        for role in job.roles:
            if rules := role.template.shape.constraints:
                yield rules
