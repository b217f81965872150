"""Constraints of pods and training jobs, and which of them select each other."""

from collections.abc import Callable, Iterable, Sequence

from msgspec.structs import replace

from edl.kube.cache.sorted_map import SortedMap
from edl.kube.cluster import Delta, ObjectKey
from edl.kube.decode.object_facts import PodFacts
from edl.kube.state.constraint_selectors import ConstraintSelectors, constraints_of
from edl.kube.state.foreign_pods import ForeignPodIndex
from edl.model import Demand, ForeignPods, JobKey, PodConstraints, Role, Selectors, TrainingJob


class AffinityIndex:
    """Constraints of pods and training jobs, and which of them select each other.

    Without constraints of training jobs only pods with anti-affinity are inspected.
    """

    def __init__(self) -> None:
        self.rules = ConstraintSelectors()
        """The selectors, in which pods that hold room are counted one by one."""
        self._jobs: SortedMap[JobKey, TrainingJob] = SortedMap()
        self._labelled: set[JobKey] = set()
        """Jobs that have labels as constraints because a selector matches them."""
        self._ours: set[str] = set()
        """The uids of training jobs' Jobs."""
        self._touched: set[str] = set()
        self._pods: list[Delta[PodFacts]] = []
        self._foreign: ForeignPodIndex | None = None
        """None while no constraint of a training job counts other owners' pods."""

    def apply_pod(self, change: Delta[PodFacts]) -> None:
        if self._foreign:
            self._pods.append(change)

    def apply_jobs(
        self,
        changes: Sequence[Delta[TrainingJob]],
        jobs: Callable[[], tuple[TrainingJob, ...]],
        demands: tuple[Demand, ...],
    ) -> None:
        """Apply changes of jobs, and match all of them again if the selectors have changed.

        `jobs`: all of them, if needed. `demands` have selectors, too.
        """
        for change in changes:
            self._count(change)
        self._ours.update(role.uid for one in changes if one.after for role in one.after.roles)
        if self.rules.renew(demands):
            self._foreign = None
            changes = [*changes, *(Delta(ObjectKey(*job.key), None, job) for job in jobs())]
        for key, _, job in changes:
            self._label(JobKey(*key), job)

    def jobs(self) -> tuple[TrainingJob, ...]:
        """All jobs, with constraints (labels) on the shapes that selectors match."""
        return self._jobs.values()

    def _count(self, change: Delta[TrainingJob]) -> None:
        self.rules.apply_job(change)
        for job, sign in change.signed():
            uids = [role.uid for role in job.roles]
            self._touched.update(uids)
            if sign < 0:
                self._ours.difference_update(uids)

    def _label(self, key: JobKey, job: TrainingJob | None) -> None:
        after = job and _with_labels(job, self.rules.selectors) if self.rules.selectors else job
        if after is job:
            self._labelled.discard(key)
        else:
            self._labelled.add(key)
        self._jobs.put(key, after)

    def foreign_pods(
        self,
        pods: Callable[[], Iterable[Delta[PodFacts]]],
        owned: Callable[[str], Iterable[PodFacts]],
    ) -> tuple[ForeignPods, ...]:
        """Other owners' pods that constraints count.

        `pods`: all pods as additions, if needed; `owned`: the pods of a Job by its uid.
        """
        if not (self.rules.count_other_pods or self._labelled):
            self._foreign = None
        elif self._foreign is None:
            self._foreign = ForeignPodIndex(self.rules.selectors, self._ours)
            self._foreign.add_pods(pods())
        else:
            for change in self._pods:
                self._foreign.apply_pod(change)
            for uid in self._touched:
                self._foreign.set_owner(uid, owned(uid), ours=uid in self._ours)
        self._pods.clear()
        self._touched.clear()
        return self._foreign.values() if self._foreign else ()


def met_by_each_other(jobs: tuple[TrainingJob, ...]) -> tuple[TrainingJob, ...]:
    """The jobs, with constraints (labels) on the shapes that any job's selectors match."""
    rules = dict.fromkeys(constraints_of(jobs))
    asked = Selectors(owned for constraints in rules for owned in constraints.owned_selectors)
    return tuple(_with_labels(job, asked) for job in jobs) if asked else jobs


def _with_labels(job: TrainingJob, asked: Selectors) -> TrainingJob:
    """The job, with labels in the shapes of roles that a selector matches."""
    roles = tuple(_labelled(job.key.namespace, role, asked) for role in job.roles)
    same = all(new is old for new, old in zip(roles, job.roles, strict=True))
    return job if same else replace(job, roles=roles)


def _labelled(namespace: str, role: Role, asked: Selectors) -> Role:
    shape, labels = role.template.shape, role.template.labels
    if shape.constraints or not asked.match(namespace, labels):
        return role
    return role.changed(shape=replace(shape, constraints=PodConstraints(namespace, labels)))
