"""Each law finds the history that breaks it, and lets the one beside it pass."""

import json
from collections.abc import Sequence
from dataclasses import replace

from tests.torture.laws import Judge, Patience
from tests.torture.sights import JobSight, PodSight, job_sight, pod_sight

NODES = {"node-0": (4000, 100), "node-1": (4000, 100)}
JOB = JobSight(
    uid="j",
    name="mnist-worker",
    training="mnist",
    bounds=(2, 4),
    size=2,
    suspended=False,
    ending="",
    request=(1000, 10),
    completions=2,
    started_at="12:00",
    starts=1,
)
POD = PodSight(
    uid="p", name="pod", job="j", index=0, node="node-0", phase="Running", request=(1000, 10)
)


def judge() -> Judge:
    return Judge(NODES, Patience(half_gang=60.0, late=60.0))


def found(history: Sequence[JobSight | PodSight]) -> list[str]:
    """The laws that this history breaks."""
    judged = judge()
    for seen in history:
        if isinstance(seen, JobSight):
            judged.see_job(seen)
        else:
            judged.see_pod(seen)
    return [violation.law for violation in judged.violations]


def lasting(judged: Judge, seconds: float) -> list[str]:
    """The laws that are broken when this situation lasts so long."""
    judged.look(1000.0)
    judged.look(1000.0 + seconds)
    return [violation.law for violation in judged.violations]


def pods(count: int, **changes: object) -> list[PodSight]:
    return [
        replace(POD, uid=f"p{number}", index=number, **changes)  # type: ignore[arg-type]
        for number in range(count)
    ]


def test_a_size_outside_its_bounds_is_found_unless_it_is_suspended_or_ended() -> None:
    assert found([replace(JOB, size=5)]) == ["min ≤ size ≤ max"]
    assert found([replace(JOB, size=1)]) == ["min ≤ size ≤ max"]
    assert found([replace(JOB, size=5, suspended=True), replace(JOB, size=0)]) == []


def test_a_job_that_fails_is_found_once() -> None:
    failed = replace(JOB, ending="Failed")
    assert found([JOB, failed, failed]) == ["every job ends well"]
    assert found([JOB, replace(JOB, ending="Complete")]) == []


def test_a_second_start_is_found_unless_it_was_stopped_between() -> None:
    again = replace(JOB, started_at="12:05")
    assert found([JOB, again]) == ["nobody starts twice"]
    assert found([JOB, replace(JOB, suspended=True), again]) == []


def test_a_history_of_two_first_starts_is_found() -> None:
    assert found([JOB, replace(JOB, starts=2)]) == ["nobody starts twice"]


def test_an_unseen_start_counts_as_the_first() -> None:
    judged = judge()
    judged.see_job(JOB)
    judged.relisted([replace(JOB, started_at="12:05")])
    assert judged.violations == []


def test_pods_that_ask_for_more_than_their_node_has_are_found() -> None:
    assert found(pods(4)) == []
    assert found(pods(5)) == ["never over allocatable"]
    assert found([*pods(4), replace(POD, uid="p0", gone=True), replace(POD, uid="p9")]) == []
    assert found([*pods(4), replace(POD, uid="p0", phase="Failed"), replace(POD, uid="p9")]) == []


def test_what_the_scheduler_binds_blindly_is_told_and_not_held_against_us() -> None:
    judged = judge()
    judged.look(1000.0)
    judged.strike(1000.0)
    for pod in pods(5):
        judged.see_pod(pod)
    assert (judged.violations, len(judged.overbound)) == ([], 1)
    judged.look(1040.0)
    judged.see_pod(replace(POD, uid="later"))
    assert [violation.law for violation in judged.violations] == ["never over allocatable"]


def test_a_pod_that_leaves_still_holds_its_room() -> None:
    leaving = replace(POD, uid="p0", terminating=True)
    assert found([*pods(4), leaving, replace(POD, uid="p9")]) == ["never over allocatable"]


def test_an_index_that_was_counted_and_runs_again_is_found() -> None:
    counted = replace(JOB, completed=frozenset({1}))
    again = replace(POD, index=1, phase="Pending", node="")
    assert found([counted, again]) == ["no index is done twice"]
    assert found([counted, replace(again, index=0)]) == []
    assert found([counted, JOB, again]) == [], "a shrink has forgotten it"


