"""What is drawn from a seed before a run begins: faults and jobs, the same each time."""

import time
from collections import Counter
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from tests.torture.churn import ENDS_AFTER, KINDS, Commission, commissions
from tests.torture.faults import ENDS, LANES
from tests.torture.lanes import Death, Lanes, decks
from tests.torture.ledger import Ledger

if TYPE_CHECKING:
    from tests.torture.scene import Scene

SEEDS = range(20)


def drawn(seed: int) -> list[Commission]:
    return commissions(200, Random(seed))  # noqa: S311 - a seed


def test_a_thousand_faults_are_more_than_fifty_of_each_kind() -> None:
    counts = Counter(kind for deck in decks(1000, Random(1)).values() for kind in deck)  # noqa: S311 - a seed
    assert counts.total() == 1000
    assert counts.keys() == {kind for lane in LANES.values() for kind in lane}
    assert min(counts.values()) >= 50


def test_each_lane_names_the_processes_it_ends() -> None:
    assert ENDS.keys() == LANES.keys()
    ended = [name for names in ENDS.values() for name in names]
    assert len(ended) == len(set(ended)), "two lanes would start it again"


def test_a_seed_is_the_same_faults_and_jobs_again() -> None:
    assert decks(100, Random(3)) == decks(100, Random(3))  # noqa: S311 - a seed
    assert drawn(3) == drawn(3)
    assert drawn(3) != drawn(4)


@pytest.mark.parametrize("seed", SEEDS)
def test_jobs_of_every_kind_come_and_can_end(seed: int) -> None:
    found = drawn(seed)
    assert {one.kind for one in found} == set(KINDS)
    for one in found:
        templates = [manifest["spec"]["template"]["metadata"] for manifest in one.manifests]
        assert any(ENDS_AFTER in template["annotations"] for template in templates), one.name


@pytest.mark.parametrize("seed", SEEDS)
def test_each_paused_job_is_resumed_and_each_scaled_job_returned_to_auto(seed: int) -> None:
    for one in drawn(seed):
        verbs = [wish.verb for wish in sorted(one.wishes, key=lambda wish: wish.after)]
        assert verbs in ([], ["delete"], ["pause", "resume"]) or (
            verbs[-1] == "auto" and set(verbs[:-1]) == {"scale"}
        )


def test_a_component_that_died_is_started_while_faults_wait_for_jobs(tmp_path: Path) -> None:
    """Without the controller manager no job would come or end, and the faults would wait on."""
    dead = ["kube-controller-manager"]
    sandbox = SimpleNamespace(
        dead=lambda: tuple(dead), start=dead.remove, death_report=lambda name: f"{name}: its log"
    )
    ledger = Ledger(tmp_path / "ledger")
    scale = SimpleNamespace(faults=20, seed=1, rest=0.0)
    lanes = Lanes(cast("Scene", SimpleNamespace(sandbox=sandbox)), ledger, scale, lambda: None)
    lanes.start(churn=lambda: -1.0 if dead else 1.0)
    while dead:
        time.sleep(0.01)
    lanes.stop()
    ledger.close()
    assert lanes.tally.deaths == [
        Death("kube-controller-manager", "kube-controller-manager: its log")
    ]
