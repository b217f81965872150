"""The snapshot at the start of a decision, built from the cluster's state."""

from edl.contract import CleanUp
from edl.feasibility.eligibility import Eligibility
from edl.feasibility.gpu_shares import gpu_shares_of
from edl.feasibility.topology_state import topology_state_of
from edl.job_state import phases
from edl.model import ClusterState, TrainingJob
from edl.planner.decision_limits import Limits
from edl.planner.packing.node_capacity import NO_NODE, NodeCapacity
from edl.planner.packing.placement import by_class
from edl.planner.policies import Policy
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.existing_placements import LeavingPods
from edl.planner.snapshot.growth_gates import hold_incomplete_gang, started_role
from edl.planner.snapshot.restarts.job_restart import set_restarts
from edl.planner.snapshot.restarts.restraints import NO_RESTRAINTS, Restraints
from edl.planner.snapshot.role_allocation import ROLES_PER_JOB, RoleAllocation
from edl.spec.allowed_sizes import most_replicas


def take_snapshot(
    state: ClusterState,
    policy: Policy,
    limits: Limits,
    restraints: Restraints = NO_RESTRAINTS,
) -> Snapshot:
    """The snapshot of a state; the order of the state's nodes and jobs does not matter."""
    nodes = sorted(state.nodes, key=lambda node: node.name)
    eligibility = Eligibility(nodes)
    capacity = NodeCapacity(nodes, _requested(state), topology_state_of(state, nodes, eligibility))
    capacity.gpu_shares = gpu_shares_of(nodes, (role for job in state.jobs for role in job.roles))
    snapshot = Snapshot(state, policy, limits, capacity, eligibility)
    _count_stuck_as_used(snapshot)
    leaving = LeavingPods(snapshot)
    started = [
        _add_job(snapshot, job, queue_rank, leaving)
        for queue_rank, job in enumerate(snapshot.all_jobs)
    ]
    for job in snapshot.all_jobs:
        # Any pod may use the capacity of provisional pods; their job claims it in its queue turn.
        snapshot.release_provisional(job.provisioning.bound)
    snapshot.any_nearly_done = any(role.hold.nearly_done for role in snapshot.allocations)
    _release_leaving(snapshot.capacity, leaving)
    set_restarts(snapshot, started, restraints)
    return snapshot


def _count_stuck_as_used(snapshot: Snapshot) -> None:
    """Count the capacity of pods that may never terminate as used, not as releasing."""
    index = snapshot.capacity.index
    for job in snapshot.all_jobs:
        for role, home in zip(job.roles, job.nodes_by_role, strict=True):
            pods = (*(() if home else role.status.pods), *role.previous_pods)
            if nodes := [index.get(pod.node, NO_NODE) for pod in pods if snapshot.is_stuck(pod)]:
                snapshot.capacity.count_as_used(snapshot.pod_class(role.template.shape), nodes)


def _release_leaving(capacity: NodeCapacity, leaving: LeavingPods) -> None:
    """Add the capacity of pods that will be deleted to the future idle capacity."""
    leaving_by_class = [
        variant
        for pod_class, placements in leaving.placements.items()
        for variant in by_class(pod_class, placements)
    ]
    for pod_class, nodes in leaving_by_class:
        pod_class.release_in(capacity.future_idle, nodes)
        capacity.changed_nodes += nodes
    capacity.sum_idle()
    for pod_class, nodes in leaving_by_class:
        pod_class.count_leaving(nodes)


def _add_job(
    snapshot: Snapshot, job: TrainingJob, queue_rank: int, leaving: LeavingPods
) -> list[RoleAllocation]:
    """Add a job's started roles to the snapshot; release and count the pods of the others."""
    ending = phases.ending(job) is not None
    stays_on = job.clean_up is CleanUp.NONE
    allocations = []
    for index, role in enumerate(job.roles):
        if role.status.ending is not None or role.status.suspended or (ending and not stays_on):
            leaving.add(job, role, role.status.pods)
            snapshot.quotas.count_pods(job, role, leaving=True)
        elif ending:
            snapshot.quotas.count_pods(job, role, leaving=False)
        else:
            rank = queue_rank * ROLES_PER_JOB + index
            allocations.append(started_role(snapshot, job, role, rank, leaving))
    hold_incomplete_gang(allocations)
    if job.live and not ending:
        snapshot.jobs.append(job)
    snapshot.allocations += allocations
    if job.paused or not all(map(_is_settled, allocations)):
        snapshot.unsettled += allocations
    return allocations


def _is_settled(allocation: RoleAllocation) -> bool:
    """Whether neither the role's size nor the state of its pods requires an action."""
    job, role = allocation.job, allocation.role
    return not (
        allocation.unscheduled
        or job.restarted_in_place
        or (role.may_have_replacements and job.has_late_pods)
        or any(other.status.suspended for other in job.live)
        or role.status.size > most_replicas(role)
    )


def _requested(state: ClusterState) -> set[str]:
    """The names of all resources that any pod requests."""
    shapes = {role.template.shape for job in state.jobs for role in job.roles}
    shapes.update(demand.shape for demand in state.demands)
    return {name for shape in shapes for name, _ in (*shape.requests, *shape.implied)}
