"""What users of one namespace are told: their own jobs in full, and others' only by number."""

from collections.abc import Iterator, Mapping
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgspec
import pytest
from msgspec.structs import replace

from edl import reasons
from edl.forecast.estimate import Certainty, Estimate
from edl.messages import blocker_text, message
from edl.messages.foreign_names import NameRedaction, UnnamedJobs
from edl.model import JobKey, Reason, Team, Teams
from edl.model.causes.blockers import Blocker, Outranked, TimedHold
from edl.model.causes.reason_codes import Code
from edl.model.causes.reason_subjects import About, ForeignJob, Minimum, Other, PendingPods
from edl.planner.explain.blocker_search import BlockerSearch
from edl.planner.plan import Plan, WaitingJob
from edl.quantities import CPU, Resources
from edl.visibility.namespace_queue import MAX_BYTES, MAX_JOBS, MAX_TEAMS, TeamCount, render
from edl.visibility.queue_documents import Insight, documents
from tests.edl.planner.states import at, cluster, node, worker
from tests.reasons import because, invalid

SECRET = JobKey("acquisitions", "codename-falcon")
TEAMS = {"ns": "vision", "vision-dev": "vision", "acquisitions": "deals"}
TEAMED = replace(cluster(), teams=Teams.of([Team("vision"), Team("deals")]), namespace_teams=TEAMS)
MINE = NameRedaction("ns", lambda namespace: TEAMS.get(namespace, ""))
ALONE = NameRedaction("ns", lambda _: "")


def key(number: int, namespace: str = "ns") -> JobKey:
    return JobKey(namespace, f"job-{number}")


def held(*keys: JobKey, reason: Reason | None = None) -> Plan:
    why = reason or because("waits")
    return Plan(waiting=tuple(WaitingJob(one, why, number) for number, one in enumerate(keys, 1)))


def told(plan: Plan, **insights: Insight) -> Mapping[str, Any]:
    found = {JobKey("ns", name.replace("_", "-")): one for name, one in insights.items()}
    return documents(TEAMED, plan, found)


def test_jobs_ahead_are_counted_by_team() -> None:
    keys = [key(1, "acquisitions"), key(2), key(3, "vision-dev"), key(4, "elsewhere"), key(5)]
    queue = told(held(*keys))["ns"]
    assert [(one.name, one.position, one.ahead) for one in queue.items] == [
        ("job-2", 2, (TeamCount(1, "deals"),)),
        ("job-5", 5, (TeamCount(2, "vision"), TeamCount(1, "deals"), TeamCount(1, "default"))),
    ]
    assert (queue.jobs, queue.team) == (2, "vision")


def test_a_job_has_the_priority_of_its_class() -> None:
    waits = worker("job-1", 1, 1, priority=1000)
    (one,) = documents(cluster(waits), held(waits.key), {})["ns"].items
    assert one.priority == 1000


def test_the_share_of_the_namespaces_own_team_is_told_and_no_other_ones() -> None:
    """Of 10 CPU vision borrows 3.3333, with the weight 2."""
    teams = Teams.of([Team("vision", weight=2.0), Team("deals")])
    usage = {"vision": Resources.of({CPU: 3333}), "deals": Resources.of({CPU: 5000})}
    state = replace(cluster(node("a", 10)), teams=teams, namespace_teams=TEAMS, team_usage=usage)
    found = documents(state, held(key(1)), {})["ns"]
    assert found.share == 0.167
    assert documents(cluster(), held(key(1)), {})["ns"].share is None


def test_without_teams_jobs_ahead_are_only_counted() -> None:
    keys = [key(1, "acquisitions"), key(2), key(3, "vision-dev"), key(5)]
    queue = documents(cluster(), held(*keys), {})["ns"]
    assert [one.ahead for one in queue.items] == [(TeamCount(1),), (TeamCount(3),)]
    assert queue.team == ""


def test_many_teams_are_counted_together_behind_the_largest() -> None:
    keys = [key(number, f"n{number}") for number in range(30)]
    teams = {one.namespace: f"team-{number:02}" for number, one in enumerate(keys)} | {"ns": "last"}
    state = replace(TEAMED, namespace_teams=teams)
    (mine,) = documents(state, held(*keys, keys[7], key(99)), {})["ns"].items
    assert mine.ahead[0] == TeamCount(2, "team-07")
    assert mine.ahead[-1] == TeamCount(31 - 1 - MAX_TEAMS)
    assert sum(one.jobs for one in mine.ahead) == 31


def test_every_namespace_is_told_of_its_own_jobs_alone() -> None:
    found = told(held(key(1), SECRET))
    assert set(found) == {"ns", "acquisitions"}
    assert SECRET.name not in render(found["ns"])
    assert SECRET.name in render(found["acquisitions"])


def test_where_nothing_waits_there_is_no_document() -> None:
    running = Plan(waiting=(WaitingJob(key(1), because("at its max")),))
    state = cluster(worker("job-1", 1, 4, on=["a"]))
    assert documents(state, running, {}) == {}


