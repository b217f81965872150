import json
from pathlib import Path

import pytest
import yaml

from edl import contract
from edl.kube.cluster import ListOptions
from edl.spec.job_spec import HELD_TTL
from edl.writes import Json
from kubectl_edl.client.pending_pods import REMOVE_GATES
from tests.edl.manifests import created, horovod, pod, pod_spec
from tests.kubectl_edl.cluster_wrappers import late_deletions, overtaken
from tests.kubectl_edl.stage import Stage, job, mnist

LAUNCHER_POD = pod(
    framework="horovod",
    job="ring",
    role="launcher",
    annotations={"roles": "launcher=1,worker=2", "rank": "0"},
    spec={"serviceAccountName": "mine"},
)


@pytest.fixture
def stage() -> Stage:
    stage = Stage()
    mnist(stage)
    stage.put(job("sweep", framework="none", min="1", max="4"))
    return stage


def ours(stage: Stage, name: str) -> list[str]:
    metadata = stage.job(name)["metadata"]
    names = [*(metadata.get("labels") or {}), *(metadata.get("annotations") or {})]
    return [name for name in names if name.startswith(contract.PREFIX)]


def budget(stage: Stage, owner: str) -> None:
    uid = stage.job(owner)["metadata"]["uid"]
    reference = {"apiVersion": "batch/v1", "kind": "Job", "name": owner, "uid": uid}
    metadata = {
        "name": f"{owner}-first-1",
        "labels": {"app.kubernetes.io/managed-by": contract.MANAGED_BY},
        "ownerReferences": [reference],
    }
    stage.create({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata})


def test_a_running_job_keeps_running_after_release(stage: Stage) -> None:
    before = {name: stage.job(name)["spec"] for name in ("mnist-chief", "mnist-ps", "mnist-worker")}
    found = stage.run("release", "mnist")
    assert found.code == 0
    assert found.out == (
        "mnist-chief: an ordinary Job again; it runs on, 1 at a time\n"
        "mnist-ps: an ordinary Job again; it runs on, 2 at a time\n"
        "mnist-worker: an ordinary Job again; it runs on, 4 at a time\n"
    )
    assert {name: stage.job(name)["spec"] for name in before} == before
    assert [ours(stage, name) for name in before] == [[], [], []]


def test_an_ended_work_queue_runs_on_with_the_pods_that_it_has(stage: Stage) -> None:
    stage.put(job("queue", framework="none", min="1", max="6"), suspend=False, parallelism=6)
    ended = {"status": {"succeeded": 1, "active": 5}}
    stage.patch("queue", ended | {"spec": {"completions": None}})
    assert stage.run("release", "queue").out == (
        "queue: an ordinary Job again; its pods run on, and no pod is added (5 active)\n"
    )


def test_the_users_ttl_is_restored(stage: Stage) -> None:
    notes = {"metadata": {"annotations": {contract.TTL: "30"}}}
    stage.patch("mnist-chief", notes | {"spec": {"ttlSecondsAfterFinished": HELD_TTL}})
    stage.run("release", "mnist")
    assert stage.job("mnist-chief")["spec"]["ttlSecondsAfterFinished"] == 30
    assert "ttlSecondsAfterFinished" not in stage.job("mnist-ps")["spec"]


def test_a_role_that_never_ends_by_itself_is_named(stage: Stage) -> None:
    found = stage.run("release", "mnist")
    assert found.err.endswith(
        "hint: nothing ends mnist-ps when the training is done: kubectl delete job mnist-ps\n"
    )


def test_new_pods_of_a_released_job_stay_gated(stage: Stage) -> None:
    """A template does not change while its Job runs: its gates stay."""
    found = stage.run("release", "mnist", "--context", "prod")
    assert found.err.splitlines()[0] == (
        "hint: new pods of mnist-chief, mnist-ps, mnist-worker stay gated until you remove "
        "their gates: "
        """kubectl patch pod POD -p '{"spec":{"schedulingGates":["""
        """{"$patch":"delete","name":"edl.dev/hosts"},"""
        """{"$patch":"delete","name":"edl.dev/placement"}]}}' --context prod"""
    )


