"""Every command that depends on the reconciler hints at a missing leader."""

import json
from datetime import timedelta

import pytest

from edl import contract
from edl.model import ObjectRef
from tests.kubectl_edl.create.test_create import completing
from tests.kubectl_edl.doctor.fake_installation import FakeApi, installed
from tests.kubectl_edl.stage import NOW, Stage, job, lease, mnist, node, role_manifests

LEASE = ObjectRef("Lease", contract.SYSTEM_NAMESPACE, contract.RECONCILER_LEASE)

LASTS = 15
HINT = "hint: no reconciler is running ({why}): nothing is started or resized; kubectl edl doctor\n"
SHOWING = (
    ("status",),
    ("status", "mnist"),
    ("queue",),
    ("plan",),
    ("explain", "bert"),
)
CHANGING = (
    ("scale", "mnist", "3"),
    ("scale", "mnist", "--auto"),
    ("pause", "mnist"),
    ("resume", "mnist"),
)


@pytest.fixture
def stage() -> Stage:
    """mnist runs; bert is queued, and fits."""
    stage = Stage()
    stage.create(node("node-1", cpu="64"))
    mnist(stage)
    for manifest in role_manifests("bert", "chief=1,ps=1,worker=3..12"):
        stage.put(manifest)
    stage.create(job("plain"))
    return stage


def later(stage: Stage, seconds: float) -> Stage:
    """So long after the Lease was renewed."""
    stage.now = [NOW + timedelta(seconds=seconds)]
    return stage


@pytest.mark.parametrize("command", SHOWING + CHANGING, ids=" ".join)
def test_an_expired_lease_is_reported_after_five_seconds(
    stage: Stage, command: tuple[str, ...]
) -> None:
    found = later(stage, LASTS + 5.1).run(*command)
    assert found.code == 0
    assert found.err == HINT.format(why="Lease edl-system/edl-reconciler was renewed 20s ago")


@pytest.mark.parametrize("command", SHOWING + CHANGING, ids=" ".join)
def test_no_hint_within_the_clock_tolerance(stage: Stage, command: tuple[str, ...]) -> None:
    found = later(stage, LASTS + 4.9).run(*command)
    assert (found.code, found.err) == (0, "")


@pytest.mark.parametrize("command", SHOWING + CHANGING, ids=" ".join)
def test_a_missing_lease_is_reported(stage: Stage, command: tuple[str, ...]) -> None:
    stage.cluster.delete(LEASE)
    found = stage.run(*command)
    assert found.err == HINT.format(why="there is no Lease edl-system/edl-reconciler")


def test_recreate_hints_at_a_missing_leader(stage: Stage) -> None:
    command = ("adopt", "plain", "--framework", "none", "--recreate", "--yes")
    stage.wrapped = completing()
    found = later(stage, LASTS + 5.1).run(*command)
    assert found.err.startswith("hint: no reconciler is running (")


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (
            ("pause", "mnist"),
            "mnist: paused, its pods end once a reconciler runs; it starts again after: ",
        ),
        (("scale", "mnist", "6"), "; once a reconciler runs, it is resized; scale-up waits "),
    ],
)
def test_messages_without_a_reconciler_are_conditional(
    stage: Stage, command: tuple[str, ...], words: str
) -> None:
    assert words not in stage.run(*command, "--dry-run", "client").out
    assert words in later(stage, 60).run(*command).out


@pytest.mark.parametrize("option", [("--dry-run", "client"), ("--dry-run", "server")])
def test_unchanged_sizes_do_not_mention_the_reconciler(
    stage: Stage, option: tuple[str, ...]
) -> None:
    assert later(stage, 60).run("scale", "mnist", "3", *option).err == ""


def test_doctor_fails_at_the_same_moment() -> None:
    stage = installed(Stage(), FakeApi())
    assert later(stage, LASTS + 4.9).run("doctor").code == 0
    found = later(stage, LASTS + 5.1).run("doctor")
    assert found.code == 1
    renewed = "Lease edl-system/edl-reconciler was renewed 20s ago"
    assert f"✗ no reconciler leads, the last was one: {renewed}" in found.out


def test_a_wrong_local_clock_does_not_make_the_lease_stale(stage: Stage) -> None:
    stage.cluster.ahead = -timedelta(minutes=3)
    assert later(stage, 180).run("status").err == ""
    assert "was renewed 1m ago" not in stage.run("pause", "mnist").err
    stage.cluster.ahead = timedelta()
    assert "no reconciler is running" in stage.run("status").err


def test_without_a_reconciler_no_job_is_shown_as_starting(stage: Stage) -> None:
    (before,) = json.loads(stage.run("queue", "-o", "json").out)["items"]
    assert before["estimatedStart"]["certainty"] == "Now"
    later(stage, 60)
    (one,) = json.loads(stage.run("queue", "-o", "json").out)["items"]
    assert one["estimatedStart"] == {
        "certainty": "Unknown",
        "time": None,
        "message": (
            "no reconciler is running (Lease edl-system/edl-reconciler was renewed 60s ago)"
        ),
    }
    assert (
        one["message"] == "would start: all 5 pods of its minimum fit; idle capacity: 12 of 12 fit"
    )
    assert "Starts:      unknown: no reconciler is running" in stage.run("explain", "bert").out
    assert "Grows:       unknown: no reconciler is running" in stage.run("explain", "mnist").out


def test_no_reconciler_leads_by_a_released_lease(stage: Stage) -> None:
    stage.cluster.patch(LEASE, {"spec": {"holderIdentity": ""}})
    assert stage.run("status").err == HINT.format(
        why="Lease edl-system/edl-reconciler was released"
    )
    lease(stage)
    assert stage.run("status").err == ""
