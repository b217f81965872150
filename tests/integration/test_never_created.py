"""A started job whose pods are refused, or held back, keeps its capacity for a time only.

Plans are made for later times, of the cluster as the API server and the Job controller left it.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from edl import contract, reasons
from edl.model import ObjectRef
from edl.planner.decision_limits import Limits
from tests.integration.support.stage import elastic

if TYPE_CHECKING:
    from edl.model import Reason
    from edl.writes import Json
    from tests.integration.support.rounds import Rounds
    from tests.integration.support.stage import Stage

pytestmark = pytest.mark.integration
GANG_LIMIT = Limits().gang_limit
FIRST_BACKOFF, LONGEST_BACKOFF = timedelta(seconds=10), timedelta(minutes=10)
LONGEST_GATED = timedelta(minutes=10)
MOMENT = timedelta(seconds=1)
ACCOUNT = "trainer"


def gang(name: str, restart: str = "", **pod: Any) -> Json:  # noqa: ANN401 - fields of a pod
    """Its three pods have 5 CPU each: every one of them needs a node of its own."""
    bounds = {"framework": "pytorch", "min": "3", "max": "3"}
    job = elastic(name, "5", bounds, parallelism=3, pod=pod)
    if restart:
        job["metadata"]["annotations"] = {contract.RESTART: restart}
        del job["spec"]["template"]["spec"]["restartPolicy"]
    return job


def started(stage: Stage, rounds: Rounds, restart: str = "") -> None:
    """The gang "held" runs; none of its pods would be created again, without its account."""
    account = ObjectRef("ServiceAccount", stage.namespace, ACCOUNT)
    stage.kubectl("create", "serviceaccount", ACCOUNT)
    stage.apply(gang("held", restart, serviceAccountName=ACCOUNT))
    rounds.until_runs("held", 3)
    stage.api.delete(account)


def counted(stage: Stage) -> bool:
    """Whether the Job controller has counted the lost pod, and lacks one."""
    status = stage.job("held")["status"]
    ended = [pod for pod in stage.pods("held") if pod["status"]["phase"] == "Failed"]
    tracked = any(pod["metadata"].get("finalizers") for pod in ended)
    numbers = status.get("failed"), status.get("active"), status.get("ready")
    return numbers == (1, 2, 2) and not tracked and not status.get("terminating")


def status_written_at(stage: Stage) -> datetime:
    """When the Job controller last wrote the status, by the API server."""
    managers = stage.job("held")["metadata"]["managedFields"]
    times = [one["time"] for one in managers if one.get("subresource") == "status"]
    return max(map(datetime.fromisoformat, times))


def suspended(rounds: Rounds, at: datetime) -> list[Reason]:
    return [one.reason for one in rounds.plan(at).suspensions]


def test_after_one_failure_a_gang_without_an_account_goes_back_to_the_queue_and_another_starts(
    installed: Stage, rounds: Rounds
) -> None:
    started(installed, rounds)
    installed.complete("held", 2, code=1)
    installed.until(lambda: counted(installed), "the failure is counted")
    due = status_written_at(installed) + FIRST_BACKOFF + GANG_LIMIT
    assert suspended(rounds, due - MOMENT) == []
    assert suspended(rounds, due) == [reasons.GANG_UNSCHEDULABLE_CREATION]
    installed.apply(gang("next"))
    rounds.until(lambda: installed.reason("next"), "the other job has a reason")
    assert (installed.size("held"), installed.size("next")) == (3, 0)
    rounds.until_runs("next", 3, FIRST_BACKOFF + GANG_LIMIT)
    assert installed.size("held") == 0


def test_a_policy_that_ignores_failures_delays_that_by_the_longest_back_off(
    installed: Stage, rounds: Rounds
) -> None:
    started(installed, rounds, "ExitCode")
    lost = installed.pod("held", 2)["metadata"]["name"]
    installed.kubectl("delete", "pod", lost)
    installed.until(lambda: counted(installed), "the loss is counted")
    due = status_written_at(installed) + LONGEST_BACKOFF + GANG_LIMIT
    assert suspended(rounds, due - MOMENT) == []
    assert suspended(rounds, due) == [reasons.GANG_UNSCHEDULABLE_CREATION]


def test_a_gate_of_another_controller_holds_capacity_for_a_time_only(
    installed: Stage, rounds: Rounds
) -> None:
    installed.apply(gang("held", schedulingGates=[{"name": "example.com/never"}]))
    rounds.until(lambda: len(installed.pods("held")) == 3, "its pods are created")
    times = [pod["metadata"]["creationTimestamp"] for pod in installed.pods("held")]
    due = min(map(datetime.fromisoformat, times)) + LONGEST_GATED + GANG_LIMIT
    assert suspended(rounds, due - MOMENT) == []
    why = reasons.gang_pending("", "SchedulingGated: example.com/never")
    assert suspended(rounds, due) == [why]