@pytest.mark.parametrize("manifest", [horovod("launcher"), horovod("worker"), LAUNCHER_POD])
def test_the_command_removes_each_gate_that_a_pod_may_have(manifest: Json) -> None:
    patch = json.loads(REMOVE_GATES.split("'")[1])
    removed = [one["name"] for one in patch["spec"]["schedulingGates"] if one["$patch"] == "delete"]
    given = [gate["name"] for gate in pod_spec(created(manifest))["schedulingGates"]]
    assert given
    assert set(given) <= set(removed)


def gates(manifest: Json) -> object:
    return manifest["spec"]["template"]["spec"].get("schedulingGates")


def test_the_pods_of_a_queued_job_lose_their_gates(stage: Stage) -> None:
    alone = job("alone", framework="tensorflow", max="3")
    alone["spec"]["template"]["spec"]["schedulingGates"] = [{"name": "example.com/quota"}]
    stage.put(alone)
    assert gates(stage.job("alone")) == [
        {"name": "example.com/quota"},
        {"name": contract.PLACEMENT_GATE},
    ]
    assert stage.run("release", "alone").err == ""
    assert gates(stage.job("alone")) == [{"name": "example.com/quota"}]
    stage.put(job("bare", framework="tensorflow", max="3"))
    stage.run("release", "bare")
    assert gates(stage.job("bare")) is None


def test_a_released_queued_job_stays_suspended_with_the_start_command(stage: Stage) -> None:
    found = stage.run("release", "sweep", "-n", "default")
    assert found.out == (
        "sweep: an ordinary Job again; it stays suspended until: "
        """kubectl patch job sweep -n default -p '{"spec":{"suspend":false}}'\n"""
    )
    assert stage.job("sweep")["spec"]["suspend"] is True


@pytest.mark.parametrize("framework", ["tensorflow", "paddle", "pytorch"])
def test_a_queued_job_that_would_lack_its_addresses_has_no_start_command(
    stage: Stage, framework: str
) -> None:
    """Pods of a job that restarts for a new size read the addresses of each start."""
    stage.put(job("col", framework=framework, min="2", max="4"))
    lacks = framework != "pytorch"
    script = stage.run("uninstall", "--start-commands").out
    assert ("# default/col stays suspended: its pods read edl.dev/" in script) is lacks
    assert ("kubectl patch job col " in script) is not lacks
    found = stage.run("release", "col").out
    assert ("kubectl patch job col " in found) is not lacks
    assert found.endswith("from a file without labels of edl.dev\n") is lacks


def test_a_queued_gang_is_started_with_no_fewer_pods_than_its_minimum(stage: Stage) -> None:
    stage.put(job("gang", framework="pytorch", min="40", max="40"))
    stage.put(job("large", framework="none", min="1", max="40"))
    stage.put(job("items", framework="none", min="2", max="4"))
    gang, large, items = (stage.run("release", name).out for name in ("gang", "large", "items"))
    assert """'{"spec":{"parallelism":40,"completions":40,"suspend":false}}'""" in gang
    assert """'{"spec":{"suspend":false}}'""" in large
    assert """'{"spec":{"parallelism":2,"suspend":false}}'""" in items


@pytest.mark.parametrize("kind", ["job", "jobs", "job.batch", "jobs.batch"])
def test_one_job_name_releases_the_whole_training_job(stage: Stage, kind: str) -> None:
    assert stage.run("release", f"{kind}/mnist-worker").code == 0
    assert ours(stage, "mnist-chief") == []


