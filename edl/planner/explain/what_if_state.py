"""The input of one decision, and changed copies of it."""

from collections.abc import Callable, Container, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from edl.feasibility.eligibility import NAME_FIELD
from edl.model import (
    ClusterState,
    ForeignPods,
    JobKey,
    Node,
    Pod,
    PodConstraints,
    Quota,
    Role,
    Shape,
    Team,
    Teams,
    TrainingJob,
    job_of,
)
from edl.model.nodes import HOSTNAME, added_name, existing_name
from edl.planner.decide import run_passes
from edl.planner.decision import Decision
from edl.planner.decision_limits import Limits
from edl.planner.policies import Policy
from edl.planner.snapshot.quota_balance import limit_source
from edl.quantities import Resources

_PRESENT: Final = frozenset({"In", "Exists"})


class DecisionInput(msgspec.Struct, frozen=True):
    """The arguments of `decide`. Each `with_*` returns a changed copy."""

    state: ClusterState
    policy: Policy
    limits: Limits

    def run_passes(self) -> Decision:
        return run_passes(self.state, self.policy, self.limits)

    def admits(self, key: JobKey) -> bool:
        """Whether a waiting training job gets room by this decision."""
        return self.run_passes().gives_room(key)

    def changed(self, **fields: Any) -> "DecisionInput":  # noqa: ANN401 - of any type
        """A copy with these fields of the state replaced."""
        return replace(self, state=replace(self.state, **fields))

    def at(self, moment: datetime) -> "DecisionInput":
        """The same state at a later time; pods without a node have waited no longer than now."""
        later = moment - self.state.observed_at
        jobs = (replace(job, roles=_waiting_as_long(job, later)) for job in self.state.jobs)
        return self.changed(observed_at=moment, jobs=tuple(jobs))

    def job(self, key: JobKey) -> TrainingJob | None:
        return job_of(self.state.jobs, key)

    def node(self, name: str) -> Node | None:
        return next((node for node in self.state.nodes if node.name == name), None)

    def with_job(
        self, key: JobKey, change: Callable[[TrainingJob], TrainingJob | None]
    ) -> "DecisionInput":
        """One training job changed, or removed if `change` returns None."""
        changed = (change(job) if job.key == key else job for job in self.state.jobs)
        return self.changed(jobs=tuple(job for job in changed if job is not None))

    def with_roles(
        self, key: JobKey, change: Callable[[Role], Role], names: Container[str]
    ) -> "DecisionInput":
        """Roles of one training job changed, those of these names."""

        def changed(job: TrainingJob) -> TrainingJob:
            roles = (change(role) if role.name in names else role for role in job.roles)
            return replace(job, roles=tuple(roles))

        return self.with_job(key, changed)

    def with_more(self, name: str, more: Resources) -> "DecisionInput":
        """One node with `more` allocatable resources."""
        nodes = (
            replace(node, allocatable=node.allocatable + more) if node.name == name else node
            for node in self.state.nodes
        )
        return self.changed(nodes=tuple(nodes))

    def with_nodes(self, like: Node, room: Resources, count: int) -> "DecisionInput":
        """`count` more nodes like this one, empty and with `room` allocatable each."""
        taken = {node.name for node in self.state.nodes}
        model = existing_name(like.name)
        names = (added_name(model, number) for number in range(len(taken) + count))
        new = [name for name in names if name not in taken][:count]
        nodes = (
            replace(
                like,
                name=name,
                allocatable=room,
                used=Resources(),
                releasing=Resources(),
                labels=_labels(like, name),
                claimed=replace(like.claimed, held={}),
                evictable_pods=0,
            )
            for name in new
        )
        return self.changed(nodes=(*self.state.nodes, *nodes))

    def with_labels(self, labels: Mapping[str, str]) -> "DecisionInput":
        """Nodes with these labels, where they have none of that name."""
        nodes = (
            replace(node, labels={**labels, **(node.labels or {})}) for node in self.state.nodes
        )
        return self.changed(nodes=tuple(nodes))

    def with_pods_everywhere(self, namespace: str, shape: Shape) -> "DecisionInput":
        """On each node one more pod of other owners that this shape's pod affinity selects."""
        terms = shape.constraints.affinity if shape.constraints else ()
        every = [requirement for term in terms for requirement in term.selector.requirements]
        labels = {
            requirement.key: next(iter(requirement.values), "")
            for requirement in every
            if requirement.operator in _PRESENT
        }
        named = (space for term in terms for space in term.selector.namespaces or ())
        pod = PodConstraints(next(named, namespace), tuple(sorted(labels.items())))
        pods = (ForeignPods(node.name, pod, 1) for node in self.state.nodes)
        return self.changed(foreign_pods=(*self.state.foreign_pods, *pods))

    def with_lending(self, name: str) -> "DecisionInput":
        """One team lends what it leaves idle."""
        teams = (replace(team, lend=team.lend or team.name == name) for team in self.state.teams)
        return self.changed(teams=Teams.of(tuple(teams)))

    def with_quota(self, quota: Quota, more: int) -> "DecisionInput":
        """One quota, or a team's limit, raised by `more`."""
        name = (quota.namespace, quota.source, quota.resource)
        quotas = (
            replace(other, hard=other.hard + more)
            if (other.namespace, other.source, other.resource) == name
            else other
            for other in self.state.quotas
        )
        teams = (
            _with_limit(team, quota.resource, more)
            if quota.spans_namespaces and quota.source == limit_source(team.name)
            else team
            for team in self.state.teams
        )
        return self.changed(quotas=tuple(quotas), teams=Teams.of(teams))


def _waiting_as_long(job: TrainingJob, later: timedelta) -> tuple[Role, ...]:
    """The roles `later`; a pod without a node waits since its start, or since it got a plan."""

    def moved(pod: Pod) -> Pod:
        if pod.node or not pod.active:
            return pod
        since = max(filter(None, (job.started_at, pod.created_at, pod.planned.placed_at)))
        return replace(pod, planned=replace(pod.planned, placed_at=since + later))

    return tuple(
        role
        if all(pod.node for pod in role.status.pods)
        else role.changed(pods=tuple(map(moved, role.status.pods)))
        for role in job.roles
    )


def _with_limit(team: Team, resource: str, more: int) -> Team:
    raised = ((name, most + more * (name == resource)) for name, most in team.limit)
    return replace(team, limit=tuple(raised))


def _labels(like: Node, name: str) -> dict[str, str]:
    """The labels of `like`; values that are its name become the new name."""
    labels = (like.labels or {}).items()
    return {key: name if text == like.name else text for key, text in labels} | {HOSTNAME: name}


def node_for(shape: Shape, name: str) -> Node:
    """An empty node that is eligible for a shape, by the first of its node affinity terms."""
    labels = dict(shape.node_selector)
    for wanted in shape.affinity[0] if shape.affinity else ():
        value = wanted.values[0] if wanted.values else ""
        match wanted.operator:
            case "In" if wanted.key == NAME_FIELD:
                name = value
            case "In" | "Exists":
                labels.setdefault(wanted.key, value)
            case "Gt" | "Lt":
                labels[wanted.key] = str(int(value) + (1 if wanted.operator == "Gt" else -1))
    return Node(name, Resources(), Resources(), Resources(), labels=labels)
