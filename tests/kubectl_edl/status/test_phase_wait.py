import json
from datetime import timedelta
from functools import partial

import pytest

from edl import contract
from tests.kubectl_edl.stage import NOW, Stage, job, mnist, pod


def over(stage: Stage, kind: str, name: str = "mnist-chief") -> None:
    at = "2026-11-21T11:59:00Z"
    ended = {"type": kind, "status": "True", "lastTransitionTime": at}
    stage.patch(name, {"status": {"conditions": [ended]}})


def starts(stage: Stage) -> None:
    stage.patch("sweep", {"spec": {"suspend": False}})


def runs(stage: Stage) -> None:
    stage.create(pod(stage.job("sweep"), 0))


@pytest.fixture
def stage() -> Stage:
    """A queued job that starts and runs during the wait."""
    stage = Stage()
    stage.put(job("sweep", framework="none", min="1", max="1"))
    stage.between = [lambda: None, partial(starts, stage), partial(runs, stage), lambda: None]
    return stage


def test_a_script_waits_for_a_phase_and_gets_the_answer_once(stage: Stage) -> None:
    found = stage.run("status", "sweep", "--for", "Running", "-o", "json")
    assert (found.code, found.err) == (0, "")
    assert json.loads(found.out)["phase"] == "Running"
    assert len(stage.between) == 4, "what comes later was not waited for"


def test_a_reached_phase_ends_the_wait_at_once() -> None:
    stage = Stage()
    mnist(stage)
    stage.between = [lambda: pytest.fail("nobody has to look again")]
    assert stage.run("status", "mnist", "--for", "running").code == 0
    assert stage.run("status", "mnist", "--for", "Queued", "--for", "Running").code == 0


def test_a_job_that_scales_runs() -> None:
    stage = Stage()
    mnist(stage)
    resized = {
        contract.RESIZED_AT: "2026-11-21T11:55:00Z",
        contract.STARTED_AT: "2026-11-21T11:50:00Z",
    }
    stage.patch("mnist-worker", {"metadata": {"annotations": resized}})
    found = stage.run("status", "mnist", "--for", "Running", "-o", "jsonpath={.phase}")
    assert (found.code, found.out) == (0, "Scaling")


def test_a_script_waits_for_a_reason() -> None:
    stage = Stage()
    mnist(stage)
    quota = {contract.REASON: "QuotaExceeded", contract.MESSAGE: "whatever it says"}
    said = partial(stage.patch, "mnist-worker", {"metadata": {"annotations": quota}})
    stage.between = [said, lambda: pytest.fail("nobody has to look again")]
    found = stage.run(
        "status", "mnist", "--for=reason=QuotaExceeded", "-o", "jsonpath={.reason}: {.message}"
    )
    assert (found.code, found.out) == (0, "QuotaExceeded: whatever it says")
    assert stage.run("status", "mnist", "--for=REASON=quotaexceeded").code == 0
    assert stage.run("status", "mnist", "--for=reason=quotas").code == 2


def test_help_spells_a_reason_as_the_option_takes_it(
    stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    stage.run("status", "--help")
    assert "--for PHASE|reason=CODE" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("flags", "where"),
    [([], ""), (["-n", "default"], " -n default"), (["-A"], " -n default")],
)
def test_too_late_names_the_command_that_shows_the_first_job_that_is_late(
    stage: Stage, flags: list[str], where: str
) -> None:
    stage.now = [NOW, NOW, NOW + timedelta(minutes=6)]
    found = stage.run("status", "--for", "Succeeded", "--timeout", "5m", *flags)
    assert found.err.endswith(f"; see kubectl edl status sweep{where}\n")


@pytest.mark.parametrize("timeout", ["5m", "300s", "300"])
def test_too_late_is_exit_code_5(stage: Stage, timeout: str) -> None:
    stage.now = [NOW, NOW, NOW + timedelta(seconds=4), NOW + timedelta(minutes=6)]
    found = stage.run("status", "sweep", "--for", "Succeeded", "--timeout", timeout)
    assert (found.code, found.out) == (5, "")
    assert found.err == (
        "error: not Succeeded in time: sweep is Queued; see kubectl edl status sweep\n"
    )


