"""Programs of the sandbox share compiled packages: the same modules at the same versions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sandbox.builds.align import ALIGNED, OWN, pinned
from sandbox.builds.recipe import KWOK, REAL
from sandbox.releases import DEFAULT, control_plane

if TYPE_CHECKING:
    from sandbox.builds.recipe import Recipe


@pytest.mark.parametrize("recipe", ALIGNED, ids=lambda recipe: recipe.name)
def test_a_program_has_the_control_planes_versions(recipe: Recipe) -> None:
    shared = {**pinned(control_plane(DEFAULT)), **OWN.get(recipe.name, {})}
    assert {m: v for m, v in pinned(recipe).items() if shared.get(m, v) != v} == {}


def test_programs_of_every_sandbox_are_among_them() -> None:
    assert {KWOK, *REAL} < {*ALIGNED}
