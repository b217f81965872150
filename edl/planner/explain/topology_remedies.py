"""Changes that would give a job room which waits for a domain of its required topology."""

from collections.abc import Sequence
from typing import Final

import msgspec

from edl.model import Domain, JobKey, Role, Topology, TrainingJob
from edl.model.causes.scarcity import NodeRule, NoEligibleNode, Shortage
from edl.model.nodes import MOST_TOPOLOGY_LABELS
from edl.planner.explain.diagnosis import gets_room
from edl.planner.explain.what_if_state import DecisionInput
from edl.planner.plan_builder import PlanBuilder


class TopologyRemedy(msgspec.Struct, frozen=True):
    """What suffices on the existing nodes, each found by a decision of its own.

    `min`: a smaller min of its only role that lacks room, with which it fits into `domains`; 0 if
    none does, or if its pods wait for more. `preferred`: the labels with which it gets room if all
    are only preferred, those that it prefers already in their order; empty if it gets none.
    """

    role: str = ""
    min: int = 0
    domains: tuple[Domain, ...] = ()
    preferred: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.min or self.preferred)


NO_REMEDY: Final = TopologyRemedy()


def topology_remedy(given: DecisionInput, builder: PlanBuilder, job: TrainingJob) -> TopologyRemedy:
    """The remedies of a job that gets no room; none without a required topology."""
    held = builder.results.held.get(job.key)
    if held is None or not job.topology.required:
        return NO_REMEDY
    match held.about:
        case Shortage(needs=(need,), fitting=fitting, domains=domains) if domains:
            smaller = _smaller(given, job, need.role, fitting)
            role = need.role if smaller else ""
            return TopologyRemedy(
                role, smaller, domains if smaller else (), preferred=_preferred(given, job)
            )
        case Shortage(domains=domains) if domains:
            return TopologyRemedy(preferred=_preferred(given, job))
        case NoEligibleNode(rule=NodeRule.TOPOLOGY):
            return TopologyRemedy(preferred=_preferred(given, job))
    return NO_REMEDY


def _smaller(given: DecisionInput, job: TrainingJob, name: str, most: int) -> int:
    """A min of at most this many pods with which the job gets room; 0 if it gets none."""
    role = next(one for one in job.roles if one.name == name)
    fixed = role.spec.min == role.spec.max or role.request.replicas is not None
    if fixed or most < max(role.template.sizes[0], 1):
        return 0
    changed = given.with_role(job.key, name, lambda one: one.changed(min=most))
    return most if _gets_room(changed, job.key) else 0


def _preferred(given: DecisionInput, job: TrainingJob) -> tuple[str, ...]:
    """All labels of its topology if preferring them suffices and the webhook accepts them."""
    labels = list(job.topology.preferred)
    for _, label in job.topology.required:
        if label not in labels:
            labels.insert(_position(given, label, labels), label)
    if len(labels) > MOST_TOPOLOGY_LABELS:
        return ()
    topology = Topology(preferred=tuple(labels))

    def relaxed(role: Role) -> Role:
        return role.changed(topology=topology) if role.spec.topology else role

    roles = tuple(map(relaxed, job.roles))
    changed = given.with_job(job.key, lambda one: msgspec.structs.replace(one, roles=roles))
    return topology.preferred if _gets_room(changed, job.key) else ()


def _position(given: DecisionInput, label: str, labels: Sequence[str]) -> int:
    """Before the first label that has more domains on the nodes that have `label`."""
    nodes = [one.labels for one in given.state.nodes if one.labels and label in one.labels]
    domains = {one: len({node.get(one) for node in nodes}) for one in (label, *labels)}
    narrower = (at for at, one in enumerate(labels) if domains[one] > domains[label])
    return next(narrower, len(labels))


def _gets_room(given: DecisionInput, key: JobKey) -> bool:
    return gets_room(given.run_passes(), key)
