"""Rounds of a reconciler by the clock of a test, on a real API server."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from edl.errors import NotFound
from edl.kube.api.client import connect
from edl.kube.cache.watched_kinds import Stores, fill
from edl.kube.writer.executor import ClusterWriter
from edl.planner.decide import decide
from edl.planner.decision_limits import Limits
from edl.planner.policies import POLICIES
from edl.steps.plan_steps import steps
from tests.edl.kube.whole_state import whole_state

if TYPE_CHECKING:
    from collections.abc import Callable

    from dev.installation import Installation
    from edl.model import ClusterState
    from edl.planner.plan import Plan
    from tests.integration.support.stage import Stage

NOW = timedelta()


class Rounds:
    """A reconciler that decides when its test says so, by the usual limits unless it has others."""

    limits = Limits()

    def __init__(self, installation: Installation, stage: Stage) -> None:
        self._api = connect(str(installation.folder / "reconciler.kubeconfig"))
        self._stage = stage

    def state(self, at: datetime) -> ClusterState:
        """As the reconciler sees it, with the dependents of jobs."""
        stores = Stores(system_namespace=self._api.system_namespace)
        for selection, store in stores:
            try:
                fill(self._api, selection, store)
            except NotFound:
                store.mark_absent()
        return whole_state(stores, at)

    def plan(self, at: datetime) -> Plan:
        """What it would do at this time, with the cluster as it is."""
        return decide(self.state(at), POLICIES["fair"], self.limits)

    def perform(self, ahead: timedelta = NOW) -> Plan:
        """One round. `ahead`: of what this machine's clock says."""
        state = self.state(datetime.now(UTC) + ahead)
        plan = decide(state, POLICIES["fair"], self.limits)
        with closing(ClusterWriter(self._api)) as writer:
            report = writer.act(steps(plan, state).steps)
        assert not report.failed, [str(one.error) for one in report.failed]
        return plan

    def until(self, holds: Callable[[], object], what: str, ahead: timedelta = NOW) -> None:
        def came() -> bool:
            self.perform(ahead)
            return bool(holds())

        self._stage.until(came, what)

    def until_runs(self, job: str, pods: int, ahead: timedelta = NOW) -> None:
        stage = self._stage
        self.until(lambda: stage.running(job) == pods == stage.size(job), f"{job} runs", ahead)
