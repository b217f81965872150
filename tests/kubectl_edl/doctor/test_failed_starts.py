"""Checks of starts that failed, by the events and pods of their jobs."""

from datetime import timedelta

import pytest

from edl import contract, reasons
from edl.annotations.json_text import json_text
from edl.errors import Forbidden
from edl.kube.cluster import ListOptions, RawList
from edl.model import FailedAttempt, ObjectRef
from edl.writes import Json
from tests.kubectl_edl.cluster_wrappers import ClusterWrapper, fenced
from tests.kubectl_edl.doctor.findings import checked, only
from tests.kubectl_edl.stage import NOW, Stage, event, job, mnist, pod


def test_a_failed_node_request_shows_the_autoscalers_message(stage: Stage) -> None:
    mnist(stage)
    failure = FailedAttempt(NOW - timedelta(minutes=3), 2, "no instance type has 900 CPU")
    notes = {
        contract.REASON: "NodesNotProvisioned",
        contract.PROVISIONING_FAILED: json_text(failure),
    }
    for name in ("mnist-chief", "mnist-ps", "mnist-worker"):
        stage.patch(name, {"spec": {"suspend": True}, "metadata": {"annotations": notes}})
    (one,) = checked(stage)["stuck"]
    assert one["message"] == (
        "default/mnist: it requested nodes 2 times without success, last 3m ago: "
        "no instance type has 900 CPU"
    )


def test_a_job_whose_start_failed_is_reported_with_the_cause(stage: Stage) -> None:
    mnist(stage)
    why = "back-off: not all pods of its last start could be created"
    notes = {contract.REASON: "BackOff", contract.MESSAGE: why}
    for name in ("mnist-chief", "mnist-ps", "mnist-worker"):
        stage.patch(name, {"spec": {"suspend": True}, "metadata": {"annotations": notes}})
    (one,) = checked(stage)["stuck"]
    assert (one["message"], one["remediation"]) == (
        f"default/mnist: {why}",
        "kubectl edl explain mnist -n default",
    )


NO_ACCOUNT = (
    'Error creating: pods "poor-0-" is forbidden: error looking up service account '
    'default/nope: serviceaccount "nope" not found'
)


@pytest.mark.parametrize("suspended", [False, True], ids=["starting", "backing off"])
def test_what_refuses_the_pods_of_a_start_is_reported_at_once_and_while_it_backs_off(
    stage: Stage, *, suspended: bool
) -> None:
    stage.put(job("poor", framework="none"), suspend=suspended)
    last = (
        {contract.LAST_CHANGE: json_text(reasons.GANG_UNSCHEDULABLE_CREATION)} if suspended else {}
    )
    why = {contract.REASON: "BackOff", contract.MESSAGE: "back-off: …"}
    stage.patch("poor", {"metadata": {"annotations": why | last}})
    stage.create(event("poor", "FailedCreate", NO_ACCOUNT, minutes_ago=1, warning=True))
    (one,) = checked(stage)["stuck"]
    assert (one["result"], one["message"]) == (
        "warning",
        f"default/poor: poor: FailedCreate: {NO_ACCOUNT}",
    )
    create = "create the ServiceAccount: kubectl create serviceaccount nope -n default"
    assert one["remediation"].startswith(create)


def test_a_later_warning_of_another_kind_does_not_say_why_pods_are_missing(stage: Stage) -> None:
    stage.put(job("poor", framework="none"), suspend=False)
    stage.create(event("poor", "FailedCreate", NO_ACCOUNT, minutes_ago=3, warning=True))
    stage.create(event("poor", "ExecNotAllowed", "label it", minutes_ago=1, warning=True))
    (one,) = checked(stage)["stuck"]
    assert one["message"] == f"default/poor: poor: FailedCreate: {NO_ACCOUNT}"


