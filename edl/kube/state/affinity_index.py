"""Other owners' pods that constraints of training jobs count, and jobs that constraints select.

Fast path: without anti-affinity rules, only pods that define one are inspected.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import TypeAlias

from msgspec.structs import replace

from edl.kube.cluster import Delta
from edl.kube.decode.object_facts import PodFacts
from edl.model import (
    ClusterState,
    ForeignPods,
    JobKey,
    PodConstraints,
    Role,
    Selectors,
    TrainingJob,
)

_Alike: TypeAlias = tuple[str, int, int]
"""A pod's namespace, and the identities of its labels and shape, which pods of a template share."""


@dataclass(slots=True)
class AntiAffinityIndex:
    """Constraints of all pods with required anti-affinity, updated pod by pod."""

    _pods: Counter[PodConstraints] = field(default_factory=Counter)
    _rules: frozenset[PodConstraints] | None = frozenset()

    def pod(self, change: Delta[PodFacts]) -> None:
        for pod, sign in change.signed():
            rules = pod.shape.constraints
            if rules and rules.anti_affinity and pod.holds_room and not pod.provisional:
                self._add(rules, sign)

    def _add(self, rules: PodConstraints, sign: int) -> None:
        known = rules in self._pods
        self._pods[rules] += sign
        if not self._pods[rules]:
            del self._pods[rules]
        if known != (rules in self._pods):
            self._rules = None

    @property
    def rules(self) -> frozenset[PodConstraints]:
        """The distinct constraints; the same object until one is added or removed."""
        if self._rules is None:
            self._rules = frozenset(self._pods)
        return self._rules


@dataclass(slots=True)
class AffinityCache:
    """The last selectors, and the last result per job: unchanged jobs stay the same objects."""

    repelling: frozenset[PodConstraints] = frozenset()
    own: list[PodConstraints] = field(default_factory=list)
    asked: Selectors = field(default_factory=lambda: Selectors(()))
    _jobs: dict[JobKey, tuple[TrainingJob, TrainingJob]] = field(default_factory=dict)
    _changed: bool = False
    """The selectors have changed, so every job must be matched anew."""

    def use(self, repelling: frozenset[PodConstraints], own: list[PodConstraints]) -> None:
        """Use the selectors of these constraints from now on."""
        if (repelling, own) != (self.repelling, self.own):
            others = (term.selector for rules in repelling for term in rules.anti_affinity)
            mine = (found for rules in own for found in rules.selectors)
            self.repelling, self.own = repelling, own
            self.asked = Selectors(chain(others, mine))
            self._changed = True

    def jobs(self, jobs: tuple[TrainingJob, ...]) -> tuple[TrainingJob, ...]:
        """The jobs, with constraints (labels) on the shapes that the selectors match."""
        if not self.asked:
            self._jobs = {}
            return jobs
        known, self._jobs = self._jobs, {}
        for job in jobs:
            last = known.get(job.key)
            if last and last[0] is job and not self._changed:
                new = last[1]
            else:
                new = _with_labels(job, self.asked)
                new = last[1] if last and last[1] == new else new
            self._jobs[job.key] = (job, new)
        self._changed = False
        return tuple(new for _, new in self._jobs.values())


def met_by_each_other(jobs: tuple[TrainingJob, ...]) -> tuple[TrainingJob, ...]:
    """The jobs, with constraints (labels) on the shapes that any job's selectors match."""
    rules = dict.fromkeys(_constraints(jobs))
    asked = Selectors(found for one in rules for found in one.selectors)
    return tuple(_with_labels(job, asked) for job in jobs) if asked else jobs


def with_affinity(
    state: ClusterState,
    repelling: AntiAffinityIndex,
    pods: Callable[[], Iterable[PodFacts]],
    known: AffinityCache,
) -> ClusterState:
    """The state with its `foreign_pods`, and with constraints on shapes that selectors match.

    `known` is updated.
    """
    own = list(_constraints(state.jobs))
    own += [demand.shape.constraints for demand in state.demands if demand.shape.constraints]
    known.use(repelling.rules, own)
    jobs, asked = known.jobs(state.jobs), known.asked
    if not own and all(new is old for new, old in zip(jobs, state.jobs, strict=True)):
        return state
    ours = {role.uid for job in jobs for role in job.roles}
    foreign = (pod for pod in pods() if pod.holds_room and pod.job not in ours)
    return replace(state, jobs=jobs, foreign_pods=_neighbours(foreign, asked))


def _constraints(jobs: Iterable[TrainingJob]) -> Iterator[PodConstraints]:
    for job in jobs:
        for role in job.roles:
            if rules := role.template.shape.constraints:
                yield rules


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


def _neighbours(pods: Iterable[PodFacts], asked: Selectors) -> tuple[ForeignPods, ...]:
    alike: dict[_Alike, PodConstraints | None] = {}
    there: Counter[tuple[str, PodConstraints]] = Counter()
    leaving: Counter[tuple[str, PodConstraints]] = Counter()
    for pod in pods:
        key = (pod.namespace, id(pod.labels), id(pod.shape))
        if key not in alike:
            alike[key] = _counted(pod, asked)
        rules = alike[key]
        if rules is not None:
            there[pod.node, rules] += 1
            leaving[pod.node, rules] += pod.leaving
    found = (
        ForeignPods(node, rules, pods, leaving[node, rules])
        for (node, rules), pods in there.items()
    )
    return tuple(sorted(found, key=lambda one: (one.node, repr(one.constraints))))


def _counted(pod: PodFacts, asked: Selectors) -> PodConstraints | None:
    """The part of a pod that constraints can count; None if none counts it."""
    own = pod.shape.constraints
    if own and (own.anti_affinity or own.ports):
        return PodConstraints(
            pod.namespace, pod.labels, anti_affinity=own.anti_affinity, ports=own.ports
        )
    seen = next(asked.matching(pod.namespace, pod.labels), None) is not None
    return PodConstraints(pod.namespace, pod.labels) if seen else None
