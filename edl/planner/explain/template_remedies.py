"""Changes of pod templates that would give a job room on nodes that its pods may not use."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

import msgspec
from msgspec.structs import replace

from edl.model import Role, Shape, TrainingJob
from edl.model.nodes import Taint, Toleration
from edl.model.scarcity import NodeRule, NoEligibleNode
from edl.planner.explain.diagnosis import gets_room
from edl.planner.explain.what_if_state import DecisionInput
from edl.planner.plan_builder import PlanBuilder

_TRIED: Final = 3
"""Taints whose toleration is tried alone; a decision each."""
_Change = Callable[[Shape], Shape]


class TemplateRemedy(msgspec.Struct, frozen=True):
    """What suffices in the pod templates of `roles`, found by a decision; nothing if empty.

    `taints`: those that the pods would tolerate. `selector`: the labels, which no node has, that
    they would no longer select.
    """

    roles: tuple[str, ...] = ()
    taints: tuple[Taint, ...] = ()
    selector: tuple[tuple[str, str], ...] = ()


def template_remedy(given: DecisionInput, builder: PlanBuilder, job: TrainingJob) -> TemplateRemedy:
    """The remedy of a job that gets no room because no node is eligible."""
    held = builder.results.held.get(job.key)
    about = held.about if held else None
    if not isinstance(about, NoEligibleNode):
        return TemplateRemedy()
    if about.rule is NodeRule.TAINTS:
        for taints in (*((one,) for one in about.taints[:_TRIED]), about.taints):
            if roles := _roles(given, job, partial(_tolerating, taints)):
                return TemplateRemedy(roles, taints=taints)
    if about.rule is NodeRule.NODE_SELECTOR:
        there = {label for node in given.state.nodes for label in (node.labels or {}).items()}
        unknown = tuple(label for label in about.selector if label not in there)
        if unknown and (roles := _roles(given, job, partial(_without, unknown))):
            return TemplateRemedy(roles, selector=unknown)
    return TemplateRemedy()


def _tolerating(taints: Sequence[Taint], shape: Shape) -> Shape:
    lacking = [one for one in taints if not one.tolerated(shape.tolerations)]
    more = (Toleration(one.key, "Equal", one.value, one.effect) for one in lacking)
    return replace(shape, tolerations=(*shape.tolerations, *more))


def _without(labels: Sequence[tuple[str, str]], shape: Shape) -> Shape:
    kept = (label for label in shape.node_selector if label not in labels)
    return replace(shape, node_selector=tuple(kept))


def _roles(given: DecisionInput, job: TrainingJob, change: _Change) -> tuple[str, ...]:
    """The roles, as few as possible, whose changed pods get room; empty if all changed get none."""
    names = [one.name for one in job.live if change(one.template.shape) != one.template.shape]
    if not names or not _suffices(given, job, change, names):
        return ()
    for name in names if len(names) > 1 else ():
        others = [one for one in names if one != name]
        names = others if others and _suffices(given, job, change, others) else names
    return tuple(names)


def _suffices(
    given: DecisionInput, job: TrainingJob, change: _Change, names: Sequence[str]
) -> bool:
    def changed(role: Role) -> Role:
        return role.changed(shape=change(role.template.shape)) if role.name in names else role

    roles = tuple(map(changed, job.roles))
    return gets_room(
        given.with_job(job.key, lambda one: replace(one, roles=roles)).run_passes(), job.key
    )
