"""The sentences that users read. No clock readings: the same situation always reads the same.

What follows a semicolon is figures of the moment: `lasting` is the rest.
"""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Final

from edl import phases
from edl.model import Budget, Demand, JobKey, TrainingJob
from edl.resources import CPU, Resources

PAUSED: Final = "paused"
MANUAL: Final = "manual size"
ABOVE_MAX: Final = "above its max"
STAYED_PENDING: Final = "pods stayed pending: no node takes them"
PENDING_AGAIN_LATER: Final = "pods stayed pending: tries again later"
GANG_PENDING: Final = "pods of its minimum stayed pending: back to the queue"
GANG_AGAIN_LATER: Final = "its last start found no room for all pods: tries again later"
COOLDOWN: Final = "cooldown: its size changed a moment ago"
PLACED_FIRST: Final = "waits until pods that come before it have their nodes"
PREVIOUS_PODS: Final = "waiting until its previous pods have left"
MOVING: Final = "waits until replicas have moved to a job with a smaller share"
CORDONED: Final = "its node is cordoned: it moves to another one"
LOST: Final = "a pod was lost, and the others cannot go on without it"
RESTARTED_ALONE: Final = "a container began again, and the others do not know it"
REPLICAS_MISSING: Final = "waits until its lost pods have been made again"
NEARLY_DONE: Final = "some of its pods are done: it is not restarted any more"
LEFT_ALONE: Final = "nearly finished: it keeps its size"
GREW_IN_VAIN: Final = "as many as it had grown to found no place together"
GROWS_LATER: Final = "a larger size found no place: tries again later"
MADE_ROOM_IN_VAIN: Final = "made room for a job that could not start: grows later"
_IDLE_ROOM: Final = "idle room: "
_LEAVES_SOON: Final = " for room that leaving pods will free"
MINIMUM_PENDING: Final = "pods of its minimum wait for a node"


def remembered(reason: str) -> bool:
    """Reasons of waiting jobs that decisions are made from: they stand until the next start."""
    return reason == GANG_PENDING or restarts(reason)


def restart(reason: str) -> str:
    """Why a training job is stopped and started again at another size."""
    return f"{phases.STOPPED_TO_RESTART}{reason}"


def restarts(reason: str) -> bool:
    """Whether a role was stopped in order to start again at the size that it has now."""
    return reason.startswith(phases.STOPPED_TO_RESTART)


def stayed_pending(reason: str) -> bool:
    """Whether a role's last change gave back what no node took, by a restart or without one."""
    return _bare(reason) == STAYED_PENDING


def grew_in_vain(key: JobKey, reason: str) -> bool:
    """Whether this job came back smaller than it had grown, or in the way of its own minimum."""
    restart = reason.startswith((phases.STOPPED_TO_RESTART, phases.RESTARTED))
    return restart and _bare(reason) in (GREW_IN_VAIN, room_for_minimum(key))


def for_manual_size(reason: str) -> bool:
    """Whether a role was stopped because its user had asked for another size."""
    return restarts(reason) and _bare(reason) == MANUAL


def made_room(reason: str) -> bool:
    """Whether a role came back smaller because somebody else needed the room."""
    return reason.startswith(phases.RESTARTED) and _bare(reason).startswith(MAKES_ROOM)


def made_room_for(key: JobKey, reason: str) -> bool:
    """Whether a role came back smaller because this job needed the room."""
    return made_room(reason) and _bare(reason) in (room_for_job(key), room_for_minimum(key))


def grows(reason: str) -> bool:
    """Whether a role was stopped because there was room for more of it."""
    return restarts(reason) and _bare(reason).startswith(_IDLE_ROOM)


def _bare(reason: str) -> str:
    """Without what says that it is the reason of a restart."""
    bare = reason.removeprefix(phases.STOPPED_TO_RESTART).removeprefix(phases.RESTARTED)
    return lasting(bare)


def restarted(reason: str) -> str:
    """The reason of a restart, when it is done."""
    return f"{phases.RESTARTED}{reason.removeprefix(phases.STOPPED_TO_RESTART)}"


def lasting(reason: str) -> str:
    """What can be stored without being out of date at once."""
    return reason.partition(";")[0]


def missing(job: TrainingJob) -> str:
    noun = "roles" if len(job.missing) > 1 else "role"
    return f"waiting for {noun} {_list(job.missing)} of the cast"


def started(pods: int) -> str:
    return f"its gang fits: {pods} {'pod' if pods == 1 else 'pods'}"


