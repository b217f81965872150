import pytest

from edl import contract
from edl.kube.cluster import ListOptions
from edl.model import ObjectRef
from edl.planner.published_settings import Settings, render
from kubectl_edl.cli.context import Scope
from kubectl_edl.client.cluster_view import Reads, read_survey
from kubectl_edl.status.cluster_load import ClusterLoad
from tests.kubectl_edl.cluster_wrappers import fenced, recorded
from tests.kubectl_edl.dashboard.served_page import read_once
from tests.kubectl_edl.stage import NOW, WITHIN, Stage, job, lease, mnist, node, pod


@pytest.mark.parametrize(
    "command",
    ["history urgent", "top", "scale mnist --remove worker-3 --dry-run=server", "pause mnist -y"],
)
def test_commands_that_use_no_priorities_do_without_them(command: str) -> None:
    stage = Stage()
    mnist(stage)
    manifest = job("urgent", framework="none", min="1", max="2")
    manifest["spec"]["template"]["spec"]["priorityClassName"] = "high"
    stage.put(manifest)
    stage.wrapped = fenced("PriorityClass")
    found = stage.run(*command.split())
    assert (found.code, "priorities" in found.err) == (0, False)


PODS = {"Job", "Pod", "PriorityClass"}
QUOTAS = PODS | {"ResourceQuota", "LimitRange"}


@pytest.mark.parametrize(
    ("reads", "pods", "listed"),
    [
        (Reads.JOBS, 0, {"Job"}),
        (Reads.PODS, 0, PODS),
        (Reads.QUOTAS_IF_LACKING, 2, PODS),
        (Reads.QUOTAS_IF_LACKING, 1, QUOTAS),
        (Reads.QUOTAS, 2, QUOTAS),
        (Reads.PROVISIONAL_PODS, 2, QUOTAS),
    ],
)
def test_a_survey_lists_what_it_is_to_read(reads: Reads, pods: int, listed: set[str]) -> None:
    lists: list[ListOptions] = []
    stage = Stage(wrapped=recorded(lists))
    owner = stage.put(job("a", framework="none", min="1", max="2"), suspend=False, parallelism=2)
    for index in range(pods):
        stage.create(pod(owner, index))
    survey = read_survey(stage.cli().connect(Scope()), NOW, reads)
    assert [one.key.name for one in survey.jobs] == ["a"]
    assert {one.kind for one in lists} == listed
    provisional = ListOptions("Pod", "default", contract.PROVISIONAL)
    assert (provisional in lists) == (reads is Reads.PROVISIONAL_PODS)


def ignoring_default() -> Stage:
    stage = Stage()
    stage.create(node("a", cpu="1"))
    stage.put(job("idle", framework="none", min="1", max="2"))
    text = "teams: [{name: lab, guaranteed: {cpu: 1}, namespaces: [default]}]"
    target = ObjectRef("ConfigMap", contract.SYSTEM_NAMESPACE, contract.TEAMS_CONFIG_MAP)
    stage.cluster.create(ObjectRef("Namespace", "", "default"), {})
    stage.cluster.create(target, {"data": {contract.TEAMS_KEY: text}})
    lease(stage, render(Settings(ignored_namespaces=("default",))))
    return stage


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("queue -A", "No training jobs are queued"),
        ("teams", "cpu=1        <none>   <none>     <none>   0"),
        ("top cluster", "Training jobs: 0"),
        ("simulate --live -A", "No training jobs found"),
        ("status -A", "No training jobs found"),
        ("status", "No training jobs found"),
        ("status idle", 'Job "idle" is not elastic: webhook and reconciler ignore namespace'),
        ("top", "No training jobs found"),
        ("logs idle", 'Job "idle" is not elastic: webhook and reconciler ignore namespace'),
    ],
)
def test_jobs_in_ignored_namespaces_count_nowhere(command: str, shown: str) -> None:
    found = ignoring_default().run(*command.split())
    assert shown in found.out + found.err


def test_the_dashboard_ignores_what_the_reconciler_ignores_too() -> None:
    state = read_once(ignoring_default()).state
    assert state is not None
    assert state.jobs == ()


def test_the_load_above_a_watched_status_ignores_what_the_reconciler_ignores() -> None:
    connection = ignoring_default().cli().connect(Scope())
    assert ClusterLoad(connection, WITHIN).text(NOW).startswith("Cluster: 0 queued;")


@pytest.mark.parametrize(
    "command", ["status", "explain", "pause -y", "history", "scale --replicas 1", "logs"]
)
def test_a_job_that_is_being_deleted_is_named_as_such(command: str) -> None:
    """A foreground deletion keeps the Job until its pods are gone."""
    stage = Stage()
    leaving = job("ring", framework="none", min="1", max="1")
    leaving["metadata"] |= {
        "deletionTimestamp": "2026-11-29T12:00:00Z",
        "finalizers": ["foregroundDeletion"],
    }
    stage.put(leaving)
    found = stage.run(*command.split(), "ring")
    assert found.err == 'error: Job "ring" is being deleted\n'
    assert found.code
