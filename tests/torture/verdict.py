"""What must hold when all is over: every job has ended well, and nothing is left of any."""

import json
import re
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from edl.writes import Json
from tests.integration.support.stage import Stage
from tests.torture.churn import Commission
from tests.torture.laws import Violation
from tests.torture.scene import OURS
from tests.torture.sights import JobSight

if TYPE_CHECKING:
    from tests.torture.run import Run

SURROUNDINGS: Final = ("Service", "PodDisruptionBudget", "RoleBinding", "ServiceAccount", "Secret")
_NOT_OURS: Final = ("default",)
_GONE_WITHIN: Final = 180.0
_QUIET_WITHIN: Final = 120.0
"""Seconds; time for both cures of a simulation that has lost pods."""
_SURPRISE: Final = re.compile(r'^.*(Traceback|"level":"error")', re.MULTILINE)
_STORY: Final = 40
"""Lines of a log that tell of a surprise: its sandbox is gone when somebody reads of it."""


def of(run: "Run") -> Iterator[Violation]:
    """Every law of the end that is broken. It deletes the Jobs, as their users do at last."""
    yield from (Violation("faults can be proven", "run", text) for text in run.lanes.tally.failures)
    yield from (Violation("all is seen", "observer", text) for text in run.observer.broken)
    yield from (Violation("no user is refused", "users", text) for text in run.users.refused)
    yield from _fates(run.users.commissions, run.observer.jobs(), run.users.deleted)
    yield from _plan(run)
    yield from _owned(run.stage)
    run.stage.kubectl("delete", "jobs", "--all", "--wait=false")
    yield from _left(run)
    yield from _processes(run)


def is_over(one: Commission, jobs: Mapping[str, JobSight]) -> bool:
    """Whether each of its Jobs has ended, or is gone."""
    known = [jobs[name] for name in one.jobs if name in jobs]
    return len(known) == len(one.jobs) and all(job.ending or job.gone for job in known)


def end_of(one: Commission, jobs: Mapping[str, JobSight], deleted: Collection[str]) -> str:
    found = [jobs.get(name) for name in one.jobs]
    if all(name in deleted for name in one.jobs):
        return "deleted"
    if all(job and job.ending == "Complete" for job in found):
        return "complete"
    return "failed" if any(job and job.ending for job in found) else "lost"


def _fates(
    commissions: Collection[Commission], jobs: Mapping[str, JobSight], deleted: Collection[str]
) -> Iterator[Violation]:
    for one in commissions:
        if end_of(one, jobs, deleted) not in ("complete", "deleted"):
            states = ", ".join(_state(name, jobs.get(name)) for name in one.jobs)
            yield Violation("no job is lost", one.name, f"{one.kind}: {states}")


def _state(name: str, job: JobSight | None) -> str:
    if job is None:
        return f"{name} never came"
    state = "gone" if job.gone else job.ending or ("suspended" if job.suspended else "runs")
    return f"{name} {state} × {job.size} ({job.reason})"


def _processes(run: "Run") -> Iterator[Violation]:
    """None of ours ends by itself, or meets what it cannot name."""
    for death in run.lanes.tally.deaths:
        if death.name in OURS:
            yield Violation("ours never end by themselves", death.name, death.report)
    for name in OURS:
        log = run.scene.sandbox.log(name).read_text(errors="replace")
        if found := _SURPRISE.search(log):
            story = " | ".join(log[found.start() :].splitlines()[:_STORY])
            yield Violation("ours meet no surprise", name, story)


def _plan(run: "Run") -> Iterator[Violation]:
    """Nobody is held, and nothing is to be done."""

    def plan() -> Json:
        command = [sys.executable, "-m", "kubectl_edl", "plan", "-A", "-o", "json"]
        done = subprocess.run(
            command, env=run.scene.sandbox.kubectl_environment(), capture_output=True, check=True
        )
        found: Json = json.loads(done.stdout)
        return {"changes": found["changes"], "waiting": found["waiting"]}

    if not run.comes(lambda: not any(plan().values()), _QUIET_WITHIN):
        yield Violation("all is quiet in the end", "the plan", json.dumps(plan())[:400])


def _owned(stage: Stage) -> Iterator[Violation]:
    """What stands around jobs has an owner that lives."""
    alive = {job["metadata"]["uid"] for job in stage.all("Job")}
    for kind, found in _around(stage):
        owners = {one["uid"] for one in found["metadata"].get("ownerReferences", ())}
        if not owners & alive:
            yield Violation("no orphan", f"{kind} {found['metadata']['name']}", "it has no owner")


def _left(run: "Run") -> Iterator[Violation]:
    """Nothing, once the Jobs are deleted."""

    def names() -> list[str]:
        pods = [f"Pod {pod['metadata']['name']}" for pod in run.stage.all("Pod")]
        around = _around(run.stage)
        return pods + [f"{kind} {found['metadata']['name']}" for kind, found in around]

    if not run.comes(lambda: not names(), _GONE_WITHIN):
        yield Violation("no orphan", f"{len(names())} objects", ", ".join(names()[:10]))


def _around(stage: Stage) -> Iterator[tuple[str, Json]]:
    for kind in SURROUNDINGS:
        for found in stage.all(kind):
            if found["metadata"]["name"] not in _NOT_OURS:
                yield kind, found
