"""Roles are found by the labels of their pods, as if each were compared."""

import random

import pytest

from edl.model import Requirement, Selector
from edl.planner.snapshot.role_labels import RoleLabels
from tests.edl.planner.states import worker

_OPERATORS = ("In", "In", "NotIn", "Exists", "DoesNotExist")


def _requirement(draw: random.Random) -> Requirement:
    operator = draw.choice(_OPERATORS)
    values = tuple(draw.choices("xyz", k=draw.randint(1, 3))) if operator.endswith("In") else ()
    return Requirement(draw.choice("ab"), operator, values)


@pytest.mark.parametrize("seed", range(200))
def test_those_found_are_those_that_all_selectors_match(seed: int) -> None:
    draw = random.Random(seed)  # noqa: S311 - a test
    jobs = [
        worker(f"job-{n}", 1, 1, labels=tuple((key, draw.choice("xyz")) for key in keys))
        for n, keys in enumerate(draw.choices(("", "a", "b", "ab"), k=6))
    ]
    selectors = [
        Selector(
            draw.choice((None, ("ns",), ("other",))),
            tuple(_requirement(draw) for _ in range(draw.randint(0, 3))),
        )
        for _ in range(draw.randint(0, 2))
    ]
    expected = {
        job.key
        for job in jobs
        if all(one.matches("ns", dict(job.roles[0].template.labels)) for one in selectors)
    }
    found = [role.job for role in RoleLabels(jobs).selected(selectors)]
    assert set(found) == expected
    assert len(found) == len(expected)
