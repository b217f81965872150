"""Capacity that teams with `lend: false` keep, while a plan is made."""

from random import Random

from edl.model import Team, Teams
from edl.planner.teams.team_balance import TeamBalance
from edl.planner.teams.team_charge import TeamCharge
from edl.quantities import Resources

KINDS = ("cpu", "memory")


def amounts(random: Random, most: int) -> Resources:
    return Resources.of({kind: random.randint(1, most) for kind in KINDS if random.random() < 0.8})


def balance(random: Random) -> TeamBalance:
    """Up to five teams below one another, most with a guarantee, half of which lend nothing."""
    teams = list[Team]()
    for number in range(random.randint(2, 5)):
        parent = random.choice(["", *(team.name for team in teams)])
        guaranteed = amounts(random, 8) if random.random() < 0.8 else Resources()
        lend = random.random() < 0.5
        teams.append(Team(f"t{number}", parent, guaranteed=guaranteed, lend=lend))
    usage = {team.name: amounts(random, 6) for team in teams if random.random() < 0.5}
    return TeamBalance(
        Teams.of(tuple(teams)), usage, {kind: random.randint(4, 30) for kind in KINDS}
    )


def holds_once_reserved(charge: TeamCharge, pods: int) -> bool:
    """The answer of the figures themselves, after these pods were counted."""
    bound = charge.lending_bound(pods)
    if bound is None:
        return True
    charge.reserve(pods)
    holds = bound.holds()
    charge.reserve(-pods)
    return holds


def test_more_pods_stay_clear_of_kept_capacity_as_they_do_once_they_are_counted() -> None:
    answers = set[tuple[bool, bool]]()
    for seed in range(400):
        random = Random(seed)  # noqa: S311
        teams = balance(random)
        for _ in range(6):
            team = random.randrange(len(teams.names))
            charge, pods = teams.charge(team, amounts(random, 4)), random.randint(1, 4)
            expected = holds_once_reserved(charge, pods)
            assert charge.lends(pods) == expected, (seed, team, pods)
            answers.add((expected, charge.lending_bound(pods) is None))
            charge.reserve(random.randint(0, 1))
    assert answers == {(True, True), (True, False), (False, False)}


def test_a_question_about_kept_capacity_changes_no_figure() -> None:
    for seed in range(50):
        random = Random(seed)  # noqa: S311
        teams = balance(random)
        charge = teams.charge(random.randrange(len(teams.names)), amounts(random, 4))
        used, taken = [[*amounts_used] for amounts_used in teams.used], [*teams.kept.taken]
        charged = len(teams.charged)
        charge.lends(3)
        assert (teams.used, teams.kept.taken, len(teams.charged)) == (used, taken, charged)
