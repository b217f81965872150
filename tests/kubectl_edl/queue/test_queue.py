import json
from collections.abc import Callable
from datetime import timedelta
from itertools import product

import pytest
import yaml
from msgspec.structs import replace

from edl import contract, reasons
from edl.annotations.json_text import json_text
from edl.kube.cluster import ListOptions, PluginCluster, RawList
from edl.model import (
    ClusterState,
    Code,
    JobEnd,
    JobKey,
    ObjectRef,
    PodTemplate,
    ResizePolicy,
    Role,
    RoleRecord,
    RoleSpec,
    RoleStatus,
    Shape,
    Team,
    Teams,
    TrainingJob,
    WriteRefusal,
)
from edl.planner.decide import decide
from edl.planner.plan import Admission, Plan, WaitingJob
from edl.planner.published_settings import Settings
from edl.quantities import Resources
from edl.visibility.namespace_queue import CONFIG_MAP, KEY, render
from edl.visibility.queue_documents import documents
from kubectl_edl.client.cluster_view import survey_cluster
from kubectl_edl.job_views.training_job_view import view
from kubectl_edl.output.printer import print_report
from kubectl_edl.output.table import Layout
from kubectl_edl.queue.view import queue_report
from kubectl_edl.queue.waiting_jobs import by_arrival, in_plan
from tests.kubectl_edl.cluster_wrappers import ClusterWrapper, fenced
from tests.kubectl_edl.stage import NOW, Stage, event, job, lease, mnist, node, role_manifests
from tests.reasons import because

WORKER = Role(
    name="worker",
    job="bert-worker",
    uid="1",
    version="1",
    spec=RoleSpec(
        min=2,
        max=8,
        resizing=ResizePolicy.LIVE,
        is_leader=True,
        is_service=False,
        indexed=True,
    ),
    status=RoleStatus(
        size=2,
        suspended=True,
    ),
    template=PodTemplate(
        shape=Shape(Resources.parse({"cpu": "4", "memory": "8Gi", "pods": 1})),
    ),
    record=RoleRecord(
        reason=Code.INSUFFICIENT_CAPACITY,
        message="insufficient CPU",
    ),
)


def queued(
    name: str, *, minutes: float = 5, priority: int = 0, namespace: str = "a"
) -> TrainingJob:
    key = JobKey(namespace, name)
    since = NOW - timedelta(minutes=minutes)
    return TrainingJob(key, "tensorflow", (WORKER,), since, priority=priority)


def state(*jobs: TrainingJob) -> ClusterState:
    return ClusterState(NOW, (), jobs)


def test_starts_are_listed_in_the_plan() -> None:
    names = ("bert", "gpt", "vit", "xl", "zoo", "new")
    jobs = {name: queued(name) for name in names}
    keys = [jobs[name].key for name in names]
    plan = Plan(
        admissions=(Admission(keys[5], (("worker", 2),), because("its gang fits")),),
        waiting=(
            WaitingJob(keys[0], because("insufficient CPU"), 1),
            WaitingJob(keys[1], because("behind bert"), 2, (JobKey("b", "bert"),)),
            WaitingJob(keys[4], because("waits for those ahead"), 5, tuple(keys[:4])),
        ),
    )
    report = queue_report(in_plan(state(*jobs.values()), plan, ""), NOW, "a")
    assert print_report(report, Layout()) == (
        "POSITION   NAME   PRIORITY   WAITING-FOR                  AHEAD             "
        "STARTS      MESSAGE                     AGE\n"
        "0          new    0          8 CPU, 16Gi memory, 2 pods   <none>            "
        "<unknown>   starts now: its gang fits   5m\n"
        "1          bert   0          8 CPU, 16Gi memory, 2 pods   <none>            "
        "<unknown>   insufficient CPU            5m\n"
        "2          gpt    0          8 CPU, 16Gi memory, 2 pods   b/bert            "
        "<unknown>   behind bert                 5m\n"
        "5          zoo    0          8 CPU, 16Gi memory, 2 pods   bert,gpt,vit,+1   "
        "<unknown>   waits for those ahead       5m\n"
    )


