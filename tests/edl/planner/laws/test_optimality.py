"""The fair policy against the best plan: benchmarks/planner/optimality.py tries them all."""

from collections.abc import Sequence
from fractions import Fraction
from functools import cache

import pytest

from benchmarks.planner.optimality import Verdict, verdicts
from benchmarks.planner.small_clusters import Puzzle, Wish

pytestmark = pytest.mark.laws


@cache
def found() -> dict[str, Sequence[Verdict]]:
    return {name: tuple(rest) for name, rest in verdicts(60, seed=7).items()}


def test_the_least_satisfied_job_can_hardly_ever_be_more_satisfied() -> None:
    verdicts = found()["jobs run"]
    assert len(verdicts) == 60
    assert sum(one.optimal for one in verdicts) >= 57


def test_where_it_could_it_is_by_one_replica_at_most() -> None:
    for one in found()["jobs run"]:
        step = max(Fraction(1, wish.max - wish.min) for wish in one.world.puzzle.wishes)
        assert one.best - one.found <= step


def test_the_solver_finds_packings_that_greedy_placing_misses() -> None:
    """6 + 3 + 3 and 4 + 4 + 4 fill two nodes of 12; 6 + 4 and 3 + 3 + 4 leave a 4 outside."""
    puzzle = Puzzle(
        ((12, 0), (12, 0)), (Wish((6, 0), 1, 2), Wish((3, 0), 2, 3), Wish((4, 0), 3, 4))
    )
    assert puzzle.fits([1, 2, 3])
    assert not puzzle.fits([1, 3, 3])
