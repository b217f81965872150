"""What users read of a reason.

No clock readings: the same situation always reads the same.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import singledispatch
from typing import Final, NamedTuple

from edl.messages.scarcity_messages import (
    best,
    insufficient,
    kept_to,
    listed,
    needs,
    node_rule,
    required,
    resource,
)
from edl.model.reason_codes import (
    About,
    AboveBudget,
    Attempt,
    Attempted,
    Awaiting,
    Code,
    FixedSize,
    Growth,
    Load,
    Minimum,
    NodesAsked,
    OffNodes,
    Other,
    PendingPods,
    Period,
    PodNames,
    Pods,
    Reason,
    Restart,
    Roles,
    Size,
    Told,
    Usage,
)
from edl.model.scarcity import NoEligibleNode, NoRoom, Shortage

_RESTART: Final[Mapping[Restart, str]] = {
    Restart.NONE: "",
    Restart.STOPPED: "restarts: ",
    Restart.STARTED: "restarted: ",
}

_PLAIN: Final[Mapping[Code, str]] = {
    Code.MANUAL_SIZE: "manual size",
    Code.ABOVE_MAX: "scaled down to its max",
    Code.PAUSED: "paused",
    Code.UNSCHEDULABLE: "pods stayed Pending: no node takes them",
    Code.GANG_UNSCHEDULABLE: "pods of its minimum stayed Pending: back to the queue",
    Code.GROWTH_UNSCHEDULABLE: "not all pods of its larger size found a node",
    Code.POD_LOST: "a pod was lost, and the others cannot go on without it",
    Code.CONTAINER_RESTARTED: "a container restarted, and the other pods cannot go on with it",
    Code.NODE_UNNEEDED: "left nodes that nothing else needs: an autoscaler may remove them",
    Code.NEEDED_NODES_ONLY: "grows only on nodes that are needed anyway: others may be removed",
    Code.PLACEMENT_ORDER: "waiting for pods ahead of it to be scheduled",
    Code.MINIMUM_FIRST: "starts with its minimum, and is scaled up when those pods are scheduled",
    Code.PODS_TERMINATING: "waiting for its previous pods to terminate",
    Code.REBALANCING: "waiting for replicas to move to a job with a smaller share",
    Code.COOLDOWN: "cooldown after its last start or resize",
    Code.PODS_MISSING: "waiting for its lost pods to be recreated",
    Code.PODS_SUCCEEDED: "some of its pods have succeeded: it is not restarted any more",
    Code.NEARLY_DONE: "nearly finished: it keeps its size",
    Code.FIXED_SIZE: "its size is fixed",
    Code.AT_MIN: "its min",
    Code.UNOBSERVED: "waiting for the reconciler to look at it",
    Code.UNKNOWN: "its reason is not known any more",
    Code.NOT_PLANNED: "there is room, but the plan does not use it for this job now",
}
"""Messages of reasons without a subject."""
_UNKNOWN: Final = _PLAIN[Code.UNKNOWN]
"""The message of a code with an unexpected subject: another client may have written it."""

_RECLAIMED: Final = "to make room for"
_BALANCED: Final[Mapping[Code, str]] = {
    Code.FAIR_SHARING: "equal share with",
    Code.FIFO_ORDER: "came after",
    Code.UTILIZATION: "better utilization by",
}
_TO: Final[Mapping[Code, str]] = {
    **_BALANCED,
    Code.RECLAIMED: _RECLAIMED,
}
"""Before the name of the training job that gets the room."""
_SUSPENDED_FOR: Final[Mapping[Code, str]] = {
    Code.PREEMPTED: "its priority is lower",
    Code.GUARANTEE_RECLAIMED: "its team borrows what another is guaranteed",
}


class _Sentence(NamedTuple):
    """`figures` are those of the moment: what is stored would be out of date at once."""

    text: str
    figures: str = ""


def message(reason: Reason, until: datetime | None = None) -> str:
    """The whole sentence; `until`: when time alone ends what it says."""
    found = _sentence(reason)
    text = "; ".join(filter(None, (_RESTART[reason.restart] + found.text, found.figures)))
    return f"{text} (until {until:%H:%M:%S} UTC)" if until else text


def lasting(reason: Reason) -> str:
    """Without the figures of the moment."""
    return _RESTART[reason.restart] + _sentence(reason).text


def messages(reasons: Sequence[Reason]) -> str:
    """Several reasons of one decision."""
    return "; ".join(map(message, reasons))


def precedence(code: Code) -> str:
    """Why others come first, before their names."""
    if code is Code.QUEUE_ORDER:
        return "the job that has waited longest starts first:"
    first = "room goes first to"
    return f"{first} the minimum of" if code is Code.MINIMUM_FIRST else _BALANCED.get(code, first)


_ENDED: Final[Mapping[Code, str]] = {Code.COMPLETE: "is done", Code.FAILED: "has failed"}


def _sentence(reason: Reason) -> _Sentence:
    if reason.about is None:
        return _Sentence(_PLAIN.get(reason.code, _UNKNOWN))
    if reason.code in _SUSPENDED_FOR:
        asker = _about(reason.about, Code.RECLAIMED).text
        return _Sentence(f"{asker}: back to the queue, {_SUSPENDED_FOR[reason.code]}")
    return _about(reason.about, reason.code)


@singledispatch
def _about(about: About, code: Code) -> _Sentence:
    raise TypeError(f"no sentence for {code} about {about!r}")


@_about.register
def _(about: Other, code: Code) -> _Sentence:
    if code is Code.QUEUE_ORDER:
        return _Sentence(f"{about.job} has waited longest and starts first")
    if code in _ENDED:
        return _Sentence(f"{about.job.name} {_ENDED[code]}")
    return _Sentence(f"{_TO[code]} {about.job}" if code in _TO else _UNKNOWN)


@_about.register
def _(about: Minimum, code: Code) -> _Sentence:
    if code is Code.INSUFFICIENT_CAPACITY:
        return _Sentence("pods of its minimum are waiting for a node")
    return _Sentence(f"{_RECLAIMED} the minimum of {about.job}")


@_about.register
def _(about: PendingPods, code: Code) -> _Sentence:  # noqa: ARG001 (a sentence's shape)
    return _Sentence(f"{_RECLAIMED} {about.example} (priority {about.priority})")


@_about.register
def _(about: Pods, code: Code) -> _Sentence:  # noqa: ARG001
    one = "the pod of its minimum fits"
    return _Sentence(one if about.count == 1 else f"all {about.count} pods of its minimum fit")


@_about.register
def _(about: Awaiting, code: Code) -> _Sentence:  # noqa: ARG001
    waiting = "1 pod waits" if about.pods == 1 else f"{about.pods} pods wait"
    makes = "makes" if len(about.givers) == 1 else "make"
    room = f"{listed(about.givers)} {makes} room" if about.givers else ""
    return _Sentence(f"{waiting} for other pods to terminate", room)


@_about.register
def _(about: PodNames, code: Code) -> _Sentence:
    if code is Code.NODE_FULL:
        return _Sentence(f"its node has no room left for {', '.join(about.names)}: placed again")
    return _Sentence(f"removed by name: {', '.join(about.names)}")


@_about.register
def _(about: Roles, code: Code) -> _Sentence:
    names = ", ".join(about.names)
    if code is Code.INCOMPLETE:
        return _Sentence(f"waiting for the Jobs of {names}")
    return _Sentence(f"{names} added to complete the start")


@_about.register
def _(about: Size, code: Code) -> _Sentence:  # noqa: ARG001
    return _Sentence(f"idle room: {about.size} of {about.max} fit")


@_about.register
def _(about: FixedSize, code: Code) -> _Sentence:  # noqa: ARG001
    return _Sentence(f"{about.role} always has {about.size}")


@_about.register
def _(about: Growth, code: Code) -> _Sentence:  # noqa: ARG001
    limit = f" within {about.timeout_seconds:g} s" if about.timeout_seconds is not None else ""
    return _Sentence(f"{about.wanted} not ready{limit}: back to {about.before}")


@_about.register
def _(about: OffNodes, code: Code) -> _Sentence:  # noqa: ARG001
    verb = "moves off" if len(about.pods) == 1 else "move off"
    are = "is" if len(about.nodes) == 1 else "are"
    why = f"being removed ({', '.join(about.taints)})" if about.taints else "cordoned"
    text = f"{listed(about.pods)} {verb} {listed(about.nodes)}, which {are} {why}"
    return _Sentence(text)


@_about.register
def _(about: Load, code: Code) -> _Sentence:  # noqa: ARG001
    limit = f"{about.share * 100:g} % of the cluster's {resource(about.resource)}"
    return _Sentence(f"load ceiling: growth stops at {limit}")


@_about.register
def _(about: Period, code: Code) -> _Sentence:  # noqa: ARG001
    return _Sentence(f"scaled up when nothing has been started or resized for {about.seconds:g} s")


@_about.register
def _(about: Usage, code: Code) -> _Sentence:  # noqa: ARG001
    budget = about.budget
    asks = f"{budget}: needs {budget.text(about.needs)}"
    if about.needs > budget.hard:
        return _Sentence(f"{asks}, which is never allowed", f"{budget.text(about.used)} used")
    left = budget.text(max(budget.hard - about.used, 0))
    return _Sentence(asks, f"{budget.text(about.used)} used, {left} left")


@_about.register
def _(about: AboveBudget, code: Code) -> _Sentence:  # noqa: ARG001
    return _Sentence(f"above its budget: {about.budget}")


@_about.register
def _(about: Shortage, code: Code) -> _Sentence:
    pods, wanted = sum(need.pods for need in about.needs), needs(about.needs)
    where, nearest = required(about.domains), best(about.domains)
    if code is not Code.NEVER_FITS:
        text = f"{insufficient(about.lack)}{where}: needs {wanted}"
        return _Sentence(text, f"{about.fitting} of {pods} pods fit{nearest}")
    return _Sentence(
        f"{insufficient(about.lack)}{where}, even if no training job ran: needs {wanted}",
        f"{about.fitting} of {pods} pods would fit{nearest}",
    )


@_about.register
def _(about: NoRoom, code: Code) -> _Sentence:  # noqa: ARG001
    lacks = f"{insufficient(about.lack)} for one more pod of {about.requests}"
    return _Sentence(f"{lacks}{kept_to(about.domains)}")


@_about.register
def _(about: NoEligibleNode, code: Code) -> _Sentence:  # noqa: ARG001
    wanted = f": needs {needs(about.needs)}" if about.needs else ""
    return _Sentence(f"{node_rule(about)}{wanted}")


@_about.register
def _(about: Attempt, code: Code) -> _Sentence:  # noqa: ARG001
    return _Sentence(_ATTEMPTS[about.what])


@_about.register
def _(about: NodesAsked, code: Code) -> _Sentence:
    said = f"; the autoscaler: {about.said}" if about.said else ""
    if code is Code.NODES_NOT_PROVISIONED:
        return _Sentence(f"the nodes that it asked for did not come in time{said}")
    pods = "1 pod waits" if about.pods == 1 else f"{about.pods} pods wait"
    return _Sentence(f"waiting for nodes from the autoscaler{said}", f"{pods} for them")


@_about.register
def _(about: Told, code: Code) -> _Sentence:  # noqa: ARG001
    return _Sentence(about.text)


_ATTEMPTS: Final[Mapping[Attempted, str]] = {
    Attempted.GANG: "back-off: its last start found no nodes for all pods",
    Attempted.GROWTH: "back-off: a larger size found no nodes",
    Attempted.RECLAMATION: "back-off: it made room for a job that could not start",
}
