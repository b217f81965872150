"""Changes of pod templates that would give a job room on nodes that its pods may not use."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

import msgspec
from msgspec.structs import replace

from edl.model import Code, Role, Shape, TrainingJob
from edl.model.causes.scarcity import NodeRule, NoEligibleNode, Shortage
from edl.model.nodes import Node, Taint, Toleration
from edl.planner.decision import Decision
from edl.planner.explain.what_if_state import DecisionInput
from edl.planner.passes.drain import INTERRUPTED

_MAX_TOLERATIONS: Final = 3
"""Tolerations that users write; more would open one node after the other."""
_STATES: Final = frozenset(
    {
        "aws-node-termination-handler",
        "ignore-taint.cluster-autoscaler.kubernetes.io",
        "karpenter.sh",
        "node.cloudprovider.kubernetes.io",
        "node.kubernetes.io",
        "startup-taint.cluster-autoscaler.kubernetes.io",
        "status-taint.cluster-autoscaler.kubernetes.io",
    }
)
"""Domains of taints by which Kubernetes, cloud providers and autoscalers say that a node is ill,
not ready yet or about to be removed, besides `INTERRUPTED`."""
_CONTROL_PLANE: Final = frozenset(
    {"node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"}
)
_Change = Callable[[Shape], Shape]


class TemplateRemedy(msgspec.Struct, frozen=True):
    """What suffices in the pod templates of `roles`, found by a decision; nothing if empty.

    `taints`: those that the pods would tolerate, none of which can be left out. `selector`: the
    labels, which no node has, that they would no longer select.
    """

    roles: tuple[str, ...] = ()
    taints: tuple[Taint, ...] = ()
    selector: tuple[tuple[str, str], ...] = ()


def template_remedy(given: DecisionInput, decision: Decision, job: TrainingJob) -> TemplateRemedy:
    """The remedy of a job that gets no room because no node is eligible, or too few are."""
    why = decision.why_waits(job.key)
    if why and why.code is Code.QUEUE_ORDER:  # nodes are requested for it later
        return TemplateRemedy()
    match why.about if why else None:
        case Shortage():
            return _tolerant(given, job, _excluding(decision, job))
        case NoEligibleNode(rule=NodeRule.TAINTS, taints=taints):
            return _tolerant(given, job, taints)
        case NoEligibleNode(rule=NodeRule.NODE_SELECTOR) as about:
            return _unselective(given, job, about)
    return TemplateRemedy()


def _excluding(decision: Decision, job: TrainingJob) -> tuple[Taint, ...]:
    """The taints that keep its pods off nodes which they select, but for control planes."""
    eligibility, shapes = decision.snapshot.eligibility, [role.template.shape for role in job.live]
    untolerated = {
        taint
        for shape in shapes
        for taint in eligibility.untolerated(shape, eligibility.selected(shape))
    }
    return tuple(taint for taint in untolerated if taint.key not in _CONTROL_PLANE)


def _tolerant(given: DecisionInput, job: TrainingJob, excluding: Sequence[Taint]) -> TemplateRemedy:
    taints = _least(given, job, _lasting(given, job, excluding))
    if taints and (roles := _roles(given, job, partial(_tolerating, taints))):
        return TemplateRemedy(roles, taints=taints)
    return TemplateRemedy()


def _unselective(given: DecisionInput, job: TrainingJob, about: NoEligibleNode) -> TemplateRemedy:
    there = {label for node in given.state.nodes for label in (node.labels or {}).items()}
    unknown = tuple(label for label in about.selector if label not in there)
    if unknown and (roles := _roles(given, job, partial(_without, unknown))):
        return TemplateRemedy(roles, selector=unknown)
    return TemplateRemedy()


def _lasting(given: DecisionInput, job: TrainingJob, taints: Sequence[Taint]) -> tuple[Taint, ...]:
    """Those of `taints` that say nothing of a node's state, on nodes without such a state.

    The taint of the nodes with room for most pods of the job comes first.
    """
    pods = Counter[Taint]()
    for node in given.state.nodes:
        if not any(map(_is_state, node.taints)):
            fitting = max(_fitting(node, role.template.shape) for role in job.live)
            pods.update(dict.fromkeys(node.taints, fitting))
    return tuple(sorted(pods.keys() & set(taints), key=lambda taint: (-pods[taint], str(taint))))


def _is_state(taint: Taint) -> bool:
    return taint.key in INTERRUPTED or taint.key.partition("/")[0] in _STATES


def _fitting(node: Node, shape: Shape) -> int:
    free = node.allocatable - node.used
    return min((free.get(name) // need for name, need in shape.requests if need > 0), default=0)


def _least(given: DecisionInput, job: TrainingJob, taints: Sequence[Taint]) -> tuple[Taint, ...]:
    """A minimal set of tolerations that suffices; empty if it has more than `_MAX_TOLERATIONS`.

    The last taint of the shortest sequence that suffices is needed: the others are sought before
    it. So each taint of the set costs a binary search.
    """
    names, needed = [role.name for role in job.live], tuple[Taint, ...]()

    def suffices(count: int) -> bool:
        change = partial(_tolerating, (*needed, *taints[:count]))
        return _suffices(given, job, change, names)

    if not taints or not suffices(len(taints)):
        return ()
    while not needed or not suffices(0):
        if len(needed) == _MAX_TOLERATIONS:
            return ()
        last = bisect_left(range(1, len(taints)), x=True, key=suffices)
        needed, taints = (*needed, taints[last]), taints[:last]
    return tuple(sorted(needed, key=str))


def _tolerating(taints: Sequence[Taint], shape: Shape) -> Shape:
    lacking = [taint for taint in taints if not taint.tolerated(shape.tolerations)]
    more = (Toleration(taint.key, "Equal", taint.value, taint.effect) for taint in lacking)
    return replace(shape, tolerations=(*shape.tolerations, *more))


def _without(labels: Sequence[tuple[str, str]], shape: Shape) -> Shape:
    selector = (label for label in shape.node_selector if label not in labels)
    return replace(shape, node_selector=tuple(selector))


def _roles(given: DecisionInput, job: TrainingJob, change: _Change) -> tuple[str, ...]:
    """The roles, as few as possible, whose changed pods get room; empty if all changed get none."""
    names = [role.name for role in job.live if change(role.template.shape) != role.template.shape]
    if not names or not _suffices(given, job, change, names):
        return ()
    for name in names if len(names) > 1 else ():
        others = [other for other in names if other != name]
        names = others if others and _suffices(given, job, change, others) else names
    return tuple(names)


def _suffices(
    given: DecisionInput, job: TrainingJob, change: _Change, names: Sequence[str]
) -> bool:
    def changed(role: Role) -> Role:
        return role.changed(shape=change(role.template.shape))

    return given.with_roles(job.key, changed, names).admits(job.key)