def test_a_refusal_before_a_pod_was_created_does_not_say_why_pods_are_missing_now(
    stage: Stage,
) -> None:
    owner = stage.put(job("poor", framework="none", min="2", max="4"), suspend=False, parallelism=2)
    stage.create(event("poor", "FailedCreate", NO_ACCOUNT, minutes_ago=3, warning=True))
    assert NO_ACCOUNT in only(stage, "stuck")[1]
    later = stage.create(pod(owner, 0))["metadata"]
    created = {"creationTimestamp": (NOW - timedelta(minutes=2)).isoformat()}
    stage.cluster.patch(ObjectRef("Pod", "default", later["name"]), {"metadata": created})
    assert all(NO_ACCOUNT not in one["message"] for one in checked(stage)["stuck"])


def counted(stage: Stage) -> list[tuple[str, str]]:
    """The (kind, namespace) of each list from now on."""
    listed: list[tuple[str, str]] = []

    class Counting(ClusterWrapper):
        def list(self, selection: ListOptions) -> RawList:
            listed.append((selection.kind, selection.namespace))
            return super().list(selection)

    before = stage.wrapped
    stage.wrapped = lambda cluster: Counting(before(cluster))
    return listed


def refused_in(stage: Stage, *namespaces: str) -> None:
    for namespace in namespaces:
        for name in ("poor", "bare"):
            manifest = job(name, framework="none")
            manifest["metadata"]["namespace"] = namespace
            stage.put(manifest, suspend=False)
            refused = event(name, "FailedCreate", NO_ACCOUNT, minutes_ago=1, warning=True)
            refused["metadata"]["namespace"] = namespace
            stage.create(refused)


@pytest.mark.parametrize("namespaces", [["a"], ["a", "b", "c"]])
def test_events_are_listed_once_for_all_jobs(stage: Stage, namespaces: list[str]) -> None:
    refused_in(stage, *namespaces)
    listed = counted(stage)
    found = checked(stage)["stuck"]
    assert sum("poor: FailedCreate" in one["message"] for one in found) == len(namespaces)
    events = [namespace for kind, namespace in listed if kind == "Event"]
    assert events == (["a"] if len(namespaces) == 1 else [""])


def test_only_warnings_about_jobs_are_read_of_all_events(stage: Stage) -> None:
    refused_in(stage, "a", "b")
    stage.create(event("poor", "SuccessfulCreate", "Created pod: poor-0", minutes_ago=1))
    crash = event("web", "BackOff", "restarting failed container", minutes_ago=1, warning=True)
    stage.create(crash | {"involvedObject": {"kind": "Pod", "name": "web"}})
    read: list[str] = []

    class Reading(ClusterWrapper):
        def list(self, selection: ListOptions) -> RawList:
            found = super().list(selection)
            events = found.manifests() if selection.kind == "Event" else []
            read.extend(one["reason"] for one in events)
            return found

    before = stage.wrapped
    stage.wrapped = lambda cluster: Reading(before(cluster))
    assert len(checked(stage)["stuck"]) == 4
    assert set(read) == {"FailedCreate"}


def test_events_are_listed_by_namespace_if_not_of_all(stage: Stage) -> None:
    refused_in(stage, "a", "b")
    before = stage.wrapped

    class Own(ClusterWrapper):
        def list(self, selection: ListOptions) -> RawList:
            if selection.kind == "Event" and selection.namespace != "a":
                raise Forbidden('"ann" may not list Event', 403)
            return super().list(selection)

    stage.wrapped = lambda cluster: Own(before(cluster))
    missing, *found = checked(stage)["stuck"]
    assert (missing["result"], missing["message"]) == (
        "warning",
        'why pods cannot be created is missing: "ann" may not list Event',
    )
    assert [one["message"].split(":")[0] for one in found] == ["a/bare", "a/poor"]


LOOPS = "crash-loops: {pod} failed {times} times, last 2m ago"