def test_a_pod_present_before_its_index_was_counted_is_not_a_second_pod() -> None:
    judged = judge()
    judged.see_job(JOB)
    judged.see_pod(POD)
    judged.see_job(replace(JOB, completed=frozenset({0})))
    judged.see_pod(replace(POD, phase="Succeeded"))
    judged.relisted_pods([replace(POD, uid="unseen")])
    assert judged.violations == []


def test_half_a_gang_is_found_when_it_lasts() -> None:
    for seconds, expected in ((59.0, []), (61.0, ["all roles or none"])):
        judged = judge()
        judged.see_job(replace(JOB, ending="", bounds=(0, 4)))
        judged.see_job(replace(JOB, uid="chief", name="mnist-chief", suspended=True))
        assert lasting(judged, seconds) == expected


def test_a_minimum_that_finds_no_nodes_is_found_when_it_lasts() -> None:
    judged = judge()
    judged.see_job(JOB)
    judged.see_pod(POD)
    judged.see_pod(replace(POD, uid="q", index=1, node=""))
    assert lasting(judged, 61.0) == ["the minimum is on nodes"]


def test_a_minimum_that_is_on_nodes_or_done_is_whole() -> None:
    judged = judge()
    judged.see_job(JOB)
    judged.see_pod(POD)
    judged.see_pod(replace(POD, uid="q", index=1, phase="Succeeded"))
    assert lasting(judged, 1000.0) == []


def test_two_pods_of_one_index_are_found_when_they_last() -> None:
    judged = judge()
    judged.see_job(JOB)
    for number, pod in enumerate((*pods(2), replace(POD, uid="twin"))):
        judged.see_pod(replace(pod, node=f"node-{number % 2}"))
    assert lasting(judged, 61.0) == ["one pod an index"]


def test_more_than_all_nodes_have_is_found_when_it_stays_admitted() -> None:
    judged = judge()
    judged.see_job(replace(JOB, bounds=(0, 9), size=9, completions=9))
    assert lasting(judged, 61.0) == ["no more is admitted than there is"]


def test_what_lasts_is_said_once_and_measured() -> None:
    judged = judge()
    judged.see_job(JOB)
    assert lasting(judged, 61.0) == ["the minimum is on nodes"]
    judged.look(2000.0)
    assert len(judged.violations) == 1
    assert judged.longest["the minimum is on nodes"] >= 61.0


def test_a_job_is_seen_with_what_the_laws_ask_for() -> None:
    labels = {"edl.dev/job": "mnist", "edl.dev/min": "2", "edl.dev/max": "4"}
    notes = {
        "edl.dev/started-at": "12:00",
        "edl.dev/history": "12:00 started 2 2 it fits\n12:01 grown 2 3 idle capacity",
        "edl.dev/message": "idle capacity",
    }
    container = {"resources": {"requests": {"cpu": "500m", "memory": "1Ki"}}}
    body = {
        "metadata": {"uid": "j", "name": "mnist-worker", "labels": labels, "annotations": notes},
        "spec": {
            "parallelism": 3,
            "completions": 3,
            "suspend": False,
            "template": {"spec": {"containers": [container]}},
        },
        "status": {
            "completedIndexes": "0,2-3",
            "conditions": [{"type": "Complete", "status": "True"}],
        },
    }
    assert job_sight(json.dumps(body).encode()) == replace(
        JOB,
        size=3,
        completions=3,
        completed=frozenset({0, 2, 3}),
        ending="Complete",
        request=(500, 1024),
        reason="idle capacity",
    )


def test_a_pod_is_seen_with_its_owner_and_index() -> None:
    body = {
        "metadata": {
            "uid": "p",
            "name": "pod",
            "ownerReferences": [{"kind": "Job", "uid": "j"}],
            "annotations": {"batch.kubernetes.io/job-completion-index": "0"},
            "deletionTimestamp": "12:00",
        },
        "spec": {"nodeName": "node-0", "containers": [{"resources": {"limits": {"cpu": "1"}}}]},
        "status": {"phase": "Running"},
    }
    expected = replace(POD, request=(1000, 0), terminating=True)
    assert pod_sight(json.dumps(body).encode()) == expected
