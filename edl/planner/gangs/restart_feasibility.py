"""Whether rules between pods let a job start again, once it has been stopped for a new size.

The pods of a job that runs may break rules that a new pod has to meet: a node has joined as another
domain of a topology spread, or the pods that it is to be near run elsewhere.
"""

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from edl.model import Role
from edl.planner.gangs.gang import gang_to_start
from edl.planner.gangs.topology_placement import place_gang
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.role_allocation import RoleAllocation
from edl.planner.snapshot.take_snapshot import take_snapshot

MOST_CHECKED: Final = 8
"""Most jobs of one plan that are looked at, as each costs a snapshot of the cluster."""


def have_rules(roles: Sequence[RoleAllocation]) -> bool:
    """Whether pods of these roles have rules between pods."""
    return any(role.pod_class.constraints for role in roles)


def may_start_again(snapshot: Snapshot, roles: Sequence[RoleAllocation]) -> bool:
    """Whether the started roles of a job could start anew at their planned sizes.

    Beside the pods of others that run now; with all that training jobs use if it grows, as other
    jobs yield for a raised minimum.
    """
    job, sizes = roles[0].job, {role.role.name: role.planned_size for role in roles}
    stopped = replace(job, roles=tuple(_stopped(role, sizes) for role in job.roles))
    jobs = (stopped if one.key == job.key else one for one in snapshot.state.jobs)
    state = replace(snapshot.state, jobs=tuple(jobs), demands=())
    there = take_snapshot(state, snapshot.policy, snapshot.limits)
    grows = any(role.planned_size > role.role.status.size for role in roles)
    rows = [snapshot.capacity.resources.index(name) for name in there.capacity.resources]
    for room in (there.capacity.idle, there.capacity.future_idle):
        if grows:
            room[:] = snapshot.capacity_without_training_jobs[rows]
            continue
        for role in job.roles:
            pods = (pod.node for pod in role.status.pods if pod.node and not pod.ended)
            nodes = [there.capacity.index[node] for node in pods if node in there.capacity.index]
            there.pod_class(role.template.shape).release_in(room, nodes)
    return place_gang(there, gang_to_start(there, stopped, returns=True)) is not None


def _stopped(role: Role, sizes: dict[str, int]) -> Role:
    size = sizes.get(role.name, role.status.size)
    return role.changed(suspended=True, size=size, pods=(), previous_pods=())
