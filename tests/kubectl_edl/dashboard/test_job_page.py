"""The page of one training job: the words of the commands, rights, and untrusted text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from edl import contract
from edl.visibility.namespace_queue import TeamCount
from kubectl_edl.dashboard.job_page import MAX_PODS_WITH_EVENTS
from tests.kubectl_edl.cluster_wrappers import ClusterWrapper, fenced
from tests.kubectl_edl.dashboard.served_page import ServedPage, trained
from tests.kubectl_edl.dashboard.test_watcher import fenced as without_cluster_rights
from tests.kubectl_edl.queue.test_published_queue import publish
from tests.kubectl_edl.stage import NOW, event, job, pod, quota

if TYPE_CHECKING:
    from edl.kube.cluster import ListOptions, RawList
    from edl.writes import Json
    from tests.kubectl_edl.stage import Stage

MNIST = "/jobs/default/mnist"
HTML = {"Accept": "text/html"}
HOSTILE = "<img src=x onerror=alert(1)>"


def state(served: ServedPage, path: str = MNIST) -> Json:
    answer = served.client.get(f"{path}/state")
    assert answer.status_code == 200, answer.text
    found: Json = answer.get_json()
    return found


def rows(table: Json) -> list[dict[str, str]]:
    return [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]


def explained(stage: Stage, page: Json, name: str) -> None:
    """The page has every fact, size and blocker that the command prints, in the same words."""
    said = " ".join(stage.run("explain", name).out.split())
    for label, text in page["facts"]:
        assert label == "Framework" or f"{label}: {' '.join(text.split())}" in said
    for row in page["sizes"]["rows"]:
        assert " ".join(cell or "<none>" for cell in row) in said
    for blockers in page["blockers"]:
        assert blockers["title"] in said
        for what, helps in blockers["lines"]:
            assert " ".join(what.split()) in said
            assert f"{blockers['remedy']}: {' '.join(helps.split())}" in said or not helps


def test_a_running_job_has_its_sizes_and_the_words_of_explain() -> None:
    stage = trained()
    page = state(ServedPage(stage))
    assert (page["namespace"], page["name"], page["phase"]) == ("default", "mnist", "Running")
    worker = rows(page["sizes"])[2]
    figures = [worker[name] for name in ("Role", "Now", "Min", "Max")]
    assert figures == ["worker", "4", "1", "12"]
    (blockers,) = page["blockers"]
    assert blockers["title"].startswith("Why not one more worker (now 4, next ")
    explained(stage, page, "mnist")


def test_a_queued_job_says_why_it_does_not_start_and_what_would_help() -> None:
    stage = trained()
    stage.put(job("large", framework="none", min="40", max="60"), parallelism=40)
    page = state(ServedPage(stage), "/jobs/default/large")
    assert page["phase"] == "Queued"
    (blockers,) = page["blockers"]
    assert blockers["title"] == "Why large does not start"
    assert blockers["lines"][0][1]
    assert page["pods"]["rows"] == []
    explained(stage, page, "large")


def test_a_job_that_preemption_would_help_names_the_setting_of_the_reconciler() -> None:
    stage = trained()
    stage.create({"kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000})
    high = job("high", framework="none", min="22", max="22")
    high["spec"]["template"]["spec"]["priorityClassName"] = "high"
    stage.put(high)
    page = state(ServedPage(stage), "/jobs/default/high")
    assert dict(page["facts"])["Preempts"].endswith(
        "reconciler.planning.preempt=true, or --preempt of a reconciler outside of the cluster"
    )
    explained(stage, page, "high")


def test_an_ended_job_has_its_end_and_its_history() -> None:
    stage = trained()
    stage.put(job("done", framework="none", min="1", max="2"), suspend=False)
    history = f"{NOW:%Y-%m-%d}T11:00:00Z Started 0 1 room"
    ended = {
        "type": "Complete",
        "status": "True",
        "lastTransitionTime": f"{NOW:%Y-%m-%d}T11:30:00Z",
    }
    notes = {"annotations": {contract.HISTORY: history}}
    stage.patch("done", {"metadata": notes, "status": {"conditions": [ended]}})
    page = state(ServedPage(stage), "/jobs/default/done")
    assert (page["phase"], page["blockers"]) == ("Succeeded", [])
    assert [row["Operation"] for row in rows(page["history"])] == ["Ended", "Started"]
    explained(stage, page, "done")


def test_pods_that_wait_come_first_with_the_reason_and_restarts_are_counted() -> None:
    stage = trained()
    counted = [{"name": "main", "restartCount": 2}, {"name": "side", "restartCount": 1}]
    status = {"initContainerStatuses": [{"restartCount": 4}, {}], "containerStatuses": counted}
    stage.patch("mnist-worker-0-x0", {"status": status}, "Pod")
    first, *others = rows(state(ServedPage(stage))["pods"])
    assert (first["Pod"], first["Role"], first["Status"]) == (
        "mnist-worker-3-x3",
        "worker",
        "Pending",
    )
    assert (first["Ready"], first["Why"]) == ("no", "kube-scheduler has not processed it yet")
    assert len(others) == 6
    restarted = {row["Pod"]: row["Restarts"] for row in others if row["Restarts"] != "0"}
    assert restarted == {"mnist-worker-0-x0": "7"}


def test_only_events_of_this_training_job_are_shown_the_newest_first() -> None:
    stage = trained()
    uid = stage.job("mnist-worker")["metadata"]["uid"]
    for reason, minutes, of in (("Old", 9, "gone"), ("First", 3, uid), ("Last", 1, uid)):
        body = event("mnist-worker", reason, "m", minutes_ago=minutes)
        body["involvedObject"]["uid"] = of
        stage.create(body)
    stage.create(event("other", "Foreign", "m", minutes_ago=1))
    page = state(ServedPage(stage))
    assert [row["Reason"] for row in rows(page["events"])] == ["Last", "First"]
    assert page["command"] == "kubectl edl events mnist -n default"


def test_events_are_requested_by_name_for_a_bounded_number_of_pods() -> None:
    stage = trained()
    worker = stage.job("mnist-worker")
    for index in range(4, 40):
        stage.create(pod(worker, index, "", phase="Pending", conditions=[]))
    listed: list[ListOptions] = []

    class Counting(ClusterWrapper):
        def list(self, selection: ListOptions) -> RawList:
            listed.append(selection)
            return super().list(selection)

    stage.wrapped = Counting
    served = ServedPage(stage)
    listed.clear()
    page = state(served)
    about = [one.fields for one in listed if one.kind == "Event"]
    assert len(about) == 3 + MAX_PODS_WITH_EVENTS
    assert all(one.startswith("involvedObject.name=mnist-") for one in about)
    (pods,) = (one for one in listed if one.kind == "Pod")
    assert "mnist-worker" in pods.labels
    listed.clear()
    assert state(served) == page
    assert listed == []


def test_an_unknown_job_is_not_found_in_a_sentence_without_markup() -> None:
    client = ServedPage(trained()).client
    answer = client.get(f"/jobs/default/{HOSTILE.replace('/', '')}", headers=HTML)
    assert (answer.status_code, answer.mimetype) == (404, "text/html")
    assert "no training job &#34;&lt;img src=x onerror=alert(1)&gt;&#34;" in answer.text
    assert HOSTILE not in answer.text
    assert '<a href="/">' in answer.text
    answer = client.get("/jobs/default/a%1bb/state")
    assert answer.status_code == 404
    assert answer.get_json() == {"error": 'no training job "a^[b" in namespace default'}


def test_a_job_of_another_namespace_is_not_shown() -> None:
    stage = trained()
    stage.namespace = "other"
    stage.put(job("theirs", framework="none", min="1", max="2"))
    stage.namespace = "default"
    served = ServedPage(stage)
    for path in ("/jobs/other/theirs", "/jobs/other/theirs/state"):
        answer = served.client.get(path)
        assert answer.status_code == 404
        assert answer.get_json() == {
            "error": 'no training job "theirs" in namespace other; only namespace default is shown '
            "here"
        }


def test_text_of_the_cluster_has_no_control_characters_and_the_page_names_no_markup() -> None:
    stage = trained()
    body = event("mnist-worker", "Bad", f"{HOSTILE}\x1b[2J\u202e", minutes_ago=1, warning=True)
    body["involvedObject"]["uid"] = stage.job("mnist-worker")["metadata"]["uid"]
    stage.create(body)
    notes = {contract.REASON: "IdleCapacity", contract.MESSAGE: f"{HOSTILE}\x1b[2J"}
    stage.patch("mnist-worker", {"metadata": {"annotations": notes}})
    served = ServedPage(stage)
    text = served.client.get(f"{MNIST}/state").text
    assert text.count("^[[2J") == len(("event", "reason"))
    assert "\\u001b" not in text
    assert "\u202e" not in text
    assert "onerror" not in served.client.get(MNIST).text


def test_without_cluster_rights_the_page_has_the_published_reasons_and_says_what_is_missing() -> (
    None
):
    stage = without_cluster_rights("Node")
    stage.put(job("large", framework="none", min="40", max="60"), parallelism=40)
    publish(stage, "large", position=2, ahead=(TeamCount(2, "vision"),))
    page = state(ServedPage(stage), "/jobs/default/large")
    (blockers,) = page["blockers"]
    assert blockers["title"] == "Why large does not start"
    assert blockers["lines"] == [["Insufficient CPU for 3 worker", "room for 3 more pods"]]
    assert ["Queue", "position 2, behind 2 jobs of team vision"] in page["facts"]
    hints = " ".join(page["hints"])
    assert "Node is forbidden" in hints
    assert "as the reconciler published it 40s ago" in hints
    explained(stage, page, "large")


def test_without_cluster_rights_a_quota_of_the_namespace_still_counts() -> None:
    stage = without_cluster_rights("Node")
    stage.put(job("large", framework="none", min="4", max="6"), parallelism=4)
    stage.create(quota("limits.memory"))
    page = state(ServedPage(stage), "/jobs/default/large")
    (refused, _), *_ = page["blockers"][0]["lines"]
    assert 'ResourceQuota "compute" refuses its pods' in refused
    explained(stage, page, "large")


def test_what_may_not_be_read_is_named_beside_the_rest() -> None:
    stage = trained()
    stage.wrapped = fenced("Event")
    page = state(ServedPage(stage))
    assert page["events"]["rows"] == []
    assert [hint for hint in page["hints"] if hint.startswith("Events are missing")]


@pytest.mark.parametrize("path", [MNIST, f"{MNIST}/state"])
def test_the_page_needs_the_token_and_never_takes_it_from_its_address(path: str) -> None:
    client = ServedPage(trained(), token="right").client
    assert client.get(f"{path}?token=right").status_code == 401
    refused = client.get(path, headers=HTML)
    assert refused.status_code == 401
    assert "needs its token" in refused.text
    assert client.get(path, headers={"Authorization": "Bearer right"}).status_code == 200


def test_before_the_first_read_the_page_opens_and_its_state_is_refused() -> None:
    served = ServedPage(trained())
    served.context.jobs.snapshot = lambda: None
    assert served.client.get(MNIST).status_code == 200
    answer = served.client.get(f"{MNIST}/state")
    assert answer.status_code == 422
    assert "has not been read yet" in answer.get_json()["error"]


@pytest.mark.parametrize(("age", "kept"), [(1, True), (2, False)])
def test_one_page_is_computed_at_a_time_and_kept_for_a_moment(age: int, *, kept: bool) -> None:
    stage, clock = trained(), [0.0]
    answers: list[tuple[int, Json]] = []
    stage.put(job("other", framework="none", min="1", max="2"))

    class Meanwhile(ClusterWrapper):
        computing = False

        def list(self, selection: ListOptions) -> RawList:
            if Meanwhile.computing:
                Meanwhile.computing = False
                answer = served.client.get(f"{MNIST}/state")
                answers.append((answer.status_code, answer.get_json()))
            return super().list(selection)

    stage.wrapped = Meanwhile
    served = ServedPage(stage)
    jobs = served.context.jobs
    jobs.monotonic, jobs.patience = lambda: clock[0], 0.01
    before = state(served)
    stage.create(event("mnist-worker", "Late", "m", minutes_ago=1))
    clock[0] += age
    Meanwhile.computing = True
    state(served, "/jobs/default/other")
    ((status, answer),) = answers
    refused = "are being computed" in answer.get("error", "")
    assert (status, answer == before, refused) == (
        (200, True, False) if kept else (422, False, True)
    )
    clock[0] += 2
    assert state(served) != before
