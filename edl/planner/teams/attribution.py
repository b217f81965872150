"""Which running jobs the guarantees of their team and of the teams above it cover.

As users see it (`edl.visibility.borrowed_capacity`): a team's guarantee covers what the guarantees
of the teams below it cover, then pods of other owners in the team, then the minimums of its jobs by
priority and age. What is left covers the teams below it in the same order.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from edl.planner.teams.team_balance import TeamBalance
from edl.planner.teams.team_charge import TeamCharge

UsageAhead: TypeAlias = Mapping[int, Mapping[int, int]]
"""By team on a job's path and resource index, what the guarantee covers before the job."""


def usage_ahead(
    balance: TeamBalance, minimums: Sequence[TeamCharge], stopped: Sequence[bool]
) -> list[UsageAhead]:
    """For each job, what comes before it if the `stopped` ones used nothing.

    `minimums`: of all running jobs, by priority and age; `balance` must not count extras. What this
    plan starts, or keeps for claims, comes after running jobs of the same team.

    Example: `lab` is guaranteed 4 GPUs, and `nlp` below it 2. Ahead of these jobs come
        a of lab, which uses 2: in lab 2 (b, which nlp's guarantee covers)
        b of nlp, which uses 2: in nlp 0, in lab 2 (a)
        c of nlp, which uses 3: in nlp 2 (b), in lab 4 (b and a)
    """
    first = len(balance.others)
    charges = [*balance.others, *minimums]
    charges += _reserved(balance, charges)
    gone = {first + number for number, stops in enumerate(stopped) if stops}
    in_or_below: list[list[int]] = [[] for _ in balance.names]
    for number, charge in enumerate(charges):
        for team in balance.paths[charge.team]:
            in_or_below[team].append(number)
    ahead: list[dict[int, Mapping[int, int]]] = [{} for _ in charges]
    covered: list[dict[int, int]] = [{} for _ in charges]
    """What the guarantees of teams that are done cover of each charge."""
    for team in reversed(range(len(in_or_below))):  # children before parents
        guaranteed, used, numbers = balance.guaranteed[team], Counter[int](), in_or_below[team]
        for number in numbers:
            used.update(covered[number])
        for number in sorted(numbers, key=lambda one: charges[one].team != team):  # own ones first
            covers, used_before = covered[number], dict[int, int]()
            for index, amount in charges[number].amounts:
                if (most := guaranteed.get(index)) is None:
                    continue
                below = covers.get(index, 0)
                used_before[index] = used[index] - below
                if number not in gone:
                    covers[index] = below + max(min(amount - below, most - used[index]), 0)
                    used[index] += amount - below
            ahead[number][team] = used_before
    return [*ahead[first : first + len(minimums)]]


def _reserved(balance: TeamBalance, running: Iterable[TeamCharge]) -> list[TeamCharge]:
    """By team, what it uses beside these charges, without the teams below it."""
    left = [used.copy() for used in balance.used]
    for charge in running:
        for team in balance.paths[charge.team]:
            for index, amount in charge.amounts:
                left[team][index] -= amount
    by_team = [Counter(dict(enumerate(amounts))) for amounts in left]
    for team, path in enumerate(balance.paths):
        for parent in path[1:2]:
            by_team[parent].subtract(dict(enumerate(left[team])))
    return [balance.charge_at(team, +amounts) for team, amounts in enumerate(by_team)]
