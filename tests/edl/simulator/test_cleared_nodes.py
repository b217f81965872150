"""A full cluster of 20 nodes clears some of them for a gang, while small jobs are queued, too.

kube-scheduler draws among equally good nodes: some small pod soon takes a node that was cleared.
"""

from functools import partial
from itertools import pairwise
from random import Random

import pytest

from edl.planner.decision_limits import Limits
from edl.planner.policies import POLICIES
from edl.simulator import Change, Elastic, NodeEvent, Timing, Training, simulate
from edl.simulator.timeline import Track
from tests.edl.simulator.worlds import node, nodes, training, world

ENDLESS = partial(training, seconds=10_000_000)
RUNNING = (
    ENDLESS("sweep", 1, 8, framework="none"),
    ENDLESS("bert", 2, 9, cpu=2, at=1),
    ENDLESS("mnist", 2, 12, cpu=3, at=2),
)


def tracks(
    *trainings: Training, until: float, seed: int, events: tuple[NodeEvent, ...] = ()
) -> dict[str, Track]:
    timing = Timing(tie=Random(seed).randrange)  # noqa: S311 - not for secrets
    given = world(*nodes(20), *RUNNING, *trainings, events=events, settings=timing)
    found = simulate(given, Elastic(POLICIES["fair"], Limits()), until)
    return {job.key.name: job.track for job in found.jobs}


def running(track: Track) -> float:
    assert track.running is not None, track.reason
    return track.running


def falls(track: Track, since: float, until: float) -> int:
    """How often the job gave up replicas."""
    sizes = [size for _, _, size in track.wanted.spans(since, until)]
    return sum(after < before for before, after in pairwise(sizes))


@pytest.mark.parametrize("seed", range(4))
def test_a_gang_that_just_fits_starts_before_a_small_job_behind_it(seed: int) -> None:
    gang = ENDLESS("gang", 15, 15, cpu=4, at=100)
    small = ENDLESS("small", 2, 4, framework="none", at=100)
    found = tracks(gang, small, until=150, seed=seed)
    assert 100 < running(found["gang"]) < running(found["small"])
    yielded = [falls(found[one.job.key.name], 99, running(found["gang"])) for one in RUNNING]
    assert yielded == [1, 1, 1]


@pytest.mark.parametrize("added", [1, 2, 3])
def test_the_last_node_that_a_blocked_gang_needs_goes_to_no_small_job_behind_it(added: int) -> None:
    gang = ENDLESS("gang", 15 + added, 15 + added, cpu=4, at=100)
    small = [ENDLESS(f"small-{number}", 1, 4, framework="none", at=450) for number in range(2)]
    times = [500 + 30 * number for number in range(added)]
    events = tuple(NodeEvent(at, Change.ADDED, node(f"extra-{at}")) for at in times)
    found = tracks(gang, *small, until=times[-1] + 30, seed=1, events=events)
    begun = running(found["gang"])
    assert times[-1] < begun < min(running(found[one.job.key.name]) for one in small)
    assert [falls(found[one.job.key.name], 499, begun) for one in RUNNING] == [1, 1, 1]