def test_a_plan_names_only_the_first_but_all_ahead_are_counted() -> None:
    found = queued("late")
    ahead = tuple(JobKey("a", name) for name in ("bert", "gpt", "vit", "zoo"))
    plan = Plan(waiting=(WaitingJob(found.key, because("insufficient CPU"), 300, ahead),))
    report = queue_report(in_plan(state(found), plan, ""), NOW, found.key.namespace)
    assert " bert,gpt,vit,+296 " in print_report(report, Layout())


def test_a_running_job_that_may_not_grow_is_not_in_the_queue() -> None:
    running = replace(queued("bert"), roles=(WORKER.changed(suspended=False),))
    assert (
        in_plan(state(running), Plan(waiting=(WaitingJob(running.key, because("cooldown")),)), "")
        == ()
    )


def test_an_ended_role_asks_for_nothing() -> None:
    ended = WORKER.changed(name="evaluator", ending=JobEnd.COMPLETE)
    job = replace(queued("bert"), roles=(WORKER, ended))
    (waiting,) = in_plan(
        state(job), Plan(waiting=(WaitingJob(job.key, because("insufficient CPU"), 1),)), ""
    )
    assert waiting.start_sizes == (("worker", 2),)
    assert str(waiting.requests) == "8 CPU, 16Gi memory, 2 pods"


def test_a_rank_that_has_ended_counts_in_the_start_size_and_requests_nothing() -> None:
    ranks = WORKER.changed(size=8, indexed=True, finished_indexes=frozenset({0}))
    job = replace(queued("bert"), roles=(ranks,))
    (waiting,) = in_plan(
        state(job), Plan(waiting=(WaitingJob(job.key, because("insufficient CPU"), 1),)), ""
    )
    assert waiting.start_sizes == (("worker", 3),)
    assert str(waiting.requests) == "8 CPU, 16Gi memory, 2 pods"


def test_without_the_cluster_priority_and_arrival_order_the_queue() -> None:
    jobs = [queued("late", minutes=1), queued("early", minutes=9), queued("high", priority=10)]
    waiting = by_arrival(jobs)
    assert [one.job.key.name for one in waiting] == ["high", "early", "late"]
    assert [(one.position, one.why.message) for one in waiting] == [(None, "insufficient CPU")] * 3


@pytest.fixture
def stage() -> Stage:
    stage = Stage()
    for name in ("node-1", "node-2"):
        stage.create(node(name, cpu="8"))
    lease(stage)
    mnist(stage)
    stage.minutes_ago = 2
    for manifest in role_manifests("bert", "chief=1,ps=4,worker=3..12"):
        stage.put(manifest)
    return stage


def test_a_refused_start_is_last_in_the_queue_and_shown_in_status(stage: Stage) -> None:
    refusal = json_text([WriteRefusal(NOW, 3, "exceeded quota: team")])
    for manifest in role_manifests("atlas", "chief=1,ps=1,worker=1..2"):
        stage.put(manifest)
    annotations = {contract.WRITE_REFUSED: refusal}
    stage.patch("atlas-chief", {"metadata": {"annotations": annotations}})
    said = "the API server refuses its start: exceeded quota: team"
    queue = json.loads(stage.run("queue", "-o", "json").out)["items"]
    assert [(one["metadata"]["name"], one["position"]) for one in queue] == [
        ("bert", 1),
        ("atlas", None),
    ]
    assert queue[1]["message"] == said
    assert said in stage.run("status", "atlas").out


