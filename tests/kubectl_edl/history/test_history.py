import json
from typing import TYPE_CHECKING

import pytest

from edl import contract
from tests.kubectl_edl.cluster_wrappers import fenced
from tests.kubectl_edl.stage import Stage, event, mnist

if TYPE_CHECKING:
    from edl.writes import Json

STARTED = "2026-11-21T11:00:00Z Started {0} {0} its gang fits: 4 pods"
WORKER = """\
2026-11-21T11:00:00Z Started 1 1 its gang fits: 4 pods
2026-11-21T11:10:00Z ScaledUp 1 4 idle capacity: 4 of 12 fit
2026-11-21T11:20:00Z ScaledUp 4 6 manual size
2026-11-21T11:21:00Z ScaleFailed 6 4 reverted to 4: 6 not ready within 60 s
2026-11-21T11:30:00Z PodsRemoved 4 3 removed by name: mnist-worker-1-x1
2026-11-21T11:40:00Z Suspended 3 3 paused
2026-11-21T11:50:00Z Resumed 3 3 its gang fits: 6 pods
2026-11-21T11:55:00Z ScaledUp 3 4 idle capacity: 4 of 12 fit"""
SHOWN = """\
OPERATION     PHASE            SIZES                   MESSAGE                               AGE
Started       Running          chief=1,ps=2,worker=1   its gang fits: 4 pods                    60m
ScaledUp      ScaleSucceeded   worker=1→4              idle capacity: 4 of 12 fit               50m
ScaledUp      ScaleFailed      worker=4→6              manual size                              40m
ScaleFailed   ScaleFailed      worker=6→4              reverted to 4: 6 not ready within 60 s   39m
PodsRemoved   ScaleSucceeded   worker=4→3              removed by name: mnist-worker-1-x1       30m
Suspended     Suspended        worker=3                paused                                   20m
Resumed       Running          worker=3                its gang fits: 6 pods                    10m
ScaledUp      ScaleSucceeded   worker=3→4              idle capacity: 4 of 12 fit               5m
"""


@pytest.fixture
def stage() -> Stage:
    stage = Stage()
    mnist(stage)
    told(stage, "mnist-chief", STARTED.format(1))
    told(stage, "mnist-ps", STARTED.format(2))
    told(stage, "mnist-worker", WORKER)
    return stage


def told(stage: Stage, job: str, history: str) -> None:
    stage.patch(job, {"metadata": {"annotations": {contract.HISTORY: history}}})


def test_a_history_is_a_line_an_operation(stage: Stage) -> None:
    found = stage.run("history", "mnist")
    assert (found.code, found.err) == (0, "")
    assert [line.split() for line in found.out.splitlines()] == [
        line.split() for line in SHOWN.splitlines()
    ]


def test_the_operations_of_a_role_whose_job_was_deleted_are_said_to_be_gone(stage: Stage) -> None:
    worker = stage.job("mnist-worker")
    stage.delete("mnist-worker")
    gone = "hint: operations of worker from before its Job was deleted are gone with that Job\n"
    found = stage.run("history", "mnist")
    assert (found.code, found.err) == (0, gone)
    assert "chief=1,ps=2 " in found.out
    del worker["metadata"]["annotations"][contract.HISTORY]
    stage.create(worker)
    assert stage.run("history", "mnist").err == gone
    told(stage, "mnist-worker", "2026-11-21T11:59:00Z Started 1 1 its gang fits: 4 pods")
    assert stage.run("history", "mnist").err == gone


def test_no_operations_are_said_to_be_gone_because_a_clock_was_behind(stage: Stage) -> None:
    """The first operations of a role with more than 50 are cut, and the clock is right again."""
    early = "2026-11-21T11:54:50Z Started 1 1 its gang fits: 4 pods"
    for job in ("mnist-chief", "mnist-ps"):
        told(stage, job, early)
    told(stage, "mnist-worker", "2026-11-21T11:57:00Z ScaledUp 1 2 idle capacity")
    created = stage.job("mnist-worker")["metadata"]["creationTimestamp"]
    assert "2026-11-21T11:54:50Z" < created < "2026-11-21T11:57:00Z"
    assert stage.run("history", "mnist").err == ""