@pytest.mark.parametrize("flags", [["sweep"], ["-n", "default"]])
def test_a_wait_for_a_paused_job_names_the_command_that_resumes_it(
    stage: Stage, flags: list[str]
) -> None:
    stage.patch("sweep", {"metadata": {"annotations": {contract.PAUSED: "true"}}})
    stage.now = [NOW, NOW, NOW + timedelta(seconds=4), NOW + timedelta(minutes=6)]
    found = stage.run("status", "--for", "Running", "--timeout", "5m", *flags)
    resume = f"kubectl edl resume sweep{' -n default' * (len(flags) - 1)}"
    assert found.code == 5
    assert found.err == (
        f"hint: sweep does not run before it is resumed: {resume}\n"
        f"error: not Running in time: sweep is Paused; to resume it: {resume}\n"
    )


def test_a_wait_for_a_pause_has_no_hint(stage: Stage) -> None:
    stage.patch("sweep", {"metadata": {"annotations": {contract.PAUSED: "true"}}})
    assert stage.run("status", "sweep", "--for", "Paused").err == ""


def test_another_end_than_was_waited_for_is_exit_code_6() -> None:
    stage = Stage()
    mnist(stage)
    stage.between = [partial(over, stage, "Failed"), lambda: pytest.fail("it has ended")]
    for role in ("ps", "worker"):
        stage.between.insert(0, partial(over, stage, "Failed", f"mnist-{role}"))
    found = stage.run("status", "mnist", "--for", "Succeeded")
    assert (found.code, found.out) == (6, "")
    assert found.err == "error: mnist is Failed: mnist has failed\n"


def test_either_end_may_be_waited_for() -> None:
    stage = Stage()
    mnist(stage)
    for role in ("chief", "ps", "worker"):
        over(stage, "Failed", f"mnist-{role}")
    assert stage.run("status", "mnist", "--for", "Succeeded", "--for", "Failed").code == 0


def test_without_a_job_all_that_are_shown_are_waited_for(stage: Stage) -> None:
    stage.put(job("other", framework="none"))
    found = stage.run("status", "--for", "Running", "--timeout", "5m")
    assert found.code == 5
    assert found.err.startswith("error: not Running in time: other is Queued; ")
    stage.patch("sweep", {"metadata": {"labels": {"team": "vision"}}})
    assert stage.run("status", "-l", "team=vision", "--for", "Running").code == 0
    nobody = stage.run("status", "-l", "team=nobody", "--for", "Running")
    assert nobody.code == 3
    assert nobody.err.startswith("error: no training job to wait for")


def test_a_watch_ends_when_the_phase_is_reached(stage: Stage) -> None:
    found = stage.run("status", "sweep", "-w", "--for", "Running")
    assert found.code == 0
    assert [line for line in found.out.splitlines() if line.startswith("Phase:")] == [
        "Phase:      Queued",
        "Phase:      Starting",
        "Phase:      Running",
    ]


def test_a_watch_with_a_timeout_exits_with_0(stage: Stage) -> None:
    stage.now = [NOW, NOW, NOW + timedelta(seconds=11)]
    found = stage.run("status", "-w", "--timeout", "10s")
    assert (found.code, found.err) == (0, "")
    assert len(found.out.splitlines()) == 2


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (
            ("--for", "Happy"),
            "Happy is not a phase; one of Incomplete, Queued, Starting, Running, ",
        ),
        (("--for", "runing"), "runing is not a phase; did you mean Running? one of Incomplete, "),
        (("--for", "reason=Nix"), "Nix is not a reason code; all of them: docs/reference/reason-"),
        (("--for", "reason=cooldwn"), "cooldwn is not a reason code; did you mean Cooldown? all"),
        (("--timeout", "soon"), "'soon' is not 0 or a duration from 0.001s to 365d: write"),
        (
            ("--timeout", "99999999999h"),
            "'99999999999h' is not 0 or a duration from 0.001s to 365d:",
        ),
        (("--request-timeout", "1ms"), "'1ms' is not 0 or a duration from 0.001s to 365d: write"),
        (("--timeout", "5m"), "--timeout ends a wait: add --for PHASE or -w."),
        (("-l", "team=vision"), "A name and a selector (-l) exclude each other: leave out one."),
    ],
)
def test_nonsense_is_wrong_usage(stage: Stage, options: tuple[str, ...], problem: str) -> None:
    found = stage.run("status", "sweep", *options)
    assert found.code == 2
    assert problem in found.err