def test_a_job_that_cannot_be_planned_is_told_of_without_a_position() -> None:
    state = cluster(worker("job-1", 1, 4, problem=invalid("its Jobs disagree")))
    plan = Plan(waiting=(WaitingJob(key(1), because("its Jobs disagree")),))
    (one,) = documents(state, plan, {})["ns"].items
    assert (one.position, one.ahead, one.message) == (None, (), "its Jobs disagree")


def test_of_many_jobs_the_first_are_told_of_and_the_others_counted() -> None:
    queue = told(held(*map(key, range(1, 500))))["ns"]
    assert (queue.jobs, len(queue.items)) == (499, MAX_JOBS)
    assert queue.items[-1].position == MAX_JOBS


def test_a_document_is_never_too_large_for_a_config_map() -> None:
    long = Reason(Code.INVALID, reasons.quoted(Code.INVALID, "é" * 5000).about)
    causes = tuple(TimedHold(long, at(1)) for _ in range(50))
    insight = Insight(start=BlockerSearch(causes))
    insights = {f"job_{number}": insight for number in range(1, 200)}
    queue = told(held(*map(key, range(1, 200)), reason=long), **insights)["ns"]
    assert 0 < len(queue.items) < MAX_JOBS
    assert len(render(queue).encode()) < 2 * MAX_BYTES
    assert not queue.items[0].start.complete


def test_an_estimate_is_told_without_what_it_hangs_on() -> None:
    estimate = Estimate(Certainty.LATEST, at(60), f"sooner if {SECRET} ends")
    (one,) = told(held(key(1)), job_1=Insight(estimate))["ns"].items
    assert (one.estimate.certainty, one.estimate.time) == (Certainty.LATEST, at(60))
    assert SECRET.name not in render(told(held(key(1)), job_1=Insight(estimate))["ns"])


def test_a_new_decision_of_the_same_situation_is_the_same_document() -> None:
    plan = held(key(1), SECRET)
    now, later = (
        documents(replace(TEAMED, observed_at=at(seconds)), plan, {}) for seconds in (0, 60)
    )
    assert replace(later["ns"], changed_at=at(0)) == now["ns"]


# -- names -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reader", "jobs", "reads"),
    [
        (MINE, (SECRET,), "capacity goes first to a job of team deals"),
        (ALONE, (SECRET,), "capacity goes first to a job of another namespace"),
        (ALONE, (SECRET, key(1, "x")), "capacity goes first to 2 jobs of other namespaces"),
        (
            MINE,
            (SECRET, key(1), key(2, "acquisitions"), key(3, "vision-dev")),
            "capacity goes first to ns/job-1, 2 jobs of team deals, a job of team vision",
        ),
    ],
)
def test_jobs_of_others_are_counted_and_ones_own_are_named(
    reader: NameRedaction, jobs: tuple[JobKey, ...], reads: str
) -> None:
    assert blocker_text(reader.allowed(Outranked(Code.NOT_PLANNED, jobs))) == reads


def test_pods_of_others_are_not_named() -> None:
    pods = ("acquisitions/falcon-1", "ns/mine", "web/shop")
    assert blocker_text(MINE.allowed(Outranked(Code.NOT_PLANNED, (), pods))) == (
        "capacity goes first to pending pods such as a pod of another namespace, "
        "pending pods such as ns/mine"
    )
    found = MINE.allowed(Reason(Code.RECLAIMED, PendingPods("acquisitions/falcon-1", 5)))
    assert message(found) == "to make room for a pod of another namespace (priority 5)"


@pytest.mark.parametrize("about", [Other(SECRET), Minimum(SECRET)])
def test_a_reason_inside_a_cause_hides_foreign_jobs_too(about: Other | Minimum) -> None:
    found = MINE.allowed(TimedHold(Reason(Code.RECLAIMED, about), at(60)))
    assert "falcon" not in blocker_text(found)
    assert "a job of team deals" in blocker_text(found)


def _with_keys(union: object) -> Iterator[tuple[type[msgspec.Struct], str, object]]:
    """Each field of these structs that may name training jobs, and a value that does."""
    for struct in get_args(union):
        for name, hint in get_type_hints(struct).items():
            if hint is JobKey:
                yield struct, name, SECRET
            elif get_origin(hint) is tuple and JobKey in get_args(hint):
                yield struct, name, (SECRET, SECRET)
            elif get_origin(hint) in (Union, UnionType) and JobKey in get_args(hint):
                yield struct, name, SECRET


@pytest.mark.parametrize(
    ("struct", "field", "value"), [*_with_keys(About), *_with_keys(Blocker)], ids=str
)
def test_whatever_names_a_job_is_rewritten(
    struct: type[msgspec.Struct], field: str, value: object
) -> None:
    """Also what a later release adds: its fields are found by their types."""
    others = dict.fromkeys(struct.__struct_fields__, ()) | {field: value}
    named: Any = struct(**others)
    if isinstance(value, JobKey):
        found = MINE.allowed(TimedHold(Reason(Code.RECLAIMED, named), at(60))).reason.about
        assert isinstance(found, ForeignJob)
    else:
        assert all(isinstance(one, UnnamedJobs) for one in getattr(MINE.allowed(named), field))
