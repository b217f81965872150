"""Jobs whose status changes more often than a decision takes: every write of theirs still works."""

import itertools
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from threading import Event, Thread

import pytest

from dev.installation import Installation
from edl.errors import NotFound
from edl.kube.writer.executor import ClusterWriter
from edl.model import ObjectRef
from edl.planner.decide import decide
from edl.planner.decision_limits import Limits
from edl.planner.plan import Plan
from edl.planner.policies import POLICIES
from edl.steps.plan_steps import steps
from tests.integration.support.rounds import NOW, Rounds
from tests.integration.support.stage import Stage, elastic

pytestmark = pytest.mark.integration

_WRITING = 0.1
"""Seconds between two changes of the status."""
_DECIDING = 0.5
"""Seconds of a decision, as on a cluster of thousands of nodes."""


class SlowRounds(Rounds):
    """Rounds in which the status of a busy Job changes between the decision and its writes."""

    limits = Limits(preempt=True)

    def perform(self, ahead: timedelta = NOW) -> Plan:
        state = self.state(datetime.now(UTC) + ahead)
        plan = decide(state, POLICIES["fair"], self.limits)
        time.sleep(_DECIDING)
        with closing(ClusterWriter(self._api)) as writer:
            report = writer.act(steps(plan, state).steps)
        assert not report.failed, [str(failure.error) for failure in report.failed]
        return plan


@pytest.fixture
def slow(installation: Installation, installed: Stage) -> Iterator[SlowRounds]:
    installed.cluster.stop("reconciler")
    try:
        yield SlowRounds(installation, installed)
    finally:
        installed.cluster.start("reconciler")


@contextmanager
def busy(stage: Stage, name: str) -> Iterator[None]:
    """Changes the status of the Job all the time, as its controller does while pods end."""
    ended, job = Event(), ObjectRef("Job", stage.namespace, name)

    def write() -> None:
        for number in itertools.count():
            seen = {"type": "example.com/Seen", "status": "True", "message": str(number)}
            try:
                stage.api.add_condition(job, seen, "")
            except NotFound:
                return
            if ended.wait(_WRITING):
                return

    thread = Thread(target=write, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@pytest.fixture
def urgent(installed: Stage) -> Iterator[str]:
    name = f"{installed.namespace}-urgent"
    installed.kubectl("create", "priorityclass", name, "--value=1000")
    yield name
    installed.kubectl("delete", "priorityclass", name)


def job_version(stage: Stage) -> str:
    return str(stage.job("sweep")["metadata"]["resourceVersion"])


@pytest.mark.parametrize(
    ("framework", "completions"),
    [("none", 200), ("pytorch", None)],
    ids=["items", "ranks"],
)
def test_a_busy_job_is_paused_resumed_resized_and_preempted(
    installed: Stage, slow: SlowRounds, urgent: str, framework: str, completions: int | None
) -> None:
    limits = {"framework": framework, "min": "2", "max": "4"}
    installed.apply(elastic("sweep", labels=limits, parallelism=2, completions=completions))
    slow.until_runs("sweep", 4)

    def is_suspended() -> bool:
        return installed.job("sweep")["spec"]["suspend"] is True

    with busy(installed, "sweep"):
        versions = {job_version(installed)}
        installed.until(lambda: job_version(installed) not in versions, "its status changes")
        installed.annotate("sweep", paused="true")
        slow.until(is_suspended, "it is paused")
        installed.annotate("sweep", paused=None)
        slow.until_runs("sweep", 4)
        installed.annotate("sweep", replicas="2")
        slow.until_runs("sweep", 2)
        whole = {"framework": "pytorch", "min": "31", "max": "31"}
        gang = elastic("gang", labels=whole, parallelism=31, pod={"priorityClassName": urgent})
        installed.apply(gang)
        slow.until(is_suspended, "it is preempted")
        slow.until(lambda: installed.running("gang") == 31, "the gang runs in its place")
