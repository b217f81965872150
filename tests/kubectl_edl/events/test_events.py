import json
from collections.abc import Iterator
from functools import partial

import pytest

from edl.errors import Gone
from edl.kube.cluster import ListOptions, RawList
from edl.kube.writer.event_recorder import event_manifest as ours
from edl.model import Code, ObjectRef
from edl.writes import Action, JobEvent, Json
from kubectl_edl.client.event_reader import owner
from tests.kubectl_edl.cluster_wrappers import ClusterWrapper, fenced
from tests.kubectl_edl.stage import NOW, Stage, event, job, mnist


def of_pod(name: str, reason: str, message: str, *, minutes_ago: float) -> Json:
    found = event(name, reason, message, minutes_ago=minutes_ago, warning=True)
    found["involvedObject"]["kind"] = "Pod"
    return found


@pytest.fixture
def stage() -> Stage:
    stage = Stage()
    mnist(stage)
    stage.put(job("resnet", framework="none", min="1", max="4"))
    stage.create(event("mnist-worker", "Grown", "worker 2 to 4", minutes_ago=1))
    stage.create(of_pod("mnist-worker-3-x7k2p", "FailedScheduling", "no room", minutes_ago=0.5))
    stage.create(of_pod("mnist-worker-9-gone1", "Killing", "long ago", minutes_ago=4))
    stage.create(event("resnet", "Queued", "waits", minutes_ago=2))
    stage.create(of_pod("web-6f7c9-abcde", "Pulled", "somebody else's", minutes_ago=3))
    return stage


def test_events_of_a_training_job_its_jobs_and_its_pods_in_the_order_of_time(stage: Stage) -> None:
    assert stage.run("events", "mnist").out == (
        "LAST SEEN   TYPE      REASON             OBJECT                     MESSAGE\n"
        "4m          Warning   Killing            Pod/mnist-worker-9-gone1   long ago\n"
        "60s         Normal    Grown              Job/mnist-worker           worker 2 to 4\n"
        "30s         Warning   FailedScheduling   Pod/mnist-worker-3-x7k2p   no room\n"
    )


def reasons(stage: Stage, *args: str) -> list[str]:
    items = json.loads(stage.run("events", *args, "-o", "json").out)["items"]
    return [one["reason"] for one in items]


def test_without_a_name_those_of_all_training_jobs(stage: Stage) -> None:
    assert reasons(stage) == ["Killing", "Queued", "Grown", "FailedScheduling"]


def test_events_of_one_second_are_listed_in_the_order_in_which_they_were_stored(
    stage: Stage,
) -> None:
    for reason in ("Zeroth", "First", "Second"):
        stage.create(event("mnist-worker", reason, "at once", minutes_ago=0.25))
    assert reasons(stage, "mnist")[-3:] == ["Zeroth", "First", "Second"]


@pytest.mark.parametrize("expires", [False, True])
def test_events_are_read_in_pages_which_may_expire(stage: Stage, *, expires: bool) -> None:
    class Paged(ClusterWrapper):
        def list(self, selection: ListOptions) -> RawList:
            assert selection.kind != "Event" or expires
            return super().list(selection)

        def pages(self, selection: ListOptions) -> Iterator[RawList]:
            whole = super().list(selection)
            for item in reversed(whole.items):
                yield RawList((item,), whole.version)
                if expires:
                    raise Gone("the continue token has expired", 410)

    stage.wrapped = Paged
    assert reasons(stage, "mnist") == ["Killing", "Grown", "FailedScheduling"]


def test_events_of_deleted_jobs_are_listed(stage: Stage) -> None:
    note = JobEvent(
        ObjectRef("Job", "default", "old"), "uid", Action.ENDED, Code.COMPLETE, "old is done"
    )
    stage.create(ours(note, NOW))
    assert reasons(stage)[-1] == "Complete"
    assert "Complete" not in reasons(stage, "mnist")


def earlier(stage: Stage, *events: Json) -> None:
    """Stored before the training jobs of now were created."""
    minutes, stage.minutes_ago = stage.minutes_ago, 9
    for one in events:
        stage.create(one)
    stage.minutes_ago = minutes


def about(found: Json, uid: str) -> Json:
    found["metadata"]["name"] += uid
    found["involvedObject"]["uid"] = uid
    return found


@pytest.mark.parametrize("command", [["mnist"], []])
def test_events_of_an_earlier_job_of_the_name_are_not_listed(
    stage: Stage, command: list[str]
) -> None:
    now = stage.job("mnist-worker")["metadata"]["uid"]
    old_pod = "mnist-worker-0-aaaaa"
    before = reasons(stage, *command)
    earlier(
        stage,
        about(event("mnist-worker", "SuccessfulCreate", "made", minutes_ago=9), "old"),
        about(of_pod(old_pod, "Scheduled", "placed", minutes_ago=9), "old-pod"),
    )
    # These two end while the new ones start.
    stage.create(about(event("mnist-worker", "Deleted", "gone", minutes_ago=0.2), "old"))
    stage.create(about(of_pod(old_pod, "Killing", "Stopping", minutes_ago=0.2), "old-pod"))
    stage.create(about(event("mnist-worker", "FailedCreate", "quota", minutes_ago=0.1), now))
    assert reasons(stage, *command) == [*before, "FailedCreate"]
    assert "SuccessfulCreate" not in stage.run("status", "mnist", "-o", "json").out


