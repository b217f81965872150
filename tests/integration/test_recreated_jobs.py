"""A Job that is deleted and created again under its name, while its pods still terminate."""

import json

import pytest

from edl import contract
from edl.writes import Json
from tests.integration.support.stage import Stage, elastic

pytestmark = pytest.mark.integration

WORKERS = 2


def slow(name: str) -> Json:
    """A Job whose pods take seconds to end."""
    words = {"framework": "pytorch", "min": str(WORKERS), "max": str(WORKERS)}
    job = elastic(name, labels=words, pod={"terminationGracePeriodSeconds": 30})
    notes = {"sandbox.edl.dev/stop-after": "8s"}
    job["spec"]["template"]["metadata"] = {"annotations": notes}
    return job


def runs(stage: Stage) -> tuple[set[str], set[str]]:
    """Pods that run, terminating or not, and pods that the headless Service resolves to."""
    found = json.loads(stage.kubectl("get", "pods,endpointslices", "-o", "json"))["items"]
    running = {
        one["metadata"]["uid"]
        for one in found
        if one["kind"] == "Pod" and one["status"].get("phase") == "Running"
    }
    slices = (one for one in found if one["kind"] == "EndpointSlice")
    endpoints = (endpoint for one in slices for endpoint in one.get("endpoints") or ())
    return running, {one["targetRef"]["uid"] for one in endpoints}


@pytest.mark.parametrize("how", ["delete", "replace"])
def test_two_runs_of_a_job_are_never_there_together(installed: Stage, how: str) -> None:
    installed.apply(slow("again"))
    installed.until_runs("again", WORKERS)
    installed.until(lambda: len(runs(installed)[1]) == WORKERS, "the Service has its endpoints")
    first = set(installed.uids("again").values())
    if how == "delete":
        installed.kubectl("delete", "job", "again", "--wait=false")
        installed.apply(slow("again"))
    else:
        manifest = json.dumps(slow("again"))
        installed.kubectl("replace", "--force", "--grace-period=30", "-f", "-", text=manifest)

    def started() -> bool:
        running, resolved = runs(installed)
        for pods in (running, resolved):
            assert not (pods & first and pods - first), f"{first} beside {pods - first}"
        return len(running - first) == WORKERS

    installed.until(started, "the second run")
    assert contract.STARTED_AT in installed.job("again")["metadata"]["annotations"]
