"""Changes that would give a job room which waits for a topology domain, or for a quota."""

from bisect import bisect_left
from collections.abc import Sequence
from typing import Final

import msgspec

from edl.frameworks import resizes
from edl.model import Domain, Role, Topology, TrainingJob
from edl.model.causes.reason_subjects import Usage
from edl.model.causes.scarcity import NodePoolLimit, NodeRule, NoEligibleNode, Shortage
from edl.model.nodes import MAX_TOPOLOGY_LABELS
from edl.planner.decision import Decision
from edl.planner.explain.what_if_state import DecisionInput
from edl.planner.passes.admission.pool_headroom import PoolHeadroom
from edl.similar_names import similar_key


class StartRemedy(msgspec.Struct, frozen=True):
    """What suffices on the existing nodes and within the quotas, each found by a decision.

    `required`: its required topology with the labels of nodes that its own resemble most.
    `min`: a smaller min of one role, with which it fits into `domains` or the quotas; 0 if none
    does, or if its pods wait for more. `preferred`: the labels with which it gets room if all are
    only preferred, those that it prefers already in their order; empty if it gets none.
    """

    role: str = ""
    min: int = 0
    domains: tuple[Domain, ...] = ()
    required: tuple[tuple[str, str], ...] = ()
    preferred: tuple[str, ...] = ()
    limit: NodePoolLimit | None = None
    """What it needs beyond the limits of NodePools; `min` is then one for which they suffice."""
    pools: tuple[str, ...] = ()
    """The names of the NodePools that its pods may use and that limit it."""

    def __bool__(self) -> bool:
        return bool(self.min or self.required or self.preferred or self.limit)


NO_REMEDY: Final = StartRemedy()


def start_remedy(given: DecisionInput, decision: Decision, job: TrainingJob) -> StartRemedy:
    """The remedies of a job that gets no room."""
    why = decision.why_waits(job.key)
    match why and why.about:
        case NodePoolLimit() as limit:
            return within_pool_limits(given, job, limit)
        case Usage():
            return _smaller_min(given, job)
        case Shortage(needs=(need,), fitting=fitting, domains=domains) if domains:
            role = next(candidate for candidate in job.roles if candidate.name == need.role)
            smaller = _smaller(given, job, role, range(fitting, fitting - 1, -1))
            preferred = _preferred(given, job)
            return msgspec.structs.replace(
                smaller, domains=domains if smaller else (), preferred=preferred
            )
        case Shortage(domains=domains) if domains:
            return StartRemedy(preferred=_preferred(given, job))
        case NoEligibleNode(rule=NodeRule.TOPOLOGY) if job.topology.required:
            corrected = StartRemedy(required=_corrected(given, job))
            return corrected or StartRemedy(preferred=_preferred(given, job))
    return NO_REMEDY


def within_pool_limits(given: DecisionInput, job: TrainingJob, limit: NodePoolLimit) -> StartRemedy:
    """Higher limits, or a smaller min for which the present ones allow enough nodes."""
    shapes = (role.template.shape for role in job.live)
    pools = tuple(PoolHeadroom(given.state.node_pools).limiting(shapes, limit.resource))
    return msgspec.structs.replace(_smaller_min(given, job), limit=limit, pools=pools)


def _smaller_min(given: DecisionInput, job: TrainingJob) -> StartRemedy:
    """A smaller min of the first role for which one suffices."""
    remedies = (_smaller(given, job, role, range(role.spec.min - 1, 0, -1)) for role in job.live)
    return next(filter(None, remedies), NO_REMEDY)


def _smaller(
    given: DecisionInput, job: TrainingJob, role: Role, sizes: Sequence[int]
) -> StartRemedy:
    """The largest min of `sizes`, which descend, with which the job gets room."""
    if not resizes(job, role.name) or role.request.replicas is not None:
        return NO_REMEDY
    allowed = [size for size in sizes if size >= max(role.template.sizes[0], 1)]

    def suffices(size: int) -> bool:
        changed = given.with_roles(job.key, lambda old: old.changed(min=size), {role.name})
        return _gets_room(changed.run_passes(), job)

    place = bisect_left(allowed, x=True, key=suffices)
    return StartRemedy(role.name, allowed[place]) if place < len(allowed) else NO_REMEDY


def _gets_room(decision: Decision, job: TrainingJob) -> bool:
    """Whether it gets room, or if it runs, no limit keeps nodes from its minimum."""
    why = decision.why_waits(job.key)
    runs = not job.suspended and not (why and isinstance(why.about, NodePoolLimit))
    return runs or decision.gives_room(job.key)


def _preferred(given: DecisionInput, job: TrainingJob) -> tuple[str, ...]:
    """All labels of its topology if preferring them suffices and the webhook accepts them."""
    labels = list(job.topology.preferred)
    for _, label in job.topology.required:
        if label not in labels:
            labels.insert(_position(given, label, labels), label)
    if len(labels) > MAX_TOPOLOGY_LABELS:
        return ()
    return tuple(labels) if _suffices(given, job, Topology(preferred=tuple(labels))) else ()


def _corrected(given: DecisionInput, job: TrainingJob) -> tuple[tuple[str, str], ...]:
    """Its required labels, those that no node has replaced by similar ones that suffice."""
    labels = {label for node in given.state.nodes for label in node.labels or {}}

    def corrected(label: str) -> str:
        return label if label in labels else similar_key(label, labels) or label

    required = tuple((role, corrected(label)) for role, label in job.topology.required)
    asked = Topology(required, job.topology.preferred)
    return required if asked != job.topology and _suffices(given, job, asked) else ()


def _suffices(given: DecisionInput, job: TrainingJob, topology: Topology) -> bool:
    names = [role.name for role in job.roles if role.spec.topology]
    changed = given.with_roles(job.key, lambda role: role.changed(topology=topology), names)
    return changed.admits(job.key)


def _position(given: DecisionInput, label: str, labels: Sequence[str]) -> int:
    """Before the first label that has more domains on the nodes that have `label`."""
    nodes = [node.labels for node in given.state.nodes if node.labels and label in node.labels]
    domains = {key: len({node.get(key) for node in nodes}) for key in (label, *labels)}
    narrower = (place for place, key in enumerate(labels) if domains[key] > domains[label])
    return next(narrower, len(labels))