def test_the_queue_equals_the_reconcilers_decision(stage: Stage) -> None:
    found = json.loads(stage.run("queue", "-o", "json").out)
    assert found == yaml.safe_load(stage.run("queue", "-o", "yaml").out)
    assert found["kind"] == "QueuedTrainingJobList"
    (one,) = found["items"]
    assert "CPU" in one.pop("message")
    assert one.pop("reason") == "InsufficientCapacity"
    assert one == {
        "apiVersion": "edl.dev/v1alpha1",
        "kind": "QueuedTrainingJob",
        "metadata": {
            "name": "bert",
            "namespace": "default",
            "creationTimestamp": "2026-11-21T11:58:00Z",
        },
        "position": 1,
        "team": None,
        "positionInTeam": None,
        "share": None,
        "priority": 0,
        "minReplicas": {"chief": 1, "ps": 4, "worker": 3},
        "startReplicas": {"chief": 1, "ps": 4, "worker": 3},
        "requests": {"cpu": "16000m", "pods": "8"},
        "blockedBy": [],
        "blockedByTeam": [],
        "observedTime": None,
        "topology": None,
        "estimatedStart": {
            "certainty": "Unknown",
            "time": None,
            "message": "default/mnist has no known end",
        },
    }


def test_a_declared_length_tells_when_the_next_one_starts(stage: Stage) -> None:
    started = {contract.STARTED_AT: "2026-11-21T11:30:00Z", contract.DURATION: "1h"}
    for name in ("mnist-chief", "mnist-ps", "mnist-worker"):
        stage.patch(name, {"metadata": {"annotations": started}})
    assert "   ~30m   " in stage.run("queue").out
    (one,) = json.loads(stage.run("queue", "-o", "json").out)["items"]
    assert one["estimatedStart"] == {
        "certainty": "About",
        "time": "2026-11-21T12:30:00Z",
        "message": "",
    }


def test_wide_adds_the_start_size_of_each_role(stage: Stage) -> None:
    lines = stage.run("queue", "-A", "-o", "wide").out.splitlines()
    assert lines[0].split()[:5] == ["POSITION", "NAMESPACE", "NAME", "PRIORITY", "TEAM"]
    assert lines[0].split()[5:7] == ["SHARE", "STARTS-WITH"]
    assert lines[1].split()[4:7] == ["<none>", "<none>", "chief=1,ps=4,worker=3"]


def test_a_queued_job_waits_for_the_pods_of_its_manual_size() -> None:
    job = queued("bert")
    job = replace(job, roles=(WORKER.changed(min=1, max=8, replicas=4),))
    held = WaitingJob(job.key, because("insufficient CPU"), 1)
    report = queue_report(in_plan(state(job), Plan(waiting=(held,)), ""), NOW, "a")
    assert "16 CPU, 32Gi memory, 4 pods" in print_report(report, Layout())
    assert "worker=4" in print_report(report, Layout(wide=True))
    found = dict(report.objects[0])
    assert (found["minReplicas"], found["startReplicas"]) == ({"worker": 1}, {"worker": 4})
    assert view(job).roles[0].pending == 4


def test_the_wide_queue_shows_team_and_position_in_team() -> None:
    names = ("a/one", "b/two", "a/three", "x/four")
    jobs = [queued(name.split("/")[1], namespace=name.split("/")[0]) for name in names]
    of = {"a": "vision", "b": "speech"}
    teamed = replace(
        state(*jobs), teams=Teams.of([Team("vision"), Team("speech")]), namespace_teams=of
    )
    held = tuple(
        WaitingJob(one.key, because("insufficient CPU"), place)
        for place, one in enumerate(jobs[:3], 1)
    )
    never = WaitingJob(jobs[3].key, because("too large"), never=True)
    waiting = in_plan(teamed, Plan(waiting=(*held, never)), "")
    assert [(one.team, one.position_in_team) for one in waiting] == [
        *(("vision", 1), ("speech", 1), ("vision", 2), ("default", None)),
    ]
    lines = print_report(queue_report(waiting, NOW, ""), Layout(wide=True)).splitlines()
    assert [line.split()[4] for line in lines[1:4]] == ["vision#1", "speech#1", "vision#2"]


