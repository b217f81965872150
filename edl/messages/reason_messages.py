"""Sentences that tell users the reason of a decision.

They contain no current time: the same situation always reads the same.
"""

from collections.abc import Sequence
from datetime import datetime
from functools import singledispatch
from typing import NamedTuple

from edl.messages.code_texts import (
    ATTEMPTS,
    BALANCED,
    ENDED,
    PLAIN,
    RECLAIMED,
    RESTART,
    SUSPENDED_FOR,
    TO,
    UNKNOWN,
    UNNAMED_POD,
    unnamed_jobs,
)
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
    Awaiting,
    Code,
    FixedSize,
    ForeignJob,
    Growth,
    Load,
    LostPods,
    Minimum,
    NodesAsked,
    OffNodes,
    Other,
    PendingPods,
    Period,
    PodNames,
    Pods,
    PodsOf,
    QuotedText,
    Reason,
    Roles,
    Size,
    Usage,
)
from edl.model.scarcity import NoEligibleNode, NoRoom, Shortage


class _Sentence(NamedTuple):
    """A sentence. `figures` are momentary values, which are not stored: they soon go stale."""

    text: str
    figures: str = ""


def message(reason: Reason, until: datetime | None = None) -> str:
    """The whole sentence. `until` is when the reason ends by itself."""
    found = _sentence(reason)
    text = "; ".join(filter(None, (RESTART[reason.restart] + found.text, found.figures)))
    return f"{text} (until {until:%H:%M:%S} UTC)" if until else text


def lasting(reason: Reason) -> str:
    """The sentence without its momentary figures, to be stored."""
    return RESTART[reason.restart] + _sentence(reason).text


def messages(reasons: Sequence[Reason]) -> str:
    """Several reasons of one decision."""
    return "; ".join(map(message, reasons))


def precedence(code: Code) -> str:
    """Why others come first: the words before their names."""
    if code is Code.QUEUE_ORDER:
        return "jobs ahead of it in the queue start first:"
    first = "room goes first to"
    return f"{first} the minimum of" if code is Code.MINIMUM_FIRST else BALANCED.get(code, first)


def _sentence(reason: Reason) -> _Sentence:
    if reason.about is None:
        return _Sentence(PLAIN.get(reason.code, UNKNOWN))
    if reason.code in SUSPENDED_FOR:
        asker = _about(reason.about, Code.RECLAIMED).text
        return _Sentence(f"{asker}: back to the queue, {SUSPENDED_FOR[reason.code]}")
    return _about(reason.about, reason.code)


@singledispatch
def _about(about: About, code: Code) -> _Sentence:
    raise TypeError(f"no sentence for {code} about {about!r}")


@_about.register
def _(about: Other, code: Code) -> _Sentence:
    if code in ENDED:
        return _Sentence(f"{about.job.name} {ENDED[code]}")
    return _for_job(str(about.job), code)


@_about.register
def _(about: ForeignJob, code: Code) -> _Sentence:
    name = unnamed_jobs(about.team)
    if about.minimum:
        return _Sentence(f"{RECLAIMED} the minimum of {name}")
    return _for_job(name, code)


def _for_job(name: str, code: Code) -> _Sentence:
    if code is Code.QUEUE_ORDER:
        return _Sentence(f"{name} is ahead of it in the queue and starts first")
    return _Sentence(f"{TO[code]} {name}" if code in TO else UNKNOWN)


@_about.register
def _(about: Minimum, code: Code) -> _Sentence:
    if code is Code.INSUFFICIENT_CAPACITY:
        return _Sentence("pods of its minimum are waiting for a node")
    return _Sentence(f"{RECLAIMED} the minimum of {about.job}")


@_about.register
def _(about: PendingPods, code: Code) -> _Sentence:  # noqa: ARG001 (all of these share a signature)
    example = about.example or UNNAMED_POD
    return _Sentence(f"{RECLAIMED} {example} (priority {about.priority})")


@_about.register
def _(about: Pods, code: Code) -> _Sentence:
    if code is Code.BELOW_MIN:
        return _Sentence(f"{about.count} below its minimum")
    what = "manual size" if about.manual else "minimum"
    one = f"the pod of its {what} fits"
    return _Sentence(one if about.count == 1 else f"all {about.count} pods of its {what} fit")


@_about.register
def _(about: LostPods, code: Code) -> _Sentence:
    up_to = f"up to {about.seconds:g} s"
    if code is Code.BACK_OFF:
        text = "back-off: after lost pods the Job controller creates no pod"
        return _Sentence(f"{text} for {up_to}")
    one = f"1 of {about.of} pods of its minimum is missing"
    many = f"{about.count} of {about.of} pods of its minimum are missing"
    missing = one if about.count == 1 else many
    if code is Code.GANG_UNSCHEDULABLE:
        then = f"the Job controller creates no pod for {up_to}"
        why = "its topology domain has too few nodes" if about.confined else "others need its nodes"
        return _Sentence(f"{missing}, and {then}: back to the queue, as {why}")
    then = f"the Job controller creates them again after its back-off, {up_to}"
    return _Sentence(f"{missing}: {then}")


@_about.register
def _(about: Awaiting, code: Code) -> _Sentence:  # noqa: ARG001
    waiting = "1 pod waits" if about.pods == 1 else f"{about.pods} pods wait"
    makes = "makes" if len(about.givers) == 1 else "make"
    makers = f"{listed(about.givers)} {makes} room" if about.givers else ""
    return _Sentence(f"{waiting} for other pods to terminate", makers)


@_about.register
def _(about: PodsOf, code: Code) -> _Sentence:
    more = " and others" if about.others else ""
    return _Sentence(PLAIN.get(code, UNKNOWN), f"those of {listed(about.jobs)}{more}")


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
    return _Sentence(ATTEMPTS[about.what])


@_about.register
def _(about: NodesAsked, code: Code) -> _Sentence:
    quoted = f"; the autoscaler: {about.message}" if about.message else ""
    if code is Code.NODES_NOT_PROVISIONED:
        return _Sentence(f"the nodes that it asked for did not come in time{quoted}")
    pods = "1 pod waits" if about.pods == 1 else f"{about.pods} pods wait"
    return _Sentence(f"waiting for nodes from the autoscaler{quoted}", f"{pods} for them")


@_about.register
def _(about: QuotedText, code: Code) -> _Sentence:  # noqa: ARG001
    return _Sentence(about.text)