def completed(roles: Sequence[str]) -> str:
    return f"the start is completed: {_list(roles)}"


def grown(size: int, most: int) -> str:
    return f"{_IDLE_ROOM}{size} of {most} fit"


def room_for_demand(demand: Demand) -> str:
    return f"makes room for {demand.example} (priority {demand.priority})"


def room_for_job(key: JobKey) -> str:
    return f"makes room for queued {key}"


def room_for_minimum(key: JobKey) -> str:
    return f"makes room for the minimum of {key}"


def gave(gives: str, key: JobKey) -> str:
    """`gives`: the policy's own words (`Policy.gives`)."""
    return f"{gives}{key}"


def node_goes(taints: Sequence[str]) -> str:
    return f"its node is taken away ({_list(taints)}): it moves to another one"


def balanced(gives: str, reason: str) -> bool:
    """Whether a role's last change was for what the policy balances (an equal share)."""
    return reason.startswith(gives)


def gave_to(gives: str, reason: str) -> JobKey | None:
    """The job for which a role came back smaller from a restart, for what the policy balances."""
    if not reason.startswith(f"{phases.RESTARTED}{gives}"):
        return None
    namespace, _, name = _bare(reason).removeprefix(gives).partition("/")
    return JobKey(namespace, name)


def preempted(reason: str) -> str:
    """Why a whole job of a lower priority was taken off its nodes."""
    return f"{reason}: back to the queue, its priority is lower"


def not_idle(idle: timedelta) -> str:
    return f"grows when nothing was started or resized for {idle.total_seconds():g} s"


def ceiling(share: float, resource: str) -> str:
    return f"load ceiling: growth stops at {share * 100:g} % of the cluster's {resource}"


def leaving(pods: int) -> str:
    who = "1 pod waits" if pods == 1 else f"{pods} pods wait"
    return f"{who}{_LEAVES_SOON}"


def resource(name: str) -> str:
    """A resource's name as users read it."""
    return "CPU" if name == CPU else name


def goes_first(key: JobKey) -> str:
    return f"{key} has waited longest and starts first"


def no_room(requests: Resources, short: str) -> str:
    return f"no node has room for {requests}: short of {short}"


def gang(needs: str, fitting: int, pods: int, short: str) -> str:
    return f"short of {short}: needs {needs}; {fitting} of {pods} pods fit"


def never(needs: str, fitting: int, pods: int, short: str) -> str:
    return (
        f"too large for the room that others leave, short of {short}: needs {needs};"
        f" only {fitting} of {pods} pods would fit even if no training job ran"
    )


def in_budget(budget: Budget, needs: int, used: int) -> str:
    """Why nothing more fits into a quota, or into the namespace's GPU budget."""
    asks = f"{budget}: needs {budget.text(needs)}"
    if needs > budget.hard:
        return f"{asks}, which is never allowed"
    left = budget.text(max(budget.hard - used, 0))
    return f"{asks}; {budget.text(used)} used, {left} left"


def above_budget(budget: Budget) -> str:
    return f"above its budget: {budget}"


def nodes_allowed(*, shares: bool) -> str:
    """What is scarce where sums have room, and rules or shares of GPUs keep the pods off."""
    return f"nodes that {DEVICES if shares else COMPANY} leave to it"


def _list(words: Sequence[str]) -> str:
    return ", ".join(words)


MINIMUM_FIRST: Final = "it starts with its minimum, and gets more when that has its nodes"
NOT_NOW: Final = "there is room, and the plan does not give it to it now"

COMPANY: Final = "its pod (anti-)affinity or topology spread rules"
DEVICES: Final = "the shares that others have of its GPUs"
"""What keeps a pod off nodes whose sums have room for it."""

TIMED: Final = frozenset(
    {COOLDOWN, GROWS_LATER, MADE_ROOM_IN_VAIN, PENDING_AGAIN_LATER, GANG_AGAIN_LATER}
)
"""What time alone ends."""

MAKES_ROOM: Final = "makes room for"
NAMING_JOBS: Final[tuple[tuple[str, Callable[[JobKey], str]], ...]] = (
    ("whoever waited longest starts first:", goes_first),
    (MAKES_ROOM, room_for_job),
    ("makes room for the minimum of", room_for_minimum),
)
"""Sentences about another training job, and what they say of it."""


def promises(text: str) -> bool:
    """Whether this says that what is wanted comes by itself, with what is on its way."""
    return text in (PREVIOUS_PODS, PLACED_FIRST, MOVING, MINIMUM_FIRST) or text.endswith(
        _LEAVES_SOON
    )
