"""Sentences about a blocker: what blocks a job, and what would change it."""

from collections.abc import Mapping, Sequence
from typing import Final

from edl import contract
from edl.messages.code_texts import QUEUE_CLOSED
from edl.messages.reason_messages import message, precedence
from edl.messages.room_remedies import free_capacity, more_nodes, smaller_pods
from edl.messages.scarcity_messages import (
    amounts_of,
    insufficient,
    kept_to,
    lacking,
    listed,
    node_rule,
    resource,
)
from edl.model.causes.blockers import (
    OF_WORK,
    AtBound,
    Blocker,
    ConstraintsUnsatisfied,
    InProgress,
    InsufficientResources,
    JobCondition,
    LoadCeiling,
    NoUsableNode,
    Outranked,
    OwnCondition,
    QuotaExceeded,
    SizeBound,
    TimedHold,
    TooLarge,
)
from edl.model.causes.reason_codes import Code, Reason
from edl.model.causes.reason_subjects import Attempt, Attempted, FixedSize, Roles
from edl.model.causes.scarcity import NodeRule, Scarce, Shortage
from edl.model.quotas import Quota
from edl.quantities import amount_text, shown_amounts

_EXCLUDING: Final[Mapping[Scarce, str]] = {
    Scarce.RULES: "its pod (anti-)affinity or topology spread rules",
    Scarce.PORTS: "the host ports that it requests, each of which one pod per node may use,",
    Scarce.DEVICES: "the GPU shares of other pods",
}
"""What keeps a pod off nodes whose free resources would suffice."""


def blocker_text(blocker: Blocker) -> str:
    """What blocks the job, as a part of a sentence."""
    match blocker:
        case AtBound(role, SizeBound.ITEMS, value):
            items = "1 work item" if value == 1 else f"{value} work items"
            return f"{role} has {items} left to do, and a pod for each"
        case AtBound(bound=SizeBound.QUEUE):
            return QUEUE_CLOSED
        case AtBound(role, bound, value):
            return f"{role} is at its {'max' if bound is SizeBound.MAX else 'manual size'}, {value}"
        case TimedHold(reason, until):
            return message(reason, until)
        case Outranked():
            return f"{precedence(blocker.rule)} {listed(_outranking(blocker))}"
        case OwnCondition(reason=reason, paused_by=controller) if controller:
            return f"{message(reason)}: {controller} suspended it"
        case OwnCondition(JobCondition.ONE_SIZE, Reason(about=FixedSize(role, size))):
            return f"{role} has one size, {size}: no {contract.MAX} is above its min"
        case InProgress(reason) | OwnCondition(reason=reason):
            return message(reason)
        case InsufficientResources():
            return _insufficient(blocker)
        case TooLarge():
            return _too_large(blocker)
        case NoUsableNode():
            those = "large enough nodes" if blocker.rule.large_nodes else "nodes"
            return f"{node_rule(blocker.rule)}: {blocker.role} may use none of the {those}"
        case ConstraintsUnsatisfied():
            pods = "one" if blocker.pods == 1 else blocker.pods
            return f"{_EXCLUDING[blocker.rule]} keep {pods} {blocker.role} off {_places(blocker)}"
        case LoadCeiling():
            return _above_ceiling(blocker)
        case QuotaExceeded(quota):
            asked, used = quota.assigned(blocker.needed), quota.assigned(blocker.used)
            limit = quota.assigned(quota.hard)
            return f"exceeded {quota.place}, requested: {asked}, used: {used}, limited: {limit}"


