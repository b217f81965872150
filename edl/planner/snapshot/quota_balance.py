"""Remaining quota of namespaces while a plan is made.

As with nodes, a plan decides on the future remainder; replicas that the present remainder allows
too start in this plan: quotas count pods until they are gone.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import msgspec

from edl.feasibility.horizon import IDLE, Horizon
from edl.model import ClusterState, JobKey, Pod, Quota, Role, TrainingJob
from edl.planner.teams.team_balance import NO_TEAM, TeamBalance, TeamCharge, team_limits

if TYPE_CHECKING:
    from edl.planner.snapshot.role_allocation import RoleAllocation
    from edl.planner.teams.reclaim_priority import ReclaimScope


@dataclass(slots=True, eq=False)
class QuotaLine:
    """One quota. Below 0 it is exceeded: then nothing that counts in it starts or grows."""

    spec: Quota
    remaining: int
    future_remaining: int
    head: JobKey | None = None
    """The job that has waited for it so long that none behind starts on it first."""
    refused: tuple[int, "ReclaimScope"] | None = None
    """An amount that a claim of this scope could not have, since something was given back."""

    def left(self, horizon: Horizon) -> int:
        """Quota that is not reserved for any pod."""
        if horizon is IDLE and self.remaining < self.future_remaining:
            return self.remaining
        return self.future_remaining

    @property
    def used(self) -> int:
        return self.spec.hard - self.future_remaining


class QuotaRequest(msgspec.Struct, frozen=True, eq=False):
    """What pods count in the quotas of their namespace: one pod of a role, or a whole gang."""

    amounts: tuple[tuple[QuotaLine, int], ...]
    team: TeamCharge | None = None
    """What the pods count in their team; None without teams."""
    unlent: QuotaLine | None = None
    """Stands for what teams keep that lend nothing."""

    def exceeded(self, horizon: Horizon, pods: int = 1) -> QuotaLine | None:
        """The first quota that does not allow `pods` more."""
        for quota, cost in self.amounts:
            if quota.left(horizon) < cost * pods:
                return quota
        return None if self.lends(pods) else self.unlent

    @property
    def never_allowed_by(self) -> QuotaLine | None:
        """The first quota that is smaller than this request."""
        return next((quota for quota, cost in self.amounts if cost > quota.spec.hard), None)

    @property
    def fits_beside_others(self) -> bool:
        """Whether it is within every quota once no training job counts in them."""
        return all(cost <= quota.spec.hard - quota.spec.others for quota, cost in self.amounts)

    def lends(self, pods: int = 1) -> bool:
        """Whether `pods` more leave what teams keep that lend nothing."""
        if self.unlent is None or self.team is None:
            return True
        return self.team.covered_by(pods) >= 0 or self.team.lends(pods)

    def allows(self, horizon: Horizon, pods: int = 1) -> bool:
        # Mostly no budget counts them: growth asks this of each replica.
        return not (self.amounts or self.unlent) or self.exceeded(horizon, pods) is None

    def within_quota(self) -> bool:
        """Whether what was taken is there."""
        return all(quota.future_remaining >= 0 for quota, _ in self.amounts)

    def reserve(self, horizon: Horizon, pods: int = 1) -> None:
        for quota, cost in self.amounts:
            quota.future_remaining -= cost * pods
            if horizon is IDLE:
                quota.remaining -= cost * pods
        if self.team:
            self.team.reserve(pods)

    def release(self, horizon: Horizon, pods: int = 1) -> None:
        self.reserve(horizon, -pods)
        for quota, _ in self.amounts:
            quota.refused = None

    def count_terminating(self, pods: int) -> None:
        """Pods that are leaving count until they are gone."""
        for quota, cost in self.amounts:
            quota.remaining -= cost * pods

    def amount(self, quota: QuotaLine) -> int:
        """What one pod or gang counts in this quota."""
        return next((cost for found, cost in self.amounts if found is quota), 0)

    def is_relieved_by(self, allocation: "RoleAllocation") -> bool:
        """Whether one replica less of this role counts less in an exceeded quota."""
        return any(
            quota.future_remaining < 0 and allocation.quota_request.amount(quota)
            for quota, _ in self.amounts
        )

    @property
    def head(self) -> JobKey | None:
        """The job that goes first on one of these quotas."""
        return next((quota.head for quota, _ in self.amounts if quota.head), None)


NOT_COUNTED: Final = QuotaRequest(())
"""That of pods which count in no quota and no team."""


@dataclass(slots=True)
class QuotaUsage:
    """All quotas of one plan, including teams' limits. Without any, no pod is charged."""

    state: ClusterState
    teams: TeamBalance | None
    lines: dict[tuple[str, str, str], QuotaLine] = field(init=False)
    _limits: dict[int, list[tuple[str, str, str]]] = field(default_factory=dict)
    """By team, its limits and those of the teams above it, as keys of `lines`."""
    _unlent: QuotaLine | None = None
    _requests: dict[object, QuotaRequest] = field(default_factory=dict)

    def __post_init__(self) -> None:
        state, teams = self.state, self.teams
        limits = team_limits(state.teams, state.team_usage) if teams else {}
        found = [*state.quotas, *(quota for quotas in limits.values() for quota in quotas)]
        self.lines = {_key(quota): _line(quota) for quota in sorted(found, key=repr)}
        if teams:
            for number, name in enumerate(teams.names):
                path = state.teams.path(name)
                self._limits[number] = [_key(one) for team in path for one in limits[team]]
            self._unlent = _line(teams.unlent) if teams.keepers else None

    def pod_request(self, job: TrainingJob, role: Role) -> QuotaRequest:
        """What one pod of this role counts."""
        key: tuple[object, ...]
        if self.teams:
            # By identity: the state keeps the shape, and to hash one costs far more.
            key = (job.key.namespace, role.template.charges, id(role.template.shape))
        elif role.template.charges and self.lines:
            key = (job.key.namespace, role.template.charges)
        else:
            return NOT_COUNTED
        if key not in self._requests:
            self._requests[key] = self.request_of(job, [(role, 1)])
        return self._requests[key]

    def request_of(self, job: TrainingJob, pods: Sequence[tuple[Role, int]]) -> QuotaRequest:
        """What these numbers of pods of each role count together."""
        if not (self.lines or self.teams):
            return NOT_COUNTED
        costs: dict[tuple[str, str, str], int] = {}
        total: dict[str, int] = {}
        team = self.teams.number(self.state.team_of(job.key.namespace)) if self.teams else NO_TEAM
        for role, count in pods:
            for name, amount in role.template.shape.requests if self.teams and count else ():
                total[name] = total.get(name, 0) + amount * count
            for source, resource, amount in role.template.charges:
                key = (job.key.namespace, source, resource)
                if key in self.lines and count:
                    costs[key] = costs.get(key, 0) + amount * count
        costs |= {key: total[key[2]] for key in self._limits.get(team, ()) if total.get(key[2])}
        found = tuple((self.lines[key], cost) for key, cost in sorted(costs.items()))
        if self.teams:
            return QuotaRequest(found, self.teams.charge(team, total.items()), self._unlent)
        return QuotaRequest(found) if found else NOT_COUNTED

    def count_role(self, allocation: "RoleAllocation") -> None:
        """Count a started role: its replicas, those to come too, and its pods that leave."""
        allocation.quota_request = quota_request = self.pod_request(allocation.job, allocation.role)
        if quota_request is not NOT_COUNTED:
            counted = [placement.counts_in_quota for placement in allocation.placements]
            quota_request.reserve(IDLE, counted.count(True))
            if quota_request.amounts:
                quota_request.count_terminating(_leaving(allocation.role))

    def count_pods(self, job: TrainingJob, role: Role, *, leaving: bool) -> None:
        """Count the pods of a role that takes no part in the plan any more."""
        quota_request = self.pod_request(job, role)
        if quota_request is not NOT_COUNTED:
            pods = sum(not pod.ended for pod in role.status.pods)
            quota_request.count_terminating(pods) if leaving else quota_request.reserve(IDLE, pods)


def _key(quota: Quota) -> tuple[str, str, str]:
    return quota.namespace, quota.source, quota.resource


def _line(quota: Quota) -> QuotaLine:
    left = quota.hard - quota.others
    return QuotaLine(quota, left, left)


def _leaving(role: Role) -> int:
    """Pods of a started role that count besides its replicas."""
    live = [pod for pod in role.status.pods if not pod.ended]
    staying = [pod for pod in live if not pod.terminating]
    return len(live) - _kept(role, staying)


def _kept(role: Role, staying: list[Pod]) -> int:
    if role.spec.indexed and all(pod.index >= 0 for pod in staying):
        return len({pod.index for pod in staying if pod.index < role.status.size})
    return min(len(staying), role.status.size)