def test_a_requested_size_that_the_role_never_had_is_not_among_its_sizes(stage: Stage) -> None:
    up, down = WORKER.splitlines()[1], "reverted to 4: 12 not ready within 3 s"
    told(stage, "mnist-worker", f"{up}\n2026-11-21T11:21:00Z ScaleFailed 12 4 {down}")
    *_, last = json.loads(stage.run("history", "mnist", "-o", "json").out)["operations"]
    assert last["roles"] == [{"name": "worker", "oldReplicas": 4, "newReplicas": 4}]
    assert last["message"] == down


def test_other_failed_entries_keep_their_recorded_size(stage: Stage) -> None:
    up, down = WORKER.splitlines()[1], "pods stayed Pending"
    told(stage, "mnist-worker", f"{up}\n2026-11-21T11:21:00Z ScaleFailed 6 3 Unschedulable {down}")
    *_, last = json.loads(stage.run("history", "mnist", "-o", "json").out)["operations"]
    assert last["roles"] == [{"name": "worker", "oldReplicas": 6, "newReplicas": 3}]


def test_entries_of_roles_that_started_within_30_seconds_are_merged(stage: Stage) -> None:
    told(stage, "mnist-ps", STARTED.format(2).replace("11:00:00", "11:00:07"))
    found = json.loads(stage.run("history", "mnist", "-o", "json").out)
    first, second, *_ = found["operations"]
    assert [role["name"] for role in first["roles"]] == ["chief", "ps", "worker"]
    assert second["operation"] == "ScaledUp"


def test_the_start_of_a_recreated_job_is_an_operation_of_its_own(stage: Stage) -> None:
    """Its history is a new one, as that of the deleted Job is gone."""
    created = {"metadata": {"creationTimestamp": "2026-11-21T11:00:15Z"}}
    stage.patch("mnist-chief", created)
    told(stage, "mnist-chief", "2026-11-21T11:00:20Z Started 1 1 its gang fits: 1 pod")
    found = json.loads(stage.run("history", "mnist", "-o", "json").out)
    first, second, *_ = found["operations"]
    assert [role["name"] for role in first["roles"]] == ["ps", "worker"]
    assert (second["operation"], second["time"]) == ("Started", "2026-11-21T11:00:20Z")
    assert [role["name"] for role in second["roles"]] == ["chief"]


def test_operations_of_one_second_keep_their_order(stage: Stage) -> None:
    """The Job of the worker is suspended a second later than the others."""
    second = "2026-11-21T11:00:00"
    paused = "Suspended {0} {0} paused"
    resized = f"{second}.100Z ScaledUp 1 4 idle capacity\n{second}.200Z ScaledDown 4 2 manual size"
    for name, count in (("mnist-chief", 1), ("mnist-ps", 2)):
        told(stage, name, f"{STARTED.format(count)}\n{second}.500Z {paused.format(count)}")
    later = f"2026-11-21T11:00:01.500Z {paused.format(2)}"
    told(stage, "mnist-worker", f"{STARTED.format(1)}\n{resized}\n{later}")
    found = json.loads(stage.run("history", "mnist", "-o", "json").out)
    operations = [(one["operation"], len(one["roles"])) for one in found["operations"]]
    assert operations == [("Started", 3), ("ScaledUp", 1), ("ScaledDown", 1), ("Suspended", 3)]


def test_documents_have_times_and_sizes_by_role(stage: Stage) -> None:
    found = json.loads(stage.run("history", "mnist-worker", "-o", "json").out)
    assert found["kind"] == "TrainingJobHistory"
    assert found["metadata"] == {"name": "mnist", "namespace": "default"}
    assert found["operations"][1] == {
        "time": "2026-11-21T11:10:00Z",
        "operation": "ScaledUp",
        "phase": "ScaleSucceeded",
        "roles": [{"name": "worker", "oldReplicas": 1, "newReplicas": 4}],
        "reason": None,
        "message": "idle capacity: 4 of 12 fit",
    }
    assert stage.run("history", "mnist", "-o", "yaml").out.startswith(
        "apiVersion: edl.dev/v1alpha1\n"
    )