def remedy(blocker: Blocker, job: str = "") -> str:
    """What would remove the blocker; empty if it passes by itself.

    `job`: the arguments by which the reader's commands select the job, `mnist -n team`; empty for
    remedies without commands.
    """
    match blocker:
        case AtBound():
            return _another_bound(blocker, job)
        case TimedHold(
            Reason(Code.BACK_OFF, Attempt(Attempted.GANG | Attempted.CREATION) as failed)
        ):
            return _start_at_once(failed, job)
        case Outranked():
            return "enough capacity for those as well"
        case OwnCondition():
            return _of_own(blocker, job)
        case InsufficientResources():
            return free_capacity(blocker, job)
        case TooLarge():
            return smaller_pods(blocker)
        case NoUsableNode():
            return _usable_node(blocker)
        case ConstraintsUnsatisfied():
            return more_nodes(blocker)
        case LoadCeiling(resource=name):
            more = amount_text(name, blocker.needed + blocker.kept - blocker.idle)
            idle = f", or {more} more idle in the cluster" if blocker.idle_suffices else ""
            return f"a load ceiling of {blocker.enough * 100:g} %{idle}"
        case QuotaExceeded(Quota(kept_by=team)) if team:
            return f"lend: true or a smaller guarantee for team {team}, or more nodes"
        case QuotaExceeded(Quota(lendable=True, resource=name), lacks=lacks):
            return f"{amount_text(name, lacks)} more on schedulable nodes"
        case QuotaExceeded(quota):
            return f"{quota.place} raised to {_raised(quota, quota.hard + blocker.lacks)}"
    return ""


def _of_own(about: OwnCondition, job: str) -> str:
    match about:
        case OwnCondition(JobCondition.MISSING, Reason(about=Roles(names))):
            return f"applying the Job{'s' if len(names) > 1 else ''} of {', '.join(names)}"
        case OwnCondition(JobCondition.PAUSED):
            return f"kubectl edl resume {job}" if job else "resuming it"
        case OwnCondition(JobCondition.ONE_SIZE):
            return f"a new Job with a larger {contract.MAX}"
        case OwnCondition(reason=Reason(Code.START_REFUSED)):
            return "a change of what refuses it; its start is then tried again"
        case OwnCondition(reason=Reason(Code.NEVER_FITS, Shortage(needs))):
            return _smaller_minimum([need.role for need in needs], about, job)
    return ""  # the text of a problem includes its fix


def _another_bound(about: AtBound, job: str) -> str:
    role, most = about.role, about.most
    if about.bound is SizeBound.MANUAL:
        none = f": kubectl edl scale {job} --role {role} --auto" if job else ""
        return f"another manual size of {role}, or none{none}"
    if about.bound in OF_WORK:
        return ""
    if most is None or about.value < most:
        larger = f": kubectl edl scale {job} --role {role} --max {about.value + 1}" if job else ""
        return f"a larger max of {role}{larger}"
    return f"a new Job with a larger max of {role}, as these pods were made for {most}"


def _start_at_once(failed: Attempt, job: str) -> str:
    again = restart_commands(job) if job else "pausing it, and resuming it some seconds later"
    mended = f'scheduler "{failed.scheduler}" running' if failed.scheduler else ""
    return f"{mended or 'its cause removed'}; then, for a start at once: {again}"


def _smaller_minimum(roles: Sequence[str], about: OwnCondition, job: str) -> str:
    """For minimums of these roles that were raised beyond what the nodes could hold."""
    if len(roles) > 1:
        return "more nodes, or smaller minimums"
    (role,), most = roles, about.most
    if most < about.fewest:
        why = f"as these pods wait for {about.fewest}"
        return f"more nodes, or a new Job with a min of at most {most} for {role}, {why}"
    command = f": kubectl edl scale {job} --role {role} --min {most}" if job else ""
    return f"more nodes, or a min of at most {most} for {role}{command}"


def _raised(quota: Quota, amount: int) -> str:
    """As the limit is set: the value of an annotation, or the resource with its amount."""
    return quota.text(amount) if quota.source == contract.GPU_BUDGET else quota.assigned(amount)


def _outranking(about: Outranked) -> list[str]:
    return [
        *(f"its own {name}" for name, _ in about.roles),
        *map(str, about.jobs),
        *(f"pending pods such as {pod}" for pod in about.pods),
    ]


