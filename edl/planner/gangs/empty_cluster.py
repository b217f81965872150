"""Whether a gang fits a cluster without training jobs, or without the pods of its own job.

If it does not fit the first, no job waits behind it; if not the second, its job is not restarted.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from msgspec.structs import replace

from edl.model import TrainingJob
from edl.planner.gangs.gang import Gang, gang_to_start
from edl.planner.gangs.topology_placement import fits_empty_cluster, place_gang
from edl.planner.packing.node_capacity import NO_NODE
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.role_allocation import RoleAllocation
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
    selectors = [term.selector for constraints in rules for term in constraints.affinity]
    return any(
        role.job != gang.job.key
        for selector in selectors
        for role in snapshot.role_labels.selected([selector])
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
    _empty(emptied, snapshot)
    return emptied


def _empty(there: Snapshot, snapshot: Snapshot) -> None:
    """Let nodes have the capacity that they have without training jobs in the other snapshot."""
    rows = [snapshot.capacity.resources.index(name) for name in there.capacity.resources]
    for room in (there.capacity.idle, there.capacity.future_idle):
        room[:] = snapshot.capacity_without_training_jobs[rows]


def _suspended(job: TrainingJob, sizes: Mapping[str, int] = MappingProxyType({})) -> TrainingJob:
    """The job without pods; `sizes`: other sizes than its roles have now."""
    stopped: dict[str, Any] = {"suspended": True, "pods": (), "previous_pods": ()}
    roles = (
        role.changed(**stopped, size=sizes.get(role.name, role.status.size)) for role in job.roles
    )
    return replace(job, roles=tuple(roles))


def may_start_again(snapshot: Snapshot, roles: Sequence[RoleAllocation]) -> bool:
    """Whether rules between pods let the started roles of a job start anew at their planned sizes.

    Its pods that run may break rules that a new pod has to meet: a node has joined as another
    domain of a topology spread, or the pods that it is to be near run elsewhere. Beside the pods of
    others that run now; with all that training jobs use if it grows, as other jobs yield for a
    raised minimum.
    """
    job, sizes = roles[0].job, {role.role.name: role.planned_size for role in roles}
    stopped = _suspended(job, sizes)
    jobs = (stopped if one.key == job.key else one for one in snapshot.state.jobs)
    state = replace(snapshot.state, jobs=tuple(jobs), demands=())
    there = take_snapshot(state, snapshot.policy, snapshot.limits)
    if any(role.planned_size > role.role.status.size for role in roles):
        _empty(there, snapshot)
    else:
        for role in job.roles:
            pods = (pod.node for pod in role.status.pods if pod.node and not pod.ended)
            nodes = [there.capacity.index.get(node, NO_NODE) for node in pods]
            for room in (there.capacity.idle, there.capacity.future_idle):
                there.pod_class(role.template.shape).release_in(room, nodes)
    return place_gang(there, gang_to_start(there, stopped, returns=True)) is not None
