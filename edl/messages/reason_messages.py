"""Sentences that tell users the reason of a decision, which do not depend on the current time."""

from collections.abc import Sequence
from datetime import datetime

from edl.messages.code_texts import (
    AHEAD,
    ATTEMPTS,
    ENDED,
    FIRST,
    NEVER_CREATED,
    OWN_MINIMUM,
    PLAIN,
    PRECEDENCE,
    RECLAIMED,
    RESTART,
    START_REFUSED,
    SUSPENDED_FOR,
    TO,
    UNKNOWN,
    UNNAMED_POD,
    UNTIL,
    unnamed_jobs,
)
from edl.messages.scarcity_messages import (
    best,
    insufficient,
    kept_to,
    listed,
    may_add,
    needs,
    node_rule,
    placeable,
    required,
    resource,
    spread_over,
    too_little,
    unplaced,
)
from edl.model.causes.reason_codes import Code, Reason
from edl.model.causes.reason_subjects import (
    About,
    AboutCapacity,
    Attempt,
    Awaiting,
    FixedSize,
    ForeignJob,
    Growth,
    Load,
    LostPods,
    Minimum,
    NodesAsked,
    OffNodes,
    Other,
    OverQuota,
    PendingPods,
    Period,
    PodNames,
    Pods,
    PodsOf,
    QuotedText,
    Roles,
    Size,
    Usage,
)
from edl.model.causes.scarcity import (
    NodePoolLimit,
    NoEligibleNode,
    NoRoom,
    Shortage,
    UnplacedMinimum,
)
from edl.model.nodes import SplitDomains
from edl.model.quotas import Excess


def message(reason: Reason, until: datetime | None = None) -> str:
    """The whole sentence. `until` is when the reason ends by itself."""
    named = ": ".join(filter(None, (RESTART[reason.restart] + _text(reason), _names(reason))))
    text = "; ".join(filter(None, (named, _figures(reason))))
    return f"{text}{UNTIL.format(until)}" if until else text


def lasting(reason: Reason) -> str:
    """The sentence without what soon goes stale, such as the job that is ahead: it is stored."""
    behind = reason.code is Code.QUEUE_ORDER and not isinstance(reason.about, Shortage | None)
    return AHEAD if behind else RESTART[reason.restart] + _text(reason)


def messages(reasons: Sequence[Reason]) -> str:
    """Several reasons of one decision."""
    return "; ".join(map(message, reasons))


def precedence(code: Code) -> str:
    """Why others come first: the words before their names."""
    return PRECEDENCE.get(code, FIRST)


def _text(reason: Reason) -> str:
    if reason.about is None:
        return PLAIN.get(reason.code, UNKNOWN)
    if reason.code in SUSPENDED_FOR:
        asker = _about(reason.about, Code.RECLAIMED)
        return f"requeued {asker}: {SUSPENDED_FOR[reason.code]}"
    return _about(reason.about, reason.code)


def _about(about: About, code: Code) -> str:
    match about:
        case Other():
            if code not in ENDED:
                return _for_job(str(about.job), code, guaranteed=about.guaranteed)
            return ": ".join(filter(None, (f"{about.job.name} {ENDED[code]}", about.failure)))
        case ForeignJob():
            name = unnamed_jobs(about.team)
            if about.minimum:
                return f"{RECLAIMED} the minimum of {name}"
            return _for_job(name, code, guaranteed=about.guaranteed)
        case Minimum():
            if code is Code.INSUFFICIENT_CAPACITY:
                return "not all pods of its minimum have a node yet"
            return f"{RECLAIMED} {OWN_MINIMUM if about.own else f'the minimum of {about.job}'}"
        case PendingPods():
            return f"{RECLAIMED} {about.example or UNNAMED_POD} (priority {about.priority})"
        case PodsOf():
            return PLAIN.get(code, UNKNOWN)
        case Roles():
            names = ", ".join(about.names)
            if code is Code.INCOMPLETE:
                return f"waiting for the Jobs of {names}"
            return f"{names} added to complete the start"
        case Size() | FixedSize() | Growth() | Period():
            return _about_size(about, code)
        case Attempt():
            return _attempt(about, code)
        case QuotedText():
            return about.text or UNKNOWN
        case Pods() | LostPods() | Awaiting() | PodNames() | OffNodes() | SplitDomains():
            return _about_pods(about, code)
        case _:
            return _about_capacity(about, code)


def _about_size(about: Size | FixedSize | Growth | Period, code: Code) -> str:
    match about:
        case Size():
            what = "manual size" if code is Code.MANUAL_SIZE else "idle capacity"
            return f"{what}: {about.size} of {about.max} fit"
        case FixedSize():
            return f"{about.role} always has {about.size}"
        case Growth():
            return _reverted(about)
        case Period():
            return f"scaled up when nothing has been started or resized for {about.seconds:g} s"


def _attempt(about: Attempt, code: Code) -> str:
    if code is Code.UNSCHEDULABLE:
        return NEVER_CREATED
    unseen = f'scheduler "{about.scheduler}" has not processed them' if about.scheduler else ""
    cause = unseen or about.refusal
    text = f"{ATTEMPTS[about.what]}{f' ({cause})' if cause else ''}"
    return f"back-off: {text}" if code is Code.BACK_OFF else f"{text}: requeued"


def _for_job(name: str, code: Code, *, guaranteed: bool) -> str:
    if guaranteed:
        return f"{RECLAIMED} {name}, which the guarantee of its team covers"
    if code is Code.QUEUE_ORDER:
        return f"{name} is ahead of it in the queue and starts first"
    return f"{TO[code]} {name}" if code in TO else UNKNOWN


