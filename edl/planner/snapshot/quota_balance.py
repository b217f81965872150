"""Remaining quota of namespaces while a plan is made.

Quotas count pods until they are deleted. As with nodes, a plan decides by the future remainder;
replicas that also fit into the present remainder are created now.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

from edl.feasibility.horizon import IDLE, Horizon
from edl.model import ClusterState, JobKey, Quota, Role, Teams, TrainingJob
from edl.planner.teams.kept_capacity import LendingBound
from edl.planner.teams.team_balance import TeamBalance
from edl.planner.teams.team_charge import TeamCharge
from edl.quantities import Resources

if TYPE_CHECKING:
    from edl.planner.snapshot.role_allocation import RoleAllocation
    from edl.planner.teams.reclaim_priority import ReclaimScope

_QuotaKey: TypeAlias = tuple[str, str, str]
"""(namespace, source, resource)"""


@dataclass(slots=True, eq=False)
class QuotaLine:
    """One quota, less what other pods use. Below 0, no role that counts in it starts or grows."""

    spec: Quota
    remaining: int
    future_remaining: int
    head: JobKey | None = None
    """The job for which it is reserved: a queue head that has waited `queue_patience`."""
    refused: tuple[int, "ReclaimScope"] | None = None
    """An amount that a claim of this scope did not get; cleared when usage is released."""

    def left(self, horizon: Horizon) -> int:
        """The amount at this horizon that is reserved for no pod."""
        if horizon is IDLE and self.remaining < self.future_remaining:
            return self.remaining
        return self.future_remaining

    @property
    def used(self) -> int:
        return self.spec.hard - self.future_remaining


class QuotaRequest(msgspec.Struct, frozen=True, eq=False):
    """What one pod of a role, or a whole gang, counts in the quotas of its namespace."""

    amounts: tuple[tuple[QuotaLine, int], ...]
    team: TeamCharge | None = None
    """What the pods count in their team; None without teams."""

    @property
    def is_bounded(self) -> bool:
        """Whether any quota, or what teams do not lend, may refuse it."""
        return bool(self.amounts) or (self.team is not None and bool(self.team.balance.keepers))

    def exceeded(self, horizon: Horizon, pods: int = 1) -> QuotaLine | None:
        """The first quota that does not allow `pods` more, or None."""
        for quota, cost in self.amounts:
            if quota.left(horizon) < cost * pods:
                return quota
        return None

    def unlent(self, short: Sequence[int] = ()) -> QuotaLine | None:
        """The quota that stands for what teams lend, if one more exceeds it; else None.

        `short`: of these resources, although replicas yield to it.
        """
        if self.team is None or self.team.lends():
            return None
        return _line(self.team.unlent(short or self.team.exceeded()))

    @property
    def never_allowed_by(self) -> QuotaLine | None:
        """The first quota whose hard limit is smaller than this request, or None."""
        return next((quota for quota, cost in self.amounts if cost > quota.spec.hard), None)

    @property
    def fits_beside_others(self) -> bool:
        """Whether it is within every quota if no training job used any of it."""
        return all(cost <= quota.spec.hard - quota.spec.others for quota, cost in self.amounts)

    def lending_bound(self) -> LendingBound | None:
        """What bounds these pods if teams do not lend; None without a bound."""
        return self.team.lending_bound() if self.team else None

    def allows(self, horizon: Horizon, pods: int = 1) -> bool:
        """Whether no quota is exceeded by `pods` more. Growth asks this for each replica."""
        if self.exceeded(horizon, pods):
            return False
        return self.team is None or self.team.lends(pods)

    def within_quota(self) -> bool:
        """Whether none of its quotas is exceeded once terminating pods are gone."""
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
        """Count pods that are terminating: the present remainder only."""
        for quota, cost in self.amounts:
            quota.remaining -= cost * pods

    def amount(self, quota: QuotaLine) -> int:
        """What the request counts in this quota, or 0."""
        unlent = self.team.in_unlent(quota.spec) if self.team else 0
        return next((cost for line, cost in self.amounts if line is quota), unlent)

    def is_relieved_by(self, allocation: "RoleAllocation") -> bool:
        """Whether removing a replica of this role lowers an exceeded quota of the request."""
        return any(
            quota.future_remaining < 0 and allocation.quota_request.amount(quota)
            for quota, _ in self.amounts
        )

    @property
    def head(self) -> JobKey | None:
        """The job for which one of these quotas is reserved, or None."""
        return next((quota.head for quota, _ in self.amounts if quota.head), None)


NOT_COUNTED: Final = QuotaRequest(())
"""The request of pods that count in no quota and no team."""


@dataclass(slots=True)
class QuotaUsage:
    """All quotas of one plan, including teams' limits."""

    state: ClusterState
    teams: TeamBalance | None
    lines: dict[_QuotaKey, QuotaLine] = field(init=False)
    _limits: dict[int, list[_QuotaKey]] = field(default_factory=dict)
    """By team, the keys in `lines` of its limits and of the limits of the teams above it."""
    _requests: dict[object, QuotaRequest] = field(default_factory=dict)

    def __post_init__(self) -> None:
        state, teams = self.state, self.teams
        limits = _team_limits(state.teams, state.team_usage) if teams else {}
        quotas = [*state.quotas, *(quota for limit in limits.values() for quota in limit)]
        self.lines = {_key(quota): _line(quota) for quota in sorted(quotas, key=repr)}
        if teams:
            for number, name in enumerate(teams.names):
                path = state.teams.path(name)
                self._limits[number] = [_key(quota) for team in path for quota in limits[team]]

    def pod_request(self, job: TrainingJob, role: Role) -> QuotaRequest:
        """What one pod of this role counts in quotas and in its team.

        Roles that count alike get one object: `CooldownHolds` keeps one array for all of them.
        """
        template = role.template
        if not (self.teams or (template.charges and self.lines)):
            return NOT_COUNTED
        requests = template.shape.counted if self.teams else None
        # Namespaces of one team count alike where they have no quota.
        key = (
            job.key.namespace if template.charges else self.state.team_of(job.key.namespace),
            template.charges,
            requests,
        )
        if key not in self._requests:
            self._requests[key] = self.request_of(job, [(role, 1)])
        return self._requests[key]

    def request_of(self, job: TrainingJob, pods: Sequence[tuple[Role, int]]) -> QuotaRequest:
        """What these (role, pods) of a job count together."""
        teams, lines, costs = self.teams, self.lines, dict[_QuotaKey, int]()
        for role, count in pods if lines else ():
            for source, resource, amount in role.template.charges if count else ():
                key = (job.key.namespace, source, resource)
                if key in lines:
                    costs[key] = costs.get(key, 0) + amount * count
        if not teams:
            return QuotaRequest(self._in_order(costs)) if costs else NOT_COUNTED
        total: dict[str, int] = {}
        for role, count in pods:
            for name, amount in role.template.shape.counted.items if count else ():
                total[name] = total.get(name, 0) + amount * count
        team = teams.number(self.state.team_of(job.key.namespace))
        costs |= {key: total[key[2]] for key in self._limits[team] if total.get(key[2])}
        amounts = self._in_order(costs) if costs else ()
        return QuotaRequest(amounts, teams.charge(team, total.items()))

    def _in_order(self, costs: Mapping[_QuotaKey, int]) -> tuple[tuple[QuotaLine, int], ...]:
        return tuple([(self.lines[key], cost) for key, cost in sorted(costs.items())])

    def count_role(self, allocation: "RoleAllocation") -> None:
        """Count a started role: all of its replicas, and its pods that are terminating."""
        allocation.quota_request = quota_request = self.pod_request(allocation.job, allocation.role)
        if quota_request is not NOT_COUNTED:
            counted = map(attrgetter("counts_in_quota"), allocation.placements)
            quota_request.reserve(IDLE, sum(counted))
            for placement in allocation.placements if allocation.pod_class.claims_devices else ():
                allocation.charge_devices(placement, 1)
            if quota_request.amounts:
                quota_request.count_terminating(_leaving(allocation.role))

    def count_pods(self, job: TrainingJob, role: Role, *, leaving: bool) -> None:
        """Count the pods of a role that is not planned: it is suspended or its job is ending."""
        quota_request = self.pod_request(job, role)
        if quota_request is not NOT_COUNTED:
            pods = role.pods_in_quotas
            quota_request.count_terminating(pods) if leaving else quota_request.reserve(IDLE, pods)


