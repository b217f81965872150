"""What the comparison of lending teams submits, and how it counts."""

from collections import Counter
from math import isnan

import pytest

from benchmarks.scheduling.teams.accounting import (
    CHECKPOINT,
    JobTrack,
    PodSpan,
    figures,
    jain,
)
from benchmarks.scheduling.teams.trace import (
    CAPACITY,
    FIRST_BURST,
    LARGEST,
    WORK,
    Submission,
    Trace,
    fair_shares,
    trace,
)


def test_no_team_has_more_than_it_asks_for() -> None:
    assert fair_shares({"a": 10, "b": 1000, "c": 1000}, 110) == {"a": 10, "b": 50, "c": 50}


def test_all_get_what_they_ask_for_where_there_is_enough() -> None:
    assert fair_shares({"a": 10, "b": 20}, 100) == {"a": 10, "b": 20}


@pytest.mark.parametrize("teams", [2, 5])
def test_the_first_team_asks_for_the_whole_cluster_and_owners_for_their_guarantees(
    teams: int,
) -> None:
    given = trace(0, teams)
    borrowed = [one for one in given.submissions if one.seconds is None]
    assert sum(one.pods for one in borrowed) == CAPACITY
    assert sum(given.guaranteed.values()) <= CAPACITY
    bursts = Counter(one.name[: len("gang-0")] for one in given.submissions if one.seconds)
    assert {count * LARGEST for count in bursts.values()} == {*given.guaranteed.values()}


def test_an_evicted_job_loses_what_its_pods_did_since_the_last_checkpoint() -> None:
    track = JobTrack(Submission(0, "team-0", "long", 1, 2, None))
    track.pods = {"a": PodSpan(0, 10.0, 105.5), "b": PodSpan(0, 12.0)}
    track.evictions.append(105.0)
    since = 10.0 + CHECKPOINT
    assert track.lost() == 2 * (105.0 - since)


def test_a_pod_that_left_long_before_an_eviction_loses_nothing_by_it() -> None:
    track = JobTrack(Submission(0, "team-0", "long", 1, 2, None))
    track.pods = {"a": PodSpan(0, 10.0, 60.0), "b": PodSpan(0, 10.0)}
    track.evictions.append(100.0)
    assert track.lost() == 100.0 - 10.0 - CHECKPOINT


def test_figures_tell_waits_of_owners_and_use_of_the_cluster() -> None:
    owner = Submission(FIRST_BURST, "team-1", "gang", 1, 1, WORK)
    borrower = Submission(0, "team-0", "long", 1, CAPACITY, None)
    gang, long = JobTrack(owner), JobTrack(borrower)
    gang.pods, gang.started = {"g": PodSpan(FIRST_BURST + 1, FIRST_BURST + 2)}, FIRST_BURST + 2
    long.pods = {str(number): PodSpan(0.0, 1.0) for number in range(CAPACITY - 1)}
    found = figures(
        Trace({"team-0": 0, "team-1": CAPACITY}, (borrower, owner), FIRST_BURST + 2),
        {("team-0", "long"): long, ("team-1", "gang"): gang},
    )
    assert (found.gangs, found.gangs_started, found.owner_worst) == (1, 1, 2.0)
    assert found.utilisation == pytest.approx(1 - 0.5 / CAPACITY, abs=1e-9)
    assert 0.5 < found.jain < 1.0


def test_jains_index_says_how_evenly_something_is_spread() -> None:
    assert jain([3, 3, 3]) == pytest.approx(1)
    assert jain([1, 0, 0, 0]) == 0.25
    assert jain([0, 0]) == 1
    assert isnan(jain([])), "no value, no index"
