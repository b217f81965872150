"""Other owners' pods that constraints of training jobs count, and jobs that constraints select."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from operator import itemgetter
from typing import TypeAlias

from msgspec.structs import replace

from edl.kube.cache.sorted_map import SortedMap
from edl.kube.cluster import Delta, ObjectKey
from edl.kube.decode.object_facts import PodFacts
from edl.model import (
    Demand,
    ForeignPods,
    JobKey,
    PodConstraints,
    Role,
    Selector,
    Selectors,
    TrainingJob,
)

_Alike: TypeAlias = tuple[str, int, int]
"""A pod's namespace, and the identities of its labels and shape, which pods of a template share."""
_Group: TypeAlias = tuple[str, PodConstraints]
"""A node, and the part of its pods that constraints count."""


class SelectorCounts:
    """How many constraints have each selector."""

    def __init__(self) -> None:
        self._counts: Counter[Selector] = Counter()
        self._distinct: frozenset[Selector] | None = frozenset()

    def add(self, selector: Selector, sign: int) -> None:
        before = self._counts[selector]
        self._counts[selector] = after = before + sign
        if not after:
            del self._counts[selector]
        if not (before and after):
            self._distinct = None

    @property
    def distinct(self) -> frozenset[Selector]:
        """The distinct selectors; the same object until one is added or removed."""
        if self._distinct is None:
            self._distinct = frozenset(self._counts)
        return self._distinct


class ForeignPodIndex:
    """Other owners' pods by node and constraints that selectors match, updated pod by pod."""

    def __init__(self, selectors: Selectors, ours: Iterable[str]) -> None:
        self._selectors = selectors
        self._ours = {*ours}
        """The uids of Jobs whose pods do not count."""
        self._pods: Counter[_Group] = Counter()
        self._leaving: Counter[_Group] = Counter()
        self._stale: set[_Group] = set()
        self._made: SortedMap[tuple[str, str], ForeignPods] = SortedMap()

    def pods(self, additions: Iterable[Delta[PodFacts]]) -> None:
        """Adds many pods; those of one template are matched once."""
        alike: dict[_Alike, PodConstraints | None] = {}
        for _, _, pod in additions:
            if pod and pod.holds_room and pod.job not in self._ours:
                key = (pod.namespace, id(pod.labels), id(pod.shape))
                if key not in alike:
                    alike[key] = _counted(pod, self._selectors)
                self._add(pod, alike[key], 1)

    def pod(self, change: Delta[PodFacts]) -> None:
        for pod, sign in change.signed():
            if pod.holds_room and pod.job not in self._ours:
                self._add(pod, _counted(pod, self._selectors), sign)

    def owner(self, uid: str, pods: Iterable[PodFacts], *, ours: bool) -> None:
        """Sets whether a Job with these pods is ours."""
        if ours != (uid in self._ours):
            (self._ours.add if ours else self._ours.discard)(uid)
            for pod in pods:
                if pod.holds_room:
                    self._add(pod, _counted(pod, self._selectors), -1 if ours else 1)

    def _add(self, pod: PodFacts, constraints: PodConstraints | None, sign: int) -> None:
        if constraints is not None:
            group = (pod.node, constraints)
            self._pods[group] += sign
            self._leaving[group] += sign * pod.leaving
            self._stale.add(group)

    def values(self) -> tuple[ForeignPods, ...]:
        for (node, constraints), key in sorted(
            ((group, (group[0], repr(group[1]))) for group in self._stale), key=itemgetter(1)
        ):
            group = (node, constraints)
            if count := self._pods[group]:
                self._made.put(key, ForeignPods(node, constraints, count, self._leaving[group]))
            else:
                self._made.put(key, None)
                del self._pods[group], self._leaving[group]
        self._stale.clear()
        return self._made.values()


