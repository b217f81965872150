"""Which part of a training job's usage its team's guarantee covers, and the sources of the rest.

A team's own guarantee covers other owners' pods first, then the minimums of training jobs by
priority and age, then their extras in the same order. The rest is borrowed, and each borrower gets
a proportional part of each of the team's sources.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from edl.model import ClusterState, JobKey, TrainingJob
from edl.quantities import Resources
from edl.visibility.team_lending import apportion
from edl.visibility.usage_by_team import HeldDevices, lending, running_pods, team_balance

_NONE: Final = Resources()


class JobCapacity(msgspec.Struct, frozen=True):
    """The usage of one training job's running pods, of resources guaranteed to some team.

    `borrowed`: (lending team, amounts), sorted by name; the name "" stands for capacity that is
    guaranteed to no team.
    """

    team: str
    guaranteed: Resources
    borrowed: tuple[tuple[str, Resources], ...] = ()


class _Holder(NamedTuple):
    """Usage that the guarantee covers in one step; `job` None stands for other owners' pods."""

    job: JobKey | None
    held: Resources


def job_capacity(state: ClusterState, job: TrainingJob) -> JobCapacity | None:
    """The capacity of a job; None without guarantees, or if it uses no guaranteed resource."""
    team = state.team_of(job.key.namespace)
    if not team:
        return None
    holders = list(_holders(state, team))
    guaranteed: dict[str, int] = {}
    borrowed: dict[str, dict[str, int]] = {}
    for resource, loans in lending(state, team_balance(state)).items():
        guarantee, sources = loans.own_guarantee(team), loans.own_sources(team)
        guaranteed[resource], parts = _split(holders, job.key, resource, guarantee, sources)
        for name, amount in parts.items():
            borrowed.setdefault(name, {})[resource] = amount
    borrowings = tuple((name, Resources.of(borrowed[name])) for name in sorted(borrowed))
    return (
        JobCapacity(team, Resources.of(guaranteed), borrowings)
        if borrowings or any(guaranteed.values())
        else None
    )


def _split(
    holders: Sequence[_Holder],
    job: JobKey,
    resource: str,
    guarantee: int,
    sources: Mapping[str, int],
) -> tuple[int, Mapping[str, int]]:
    """(covered amount, borrowed amounts by source) of one job and resource."""
    left, covered = guarantee, 0
    sources, mine = Counter(sources), Counter[str]()
    for holder in holders:
        amount = holder.held.get(resource)
        within = min(amount, left)
        left -= within
        part = apportion(amount - within, sources)
        sources.subtract(part)
        if holder.job == job:
            covered += within
            mine.update(part)
    return covered, mine


def _holders(state: ClusterState, team: str) -> Iterator[_Holder]:
    """Usage in a team's own namespaces, in the order in which its guarantee covers it."""
    yield _Holder(None, state.team_usage.get(team, _NONE))
    jobs = [job for job in state.jobs if state.team_of(job.key.namespace) == team]
    jobs.sort(key=lambda job: (-job.priority, job.queued_at, job.key))
    devices = HeldDevices(state.nodes)
    split = [(job.key, *_minimum_and_rest(job, devices)) for job in jobs]
    yield from (_Holder(key, minimum) for key, minimum, _ in split)
    yield from (_Holder(key, rest) for key, _, rest in split)


def _minimum_and_rest(job: TrainingJob, devices: HeldDevices) -> tuple[Resources, Resources]:
    minimum, rest = _NONE, _NONE
    for role in job.roles:
        pods = running_pods(role)
        minimum += devices.counted(job, role, pods[: role.spec.min])
        rest += devices.counted(job, role, pods[role.spec.min :])
    return minimum, rest