def test_labels_of_others_stay(stage: Stage) -> None:
    stage.patch("sweep", {"metadata": {"labels": {"team": "vision"}}})
    stage.run("release", "sweep")
    assert stage.job("sweep")["metadata"]["labels"] == {"team": "vision"}


def test_a_job_without_other_labels_keeps_one(stage: Stage) -> None:
    stage.run("release", "sweep")
    assert stage.job("sweep")["metadata"]["labels"] == {contract.JOB_NAME_LABEL: "sweep"}


def test_disruption_budgets_are_deleted(stage: Stage) -> None:
    budget(stage, "mnist-ps")
    budget(stage, "sweep")
    stage.run("release", "mnist")
    left = stage.cluster.list(ListOptions("PodDisruptionBudget")).items
    assert [json.loads(item)["metadata"]["name"] for item in left] == ["sweep-first-1"]


def test_a_dry_run_shows_the_released_job(stage: Stage) -> None:
    before = stage.job("sweep")
    found = stage.run("release", "sweep", "--dry-run", "client", "-o", "json")
    assert json.loads(found.out)["metadata"]["labels"] == {contract.JOB_NAME_LABEL: "sweep"}
    assert stage.job("sweep") == before
    assert "(dry run)" in stage.run("release", "sweep", "--dry-run", "client").out


def test_a_job_that_changed_meanwhile_is_read_again(stage: Stage) -> None:
    stage.wrapped = overtaken(1)
    assert stage.run("release", "sweep").code == 0
    assert ours(stage, "sweep") == []


@pytest.mark.parametrize("name", ["mnist", "mnist-chief"])
def test_a_change_in_the_middle_ends_with_all_jobs_released(stage: Stage, name: str) -> None:
    stage.wrapped = overtaken(1, after=1)
    found = stage.run("release", name)
    assert [line.partition(":")[0] for line in found.out.splitlines()] == [
        "mnist-chief",
        "mnist-ps",
        "mnist-worker",
    ]
    assert [ours(stage, line.partition(":")[0]) for line in found.out.splitlines()] == [[], [], []]


def test_a_job_that_cannot_be_released_keeps_the_others_neither_labelled_nor_unreported(
    stage: Stage,
) -> None:
    """A second release does not find the others, so that their hints would never be shown."""
    budget(stage, "mnist-chief")
    stage.wrapped = overtaken(6, after=1)
    found = stage.run("release", "mnist")
    assert found.code == 1
    assert [line.partition(":")[0] for line in found.out.splitlines()] == [
        "mnist-chief",
        "mnist-worker",
    ]
    assert "new pods of mnist-chief, mnist-worker stay gated" in found.err
    assert "error: " in found.err
    assert ours(stage, "mnist-ps")
    assert ours(stage, "mnist-worker") == []
    assert stage.cluster.list(ListOptions("PodDisruptionBudget")).manifests() == []


def test_a_budget_that_is_gone_already_causes_no_error(stage: Stage) -> None:
    budget(stage, "mnist-ps")
    stage.wrapped = late_deletions
    assert stage.run("release", "mnist").code == 0


def test_releasing_an_ordinary_job_is_refused(stage: Stage) -> None:
    stage.create(job("plain"))
    found = stage.run("release", "plain")
    assert found.code == 1
    assert 'error: Job "plain" is not elastic' in found.err


def test_a_job_that_is_not_there_has_its_neighbours_named(stage: Stage) -> None:
    found = stage.run("release", "swep")
    assert found.code == 3
    assert "did you mean sweep?" in found.err


def test_a_job_with_malformed_labels_can_be_released(stage: Stage) -> None:
    stage.create(job("broken", framework="caffe"))
    assert stage.run("release", "broken").code == 0
    assert ours(stage, "broken") == []