class AffinityIndex:
    """Constraints of pods and training jobs, and which of them select each other.

    Without constraints of training jobs only pods with anti-affinity are inspected.
    """

    def __init__(self) -> None:
        self._counts = SelectorCounts()
        """Selectors of training jobs, and of all pods with required anti-affinity."""
        self._constrained = 0
        """How many roles and demands have constraints."""
        self._demands: tuple[Demand, ...] = ()
        self._distinct = self._of_demands = frozenset[Selector]()
        self._selectors = Selectors(())
        self._jobs: SortedMap[JobKey, TrainingJob] = SortedMap()
        self._labelled: set[JobKey] = set()
        """Jobs that have labels as constraints because a selector matches them."""
        self._ours: set[str] = set()
        """The uids of training jobs' Jobs."""
        self._touched: set[str] = set()
        self._pods: list[Delta[PodFacts]] = []
        self._foreign: ForeignPodIndex | None = None
        """None while no constraint of a training job counts other owners' pods."""

    def pod(self, change: Delta[PodFacts]) -> None:
        if self._foreign:
            self._pods.append(change)

    def constraints(self, pod: PodFacts, sign: int) -> None:
        """Adds the constraints of a pod that holds room, or subtracts them if `sign` is -1."""
        rules = pod.shape.constraints
        for term in rules.anti_affinity if rules and not pod.provisional else ():
            self._counts.add(term.selector, sign)

    def jobs(
        self,
        changes: Sequence[Delta[TrainingJob]],
        jobs: Callable[[], tuple[TrainingJob, ...]],
        demands: tuple[Demand, ...],
    ) -> tuple[TrainingJob, ...]:
        """All jobs, with constraints (labels) on the shapes that selectors match.

        `jobs`: all of them, if needed.
        """
        for change in changes:
            self._count(change)
        self._ours.update(role.uid for one in changes if one.after for role in one.after.roles)
        if self._select(demands):
            self._foreign = None
            changes = [*changes, *(Delta(ObjectKey(*job.key), None, job) for job in jobs())]
        for key, _, job in changes:
            self._label(JobKey(*key), job)
        return self._jobs.values()

    def _count(self, change: Delta[TrainingJob]) -> None:
        for job, sign in change.signed():
            for constraints in _constraints((job,)):
                self._constrained += sign
                for selector in constraints.selectors:
                    self._counts.add(selector, sign)
            self._touched.update(role.uid for role in job.roles)
            if sign < 0:
                self._ours.difference_update(role.uid for role in job.roles)

    def _label(self, key: JobKey, job: TrainingJob | None) -> None:
        found = job and _with_labels(job, self._selectors) if self._selectors else job
        (self._labelled.discard if found is job else self._labelled.add)(key)
        self._jobs.put(key, found)

    def _select(self, demands: tuple[Demand, ...]) -> bool:
        """Makes the selectors of all constraints; returns whether they have changed."""
        if demands is not self._demands:
            before, self._demands = self._demands, demands
            self._constrained += len(_constrained(demands)) - len(_constrained(before))
            own = chain.from_iterable(one.selectors for one in _constrained(demands))
            self._of_demands = frozenset(own)
        distinct = self._counts.distinct | self._of_demands
        if distinct == self._distinct:
            return False
        self._distinct, self._selectors = distinct, Selectors(distinct)
        return True

    def foreign_pods(
        self,
        pods: Callable[[], Iterable[Delta[PodFacts]]],
        owned: Callable[[str], Iterable[PodFacts]],
    ) -> tuple[ForeignPods, ...]:
        """Other owners' pods that constraints count.

        `pods`: all pods as additions, if needed; `owned`: the pods of a Job by its uid.
        """
        if not (self._constrained or self._labelled):
            self._foreign = None
        elif self._foreign is None:
            self._foreign = ForeignPodIndex(self._selectors, self._ours)
            self._foreign.pods(pods())
        else:
            for change in self._pods:
                self._foreign.pod(change)
            for uid in self._touched:
                self._foreign.owner(uid, owned(uid), ours=uid in self._ours)
        self._pods.clear()
        self._touched.clear()
        return self._foreign.values() if self._foreign else ()


def met_by_each_other(jobs: tuple[TrainingJob, ...]) -> tuple[TrainingJob, ...]:
    """The jobs, with constraints (labels) on the shapes that any job's selectors match."""
    rules = dict.fromkeys(_constraints(jobs))
    asked = Selectors(found for one in rules for found in one.selectors)
    return tuple(_with_labels(job, asked) for job in jobs) if asked else jobs


def _constraints(jobs: Iterable[TrainingJob]) -> Iterator[PodConstraints]:
    for job in jobs:
        for role in job.roles:
            if rules := role.template.shape.constraints:
                yield rules


def _constrained(demands: Iterable[Demand]) -> list[PodConstraints]:
    return [one.shape.constraints for one in demands if one.shape.constraints]


def _with_labels(job: TrainingJob, asked: Selectors) -> TrainingJob:
    """The job, with labels in the shapes of roles that a selector matches."""
    roles = tuple(_labelled(job.key.namespace, role, asked) for role in job.roles)
    same = all(new is old for new, old in zip(roles, job.roles, strict=True))
    return job if same else replace(job, roles=roles)


def _labelled(namespace: str, role: Role, asked: Selectors) -> Role:
    shape, labels = role.template.shape, role.template.labels
    if shape.constraints or next(asked.matching(namespace, labels), None) is None:
        return role
    return role.changed(shape=replace(shape, constraints=PodConstraints(namespace, labels)))


def _counted(pod: PodFacts, asked: Selectors) -> PodConstraints | None:
    """The part of a pod that constraints can count; None if none counts it."""
    own = pod.shape.constraints
    if own and (own.anti_affinity or own.ports):
        return PodConstraints(
            pod.namespace, pod.labels, anti_affinity=own.anti_affinity, ports=own.ports
        )
    seen = next(asked.matching(pod.namespace, pod.labels), None) is not None
    return PodConstraints(pod.namespace, pod.labels) if seen else None
