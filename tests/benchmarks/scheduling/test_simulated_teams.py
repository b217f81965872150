"""The trace of lending teams in the simulator."""

import pytest

from benchmarks.scheduling.teams.simulated import measure
from benchmarks.scheduling.teams.trace import trace

KUEUE = 0.979
"""What two teams used with Kueue (`benchmarks/README.md`)."""


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_two_teams_use_what_they_lend_at_least_as_well_as_with_kueue(seed: int) -> None:
    """What the first of an owner's gangs leaves does not keep the rest idle for a cooldown."""
    assert measure(trace(seed, 2)).utilisation >= KUEUE
