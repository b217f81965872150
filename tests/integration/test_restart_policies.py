"""`edl.dev/restart` on a real Job controller: what a failed pod, and a disrupted one, comes to."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from edl.errors import Conflict
from edl.job_state.lost_pods import CALM
from edl.kube.state.incremental_state import read_state
from edl.kube.writer.single_writes import perform
from edl.planner.plan import Plan
from edl.steps.plan_steps import steps
from edl.writes import Json
from tests.integration.support.stage import Stage, elastic

pytestmark = pytest.mark.integration


def job(name: str, restart: str | None, **fields: Any) -> Json:  # noqa: ANN401 - JSON
    """Two or three workers, worker 0 decides."""
    made = elastic(name, labels={"framework": "tensorflow", "max": "3", "min": "1"}, **fields)
    if restart:
        made["metadata"]["annotations"] = {"edl.dev/restart": restart}
        made["metadata"]["annotations"]["edl.dev/replicas"] = "2"
        del made["spec"]["template"]["spec"]["restartPolicy"]
    return made


def failed(stage: Stage, name: str) -> str:
    """Why the Job has failed; nothing while it has not."""
    conditions = stage.job(name).get("status", {}).get("conditions", ())
    found = (one["reason"] for one in conditions if one["type"] == "Failed")
    return next(found, "")


def at_its_end(stage: Stage, name: str) -> bool:
    """Whether the Job controller ends the Job, or has ended it."""
    conditions = stage.job(name).get("status", {}).get("conditions", ())
    return any(one["type"] in ("FailureTarget", "Failed") for one in conditions)


def replaced(stage: Stage, name: str, index: int, uid: str) -> bool:
    return stage.running(name) == 2 and stage.uids(name).get(str(index)) != uid


@pytest.mark.parametrize("code", [1, 127])
def test_with_exit_code_a_permanent_error_fails_the_job(installed: Stage, code: int) -> None:
    installed.apply(job("strict", "ExitCode"))
    installed.until_runs("strict", 2)
    installed.complete("strict", 1, code)
    installed.until(lambda: failed(installed, "strict") == "PodFailurePolicy", "it has failed")


def test_with_exit_code_a_signal_is_tried_again(installed: Stage) -> None:
    installed.apply(job("strict", "ExitCode"))
    installed.until_runs("strict", 2)
    before = installed.uids("strict")["1"]
    installed.complete("strict", 1, 137)
    installed.until(lambda: replaced(installed, "strict", 1, before), "another pod takes over")
    assert not failed(installed, "strict")


def test_with_exit_code_pods_that_a_decision_ends_do_not_fail_the_job(installed: Stage) -> None:
    """They answer SIGTERM with exit code 1; a finalizer keeps them until they have been seen."""
    strict = job("strict", "ExitCode")
    notes = {"sandbox.edl.dev/stop-exit-code": "1"}
    strict["spec"]["template"]["metadata"] = {"annotations": notes, "finalizers": ["a.test/hold"]}
    installed.apply(strict)
    installed.until_runs("strict", 2)

    def judged(ended: int) -> bool:
        """The Job controller counts a pod as terminating until it has seen it fail."""
        pods = [one for one in installed.all("Pod") if one["status"].get("phase") == "Failed"]
        status = installed.job("strict")["status"]
        return len(pods) == ended and not status.get("terminating")

    try:
        installed.annotate("strict", replicas="1")
        installed.until(lambda: judged(2), "both pods have ended for the restart")
        assert not at_its_end(installed, "strict")
        installed.until_runs("strict", 1)
        installed.annotate("strict", paused="true")
        installed.until(lambda: judged(3), "the pod of the smaller size has ended")
        assert not at_its_end(installed, "strict")
    finally:
        for pod in installed.all("Pod"):
            name = pod["metadata"]["name"]
            installed.kubectl("patch", "pod", name, "-p", '{"metadata":{"finalizers":null}}')


def test_with_exit_code_work_items_that_a_smaller_size_ends_do_not_fail_the_job(
    installed: Stage,
) -> None:
    """Pods that became ready in the same second: the Job controller may end any of them."""
    labels = {"max": "6", "min": "1"}
    items = elastic("items", "100m", labels, completions=9)
    items["metadata"]["annotations"] = {"edl.dev/restart": "ExitCode", "edl.dev/replicas": "6"}
    pod = items["spec"]["template"]
    pod["metadata"] = {"annotations": {"sandbox.edl.dev/stop-exit-code": "1"}}
    del pod["spec"]["restartPolicy"]
    pod["metadata"]["finalizers"] = ["a.test/hold"]
    installed.apply(items)
    installed.until_runs("items", 6)
    try:
        installed.annotate("items", replicas="2")
        installed.until(lambda: phases(installed).count("Failed") == 4, "four have ended")
        installed.until(lambda: not installed.job("items")["status"].get("terminating"), "seen")
        assert not at_its_end(installed, "items")
        assert installed.running("items") == 2
    finally:
        installed.kubectl("delete", "job", "items")  # it creates no further pod with the finalizer
        for name in (one["metadata"]["name"] for one in installed.all("Pod")):
            installed.kubectl("patch", "pod", name, "-p", '{"metadata":{"finalizers":null}}')


def phases(stage: Stage) -> list[str]:
    return [one["status"].get("phase", "") for one in stage.all("Pod")]


def test_with_never_the_first_failure_is_the_last(installed: Stage) -> None:
    installed.apply(job("once", "Never"))
    installed.until_runs("once", 2)
    installed.complete("once", 1, 137)
    installed.until(lambda: failed(installed, "once") == "BackoffLimitExceeded", "it has failed")


def test_with_never_an_evicted_pod_has_not_failed(installed: Stage) -> None:
    installed.apply(job("once", "Never"))
    installed.until_runs("once", 2)
    before = installed.uids("once")["1"]
    name = installed.pod("once", 1)["metadata"]["name"]
    installed.kubectl("delete", "pdb", "--all")  # it protects the minimum, 1 among it
    eviction = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": name, "namespace": installed.namespace},
    }
    path = f"/api/v1/namespaces/{installed.namespace}/pods/{name}/eviction"
    installed.kubectl("create", "--raw", path, "-f", "-", text=json.dumps(eviction))
    installed.until(lambda: replaced(installed, "once", 1, before), "another pod takes over")
    assert not failed(installed, "once")


def test_what_failed_long_ago_does_not_count(installed: Stage) -> None:
    """The round of a reconciler whose clock is ahead, on the cluster as it is."""
    installed.apply(job("long", None))
    installed.until_runs("long", 3)
    installed.complete("long", 2, 1)
    installed.until(lambda: installed.job("long")["status"].get("failed") == 1, "one has failed")
    installed.until_runs("long", 3)
    assert installed.job("long")["spec"]["backoffLimit"] == 18

    def written() -> bool:
        state = read_state(installed.api, datetime.now(UTC) + CALM + timedelta(seconds=9))
        found = steps(Plan(), state).steps
        mine = [one for one in found if one.job.namespace == installed.namespace]
        try:
            for write in [write for step in mine for write in step.writes]:
                perform(installed.api, write)
        except Conflict:  # the Job controller counts its pods meanwhile
            return False
        return True

    installed.until(written, "the round is written")
    assert installed.job("long")["spec"]["backoffLimit"] == 19


def restart(stage: Stage, name: str, times: int) -> None:
    """Let worker 0 tell of so many restarts of its container."""
    pod = stage.pod(name, 0)["metadata"]["name"]
    container = {"name": "main", "restartCount": times, "image": "none", "imageID": ""}
    status = {"status": {"containerStatuses": [container | {"ready": True}]}}
    stage.kubectl("patch", "pod", pod, "--subresource=status", "-p", json.dumps(status))


def test_restarts_of_long_ago_do_not_count(installed: Stage) -> None:
    """The Job controller fails a Job whose containers were restarted as often as its limit says."""
    installed.apply(job("patient", "OnFailure"), job("short", "OnFailure"))
    for name in ("patient", "short"):
        installed.until_runs(name, 2)
        assert installed.job(name)["spec"]["backoffLimit"] == 18
    restart(installed, "patient", 17)

    def raised() -> bool:
        state = read_state(installed.api, datetime.now(UTC) + CALM + timedelta(seconds=9))
        found = [one for one in steps(Plan(), state).steps if one.job.name == "patient"]
        try:
            for write in [write for step in found for write in step.writes]:
                perform(installed.api, write)
        except Conflict:  # the Job controller counts its pods meanwhile
            return False
        return int(installed.job("patient")["spec"]["backoffLimit"]) == 35

    installed.until(raised, "its limit is raised")
    for name in ("patient", "short"):
        restart(installed, name, 18)
    installed.until(lambda: failed(installed, "short") == "BackoffLimitExceeded", "that one fails")
    assert not at_its_end(installed, "patient")
    assert installed.running("patient") == 2
