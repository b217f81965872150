"""Collective jobs on a real Job controller: a lost peer restarts them as a whole, or ends them."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from edl import contract
from edl.writes import Json
from tests.integration.support.rounds import Rounds
from tests.integration.support.stage import Stage, elastic, role_jobs

pytestmark = pytest.mark.integration

AHEAD = timedelta(minutes=15)


def report_failure(stage: Stage, name: str, index: int, after: float, container: str) -> None:
    """Let a pod tell that this container failed so many seconds after the pod was ready."""
    pod = stage.pod(name, index)
    ready = next(one for one in pod["status"]["conditions"] if one["type"] == "Ready")
    began = datetime.fromisoformat(ready["lastTransitionTime"])
    failed, again = (f"{began + timedelta(seconds=after + late):%FT%TZ}" for late in (0, 10))
    ended = {"exitCode": 1, "startedAt": f"{began:%FT%TZ}", "finishedAt": failed}
    statuses = [
        {"name": one["name"], "image": "none", "imageID": "", "ready": True, "restartCount": 0}
        | {"state": {"running": {"startedAt": ended["startedAt"]}}}
        for one in pod["spec"]["containers"]
    ]
    for status in statuses:
        if status["name"] == container:
            status |= {"restartCount": 1, "lastState": {"terminated": ended}}
            status["state"] = {"running": {"startedAt": again}}
    patch = json.dumps({"status": {"containerStatuses": statuses}})
    args = ("pod", pod["metadata"]["name"], "--subresource=status", "-p", patch)
    stage.kubectl("patch", *args)


def restart_code(rounds: Rounds, name: str) -> str:
    """The code for which the training job is to restart a while later; empty if it goes on.

    Five minutes after its start it may restart for a container.
    """
    stops = rounds.plan(datetime.now(UTC) + AHEAD).suspensions
    return next((one.reason.code.value for one in stops if one.job.name == name), "")


def test_a_collective_job_restarts_for_a_peer_that_the_others_lost_and_for_no_other(
    installed: Stage, rounds: Rounds
) -> None:
    """A sidecar, an evaluator, and a container that joins the others are not lost."""
    manifests = role_jobs("tensorflow", "all", "chief=1,worker=2,evaluator=1", worker=2)
    for manifest in manifests:
        pod = manifest["spec"]["template"]["spec"]
        pod["containers"].append({"name": "a-sidecar", "image": "none"})
    installed.apply(*manifests)
    sizes = {"all-chief": 1, "all-worker": 2, "all-evaluator": 1}
    for name, size in sizes.items():
        rounds.until_runs(name, size)
    ranks = {name: installed.uids(name) for name in ("all-chief", "all-worker")}
    report_failure(installed, "all-worker", 1, 200, "a-sidecar")
    report_failure(installed, "all-evaluator", 0, 200, "main")
    assert restart_code(rounds, "all") == ""
    evaluator = installed.uids("all-evaluator")
    installed.complete("all-evaluator", 0, 1)
    rounds.until(lambda: installed.uids("all-evaluator") != evaluator, "another one comes")
    rounds.until_runs("all-evaluator", 1)
    assert restart_code(rounds, "all") == ""
    report_failure(installed, "all-worker", 1, 20, "main")
    assert restart_code(rounds, "all") == ""
    report_failure(installed, "all-worker", 1, 200, "main")
    assert restart_code(rounds, "all") == "ContainerRestarted"
    assert {name: installed.uids(name) for name in ranks} == ranks
    installed.complete("all-worker", 0, 1)
    rounds.until(lambda: installed.reason("all-chief") == "PodLost", "it is restarted")
    for name, size in sizes.items():
        rounds.until_runs(name, size)
        assert not ranks.get(name, {}).items() & installed.uids(name).items()


def pair(**spec: int) -> Json:
    """Two workers that need each other."""
    made = elastic("pair", labels={"framework": "tensorflow", "min": "2"}, parallelism=2)
    return made | {"spec": made["spec"] | spec}


def has_failed(stage: Stage, name: str) -> bool:
    conditions = stage.job(name).get("status", {}).get("conditions", ())
    return any(one["type"] == "Failed" for one in conditions)


def test_containers_that_fail_in_each_start_use_up_the_limit_of_their_job(
    installed: Stage, rounds: Rounds
) -> None:
    """The Job controller forgets the restarts of pods that are gone."""
    failing = pair(backoffLimit=2)
    failing["spec"]["template"]["spec"]["restartPolicy"] = "OnFailure"
    installed.apply(failing)
    rounds.until_runs("pair", 2)
    before = installed.uids("pair")
    report_failure(installed, "pair", 1, 700, "main")
    rounds.until(lambda: installed.reason("pair") == "ContainerRestarted", "a restart", AHEAD)
    rounds.until(lambda: not before.items() & installed.uids("pair").items(), "others come", AHEAD)
    rounds.until_runs("pair", 2, AHEAD)
    assert not has_failed(installed, "pair")
    notes = installed.job("pair")["metadata"]["annotations"]
    assert notes[contract.EARLIER_RESTARTS] == "1"
    report_failure(installed, "pair", 1, 700, "main")
    rounds.until(lambda: has_failed(installed, "pair"), "it has failed", AHEAD)
    assert installed.message("pair") == (
        "pair has failed: BackoffLimitExceeded: containers of worker were restarted 2 times"
    )


def test_a_rank_that_failed_for_good_fails_the_job_of_those_that_wait_for_it(
    installed: Stage, rounds: Rounds
) -> None:
    """They have an hour, as they may save their model."""
    installed.apply(pair(backoffLimitPerIndex=0))
    rounds.until_runs("pair", 2)
    installed.complete("pair", 1, 1)
    installed.until(lambda: "failedIndexes" in installed.job("pair")["status"], "it is counted")
    rounds.perform(AHEAD)
    assert "activeDeadlineSeconds" not in installed.job("pair")["spec"]
    rounds.until(lambda: has_failed(installed, "pair"), "it has failed", timedelta(hours=1))
    assert installed.message("pair") == (
        "pair has failed: FailedIndexes: worker 1 has failed for good, and the others need it"
    )
