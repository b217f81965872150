"""The board before anything is decided: what the state says of nodes and jobs."""

from edl import phases
from edl.contract import CleanUp
from edl.feasibility.eligibility import Eligibility
from edl.feasibility.gpu_shares import gpu_shares_of
from edl.feasibility.topology_state import topology_state_of
from edl.model import ClusterState, TrainingJob
from edl.planner.limits import Limits
from edl.planner.packing.node_capacity import NodeCapacity
from edl.planner.policies import Policy
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.existing_placements import release_role
from edl.planner.snapshot.growth_gates import started_role
from edl.planner.snapshot.role_allocation import ROLES_PER_JOB, RoleAllocation, manual_size


def take_snapshot(state: ClusterState, policy: Policy, limits: Limits) -> Snapshot:
    """Read the state, independent of its order."""
    nodes = sorted(state.nodes, key=lambda node: node.name)
    eligibility = Eligibility(nodes)
    grid = NodeCapacity(nodes, _asked(state), topology_state_of(state, nodes, eligibility))
    grid.devices = gpu_shares_of(nodes, (role for job in state.jobs for role in job.roles))
    board = Snapshot(state, policy, limits, grid, eligibility)
    for place, job in enumerate(board.everyone):
        _stand(board, job, place)
    for job in board.everyone:
        # Its own pods come in their place, and they go.
        if job.provisioning.pods and not job.suspended:
            board.free_provisional(job.provisioning.held)
    board.finishing = any(one.finishing for one in board.standings)
    board.free_surplus()
    return board


def _stand(board: Snapshot, job: TrainingJob, place: int) -> None:
    """The started roles of a job; what is left of the others."""
    over = phases.ending(job) is not None
    stays_on = job.clean_up is CleanUp.NONE
    standings = []
    for number, role in enumerate(job.roles):
        if role.ending is not None or role.suspended or (over and not stays_on):
            release_role(role, board.grid.rows, board.rows_of(role.shape))
            board.budgets.count_pods(job, role, leaving=True)
        elif over:
            board.budgets.count_pods(job, role, leaving=False)
        else:
            standings.append(started_role(board, job, role, place * ROLES_PER_JOB + number))
    if job.live and not over:
        board.jobs.append(job)
    board.standings += standings
    if job.paused or not all(map(_is_whole, standings)):
        board.restless += standings


def _is_whole(standing: RoleAllocation) -> bool:
    """Whether neither its size nor what happened to its pods asks for anything."""
    job, role = standing.job, standing.role
    if standing.unbound:
        return False
    wanted = manual_size(role)
    most = role.max if wanted is None else wanted
    torn = role.lost or job.began_again or any(other.suspended for other in job.live)
    return role.size <= most and not torn


def _asked(state: ClusterState) -> set[str]:
    """The resources that any pod asks for."""
    # By identity: most pods of one shape share the value, and to hash one costs far more.
    shapes = {id(role.shape): role.shape for job in state.jobs for role in job.roles}
    shapes |= {id(demand.shape): demand.shape for demand in state.demands}
    return {name for shape in shapes.values() for name, _ in shape.requests}
