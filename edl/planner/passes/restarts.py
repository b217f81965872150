"""Jobs that a plan stops to start them again with other sizes."""

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple

from edl.planner.packing.pod_class import PodClass
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.role_allocation import NO_NODE, RoleAllocation, by_job


class PlannedRestart(NamedTuple):
    """A job that the plan stops; all its pods leave their nodes, and later come back to the plan's.

    Until then kube-scheduler may bind other pods to these nodes.
    """

    resized: Sequence[RoleAllocation]
    """Its roles that get another size."""
    gated: Sequence[RoleAllocation]
    """All its roles whose pods come back to nodes of the plan."""

    @property
    def pods(self) -> Counter[PodClass]:
        """The pods that come back, by class."""
        pods: Counter[PodClass] = Counter()
        for allocation in self.gated:
            pods[allocation.pod_class] += sum(
                placement.node != NO_NODE for placement in allocation.placements
            )
        return +pods

    @property
    def may_wait(self) -> bool:
        """Whether it restarts for growth alone, which nothing needs now."""
        return all(allocation.growth > 0 and not allocation.reason for allocation in self.resized)


def planned_restarts(snapshot: Snapshot) -> list[PlannedRestart]:
    """The jobs that restart by this plan, without those that `wait_together` keeps running."""
    restarts = []
    for roles in _restarting(snapshot):
        resized = _resized(roles)
        starts = any(role.starts for role in roles)
        waits = _any_waits(roles) and all(map(_may_wait, resized))
        if resized and not (starts or waits):
            key = roles[0].job.key
            gated = [
                allocation
                for allocation in snapshot.allocations
                if allocation.job.key == key and allocation.role.template.gated
            ]
            restarts.append(PlannedRestart(resized, gated))
    return restarts


def wait_together(snapshot: Snapshot) -> None:
    """Let all roles of a restarting job wait while one of them does: each restart is of all.

    None waits if the job restarts anyway, for a minimum or to scale down, or if one of them has
    waited for long enough: otherwise they might keep each other waiting in turn.
    """
    for roles in _restarting(snapshot):
        if _any_waits(roles):
            _wait_or_restart(roles)


def _restarting(snapshot: Snapshot) -> list[list[RoleAllocation]]:
    """By job, the changed roles that restart to resize."""
    return by_job(
        allocation
        for allocation in snapshot.allocations
        if allocation.changed and allocation.restarts_to_resize
    )


def _any_waits(roles: Sequence[RoleAllocation]) -> bool:
    return any(role.awaits_all_growth for role in roles)


def _resized(roles: Sequence[RoleAllocation]) -> list[RoleAllocation]:
    return [role for role in roles if role.planned_size != role.role.status.size]


def _wait_or_restart(roles: Sequence[RoleAllocation]) -> None:
    """Let the roles of one job keep their sizes for now, or take what they have got so far."""
    resized = _resized(roles)
    if all(map(_may_wait, resized)):
        for allocation in resized:
            allocation.defer(allocation.growth)
    else:
        for allocation in roles:
            allocation.hold.patience = timedelta()


def _may_wait(allocation: RoleAllocation) -> bool:
    """Whether a role that this plan resizes may keep its size instead."""
    size = allocation.role.status.size
    grows = allocation.role.spec.min <= size < allocation.planned_size
    return grows and allocation.hold.patience > timedelta()
