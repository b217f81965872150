"""The reasons of the planner's decisions, and what a plan reads off the last one."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from msgspec.structs import replace

from edl.model import Budget, Demand, JobKey, Role
from edl.model.reasons import (
    AboveBudget,
    Attempt,
    Attempted,
    Code,
    Load,
    Minimum,
    Need,
    NoEligibleNode,
    NoRoom,
    Other,
    PendingPods,
    Period,
    Pods,
    Reason,
    Restart,
    Roles,
    Shortage,
    Size,
    Taints,
    Usage,
)
from edl.resources import Resources

PAUSED: Final = Reason(Code.PAUSED)
MANUAL: Final = Reason(Code.MANUAL_SIZE)
ABOVE_MAX: Final = Reason(Code.ABOVE_MAX)
STAYED_PENDING: Final = Reason(Code.UNSCHEDULABLE)
GANG_PENDING: Final = Reason(Code.GANG_UNSCHEDULABLE)
GANG_AGAIN_LATER: Final = Reason(Code.BACK_OFF, Attempt(Attempted.GANG))
GROWS_LATER: Final = Reason(Code.BACK_OFF, Attempt(Attempted.GROWTH))
MADE_ROOM_IN_VAIN: Final = Reason(Code.BACK_OFF, Attempt(Attempted.RECLAMATION))
COOLDOWN: Final = Reason(Code.COOLDOWN)
PLACED_FIRST: Final = Reason(Code.PLACEMENT_ORDER)
PREVIOUS_PODS: Final = Reason(Code.PODS_TERMINATING)
MOVING: Final = Reason(Code.REBALANCING)
CORDONED: Final = Reason(Code.NODE_UNSCHEDULABLE)
LOST: Final = Reason(Code.POD_LOST)
RESTARTED_ALONE: Final = Reason(Code.CONTAINER_RESTARTED)
REPLICAS_MISSING: Final = Reason(Code.PODS_MISSING)
NEARLY_DONE: Final = Reason(Code.PODS_SUCCEEDED)
LEFT_ALONE: Final = Reason(Code.NEARLY_DONE)
GREW_IN_VAIN: Final = Reason(Code.GROWTH_UNSCHEDULABLE)
MINIMUM_FIRST: Final = Reason(Code.MINIMUM_FIRST)
NOT_NOW: Final = Reason(Code.NOT_PLANNED)

TIMED: Final = frozenset({Code.COOLDOWN, Code.BACK_OFF})
"""What time alone ends."""
_PROMISING: Final = frozenset(
    {Code.PODS_TERMINATING, Code.PLACEMENT_ORDER, Code.REBALANCING, Code.MINIMUM_FIRST}
)


def started(pods: int) -> Reason:
    return Reason(Code.ADMITTED, Pods(pods))


def completed(roles: Sequence[str]) -> Reason:
    return Reason(Code.ADMITTED, Roles(tuple(roles)))


def grown(size: int, most: int) -> Reason:
    return Reason(Code.IDLE_CAPACITY, Size(size, most))


def room_for_demand(demand: Demand) -> Reason:
    return Reason(Code.RECLAIMED, PendingPods(demand.example, demand.priority))


def room_for_job(key: JobKey) -> Reason:
    return Reason(Code.RECLAIMED, Other(key))


def room_for_minimum(key: JobKey) -> Reason:
    return Reason(Code.RECLAIMED, Minimum(key))


def minimum_pending(key: JobKey) -> Reason:
    return Reason(Code.INSUFFICIENT_CAPACITY, Minimum(key))


def gave(gives: Code, key: JobKey) -> Reason:
    """`gives`: what the policy balances (`Policy.gives`)."""
    return Reason(gives, Other(key))


def node_goes(taints: Sequence[str]) -> Reason:
    return Reason(Code.NODE_TERMINATING, Taints(tuple(taints)))


def preempted(asker: Reason) -> Reason:
    """Why a whole job of a lower priority was taken off its nodes."""
    return Reason(Code.PREEMPTED, asker.about)


def not_idle(idle: timedelta) -> Reason:
    return Reason(Code.STABILIZING, Period(idle.total_seconds()))


def ceiling(share: float, resource: str) -> Reason:
    return Reason(Code.LOAD_CEILING, Load(share, resource))


def leaving(pods: int) -> Reason:
    return Reason(Code.PODS_TERMINATING, Pods(pods))


def goes_first(key: JobKey) -> Reason:
    return Reason(Code.QUEUE_ORDER, Other(key))


def no_room(requests: Resources, scarce: str) -> Reason:
    return Reason(Code.INSUFFICIENT_CAPACITY, NoRoom(requests, scarce))


def gang(needs: Sequence[Need], fitting: int, scarce: str) -> Reason:
    return Reason(Code.INSUFFICIENT_CAPACITY, Shortage(tuple(needs), fitting, scarce))


def never(needs: Sequence[Need], fitting: int, scarce: str) -> Reason:
    return Reason(Code.NEVER_FITS, Shortage(tuple(needs), fitting, scarce))


def no_node(found: NoEligibleNode) -> Reason:
    return Reason(Code.NO_ELIGIBLE_NODE, found)


def in_budget(budget: Budget, needs: int, used: int) -> Reason:
    """Why nothing more fits into a quota, or into the namespace's GPU budget."""
    return Reason(Code.QUOTA_EXCEEDED, Usage(budget, needs, used))