def test_a_resize_in_progress_has_the_phase_scaling(stage: Stage) -> None:
    marks = {
        contract.RESIZED_AT: "2026-11-21T11:55:00Z",
        contract.STARTED_AT: "2026-11-21T11:50:00Z",
    }
    stage.patch("mnist-worker", {"metadata": {"annotations": marks}})
    stage.patch("mnist-worker", {"spec": {"parallelism": 5, "completions": 5}})
    found = json.loads(stage.run("history", "mnist", "-o", "json").out)
    assert [one["phase"] for one in found["operations"]][-2:] == ["Running", "Scaling"]
    shown = stage.run("status", "mnist").out
    assert "Phase:      Scaling" in shown
    assert "Changed:    ScaledUp worker=3→4 5m ago: Scaling" in shown


def test_a_start_that_was_scaled_down_is_starting_until_its_minimum_runs(
    stage: Stage,
) -> None:
    second = "2026-11-21T11:59:0"
    told(stage, "mnist-chief", f"{second}0Z Started 1 1 its gang fits: 4 pods")
    told(stage, "mnist-ps", f"{second}0Z Started 2 2 its gang fits: 4 pods")
    given_back = f"{second}9Z ScaleFailed 4 3 pods stayed Pending"
    told(stage, "mnist-worker", f"{second}0Z Started 4 4 its gang fits: 4 pods\n{given_back}")
    stage.delete("mnist-chief-0-x0", kind="Pod")
    found = json.loads(stage.run("history", "mnist", "-o", "json").out)
    assert [one["phase"] for one in found["operations"]] == ["Starting", "ScaleFailed"]


def test_the_end_is_read_from_the_job_status(stage: Stage) -> None:
    over = {"type": "Complete", "status": "True", "lastTransitionTime": "2026-11-21T11:59:00Z"}
    stage.patch("mnist-chief", {"status": {"conditions": [over]}})
    found = json.loads(stage.run("history", "mnist", "-o", "json").out)
    last = found["operations"][-1]
    assert (last["operation"], last["phase"], last["time"], last["message"]) == (
        "Ended",
        "Succeeded",
        "2026-11-21T11:59:00Z",
        "mnist is done",
    )


def test_status_shows_the_outcome_of_the_last_operation(stage: Stage) -> None:
    shown = stage.run("status", "mnist").out
    assert "Changed:    ScaledUp worker=3→4 5m ago: ScaleSucceeded\n" in shown


def test_a_job_without_operations_prints_a_message(stage: Stage) -> None:
    for job in ("mnist-chief", "mnist-ps", "mnist-worker"):
        told(stage, job, "")
    assert stage.run("history", "mnist").out == "mnist: nothing has happened yet.\n"
    assert json.loads(stage.run("history", "mnist", "-o", "json").out)["operations"] == []


def test_no_such_job_is_exit_code_3(stage: Stage) -> None:
    assert stage.run("history", "mnits").code == 3


def test_warning_events_follow_the_operations(stage: Stage) -> None:
    warned = event("mnist-worker", "FailedCreate", "exceeded quota", minutes_ago=2, warning=True)
    stage.create(warned)
    stage.create(event("mnist-worker", "Grown", "worker 3 to 4", minutes_ago=1))
    above, below = stage.run("history", "mnist").out.split("\n\n")
    assert above.startswith("OPERATION     PHASE ")
    assert below == (
        "LAST SEEN   TYPE      REASON         OBJECT             MESSAGE\n"
        "2m          Warning   FailedCreate   Job/mnist-worker   exceeded quota\n"
    )
    assert json.loads(stage.run("history", "mnist", "-o", "json").out)["warnings"] == [
        {
            "lastTimestamp": "2026-11-21T11:58:00Z",
            "object": "Job/mnist-worker",
            "reason": "FailedCreate",
            "message": "exceeded quota",
            "count": 1,
        }
    ]