def test_a_file_loses_our_labels_and_keeps_the_rest(tmp_path: Path) -> None:
    file = tmp_path / "jobs.yaml"
    plain, elastic = job("plain"), job("sweep", framework="none", max="4")
    elastic["metadata"]["labels"]["team"] = "vision"
    elastic["metadata"]["annotations"] = {contract.PAUSED: "true"}
    nightly = {"kind": "CronJob", "metadata": {"name": "nightly"}, "spec": {"jobTemplate": elastic}}
    file.write_text(yaml.safe_dump_all([plain, elastic, nightly]))
    found = Stage().run("release", "-f", str(file))
    first, second, third = yaml.safe_load_all(found.out)
    assert first == plain
    assert second["metadata"] == {"name": "sweep", "labels": {"team": "vision"}}
    assert third["spec"]["jobTemplate"]["metadata"] == second["metadata"]


def test_labelling_and_unlabelling_a_file_gives_the_same_manifest(tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(yaml.safe_dump(job("sweep")))
    labelled = Stage().run("adopt", "-f", str(file), "--framework", "none", "--max", "4").out
    (tmp_path / "elastic.yaml").write_text(labelled)
    found = Stage().run("release", "-f", str(tmp_path / "elastic.yaml"))
    wanted = job("sweep")
    del wanted["metadata"]["labels"]
    assert yaml.safe_load(found.out) == wanted


def test_a_live_manifest_loses_scheduling_gates(tmp_path: Path) -> None:
    one = job("one", framework="none", max="4")
    mine = [{"name": "example.com/quota"}, {"name": contract.PLACEMENT_GATE}]
    one["spec"]["template"]["spec"]["schedulingGates"] = mine
    nightly = {"kind": "CronJob", "spec": {"jobTemplate": {"spec": one["spec"]}}}
    nightly["metadata"] = one["metadata"]
    (tmp_path / "one.yaml").write_text(yaml.safe_dump_all([one, nightly]))
    job_out, cron_out = yaml.safe_load_all(
        Stage().run("release", "-f", str(tmp_path / "one.yaml")).out
    )
    assert gates(job_out) == mine[:1]
    assert gates(cron_out["spec"]["jobTemplate"]) == mine[:1]


def test_a_file_without_anything_of_ours_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(yaml.safe_dump(job("plain")))
    found = Stage().run("release", "-f", str(file))
    assert found.code == 1
    assert found.err.endswith("on any Job, CronJob or Pod: nothing to remove\n")


def test_files_are_printed_as_json_on_request(tmp_path: Path) -> None:
    for name in ("one", "two"):
        elastic = job(name, framework="none", max="4")
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(elastic))
    files = ("-f", f"{tmp_path}/one.yaml", "-f", f"{tmp_path}/two.yaml")
    found = json.loads(Stage().run("release", *files, "-o", "json").out)
    assert [each["metadata"] for each in found["items"]] == [{"name": "one"}, {"name": "two"}]
    assert list(yaml.safe_load_all(Stage().run("release", *files).out)) == found["items"]
    one = Stage().run("release", *files, "two", "-o", "json").out
    assert ["labels" in each["metadata"] for each in json.loads(one)["items"]] == [True, False]
    refused = Stage().run("release", *files, "-o", "name")
    assert (refused.code, refused.out) == (2, "")


def test_a_job_that_is_not_in_the_file_is_not_found(tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(yaml.safe_dump(job("sweep", framework="none", max="4")))
    found = Stage().run("release", "-f", str(file), "nobody")
    said = f'error: {file} has no Job "nobody"\n'
    assert (found.code, found.out, found.err) == (3, "", said)


def test_nothing_to_release_is_wrong_usage() -> None:
    found = Stage().run("release")
    assert found.code == 2
    assert "Specify a Job name or -f FILENAME." in found.err


def test_a_server_dry_run_of_a_file_is_wrong_usage(tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(yaml.safe_dump(job("sweep", framework="none", max="4")))
    found = Stage().run("release", "-f", str(file), "--dry-run", "server")
    assert (found.code, found.out) == (2, "")
    assert "-f sends nothing" in found.err
