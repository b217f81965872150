"""Whether a gang fits a cluster without training jobs; if not, no job waits behind it."""

from collections.abc import Hashable
from dataclasses import dataclass, field

from msgspec.structs import replace

from edl.model import TrainingJob
from edl.planner.gangs.gang import Gang, gang_to_start
from edl.planner.gangs.topology_placement import fits_empty_cluster, place_gang
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.take_snapshot import take_snapshot


@dataclass(slots=True)
class EmptyCluster:
    """The cluster of a plan as if no training job ran; gangs are placed in it one by one."""

    snapshot: Snapshot
    _fits: dict[Hashable, bool] = field(default_factory=dict)
    _has_capacity: dict[Hashable, bool] = field(default_factory=dict)
    _without_jobs: Snapshot | None = None

    def fits(self, gang: Gang) -> bool:
        """Whether the gang could start if no training job ran.

        By capacity; a gang with placement constraints is also placed in a snapshot of such a
        cluster, because constraints cannot be decided by sums.
        """
        if gang.signature not in self._fits:
            self._fits[gang.signature] = self._could_start(gang)
        return self._fits[gang.signature]

    def has_capacity_for(self, gang: Gang) -> bool:
        """Whether the gang would fit by capacity alone."""
        answers, signature = self._has_capacity, gang.signature
        if signature not in answers:
            answers[signature] = fits_empty_cluster(self.snapshot, gang)
        return answers[signature]

    def _could_start(self, gang: Gang) -> bool:
        if not self.has_capacity_for(gang):
            return False
        binds = any(request.pod_class.constraints for request in gang.requests)
        # That snapshot lacks the GPU shares that would be free, and training pods to be near.
        if not binds or self.snapshot.capacity.gpu_shares or _follows_ours(self.snapshot, gang):
            return True
        self._without_jobs = there = self._without_jobs or _without_ours(self.snapshot)
        placed = place_gang(there, gang_to_start(there, _suspended(gang.job)))
        if placed is None:
            return False
        for request, nodes in zip(placed[0].requests, placed[1], strict=True):
            for node in nodes:
                request.pod_class.idle.release(node)
        return True


def _follows_ours(snapshot: Snapshot, gang: Gang) -> bool:
    """Whether it has pod affinity to pods of another training job."""
    rules = filter(None, (request.pod_class.shape.constraints for request in gang.requests))
    terms = [term for constraints in rules for term in constraints.affinity]
    others = (job for job in snapshot.state.jobs if terms and job.key != gang.job.key)
    return any(
        term.selector.matches(job.key.namespace, dict(role.template.labels))
        for job in others
        for role in job.roles
        for term in terms
    )


def _without_ours(snapshot: Snapshot) -> Snapshot:
    """The cluster without pods of training jobs, and without pods that terminate.

    It has only the jobs with placement constraints, which are suspended.
    """
    state = snapshot.state
    foreign = tuple(
        replace(group, pods=group.pods - group.terminating, terminating=0)
        for group in state.foreign_pods
    )
    bound = (
        job for job in state.jobs if any(role.template.shape.constraints for role in job.roles)
    )
    state = replace(state, jobs=tuple(map(_suspended, bound)), demands=(), foreign_pods=foreign)
    emptied = take_snapshot(state, snapshot.policy, snapshot.limits)
    rows = [snapshot.capacity.resources.index(name) for name in emptied.capacity.resources]
    for room in (emptied.capacity.idle, emptied.capacity.future_idle):
        room[:] = snapshot.capacity_without_training_jobs[rows]
    return emptied


def _suspended(job: TrainingJob) -> TrainingJob:
    roles = (role.changed(suspended=True, pods=(), previous_pods=()) for role in job.roles)
    return replace(job, roles=tuple(roles))