def test_pods_that_lost_their_node_follow_the_operations(stage: Stage) -> None:
    """The eviction is of the type Normal; Kubernetes deletes the pod, so its Events remain."""
    for reason, message, minutes in (
        ("NodeNotReady", "Node is not ready", 9),
        ("TaintManagerEviction", "Marking for deletion Pod default/mnist-worker-2-abcde", 4),
        ("Preempted", "Preempted by pod 1f-2e on node node-1", 2),
        ("Scheduled", "Successfully assigned default/mnist-worker-2-abcde to node-1", 30),
    ):
        lost = event("mnist-worker-2-abcde", reason, message, minutes_ago=minutes)
        lost["involvedObject"] |= {"kind": "Pod"}
        stage.create(lost | {"type": "Warning" if reason == "NodeNotReady" else "Normal"})
    _, below = stage.run("history", "mnist").out.split("\n\n")
    assert [line.split()[:4] for line in below.splitlines()[1:]] == [
        ["9m", "Warning", "NodeNotReady", "Pod/mnist-worker-2-abcde"],
        ["4m", "Normal", "TaintManagerEviction", "Pod/mnist-worker-2-abcde"],
        ["2m", "Normal", "Preempted", "Pod/mnist-worker-2-abcde"],
    ]


def eviction(pod: str, message: str) -> "Json":
    written = event(pod, "TaintManagerEviction", f"{message} Pod default/{pod}", minutes_ago=4)
    written["involvedObject"] |= {"kind": "Pod"}
    return written


def test_many_evictions_leave_room_for_warnings(stage: Stage) -> None:
    for number in range(11):
        warned = event("mnist-worker", "FailedCreate", f"full {number}", minutes_ago=30 - number)
        stage.create(warned | {"type": "Warning", "metadata": {"name": f"full-{number}"}})
        stage.create(eviction(f"mnist-worker-{number}-abcde", "Marking for deletion"))
    _, below = stage.run("history", "mnist").out.split("\n\n")
    assert [line.split()[-1] for line in below.splitlines()[1:]] == [
        *(str(number) for number in range(1, 11)),
        *(f"default/mnist-worker-{number}-abcde" for number in range(8, 11)),
    ]


def test_a_cancelled_eviction_says_so_itself(stage: Stage) -> None:
    """The same reason: the taint was removed in time."""
    stage.create(eviction("mnist-worker-2-abcde", "Cancelling deletion of"))
    found = stage.run("history", "mnist").out
    assert found.endswith("Cancelling deletion of Pod default/mnist-worker-2-abcde\n")


def test_events_with_one_text_about_one_object_are_one_warning(stage: Stage) -> None:
    """kube-scheduler writes a new Event for the same message now and then."""
    for name, minutes in (("first", 3), ("second", 2)):
        warned = event("mnist-worker", "FailedCreate", "full", minutes_ago=minutes, warning=True)
        stage.create(warned | {"metadata": {"name": name}})
    _, below = stage.run("history", "mnist").out.split("\n\n")
    assert below.splitlines()[1:] == [
        "2m          Warning   FailedCreate   Job/mnist-worker   full"
    ]


def test_an_earlier_job_of_the_same_name_warned_of_something_else(stage: Stage) -> None:
    old = event("mnist-worker", "BackoffLimitExceeded", "back to 6", minutes_ago=2, warning=True)
    old["involvedObject"]["uid"] = "of-the-deleted-job"
    stage.create(old)
    assert "BackoffLimitExceeded" not in stage.run("history", "mnist").out
    assert "BackoffLimitExceeded" not in stage.run("status", "mnist", "-o", "json").out


def test_without_the_right_to_list_events_a_hint_is_printed(stage: Stage) -> None:
    stage.wrapped = fenced("Event")
    found = stage.run("history", "mnist")
    assert found.code == 0
    assert found.err.startswith("hint: what Kubernetes warned of is missing: ")