def test_positions_count_over_all_namespaces_but_only_ones_own_are_shown(stage: Stage) -> None:
    stage.minutes_ago = 1
    manifest = job("late", framework="none", min="8", max="9")
    manifest["metadata"]["namespace"] = "team"
    stage.put(manifest, parallelism=8)
    found = json.loads(stage.run("queue", "-n", "team", "-o", "json").out)["items"]
    assert [(one["metadata"]["name"], one["position"]) for one in found] == [("late", 2)]
    assert found[0]["blockedBy"] == ["default/bert"]


def test_a_job_that_can_never_start_has_no_position_and_is_ahead_of_no_other(stage: Stage) -> None:
    stage.minutes_ago = 3
    stage.put(job("huge", framework="none", min="50", max="50"))
    lines = [line.split() for line in stage.run("queue").out.splitlines()[1:]]
    assert [line[:2] for line in lines] == [["1", "bert"], ["<none>", "huge"]]
    assert "huge" not in lines[0]
    assert "Queue:       first in the queue\n" in stage.run("explain", "bert").out
    assert "Queue:" not in stage.run("explain", "huge").out


@pytest.mark.parametrize("wrapped", [lambda cluster: cluster, fenced("Node")], ids=["all", "own"])
def test_plan_and_queue_list_queued_jobs_in_one_order(
    stage: Stage, wrapped: Callable[[PluginCluster], PluginCluster]
) -> None:
    for name, stage.minutes_ago in (("zeta", 4), ("alpha", 3)):
        stage.put(job(name, framework="none", min="50", max="50"))
    publish(stage)
    stage.wrapped = wrapped
    for command in ("queue", "plan"):
        lines = [line.split() for line in stage.run(command).out.splitlines()]
        names = [line[1] for line in lines if len(line) > 1 and line[1] in ORDER]
        assert names == ORDER, command


ORDER = ["bert", "zeta", "alpha"]


def publish(stage: Stage) -> None:
    """The queue of the namespace, as the reconciler publishes it."""
    state, _ = survey_cluster(stage.cluster, NOW, Settings())
    plan = decide(state, Settings().policy_to_apply(), Settings().limits)
    text = render(documents(state, plan, {})["default"])
    stage.create({"kind": "ConfigMap", "metadata": {"name": CONFIG_MAP}, "data": {KEY: text}})


def test_without_a_reconciler_startable_jobs_have_no_position(stage: Stage) -> None:
    stage.put(job("small", framework="none", min="1", max="1"))
    assert stage.run("queue").out.splitlines()[1].split()[:2] == ["0", "small"]
    lease(stage, minutes_ago=1)
    assert stage.run("queue").out.splitlines()[1].split()[:2] == ["<none>", "small"]
    (one, _) = json.loads(stage.run("queue", "-o", "json").out)["items"]
    assert one["position"] is None


def test_a_job_after_queue_gets_the_commands_about_one_job(stage: Stage) -> None:
    found = stage.run("queue", "mnist")
    assert found.code == 2
    assert "of one: kubectl edl status mnist, or kubectl edl explain mnist" in found.err


def test_the_queue_of_the_cluster_reads_each_kind_once(stage: Stage) -> None:
    kinds: list[str] = []

    class Counting(ClusterWrapper):
        def list(self, selection: ListOptions) -> RawList:
            kinds.append(selection.kind)
            return super().list(selection)

    stage.wrapped = Counting
    assert "bert" in stage.run("queue").out
    assert {"Job", "Pod", "PriorityClass"} <= set(kinds)
    assert len(kinds) == len(set(kinds))


def test_an_empty_queue_prints_a_message(stage: Stage) -> None:
    found = stage.run("queue", "-n", "empty")
    assert (found.code, found.out) == (0, "")
    assert found.err == "No training jobs are queued in empty namespace.\n"


