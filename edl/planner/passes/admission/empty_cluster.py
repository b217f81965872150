"""Whether a gang fits a cluster without training jobs; if not, no job waits behind it."""

from collections import Counter
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


def fits_without_training_jobs(snapshot: Snapshot, found: Gang) -> bool:
    """Whether the gang could start if no training job ran.

    By capacity; a gang with placement constraints is also placed in a snapshot of such a cluster,
    because constraints cannot be decided by sums.
    """
    if not fits_empty_cluster(snapshot, found):
        return False
    binds = any(request.pod_class.constraints for request in found.requests)
    # That snapshot lacks the GPU shares that would be free, and training pods to be near.
    if not binds or snapshot.capacity.gpu_shares or _follows_ours(snapshot, found):
        return True
    there = take_snapshot(
        _without_ours(snapshot.state, found.job), snapshot.policy, snapshot.limits
    )
    return place_gang(there, gang_to_start(there, there.jobs[0])) is not None


def _follows_ours(snapshot: Snapshot, found: Gang) -> bool:
    """Whether it has pod affinity to pods of another training job."""
    rules = filter(None, (request.pod_class.shape.constraints for request in found.requests))
    terms = [term for one in rules for term in one.affinity]
    others = (job for job in snapshot.state.jobs if job.key != found.job.key)
    return any(
        term.selector.matches(job.key.namespace, dict(role.template.labels))
        for job in others
        for role in job.roles
        for term in terms
    )


def _without_ours(state: ClusterState, job: TrainingJob) -> ClusterState:
    """The cluster with only this training job, suspended, and without pods that terminate."""
    roles = tuple(role.changed(suspended=True, pods=()) for role in job.roles)
    held = _held(state)
    nodes = tuple(_kept_by_others(node, held.get(node.name, Resources())) for node in state.nodes)
    foreign = tuple(
        replace(one, pods=one.pods - one.terminating, terminating=0) for one in state.foreign_pods
    )
    jobs = (replace(job, roles=roles),)
    return replace(state, nodes=nodes, jobs=jobs, demands=(), foreign_pods=foreign)


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