def crashed(owner: Json, index: int, number: int, minutes_ago: float, **ended: object) -> Json:
    """A failed pod, one of several with this index."""
    finished = (NOW - timedelta(minutes=minutes_ago)).strftime("%Y-%m-%dT%H:%M:%SZ")
    terminated = {"reason": "Error", "exitCode": 1, "finishedAt": finished} | ended
    statuses = [{"name": "main", "restartCount": 0, "state": {"terminated": terminated}}]
    made = pod(owner, index, phase="Failed", conditions=[], containerStatuses=statuses)
    made["metadata"]["name"] += f"-{number}"
    return made


def crashing(stage: Stage, *, failures: int, suspended: bool, newest: float = 2) -> None:
    owner = stage.put(
        job("crash", framework="none", min="2", max="2"), suspend=suspended, parallelism=2
    )
    started = (NOW - timedelta(minutes=25)).isoformat()
    why = {contract.REASON: "BackOff", contract.MESSAGE: "back-off: …"}
    notes = {contract.STARTED_AT: started} | (why if suspended else {})
    stage.patch("crash", {"metadata": {"annotations": notes}, "status": {"failed": failures}})
    for number in range(failures):
        said = {"message": "no GPU\nfound"} if number == 0 else {}
        stage.create(crashed(owner, 1, number, newest + 5 * number, **said))


@pytest.mark.parametrize("suspended", [False, True], ids=["starting", "backing off"])
def test_a_start_that_crash_loops_is_a_warning_with_the_last_error(
    stage: Stage, *, suspended: bool
) -> None:
    crashing(stage, failures=3, suspended=suspended)
    why = "container main: Error, exit code 1: no GPU found"
    assert only(stage, "stuck") == (
        "warning",
        f"default/crash: it {LOOPS.format(pod='worker-1', times=3)}: {why}",
        "kubectl edl logs crash -n default --role worker --index 1 --tail 50",
    )


def test_a_container_that_the_kubelet_restarts_crash_loops(stage: Stage) -> None:
    owner = stage.put(job("crash", framework="none", min="1", max="1"), suspend=False)
    ended = {"reason": "OOMKilled", "exitCode": 137, "finishedAt": "2026-11-21T11:58:00Z"}
    status = {
        "name": "main",
        "restartCount": 4,
        "state": {"waiting": {"reason": "CrashLoopBackOff"}},
        "lastState": {"terminated": ended},
    }
    stage.create(pod(owner, 0, conditions=[], containerStatuses=[status]))
    _, message, _ = only(stage, "stuck")
    why = "container main: OOMKilled, exit code 137"
    assert message == f"default/crash: it {LOOPS.format(pod='worker-0', times=5)}: {why}"


def test_a_crash_by_a_clock_ahead_has_no_negative_age(stage: Stage) -> None:
    crashing(stage, failures=3, suspended=True, newest=-15)
    _, message, _ = only(stage, "stuck")
    assert "worker-1 failed 3 times, last 15m ahead of this clock: container main" in message


@pytest.mark.parametrize(
    ("failures", "newest"), [(2, 2), (3, 55)], ids=["two failures", "two of them are older"]
)
def test_two_failures_in_the_last_hour_pass(stage: Stage, failures: int, newest: float) -> None:
    crashing(stage, failures=failures, suspended=True, newest=newest)
    assert "crash-loops" not in only(stage, "stuck")[1]


def test_pods_are_listed_for_crashes_only_if_jobs_have_failures(stage: Stage) -> None:
    stage.put(job("fine", framework="none", min="2", max="2"), suspend=False, parallelism=2)
    listed = counted(stage)
    checked(stage)
    before = listed.count(("Pod", ""))
    crashing(stage, failures=3, suspended=False)
    listed.clear()
    checked(stage)
    assert listed.count(("Pod", "")) == before
    assert listed.count(("Pod", "default")) == 1


def test_why_pods_failed_is_missing_without_the_right_to_list_them(stage: Stage) -> None:
    crashing(stage, failures=3, suspended=True)
    stage.wrapped = fenced("Pod")
    found = stage.run("doctor", "-n", "default").out
    assert "why pods failed is missing" in found
