"""How often a training job is resized at most, as `status JOB` and `explain` say it."""

import pytest

from edl import contract
from edl.model import Resizing
from edl.planner.settings import Settings, render
from edl.writes import Json
from kubectl_edl.pacing import Pacing, pacing, published
from tests.edl.planner.states import worker
from tests.kubectl_edl.stage import Stage, job, lease

TORCHRUN = "resizes at most every 60s (torchrun's default)"
OWN = "resizes at most every 5m (edl.dev/cooldown)"
SLOWER = "resizes at most every 2m (the reconciler's default)"


def torch(**notes: str) -> Json:
    manifest = job("bert", framework="pytorch", min="1", max="4")
    manifest["metadata"]["annotations"] = {f"{contract.PREFIX}{k}": v for k, v in notes.items()}
    return manifest


def cooldown(stage: Stage, command: str) -> str:
    lines = stage.run(command, "bert").out.splitlines()
    return next((line.partition(":")[2].strip() for line in lines if "Cooldown:" in line), "")


@pytest.mark.parametrize("command", ["status", "explain"])
def test_it_names_who_says_so(command: str) -> None:
    stage = Stage()
    stage.put(torch())
    assert cooldown(stage, command) == TORCHRUN
    lease(stage, '{"limits": {"growth_cooldown": 120}}')
    assert cooldown(stage, command) == SLOWER
    stage.delete("bert")
    stage.put(torch(cooldown="5m"))
    assert cooldown(stage, command) == OWN


@pytest.mark.parametrize("command", ["status", "explain"])
def test_a_size_that_never_changes_has_none(command: str) -> None:
    stage = Stage()
    stage.put(job("bert", framework="pytorch", min="1", max="1"))
    assert cooldown(stage, command) == ""


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "no JSON",
        "[]",
        '{"limits": 3}',
        '{"limits": {"growth_cooldown": "soon"}}',
        '{"limits": {"growth_cooldown": -1}}',
        '{"limits": {"growth_cooldown": 1e300}}',
    ],
)
def test_what_the_lease_does_not_say_is_not_known(text: str | None) -> None:
    assert published(text) == Pacing()
    assert pacing(worker("mnist", 1, 4), Pacing()) == ""


def test_it_reads_what_a_reconciler_writes() -> None:
    assert published(render(Settings())) == Pacing(10, 300)


def test_a_job_that_restarts_has_the_other_default() -> None:
    restarting = worker("mnist", 1, 4, resizing=Resizing.RESTART)
    assert pacing(restarting, Pacing(10, 300)) == (
        "resizes at most every 5m (the reconciler's default)"
    )
