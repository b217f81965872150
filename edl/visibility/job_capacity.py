"""What part of a training job is guaranteed to its team, what is borrowed, and from which teams.

Inside a team its own guarantee covers pods of other owners first, then the minimums of training
jobs, by priority and age, then their replicas above these in the same order; what no longer fits is
borrowed. Borrowers of one team have parts of each source of the team.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from edl.model import ClusterState, JobKey, TrainingJob
from edl.planner.teams.team_lending import apportion
from edl.quantities import Resources
from edl.visibility.usage_by_team import compared, lending, own_usage, running_pods

_NONE: Final = Resources()


class JobCapacity(msgspec.Struct, frozen=True):
    """One training job's running pods, of the resources that some team is guaranteed.

    `borrowed` has (team that lends, amounts) by name; an empty name stands for capacity that no
    team is guaranteed, which comes first.
    """

    team: str
    guaranteed: Resources
    borrowed: tuple[tuple[str, Resources], ...] = ()


class _Holder(NamedTuple):
    """What one training job holds as a part of the queue for the guarantee; None: other owners."""

    job: JobKey | None
    held: Resources


def job_capacity(state: ClusterState, job: TrainingJob) -> JobCapacity | None:
    """None where no team is guaranteed anything, and where the job holds nothing of that."""
    team = state.team_of(job.key.namespace)
    loans = lending(state, own_usage(state))
    if not team or not loans.resources:
        return None
    holders = list(_holders(state, team))
    sources = loans.own_sources(team)
    guarantee = loans.own_guarantee(team)
    guaranteed: dict[str, int] = {}
    borrowed: dict[str, dict[str, int]] = {}
    for resource in loans.resources:
        weights = {name: amounts.get(resource) for name, amounts in sources.items()}
        covered, parts = _split(holders, job.key, resource, guarantee.get(resource), weights)
        guaranteed[resource] = covered
        for name, amount in parts.items():
            borrowed.setdefault(name, {})[resource] = amount
    found = tuple((name, Resources.of(borrowed[name])) for name in sorted(borrowed))
    return (
        JobCapacity(team, Resources.of(guaranteed), found)
        if found or any(guaranteed.values())
        else None
    )


def _split(
    holders: Sequence[_Holder],
    job: JobKey,
    resource: str,
    guarantee: int,
    sources: Mapping[str, int],
) -> tuple[int, Mapping[str, int]]:
    """One job: what is guaranteed, and what is borrowed by source."""
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
    """All that holds capacity in a team's own namespaces, in the order of its guarantee."""
    yield _Holder(None, compared(state, state.team_usage.get(team, _NONE)))
    jobs = [job for job in state.jobs if state.team_of(job.key.namespace) == team]
    jobs.sort(key=lambda job: (-job.priority, job.queued_at, job.key))
    split = [(job.key, *_minimum_and_rest(job)) for job in jobs]
    yield from (_Holder(key, minimum) for key, minimum, _ in split)
    yield from (_Holder(key, rest) for key, _, rest in split)


def _minimum_and_rest(job: TrainingJob) -> tuple[Resources, Resources]:
    minimum, rest = _NONE, _NONE
    for role in job.roles:
        pods = running_pods(role)
        needed = min(pods, role.spec.min)
        minimum += role.template.shape.requests * needed
        rest += role.template.shape.requests * (pods - needed)
    return minimum, rest
