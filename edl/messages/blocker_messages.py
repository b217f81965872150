"""Sentences about a blocker: what blocks a job, and what would change it."""

from functools import singledispatch

from edl.messages.reason_messages import message, precedence
from edl.messages.scarcity_messages import SCARCE, kept_to, listed, node_rule, resource, scarce
from edl.model.blockers import (
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
from edl.model.reason_codes import Roles
from edl.model.scarcity import NodeRule
from edl.model.topology_domains import is_one_node
from edl.quantities import Resources, amount_text, shown_amounts


@singledispatch
def cause(found: Blocker) -> str:
    """What blocks the job, as a part of a sentence."""
    raise TypeError(f"no sentence for {found!r}")


@singledispatch
def remedy(found: Blocker) -> str:  # noqa: ARG001 (all of these share a signature)
    """What would remove the blocker; empty if it passes by itself."""
    return ""


@cause.register
def _(found: AtBound) -> str:
    if found.bound is SizeBound.ITEMS:
        items = "1 work item" if found.value == 1 else f"{found.value} work items"
        return f"{found.role} has {items} left to do, and a pod for each"
    limit = "max" if found.bound is SizeBound.MAX else "manual size"
    return f"{found.role} is at its {limit}, {found.value}"


@remedy.register
def _(found: AtBound) -> str:
    return {
        SizeBound.MAX: f"a larger max of {found.role}",
        SizeBound.MANUAL: f"another manual size of {found.role}, or none (scale --auto)",
        SizeBound.ITEMS: "",
    }[found.bound]


@cause.register
def _(found: TimedHold) -> str:
    return message(found.reason, found.until)


@cause.register
def _(found: Outranked) -> str:
    names = [
        *(f"its own {name}" for name, _ in found.roles),
        *map(str, found.jobs),
        *(f"pending pods such as {pod}" for pod in found.pods),
    ]
    return f"{precedence(found.rule)} {listed(names)}"


@remedy.register
def _(found: Outranked) -> str:  # noqa: ARG001
    return "room for them too"


@cause.register
def _(found: InProgress | OwnCondition) -> str:
    return message(found.reason)


@remedy.register
def _(found: OwnCondition) -> str:
    if found.what is JobCondition.MISSING and isinstance(found.reason.about, Roles):
        names = found.reason.about.names
        return f"kubectl apply the Job{'s' if len(names) > 1 else ''} of {', '.join(names)}"
    # The text of a problem includes its fix.
    return "resuming it (kubectl edl resume)" if found.what is JobCondition.PAUSED else ""


@cause.register
def _(found: InsufficientResources) -> str:
    short = _short(found.requests, found.free) or found.missing
    lacks = f"Insufficient {' and '.join(scarce(name) for name, _ in shown_amounts(short))} for"
    if found.wanted == 1:
        return f"{lacks} one {found.role} ({found.requests}): {_most(found)}"
    some = f"{found.pods} of {found.wanted}" if found.fitting else str(found.wanted)
    beside = f"beside the {found.fitting} that fit, " if found.fitting else ""
    return f"{lacks} {some} {found.role} ({found.requests} each): {beside}{_most(found)}"


def _most(found: InsufficientResources) -> str:
    """The largest free amounts of the scarce resources, or that no node has all of them at once."""
    places = _places(found)
    short = _short(found.requests, found.free)
    if not short:
        return f"none of {places} has all of it free at once"
    most = _of(found.free, short)
    if most:
        return f"at most {most} free on one of {places}"
    return f"no {' and '.join(resource(name) for name, _ in shown_amounts(short))} free on {places}"


@remedy.register
def _(found: InsufficientResources) -> str:
    if found.pods == 1:
        return f"{found.missing} more free on {found.node}"
    more = f"room for {found.pods} more pods of {found.requests}"
    if is_one_node(found.domains, found.node):
        return f"{more} on {found.node}"
    return f"{more}, on nodes like {found.node}{kept_to(found.domains)}"


@cause.register
def _(found: TooLarge) -> str:
    short = _short(found.requests, found.largest)
    where = kept_to(found.domains)
    if not short:
        asks = f"one {found.role} asks for {found.requests}"
        return f"{asks}, and no node{where} has all of it at once"
    has = _of(found.largest, short)
    if not has:
        return f"one {found.role} asks for {short}, and no node that it may use{where} has any"
    places = _places(found)
    largest = places if found.nodes == 1 else f"the largest of {places}"
    return f"one {found.role} asks for {short}, {largest} has {has}"


@remedy.register
def _(found: TooLarge) -> str:
    nodes = "a node" if found.pods == 1 else f"{found.pods} nodes"
    each = "" if found.pods == 1 else " each"
    if is_one_node(found.domains, found.node):
        return f"smaller pods, or {found.requests * found.pods} more on {found.node}"
    return f"smaller pods, or {nodes} with {found.requests}{each}{kept_to(found.domains)}"


@cause.register
def _(found: NoUsableNode) -> str:
    those = "large enough nodes" if found.rule.large_nodes else "nodes"
    return f"{node_rule(found.rule)}: {found.role} may use none of the {those}"


@remedy.register
def _(found: NoUsableNode) -> str:
    labels = ", ".join(label for label, _ in found.rule.selector)
    labelled = f" with the label {labels}" if found.rule.rule is NodeRule.TOPOLOGY else ""
    node = f"a node{labelled} that {found.role} may use{kept_to(found.domains)}"
    return f"{node}, with {found.requests} free for each pod"


@cause.register
def _(found: ConstraintsUnsatisfied) -> str:
    places = _places(found)
    return f"{SCARCE[found.rule]} keep one more {found.role} off {places}"


@remedy.register
def _(found: ConstraintsUnsatisfied) -> str:
    if is_one_node(found.domains, found.node):
        return ""
    noun = "one more node" if found.pods == 1 else f"{found.pods} more nodes"
    each = "" if found.pods == 1 else " on each"
    like = f"{noun} like {found.node}{kept_to(found.domains)}"
    return f"{like}, with {found.requests} free{each} and no pod there yet"


@cause.register
def _(found: LoadCeiling) -> str:
    name = found.resource
    return (
        f"the load ceiling of {found.share * 100:g} % keeps {amount_text(name, found.kept)} idle:"
        f" {amount_text(name, found.idle)} are, and one more {found.role} asks for "
        f"{amount_text(name, found.needed)}"
    )


@remedy.register
def _(found: LoadCeiling) -> str:
    more = amount_text(found.resource, found.needed + found.kept - found.idle)
    return f"a load ceiling of {found.enough * 100:g} %, or {more} more idle in the cluster"


@cause.register
def _(found: QuotaExceeded) -> str:
    budget = found.quota
    used, left = budget.text(found.used), budget.text(found.left)
    return f"{budget}: needs {budget.text(found.needed)}; {used} used, {left} left"


@remedy.register
def _(found: QuotaExceeded) -> str:
    budget = found.quota
    enough = budget.text(budget.hard + found.lacks)
    return f"{enough} {budget.resource} in {budget.place}"


def _short(requests: Resources, most: Resources) -> Resources:
    """The part of a pod's requests that no node has enough of; empty if each fits somewhere."""
    return Resources.of({name: need for name, need in requests if need > most.get(name)})


def _of(amounts: Resources, names: Resources) -> Resources:
    return Resources.of({name: amounts.get(name) for name, _ in names})


def _places(found: InsufficientResources | TooLarge | ConstraintsUnsatisfied) -> str:
    nodes = "the only node" if found.nodes == 1 else f"the {found.nodes} nodes"
    return f"{nodes} that it may use{kept_to(found.domains)}"