def above_budget(budget: Budget) -> Reason:
    return Reason(Code.QUOTA_EXCEEDED, AboveBudget(budget))


def restart(reason: Reason) -> Reason:
    """Why a training job is stopped and started again at another size."""
    return replace(reason, restart=Restart.STOPPED)


def restarted(reason: Reason) -> Reason:
    """The reason of a restart, when it is done."""
    return replace(reason, restart=Restart.STARTED)


def grew_smaller(reason: Reason) -> Reason:
    """Why a job has started that was stopped to grow, and came back smaller."""
    return replace(restarted(GREW_IN_VAIN), attempts=reason.attempts)


def restarts(role: Role) -> bool:
    """Whether a role was stopped in order to start again at the size that it has now."""
    return role.restart is Restart.STOPPED


def gang_pending(role: Role) -> bool:
    """Whether its last start came to nothing, because the scheduler placed its pods otherwise."""
    return role.last is not None and role.last.code is Code.GANG_UNSCHEDULABLE


def stayed_pending(role: Role) -> bool:
    """Whether a role's last change gave back what no node took, by a restart or without one."""
    return role.last is not None and role.last.code is Code.UNSCHEDULABLE


def grew_in_vain(key: JobKey, role: Role) -> bool:
    """Whether this job came back smaller than it had grown, or in the way of its own minimum."""
    last = role.last
    if last is None or last.restart is Restart.NONE:
        return False
    in_its_way = last.code is Code.RECLAIMED and last.about == Minimum(key)
    return in_its_way or last.code is Code.GROWTH_UNSCHEDULABLE


def for_manual_size(role: Role) -> bool:
    """Whether a role was stopped because its user had asked for another size."""
    return restarts(role) and role.last is not None and role.last.code is Code.MANUAL_SIZE


def made_room(role: Role) -> bool:
    """Whether a role came back smaller because a claim needed the room."""
    last = role.last
    return last is not None and last.restart is Restart.STARTED and last.code is Code.RECLAIMED


def yielded_to(gives: Code, role: Role) -> JobKey | None:
    """The job for which a role came back smaller: for its claim, or what the policy balances."""
    last = role.last
    if last is None or last.restart is not Restart.STARTED:
        return None
    if last.code in (Code.RECLAIMED, gives) and isinstance(last.about, Other | Minimum):
        return last.about.job
    return None


def grows(role: Role) -> bool:
    """Whether a role was stopped because there was room for more of it."""
    return restarts(role) and role.last is not None and role.last.code is Code.IDLE_CAPACITY


def balanced(gives: Code, role: Role) -> bool:
    """Whether a role gave a replica, without a restart, for what the policy balances."""
    last = role.last
    return last is not None and last.restart is Restart.NONE and last.code is gives


def promises(reason: Reason) -> bool:
    """Whether this says that what is wanted comes by itself, with what is on its way."""
    return reason.code in _PROMISING