def test_only_warnings_on_request(stage: Stage) -> None:
    assert reasons(stage, "--types", "warning") == ["Killing", "FailedScheduling"]


def test_a_selector_chooses_the_training_jobs(stage: Stage) -> None:
    stage.patch("resnet", {"metadata": {"labels": {"team": "vision"}}})
    assert reasons(stage, "-l", "team=vision") == ["Queued"]


@pytest.mark.parametrize("command", [["status"], ["events"], ["top"], ["top", "jobs"]])
def test_a_name_and_a_selector_exclude_each_other(stage: Stage, command: list[str]) -> None:
    found = stage.run(*command, "resnet", "-l", "team=vision")
    assert (found.code, found.out) == (2, "")
    assert "A name and a selector (-l) exclude each other: leave out one." in found.err


def test_documents_are_kubernetes_own_events(stage: Stage) -> None:
    found = json.loads(stage.run("events", "-o", "json").out)
    assert (found["apiVersion"], found["kind"]) == ("v1", "EventList")
    assert found["items"][0]["kind"] == "Event"
    assert found["items"][0]["involvedObject"]["name"] == "mnist-worker-9-gone1"


def test_repeated_events_show_their_count(stage: Stage) -> None:
    again = event("resnet", "Held", "no room", minutes_ago=1) | {
        "count": 7,
        "firstTimestamp": "2026-11-21T11:50:00Z",
    }
    stage.create(again)
    series = {
        "metadata": {"name": "series"},
        "involvedObject": {"kind": "Job", "name": "resnet"},
        "reason": "Series",
        "eventTime": "2026-11-21T11:55:00.123456Z",
        "series": {"count": 3, "lastObservedTime": "2026-11-21T11:59:30.000000Z"},
    }
    stage.create({"apiVersion": "v1", "kind": "Event"} | series)
    lines = stage.run("events", "resnet").out.splitlines()
    assert lines[2].startswith("60s (x7 over 10m) ")
    assert lines[3].startswith("30s (x3 over 4m59s) ")


def test_wide_names_the_source(stage: Stage) -> None:
    note = JobEvent(
        ObjectRef("Job", "default", "resnet"), "uid", Action.ENDED, Code.COMPLETE, "done"
    )
    stage.create(ours(note, NOW))
    last = stage.run("events", "-A", "-o", "wide").out.splitlines()[-1].split()
    assert last == ["default", "0s", "Normal", "Complete", "Job/resnet", "kubectl-edl", "1", "done"]


def test_a_watch_adds_lines_on_a_terminal_too(stage: Stage) -> None:
    stage.width = 60
    fresh = event("mnist-worker", "Shrunk", "worker 4 to 2", minutes_ago=0)
    name = "mnist-worker.grown"
    stage.between = [
        lambda: stage.create(fresh),
        lambda: None,
        partial(stage.patch, name, {"count": 2, "lastTimestamp": "2026-11-21T12:00:00Z"}, "Event"),
    ]
    out = stage.run("events", "mnist", "-w").out
    assert "\x1b" not in out
    assert [line.split("   ")[2].strip() for line in out.splitlines()[4:]]
    assert [line.count("Shrunk") + 2 * line.count("Grown") for line in out.splitlines()[4:]] == [
        1,
        2,
    ]


def test_nothing_is_printed_on_stderr(stage: Stage) -> None:
    found = stage.run("events", "-n", "empty")
    assert (found.code, found.out) == (0, "")
    assert found.err == "No events of training jobs found in empty namespace.\n"


def test_a_missing_right_to_list_events_is_named(stage: Stage) -> None:
    stage.wrapped = fenced("Event")
    found = stage.run("events")
    assert found.code == 1
    assert found.err == 'error: "ann" may not list Event (kubectl auth can-i …)\n'


@pytest.mark.parametrize(
    ("pod", "job"),
    [
        ("mnist-worker-0-x7k2p", "mnist-worker"),
        ("mnist-x7k2p", "mnist"),
        ("mnist-worker-x7k2p", "mnist-worker"),
        ("mnist-1-0-x7k2p", "mnist-1"),
        ("other-0-x7k2p", ""),
        ("mnist", ""),
    ],
)
def test_the_owner_of_a_pod_is_derived_from_its_name(pod: str, job: str) -> None:
    assert owner(pod, {"mnist", "mnist-worker", "mnist-1"}) == job
