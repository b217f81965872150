"""Users of one namespace read no name of another one's jobs and pods in what is written there."""

from datetime import timedelta

import msgspec
import pytest
from msgspec.structs import replace

from edl import reasons
from edl.annotations.last_change import read_reason
from edl.contract import LAST_CHANGE
from edl.messages import message
from edl.model import Code, Demand, JobKey, Reason, ScaleDeadline, Team, Teams
from edl.model.causes.reason_subjects import ForeignJob
from edl.planner.plan import Admission, Drain, Plan, Resize, Suspension, WaitingJob
from edl.steps.namespace_redaction import without_foreign_names
from edl.steps.plan_steps import steps
from tests.edl.planner.states import at, cluster, shape, worker
from tests.edl.trainings import patches, surrounded, written

MINUTE = timedelta(minutes=1)
OWN = surrounded(worker("own", 1, 4, on=["a"] * 4))
QUEUED = surrounded(worker("queued", 1, 4))
FALCON = surrounded(
    replace(worker("falcon", 1, 1, uid="uid-of-falcon"), key=JobKey("secret", "falcon"))
)
LATE = surrounded(
    worker("late", 1, 4, on=["a"], replicas=3, scaling=ScaleDeadline(MINUTE, 1, at(-90), 1))
)
STATE = cluster(OWN, QUEUED, FALCON)
TEAMS = {"ns": "vision", "secret": "deals"}
TEAMED = replace(STATE, teams=Teams.of([Team("vision"), Team("deals")]), namespace_teams=TEAMS)
POD = Demand(shape(1), 7, 1, "secret/falcon-pod")
WHY = {
    "the room of a job": reasons.room_for_job(FALCON.key),
    "its minimum": reasons.room_for_minimum(FALCON.key),
    "an equal share": reasons.gave(Code.FAIR_SHARING, FALCON.key),
    "its share": reasons.gave(Code.FAIR_SHARING, FALCON.key, guaranteed=True),
    "a preemption": reasons.preempted(reasons.room_for_job(FALCON.key)),
    "a guarantee": reasons.guarantee_reclaimed(reasons.room_for_minimum(FALCON.key)),
    "the queue": reasons.goes_first(FALCON.key),
    "pods": reasons.room_for_demand(POD),
    "the order of placement": reasons.placed_after([FALCON.key, QUEUED.key]),
    "terminating pods": reasons.leaving(2, [FALCON.key]),
}
SAID = {
    "the room of a job": "to make room for a job of team deals",
    "its minimum": "to make room for the minimum of a job of team deals",
    "an equal share": "equal share with a job of team deals",
    "its share": "to make room for a job of team deals, which the guarantee of its team covers",
    "a preemption": "requeued to make room for a job of team deals: its priority is lower",
    "a guarantee": "requeued to make room for the minimum of a job of team deals:"
    " its team borrows from another team's guarantee",
    "the queue": "a job of team deals is ahead of it in the queue and starts first",
    "pods": "to make room for a pod of another namespace (priority 7)",
    "the order of placement": "waiting for pods ahead of it to be scheduled",
    "terminating pods": "2 pods wait for others to terminate",
}


AHEAD = "jobs ahead of it in the queue start first"
UNNAMED = {("wait", "the queue"), ("revert", "the queue")}
"""Another job is ahead after each start, so what is stored for long names none."""


def plans(why: Reason) -> dict[str, Plan]:
    """Everything that a plan may do to a job, for this reason."""
    shrink = Resize(OWN.key, "worker", 4, 1, why)
    pods = tuple(pod.name for pod in OWN.roles[0].status.pods[:1])
    return {
        "shrink": Plan(resizes=(shrink,)),
        "restart": Plan(resizes=(replace(shrink, restart=True),)),
        "stop": Plan(suspensions=(Suspension(OWN.key, why),)),
        "move": Plan(drains=(Drain(OWN.key, "worker", pods, why),)),
        "start": Plan(
            admissions=(Admission(QUEUED.key, (("worker", 1),), reasons.restarted(why)),)
        ),
        "wait": Plan(waiting=(WaitingJob(QUEUED.key, why),)),
        "revert": Plan(waiting=(WaitingJob(LATE.key, why),)),
    }


@pytest.mark.parametrize("about", WHY)
@pytest.mark.parametrize("what", plans(reasons.MANUAL_SIZE))
def test_no_write_and_no_event_names_them(what: str, about: str) -> None:
    plan = plans(WHY[about])[what]
    state = replace(TEAMED, jobs=(*TEAMED.jobs, LATE)) if what == "revert" else TEAMED
    found = steps(without_foreign_names(plan, state), state)
    text = msgspec.json.encode(found.steps).decode()
    assert (AHEAD if (what, about) in UNNAMED else SAID[about]) in text
    assert not any(name in text.replace("uid-of-falcon", "") for name in ("secret", "falcon"))


def test_the_plan_counts_the_other_namespaces_jobs_among_those_it_names() -> None:
    found = without_foreign_names(
        Plan(waiting=(WaitingJob(QUEUED.key, WHY["the order of placement"]),)), STATE
    )
    (held,) = found.waiting
    assert message(held.reason).endswith(": ns/queued, a job of another namespace")


def test_without_teams_it_is_a_job_of_another_namespace() -> None:
    plan = Plan(waiting=(WaitingJob(QUEUED.key, WHY["the queue"]),))
    (held,) = without_foreign_names(plan, STATE).waiting
    assert message(held.reason) == (
        "a job of another namespace is ahead of it in the queue and starts first"
    )


def test_jobs_and_pods_of_the_same_namespace_are_named() -> None:
    mine = reasons.room_for_demand(replace(POD, example="ns/web-1"))
    ours = [QUEUED.key, OWN.key]
    whys = [reasons.room_for_job(QUEUED.key), reasons.room_for_minimum(QUEUED.key), mine]
    for why in [*whys, reasons.placed_after(ours), reasons.leaving(1, ours), reasons.PAUSED]:
        plan = Plan(resizes=(Resize(OWN.key, "worker", 4, 1, why),))
        assert without_foreign_names(plan, TEAMED) == plan


def test_the_next_decision_reads_which_job_it_was() -> None:
    plan = plans(WHY["its minimum"])["restart"]
    (step,) = steps(without_foreign_names(plan, TEAMED), TEAMED).steps
    (patch,) = patches(step)
    assert read_reason(written(patch)[LAST_CHANGE]) == reasons.restart(
        Reason(Code.RECLAIMED, ForeignJob("uid-of-falcon", "deals", minimum=True))
    )