def _insufficient(about: InsufficientResources) -> str:
    lacks = f"{insufficient(about.lack)} for"
    if about.wanted == 1:
        return f"{lacks} one {about.role} pod ({about.requests}): {_most(about)}{_within(about)}"
    rest = about.wanted - about.fitting
    some = f"{rest} of {about.wanted}" if about.fitting else str(about.wanted)
    beside = f"beside the {about.fitting} that fit, " if about.fitting else ""
    each = f"({about.requests} each)"
    return f"{lacks} {some} {about.role} pods {each}: {beside}{_most(about)}{_within(about)}"


def restart_commands(job: str) -> str:
    """The commands that end a back-off; `job` as for `remedy`.

    Not in one line: the reconciler must have seen the pause.
    """
    return f"kubectl edl pause {job}, and some seconds later kubectl edl resume {job}"


def _within(about: InsufficientResources) -> str:
    """Whose replicas would make room, but yield no further."""
    if not about.kept:
        return ""
    teams, its = ("teams", "their") if len(about.kept) > 1 else ("team", "its")
    whose = f"of {teams} {listed(about.kept)}"
    return f"; replicas {whose} that would make room are within {its} guarantee"


def _most(about: InsufficientResources) -> str:
    """The largest free amounts of the scarce resources, or that no node has all of them at once."""
    places, short = _places(about), about.lack.short
    if not short:
        return f"none of {places} has all of it free at once"
    most = amounts_of(about.free, short)
    if most:
        return f"at most {most} free on {places if about.nodes == 1 else f'one of {places}'}"
    return f"no {' and '.join(resource(name) for name, _ in shown_amounts(short))} free on {places}"


def _too_large(about: TooLarge) -> str:
    short = lacking(about.requests, about.largest)
    where = kept_to(about.domains)
    if not short:
        wanted = f"one {about.role} pod requests {about.requests}"
        return f"{wanted}, and no node{where} has all of it at once"
    has = amounts_of(about.largest, short)
    if not has:
        return f"one {about.role} pod requests {short}, and no node that it may use{where} has any"
    places = _places(about)
    largest = places if about.nodes == 1 else f"the largest of {places}"
    return f"one {about.role} pod requests {short}, {largest} has {has}"


def _usable_node(about: NoUsableNode) -> str:
    rule, pairs = about.rule.rule, about.rule.selector
    labels = ", ".join(label for label, _ in pairs)
    if rule is NodeRule.TOPOLOGY_SPREAD:
        return f"the label {labels} on nodes that {about.role} may use (kubectl label node)"
    if rule is NodeRule.POD_AFFINITY:
        wanted = ", ".join(f"{key}={value}" if value else key for key, value in pairs)
        return f"a pod with {wanted} on a node that {about.role} may use"
    labelled = f" with the label {labels}" if rule is NodeRule.TOPOLOGY else ""
    named = f" named {listed(about.rule.names)}" if rule is NodeRule.NODE_NAME else ""
    if rule is NodeRule.POD_ANTI_AFFINITY:
        named = f" with another {listed(about.rule.names)}"
    node = f"a node{labelled}{named} that {about.role} may use{kept_to(about.domains)}"
    if about.cordoned:
        node = f"{node}, uncordoned (kubectl uncordon) or new"
    return f"{node}, with {about.requests} free for each pod"


def _above_ceiling(about: LoadCeiling) -> str:
    name = about.resource
    return (
        f"the load ceiling of {about.share * 100:g} % keeps {amount_text(name, about.kept)} idle:"
        f" {amount_text(name, about.idle)} is idle, and one more {about.role} requests "
        f"{amount_text(name, about.needed)}"
    )


def _places(about: InsufficientResources | TooLarge | ConstraintsUnsatisfied) -> str:
    nodes = "the only node" if about.nodes == 1 else f"the {about.nodes} nodes"
    taints = about.taints if isinstance(about, InsufficientResources) else ()
    noun = "taint" if len(taints) == 1 else "taints"
    why = f" (it does not tolerate the {noun} {listed(taints)} of others)" if taints else ""
    return f"{nodes} that it may use{kept_to(about.domains)}{why}"
