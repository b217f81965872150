"""Whether a gang fits a cluster without training jobs; if not, no job waits behind it."""

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from msgspec.structs import replace

from edl.model import ClusterState, Node, TrainingJob
from edl.planner.passes.admission.gang import Gang, gang_to_start
from edl.planner.passes.admission.topology_placement import fits_empty_cluster, place_gang
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.take_snapshot import take_snapshot
from edl.quantities import Resources

if TYPE_CHECKING:
    from edl.model import Shape


@dataclass(slots=True)
class EmptyCluster:
    """The cluster of a plan as if no training job ran; gangs are placed in it one by one."""

    snapshot: Snapshot
    _fits: dict[Hashable, bool] = field(default_factory=dict)
    _without_jobs: Snapshot | None = None

    def fits(self, found: Gang) -> bool:
        """Whether the gang could start if no training job ran.

        By capacity; a gang with placement constraints is also placed in a snapshot of such a
        cluster, because constraints cannot be decided by sums.
        """
        if found.signature not in self._fits:
            self._fits[found.signature] = self._could_start(found)
        return self._fits[found.signature]

    def _could_start(self, found: Gang) -> bool:
        if not fits_empty_cluster(self.snapshot, found):
            return False
        binds = any(request.pod_class.constraints for request in found.requests)
        # That snapshot lacks the GPU shares that would be free, and training pods to be near.
        if not binds or self.snapshot.capacity.gpu_shares or _follows_ours(self.snapshot, found):
            return True
        if self._without_jobs is None:
            state, limits = _without_ours(self.snapshot.state), self.snapshot.limits
            self._without_jobs = take_snapshot(state, self.snapshot.policy, limits)
        there = self._without_jobs
        placed = place_gang(there, gang_to_start(there, _suspended(found.job)))
        if placed is None:
            return False
        for request, nodes in zip(placed[0].requests, placed[1], strict=True):
            for node in nodes:
                request.pod_class.idle.release(node)
        return True


def _follows_ours(snapshot: Snapshot, found: Gang) -> bool:
    """Whether it has pod affinity to pods of another training job."""
    rules = filter(None, (request.pod_class.shape.constraints for request in found.requests))
    terms = [term for one in rules for term in one.affinity]
    others = (job for job in snapshot.state.jobs if terms and job.key != found.job.key)
    return any(
        term.selector.matches(job.key.namespace, dict(role.template.labels))
        for job in others
        for role in job.roles
        for term in terms
    )


def _without_ours(state: ClusterState) -> ClusterState:
    """The cluster without pods that terminate; jobs with placement constraints are suspended."""
    held = _held(state)
    nodes = tuple(_kept_by_others(node, held.get(node.name, Resources())) for node in state.nodes)
    foreign = tuple(
        replace(one, pods=one.pods - one.terminating, terminating=0) for one in state.foreign_pods
    )
    jobs = tuple(_suspended(job) for job in state.jobs if _is_bound(job))
    return replace(state, nodes=nodes, jobs=jobs, demands=(), foreign_pods=foreign)


def _is_bound(job: TrainingJob) -> bool:
    return any(role.template.shape.constraints for role in job.roles)


def _suspended(job: TrainingJob) -> TrainingJob:
    return replace(job, roles=tuple(role.changed(suspended=True, pods=()) for role in job.roles))


def _kept_by_others(node: Node, ours: Resources) -> Node:
    return replace(node, used=node.used - node.releasing - ours, releasing=Resources())


def _held(state: ClusterState) -> dict[str, Resources]:
    """What active pods of training jobs request, by node name."""
    pods: Counter[tuple[str, Shape]] = Counter(
        (pod.node, role.template.shape)
        for job in state.jobs
        for role in job.roles
        for pod in role.status.pods
        if pod.node and pod.active
    )
    found: dict[str, Resources] = {}
    for (name, shape), count in pods.items():
        found[name] = found.get(name, Resources()) + shape.requests * count
    return found
