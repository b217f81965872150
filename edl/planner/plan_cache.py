"""The last plan, which stays valid while none of its inputs changes.

A plan depends on the clock only through `DecisionClock`, which records when that changes.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, TypeAlias

import msgspec
from msgspec.structs import replace

from edl.model import ClusterState, Pod, Role, TrainingJob
from edl.model.pods import PodContainers, SchedulingStatus
from edl.planner.decision_limits import Limits
from edl.planner.passes.drain import draining_nodes
from edl.planner.plan import Plan
from edl.planner.policies import Policy
from edl.planner.snapshot.cluster_snapshot import Snapshot

_View: TypeAlias = tuple[object, ...]
_NO_TIME: Final = datetime.min.replace(tzinfo=UTC)


class _Decision(msgspec.Struct, frozen=True):
    state: ClusterState
    policy: Policy
    limits: Limits
    plan: Plan
    draining_nodes: frozenset[str]


@dataclass(slots=True)
class PlanCache:
    """Cache for repeated decisions. It affects cost, never results."""

    _last: _Decision | None = None

    def get(self, state: ClusterState, policy: Policy, limits: Limits) -> Plan | None:
        """The last plan, if `decide` would return it for this state too; else None."""
        last = self._last
        if last is None or (last.policy, last.limits) != (policy, limits):
            return None
        passed = state.observed_at - last.state.observed_at
        due = last.plan.recheck_after
        if passed.total_seconds() < 0 or (due is not None and passed >= due):
            return None
        if not _is_alike(last, state):
            return None
        plan = last.plan if due is None else replace(last.plan, recheck_after=due - passed)
        self._last = replace(last, state=state, plan=plan)
        return plan

    def put(
        self, state: ClusterState, plan: Plan, snapshot: Snapshot, *, waits: bool = False
    ) -> None:
        """Keep a plan without actions; a plan with actions changes the state it was made for.

        `waits`: a replica is to move. That may depend on the readiness of another pod, which the
        comparison of states ignores, so the plan is not kept. Nor is one with nodes that have just
        become unneeded: the reconciler records since when, which the next state has.
        """
        self._last = None
        acts = plan.changed_jobs or plan.drains or plan.node_assignments
        unrecorded = not {name for name, _ in state.unneeded_since}.issuperset(plan.unneeded)
        if not (acts or waits or unrecorded):
            self._last = _Decision(
                state, snapshot.policy, snapshot.limits, plan, draining_nodes(state.nodes)
            )


def _is_alike(last: _Decision, state: ClusterState) -> bool:
    """Whether two states are equal in all fields that a plan depends on."""
    before, draining = last.state, last.draining_nodes
    return (
        len(before.jobs) == len(state.jobs)
        and _beside_jobs(before) == _beside_jobs(state)
        and all(
            old is new or _view(old, draining) == _view(new, draining)
            for old, new in zip(before.jobs, state.jobs, strict=True)
        )
    )


def _beside_jobs(state: ClusterState) -> ClusterState:
    return replace(
        state,
        observed_at=_NO_TIME,  # read by `DecisionClock` alone
        jobs=(),
        unplanned_jobs=state.deleted_jobs,  # only writes depend on bare jobs
        orphans=(),  # they are deleted without a plan
    )


def _view(job: TrainingJob, draining: frozenset[str]) -> _View:
    """The fields of a job on which the plan depends."""
    readiness_counts = (
        any(pod.node in draining for role in job.roles for pod in role.status.pods)
        or job.restarted_in_place
        or any(role.may_have_replacements for role in job.roles)
    )
    """Pods are drained, or a pod may wait for a lost peer."""
    roles = tuple(_role(role, readiness_counts=readiness_counts) for role in job.roles)
    # Only why a role is missing matters. Dependents are created and deleted without a plan.
    filling = tuple(replace(conflict, role=None) for conflict in job.conflicting if conflict.fills)
    return replace(job, roles=(), existing_dependents={}, conflicting=filling), roles


def _role(role: Role, *, readiness_counts: bool) -> _View:
    """A role without its version and fingerprint, which only writes need, and its shown history."""
    ranked = role.spec.indexed and all(pod.index >= 0 for pod in role.status.pods)
    # Unready pods leave first where pods have no index.
    pods = role.status.pods if readiness_counts or not ranked else _unready(role.status.pods)
    reported_at = role.reported_at if _lacks_pods(role) else None
    viewed = role.changed(pods=(), version="", fingerprint="", history="", reported_at=reported_at)
    return viewed, tuple(_pod(pod, readiness_counts=readiness_counts) for pod in pods)


def _lacks_pods(role: Role) -> bool:
    """Whether the Job controller is to create pods of a role; when it last acted matters then."""
    status = role.status
    return not status.suspended and sum(pod.active for pod in status.pods) < status.size


def _unready(pods: Iterable[Pod]) -> Iterable[Pod]:
    """Pods without what only drains and lost peers depend on: readiness, and published hosts."""
    return (replace(pod, ready=False, published=replace(pod.published, hosts=None)) for pod in pods)


def _pod(pod: Pod, *, readiness_counts: bool) -> Pod:
    runs = pod.containers.runs
    return replace(
        pod,
        version="",  # for writes
        ready_since=pod.ready_since if readiness_counts else None,
        published=replace(pod.published, published_at=None, confirmed_at=None),  # for host lists
        scheduling=SchedulingStatus(pod.scheduling.gates),  # the rest is quoted by suspensions
        # Why a container waits is shown. Its runs show which pods wait for a lost peer.
        containers=PodContainers(runs) if readiness_counts else PodContainers(),
        # Plans wait until the Job controller has counted the ends of pods. Untracked ones go first.
        deletion=replace(pod.deletion, finalizers=() if pod.untracked else None),
    )