def test_without_the_right_to_read_the_cluster_the_namespaces_queue_and_a_hint_are_shown(
    stage: Stage,
) -> None:
    stage.wrapped = fenced("Node")
    found = stage.run("queue")
    assert found.code == 0
    assert found.out.splitlines()[1].split()[:2] == ["<unknown>", "bert"]
    assert found.out.count("<unknown>") == 3, "its position, the jobs ahead of it, and its start"
    (one,) = json.loads(stage.run("queue", "-o", "json").out)["items"]
    assert one["blockedBy"] is None
    assert found.err == (
        "hint: positions need the whole cluster, so this is the order of arrival: "
        '"ann" may not list Node (kubectl auth can-i …)\n'
    )


def test_an_empty_queue_needs_no_further_rights(stage: Stage) -> None:
    stage.wrapped = fenced("Node")
    found = stage.run("queue", "-n", "empty")
    assert (found.code, found.out) == (0, "")
    assert found.err == "No training jobs are queued in empty namespace.\n"


def test_without_the_right_to_list_quotas_the_queue_is_shown_with_a_hint(stage: Stage) -> None:
    stage.wrapped = fenced("ResourceQuota")
    found = stage.run("queue")
    assert found.code == 0
    assert found.out.splitlines()[1].split()[:2] == ["1", "bert"]
    assert found.err == (
        "hint: what a ResourceQuota adds or forbids is unknown: "
        '"ann" may not list ResourceQuota (kubectl auth can-i …)\n'
    )


@pytest.mark.parametrize("readable", [True, False])
def test_a_job_whose_pods_were_refused_says_what_refused_them(
    stage: Stage, *, readable: bool
) -> None:
    stage.put(job("poor", framework="none"))
    notes = {
        contract.STARTED_AT: (NOW - timedelta(minutes=2)).isoformat(),
        contract.LAST_CHANGE: json_text(reasons.GANG_UNSCHEDULABLE_CREATION),
    }
    stage.patch("poor", {"metadata": {"annotations": notes}})
    account = 'error looking up service account default/nope: serviceaccount "nope" not found'
    refused = f'Error creating: pods "poor-0-" is forbidden: {account}'
    stage.create(event("poor", "FailedCreate", refused, minutes_ago=1, warning=True))
    if not readable:
        stage.wrapped = fenced("Event")
    printed = stage.run("queue", "-o", "json")
    hint = 'hint: why pods cannot be created is missing: "ann" may not list Event'
    assert printed.err.count(hint) == (not readable)
    rows = json.loads(printed.out)["items"]
    (row,) = (one for one in rows if one["metadata"]["name"] == "poor")
    why = "back-off: not all pods of its last start could be created"
    assert (row["reason"], row["message"]) == ("BackOff", f"{why}: {account}" if readable else why)


def test_events_are_listed_once_for_all_jobs_that_back_off(stage: Stage) -> None:
    """Also where each of them was refused by another cause."""
    listed: list[str] = []

    class Counting(ClusterWrapper):
        def list(self, selection: ListOptions) -> RawList:
            listed.extend([selection.namespace] if selection.kind == "Event" else [])
            return super().list(selection)

    stage.wrapped = Counting
    for namespace, name in product(("a", "b"), ("poor", "bare")):
        manifest = job(name, framework="none")
        manifest["metadata"]["namespace"] = namespace
        stage.put(manifest)
        notes = {
            contract.STARTED_AT: (NOW - timedelta(minutes=2)).isoformat(),
            contract.LAST_CHANGE: json_text(reasons.GANG_UNSCHEDULABLE_CREATION),
        }
        target = ObjectRef("Job", namespace, name)
        stage.cluster.patch(target, {"metadata": {"annotations": notes}})
        refused = event(name, "FailedCreate", f"{namespace} has no {name}", minutes_ago=1)
        refused["metadata"]["namespace"] = namespace
        stage.create(refused | {"type": "Warning"})
    rows = json.loads(stage.run("queue", "-A", "-o", "json").out)["items"]
    causes = {one["message"].rpartition(": ")[2] for one in rows if one["reason"] == "BackOff"}
    assert causes == {"a has no poor", "a has no bare", "b has no poor", "b has no bare"}
    assert listed == [""]