def limit_source(team: str) -> str:
    """The source of the quotas that stand for a team's limit."""
    return f"limit of team {team}"


def _team_limits(teams: Teams, usage: Mapping[str, Resources]) -> Mapping[str, Sequence[Quota]]:
    """Each team's limits as quotas over its namespaces, less what other workloads use there."""
    held: dict[str, Resources] = {}
    for name, amounts in usage.items():
        for team in teams.path(name if name in teams else "default"):
            held[team] = held.get(team, Resources()) + amounts
    return {
        team.name: [
            Quota(
                namespace="",
                source=limit_source(team.name),
                resource=resource,
                hard=most,
                others=held.get(team.name, Resources()).get(resource),
                takes_back=True,
            )
            for resource, most in team.limit
        ]
        for team in teams
    }


def _key(quota: Quota) -> _QuotaKey:
    return quota.namespace, quota.source, quota.resource


def _line(quota: Quota) -> QuotaLine:
    left = quota.hard - quota.others
    return QuotaLine(quota, left, left)


def _leaving(role: Role) -> int:
    """The number of a started role's pods that count in addition to its replicas."""
    return _leaving_replicas(role) + sum(pod.terminating for pod in role.previous_pods)


def _leaving_replicas(role: Role) -> int:
    live, size = [pod for pod in role.status.pods if not pod.ended], role.status.size
    staying = [pod for pod in live if not pod.terminating]
    if role.spec.indexed and all(pod.index >= 0 for pod in staying):
        return len(live) - len({pod.index for pod in staying if pod.index < size})
    return len(live) - min(len(staying), size)
