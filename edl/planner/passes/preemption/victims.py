"""Started training jobs that claims may preempt, and the choice of few that suffice."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

from edl.feasibility.eligibility import Ints
from edl.feasibility.horizon import Horizon
from edl.frameworks import restarts_together
from edl.model import JobKey, TrainingJob
from edl.planner.packing.placement import Placement, by_class
from edl.planner.packing.pod_class import PodClass, PodSetRequest, pack
from edl.planner.snapshot.role_allocation import RoleAllocation, by_job
from edl.planner.teams.attribution import UsageAhead, usage_ahead
from edl.planner.teams.team_balance import TeamBalance
from edl.planner.teams.team_charge import TeamCharge
from edl.spec.allowed_sizes import start_pods


@dataclass(slots=True, eq=False)
class Victim:
    """One started training job, a candidate for preemption."""

    job: TrainingJob
    allocations: list[RoleAllocation]
    holdings: list[tuple[PodClass, list[int]]]
    """By pod class, the nodes of its pods, without extras: claims may reclaim these anyway."""
    evicted: list[tuple[RoleAllocation, Placement]] = field(default_factory=list)
    """Evicted replicas in order."""
    is_outranked: bool = True
    """Whether the claim may preempt it for its lower priority; else for a guarantee."""
    _return: TeamCharge | None = None

    def charge_of_return(self, balance: TeamBalance) -> TeamCharge:
        """What it would count in its team if it were queued again."""
        if self._return is None:
            total: Counter[int] = Counter()
            for allocation in self.allocations:
                _add(total, allocation.quota_request.team, start_pods(allocation.role))
            self._return = balance.charge_at(self.allocations[0].team, total)
        return self._return

    def release_in(self, room: Ints, sign: int = 1) -> None:
        """Add what its holdings take to `room`, int64[resources, nodes]; -1 undoes it."""
        for pod_class, nodes in self.holdings:
            (pod_class.release_in if sign > 0 else pod_class.reserve_in)(room, nodes)


def ahead_by_job(
    balance: TeamBalance, allocations: Iterable[RoleAllocation], gone: Iterable[Victim]
) -> Mapping[JobKey, UsageAhead]:
    """What guarantees cover before each running job, if those that are gone use nothing."""
    running = (role for role in allocations if not role.starts)
    jobs = {roles[0].job.key: roles for roles in by_job(running)}
    stopped = {victim.job.key for victim in gone}
    minimums = [_minimum(balance, roles) for roles in jobs.values()]
    ahead = usage_ahead(balance, minimums, [key in stopped for key in jobs])
    return dict(zip(jobs, ahead, strict=True))


def _minimum(balance: TeamBalance, roles: Sequence[RoleAllocation]) -> TeamCharge:
    """What a job counts in its team now, without extras."""
    total: Counter[int] = Counter()
    for role in roles:
        minimum = role.placements[: role.size - role.extras]
        counted = [placement for placement in minimum if placement.counts_in_quota]
        _add(total, role.quota_request.team, len(counted))
        for placement in counted:
            if placement.taken is not None:
                _add(total, role.device_charge(placement), 1)
    return balance.charge_at(roles[0].team, total)


def _add(total: Counter[int], charge: TeamCharge | None, pods: int) -> None:
    for index, amount in charge.amounts if charge else ():
        total[index] += amount * pods


def victim_candidates(
    allocations: Iterable[RoleAllocation], movable: AbstractSet[RoleAllocation]
) -> Iterator[Victim]:
    """Completely started jobs that may be suspended, in total order."""
    started = (
        allocation
        for allocation in allocations
        if not (allocation.starts or allocation.job.problem or _must_run_on(allocation.job))
    )
    for roles in by_job(started):
        if not any(role.status.suspended for role in roles[0].job.live):
            holdings = (_holdings(role, reclaimable=role in movable) for role in roles)
            yield Victim(roles[0].job, roles, [*chain.from_iterable(holdings)])


def _must_run_on(job: TrainingJob) -> bool:
    """Whether it cannot be stopped, or would come back without ranks for which the others wait.

    The Job controller recreates no pod of an index that has succeeded (docs/kubernetes.md 35).
    """
    return job.keeps_running or (restarts_together(job) and job.has_succeeded_pods)


def _holdings(
    allocation: RoleAllocation, *, reclaimable: bool
) -> Iterable[tuple[PodClass, list[int]]]:
    most = allocation.min_replicas if reclaimable else allocation.size
    return by_class(allocation.pod_class, allocation.placements[:most])


class Trial(NamedTuple):
    """Evicts and restores victims one by one, and checks whether the claim fits then."""

    evict: Callable[[Victim], None]
    restore: Callable[[Victim], None]
    checks: Sequence[Callable[[], bool]]
    """The claim fits if all hold; the cheapest comes first."""

    def suffices(self) -> bool:
        return all(check() for check in self.checks)


def trial_by_amounts(room: Ints, requests: Sequence[PodSetRequest]) -> Trial:
    """A trial in `room`, int64[resources, nodes], which it changes."""

    def fit(*some: PodSetRequest) -> bool:
        return pack(room, some, Horizon.EMPTY) == [request.pods for request in some]

    return Trial(
        lambda victim: victim.release_in(room),
        lambda victim: victim.release_in(room, -1),
        (lambda: all(map(fit, requests)), lambda: fit(*requests)),
    )


def select_victims(victims: Sequence[Victim], trial: Trial) -> list[Victim]:
    """The shortest sufficient prefix of the victims, less those that can be reprieved.

    The highest in order are reprieved first, as in kube-scheduler's preemption.
    """
    chosen = victims[: _prefix(victims, trial)]
    needed: list[Victim] = []
    count, step = len(chosen), 1
    while count > 0:
        batch = chosen[max(count - step, 0) : count]
        for victim in batch:
            trial.restore(victim)
        spares = trial.suffices()
        if not spares:
            for victim in batch:
                trial.evict(victim)
        if spares or step == 1:
            count -= len(batch)
            needed += [] if spares else batch
        step = 2 * step if spares else max(step // 2, 1)
    return needed[::-1]


def _prefix(victims: Sequence[Victim], trial: Trial) -> int:
    """The length of the shortest prefix that suffices; on return, just that prefix is evicted."""
    length = _move(victims, trial, 0, 1)
    for check in trial.checks:
        length = _shortest(victims, trial, check, length)
    return length


def _shortest(
    victims: Sequence[Victim], trial: Trial, check: Callable[[], bool], length: int
) -> int:
    """The length of the shortest prefix, from `length` on, for which the check holds."""
    low, high, count, step = length, length, len(victims), 1
    while high < count and not check():
        low, high, step = high + 1, min(high + step, count), 2 * step
        length = _move(victims, trial, length, high)
    while low < high:
        middle = (low + high) // 2
        length = _move(victims, trial, length, middle)
        if check():
            high = middle
        else:
            low = middle + 1
    return _move(victims, trial, length, high)


def _move(victims: Sequence[Victim], trial: Trial, length: int, to: int) -> int:
    for victim in victims[length:to]:
        trial.evict(victim)
    for victim in victims[to:length]:
        trial.restore(victim)
    return to