def _reverted(about: Growth) -> str:
    limit = f" within {about.timeout_seconds:g} s" if about.timeout_seconds is not None else ""
    why = f" ({about.held})" if about.held else ""
    return f"reverted to {about.before}: {about.wanted} not ready{limit}{why}"


def _about_pods(
    about: Pods | LostPods | Awaiting | PodNames | OffNodes | SplitDomains, code: Code
) -> str:
    match about:
        case Pods():
            if code is Code.BELOW_MIN:
                return f"{about.count} below its minimum"
            what = "manual size" if about.manual else "minimum"
            single = f"the pod of its {what} fits"
            return single if about.count == 1 else f"all {about.count} pods of its {what} fit"
        case LostPods():
            return _lost_pods(about, code)
        case Awaiting():
            return f"{_waiting(about.pods)} for others to terminate"
        case PodNames():
            names = ", ".join(about.names)
            if code is Code.INVALID:
                return f"no pod {names} exists (any longer)"
            if code is Code.PODS_UNREADY:
                return f"{listed(about.names)} {'is' if len(about.names) == 1 else 'are'} not ready"
            return f"removed by name: {names}"
        case SplitDomains():
            return f"its pods are {spread_over(about)} of the required topology {about.label}"
        case OffNodes():
            verb = "moves off" if len(about.pods) == 1 else "move off"
            are = "is" if len(about.nodes) == 1 else "are"
            why = f"being removed ({', '.join(about.taints)})" if about.taints else "cordoned"
            return f"{listed(about.pods)} {verb} {listed(about.nodes)}, which {are} {why}"


def _waiting(pods: int) -> str:
    return "1 pod waits" if pods == 1 else f"{pods} pods wait"


def _lost_pods(about: LostPods, code: Code) -> str:
    up_to = f"up to {about.seconds:g} s"
    single = "pods is missing" if about.extras else "pods of its minimum is missing"
    many = "pods are missing" if about.extras else "pods of its minimum are missing"
    missing = f"{about.count} of {about.of} {single if about.count == 1 else many}"
    if code is Code.GANG_UNSCHEDULABLE:
        then = f"the Job controller creates no pod for {up_to}"
        why = "its topology domain has too few nodes" if about.confined else "others need its nodes"
        return f"{missing}, and {then}: requeued, as {why}"
    them = "it" if about.count == 1 else "them"
    return f"{missing}: the Job controller creates {them} again after its back-off, {up_to}"


def _about_capacity(about: AboutCapacity, code: Code) -> str:
    match about:
        case Load():
            limit = f"{about.share * 100:g} % of the cluster's {resource(about.resource)}"
            return f"load ceiling: growth stops at {limit}"
        case Usage():
            refused = f"{START_REFUSED}: " if code is Code.START_REFUSED else ""
            return f"{refused}{_exceeded((about, *about.more))}"
        case OverQuota():
            return f"above its budget: {about.budget}"
        case Shortage():
            always = ", even if no training job ran" * (code is Code.NEVER_FITS)
            turn = f"{PLAIN[code]}; " if code is Code.QUEUE_ORDER else ""
            lacks = f"{turn}{insufficient(about.lack)}{required(about.domains)}{always}"
            return f"{lacks}: needs {needs(about.needs)}"
        case NoRoom():
            pod = f"one more pod of {about.requests}{kept_to(about.domains)}"
            return f"{insufficient(about.lack)} for {pod}"
        case NoEligibleNode():
            return node_rule(about) + (f": needs {needs(about.needs)}" if about.needs else "")
        case UnplacedMinimum():
            return unplaced(about)
        case NodePoolLimit(name):
            return f"the limits of NodePools allow {too_little(name)}"
        case NodesAsked():
            quoted = f"; the autoscaler: {about.message}" if about.message else ""
            if code is Code.NODES_NOT_PROVISIONED:
                return f"the requested nodes were not provisioned in time{quoted}"
            label = f"the label {', '.join(about.unlabelled)} of its topology"
            lacking = f", as no node has {label}" if about.unlabelled else ""
            return f"waiting for nodes from the autoscaler{lacking}{quoted}"


def _names(reason: Reason) -> str:
    """The training jobs whose pods are meant now."""
    match reason.about:
        case Awaiting(givers=givers):
            return listed(givers)
        case PodsOf(jobs, others):
            return f"{listed(jobs)}{' and others' if others else ''}"
    return ""


def _exceeded(every: Sequence[Excess]) -> str:
    """As the API server's message, without the usage: resources of one quota."""
    requested = ",".join(excess.budget.assigned(excess.needs) for excess in every)
    limited = ",".join(excess.budget.assigned(excess.budget.hard) for excess in every)
    never = ",".join(one.budget.assigned(one.needs) for one in every if one.needs > one.budget.hard)
    text = f"exceeded {every[0].budget.place}, requested: {requested}, limited: {limited}"
    return f"{text}, never allowed: {never}" if never else text


def _figures(reason: Reason) -> str:
    """Momentary values."""
    if reason.code in SUSPENDED_FOR:
        return ""
    match reason.about:
        case Usage() as about:
            assigned = (one.budget.assigned(one.used) for one in (about, *about.more))
            return f"used: {','.join(assigned)}"
        case Shortage() as about:
            fit = "would fit" if reason.code is Code.NEVER_FITS else "fit"
            pods = sum(need.pods for need in about.needs)
            if about.fitting == pods:  # by capacity; rules exclude some of them
                return best(about.domains).strip()
            return f"{about.fitting} of {pods} pods {fit}{best(about.domains)}"
        case UnplacedMinimum() as about:
            return placeable(about)
        case NodePoolLimit() as about:
            return may_add(about)
        case NodesAsked(pods) if reason.code is not Code.NODES_NOT_PROVISIONED:
            return f"{_waiting(pods)} for them"
    return ""
