"""A finished training job ends whole, however soon its deciding Job is to be deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from edl import contract
from edl.contract import CleanUp
from edl.spec.job_spec import HELD_TTL
from tests.integration.support.stage import elastic, tensorflow

if TYPE_CHECKING:
    from edl.writes import Json
    from tests.integration.support.stage import Stage

pytestmark = pytest.mark.integration


def training(seconds: int) -> list[Json]:
    chief, *others = tensorflow("mnist", "1..3")
    return [chief | {"spec": chief["spec"] | {"ttlSecondsAfterFinished": seconds}}, *others]


def runs(cluster: Stage) -> bool:
    return all(cluster.running(f"mnist-{role}") for role in ("chief", "ps", "worker"))


def is_over(cluster: Stage) -> bool:
    """The chief's Job is deleted, the others are complete, and no pod runs."""
    others = all(cluster.is_complete(f"mnist-{role}") for role in ("ps", "worker"))
    gone = not cluster.exists("Job", "mnist-chief")
    return gone and others and not any(map(cluster.running, ("mnist-ps", "mnist-worker")))


@pytest.mark.parametrize("seconds", [0, 1])
def test_the_others_end_though_the_deciding_job_is_deleted_at_once(
    installed: Stage, seconds: int
) -> None:
    installed.apply(*training(seconds))
    installed.until(lambda: runs(installed), "it trains")
    installed.complete("mnist-chief")
    installed.until(lambda: is_over(installed), "it has ended whole")


@pytest.mark.parametrize("flags", [(), ("--server-side",)], ids=["client", "server"])
def test_the_same_file_changes_nothing_and_another_time_is_held(
    installed: Stage, flags: tuple[str, ...]
) -> None:
    installed.apply(*training(7), flags=flags)
    assert time_to_live(installed) == (HELD_TTL, "7")
    installed.apply(*training(7), flags=(*flags, *_forced(flags)))
    assert time_to_live(installed) == (HELD_TTL, "7")
    installed.until(lambda: runs(installed), "it trains")
    installed.apply(*training(9), flags=(*flags, *_forced(flags)))
    assert time_to_live(installed) == (HELD_TTL, "9")


def test_the_annotation_alone_is_a_time_to_live_too(installed: Stage) -> None:
    alone = elastic("sweep", completions=1, completionMode="Indexed")
    alone["metadata"].setdefault("annotations", {})[contract.TTL] = "0"
    installed.apply(alone)
    installed.until_runs("sweep", 1)
    installed.complete("sweep")
    installed.until(lambda: not installed.exists("Job", "sweep"), "it is deleted")


def _forced(flags: tuple[str, ...]) -> tuple[str, ...]:
    """Fields that the reconciler has written are its own: a size conflicts."""
    return ("--force-conflicts",) if flags else ()


def time_to_live(cluster: Stage) -> tuple[int | None, str | None]:
    found = cluster.job("mnist-chief")
    notes = found["metadata"].get("annotations", {})
    return found["spec"].get("ttlSecondsAfterFinished"), notes.get(contract.TTL)


def test_it_ends_whole_when_the_reconciler_was_away_as_it_finished(installed: Stage) -> None:
    installed.apply(*training(0))
    installed.until(lambda: runs(installed), "it trains")
    installed.cluster.stop("reconciler")
    try:
        installed.complete("mnist-chief")
        installed.until(lambda: installed.is_complete("mnist-chief"), "the chief is done")
        assert installed.running("mnist-ps"), "nothing ends the others meanwhile"
    finally:
        installed.cluster.start("reconciler")
    installed.until(lambda: is_over(installed), "it has ended whole")


def test_without_clean_up_no_job_is_deleted_before_all_have_ended(installed: Stage) -> None:
    chief, *others = training(0)
    chief["metadata"]["annotations"][contract.CLEAN_UP] = CleanUp.NONE.value
    installed.apply(chief, *others)
    installed.until(lambda: runs(installed), "it trains")
    installed.complete("mnist-chief")
    installed.until(lambda: installed.is_complete("mnist-chief"), "the chief is done")
    end(installed, "mnist-worker")
    assert time_to_live(installed) == (HELD_TTL, "0")
    end(installed, "mnist-ps")
    installed.until(lambda: is_over(installed), "it has ended whole")


def end(cluster: Stage, job: str) -> None:
    """Let all pods of a Job succeed, which completes it."""
    for index in range(cluster.running(job)):
        cluster.complete(job, index)
    cluster.until(lambda: cluster.is_complete(job), f"{job} is done")
