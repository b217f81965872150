"""Jobs that are left out of a running training job: which commands name them, and what they do."""

import json

import pytest

from edl import contract
from tests.kubectl_edl.cluster_wrappers import fenced
from tests.kubectl_edl.doctor.fake_installation import FakeApi, installed
from tests.kubectl_edl.doctor.findings import checked
from tests.kubectl_edl.stage import Stage, job, lease, mnist, node, pod, role_manifests

CAUSE = (
    "Job copy is left out of small: Job small is the worker of small; delete copy, or recreate it "
    "with another edl.dev/job"
)


NAMES = ("small", "copy")
CONFIRMED = ["pause", "delete"]


@pytest.fixture
def stage() -> Stage:
    """A training job that runs with 6 pods, and a copy of its Job."""
    stage = Stage()
    lease(stage)
    for name in ("node-1", "node-2"):
        stage.create(node(name, cpu="8"))
    runs = stage.put(job("small", framework="none", min="1", max="8"), suspend=False, parallelism=6)
    for index in range(6):
        stage.create(pod(runs, index, f"node-{index % 2 + 1}"))
    put_copy(stage, "copy")
    return stage


def put_copy(stage: Stage, name: str) -> None:
    copy = job(name, framework="none", min="1", max="12")
    copy["metadata"]["labels"] |= {contract.JOB: "small", "app": "mine"}
    stage.put(copy)


def test_the_list_names_it_beside_the_state_of_the_running_job(stage: Stage) -> None:
    found = stage.run("status")
    assert found.err == f"hint: default/small: {CAUSE}\n"
    assert "Running   worker=6/1..8 " in found.out
    (shown,) = json.loads(stage.run("status", "-o", "json").out)["items"]
    assert shown["conflictingJobs"] == ["copy"]


@pytest.mark.parametrize("kinds", [(), ("Node",)], ids=["all rights", "one namespace's"])
def test_the_queue_names_it_as_it_waits_for_nothing(stage: Stage, kinds: tuple[str, ...]) -> None:
    stage.wrapped = fenced(*kinds)
    assert f"hint: default/small: {CAUSE}\n" in stage.run("queue").err


@pytest.mark.parametrize("command", ["status", "explain"])
def test_it_is_a_blocker_of_the_running_job(stage: Stage, command: str) -> None:
    assert f"Blockers:\n  1. {CAUSE}\n" in stage.run(command, "small").out


def test_a_running_job_is_explained_as_it_is(stage: Stage) -> None:
    assert "\nworker   6     7      1     8 " in stage.run("explain", "small").out
    assert (
        "small   worker   1..8       6     7       started\n" in stage.run("simulate", "--live").out
    )


def test_only_the_first_ones_are_named(stage: Stage) -> None:
    for number in range(4):
        put_copy(stage, f"copy-{number}")
    err = stage.run("status").err.splitlines()
    assert len(err) == 4
    assert err[-1] == "hint: default/small: 2 more with edl.dev/job=small are, too"


def test_doctor_warns_of_it(stage: Stage) -> None:
    installed(stage, FakeApi())
    (one,) = checked(stage, "-n", "default")["stuck"]
    assert (one["result"], one["message"]) == ("warning", f"default/small: {CAUSE}")
    assert one["remediation"] == "kubectl get jobs -n default -l edl.dev/job=small"


@pytest.mark.parametrize(
    "command", [["status", "copy"], ["explain", "copy"], ["resume", "copy"], ["scale", "copy", "2"]]
)
def test_a_command_that_names_it_fails_with_the_cause(stage: Stage, command: list[str]) -> None:
    found = stage.run(*command)
    assert (found.code, found.err) == (1, f"error: {CAUSE}\n")


def test_a_pause_stops_the_running_job_alone(stage: Stage) -> None:
    stage.run("pause", "small", "--yes")
    paused = [stage.job(name)["metadata"]["annotations"].get(contract.PAUSED) for name in NAMES]
    assert paused == ["true", None]


def test_the_running_job_is_resized(stage: Stage) -> None:
    found = stage.run("scale", "small", "3")
    assert (found.code, found.err) == (0, "")
    notes = [stage.job(name)["metadata"]["annotations"].get(contract.REPLICAS) for name in NAMES]
    assert notes == ["3", None]


def test_a_deletion_deletes_it_too(stage: Stage) -> None:
    """Else it would start in the place of the deleted one."""
    found = stage.run("delete", "small", "--yes")
    assert found.out.startswith("small: deleted with its Jobs copy, small")


@pytest.mark.parametrize("command", ["pause", "delete", "status"])
def test_its_labels_do_not_select_the_running_job(stage: Stage, command: str) -> None:
    before = stage.job("small")
    found = stage.run(command, "-l", "app=mine", *(["--yes"] if command in CONFIRMED else []))
    assert (found.code, found.out) == (0, "")
    assert stage.job("small") == before


def test_a_deletion_by_its_labels_names_the_command_for_it_alone(stage: Stage) -> None:
    assert stage.run("delete", "-l", "app=mine", "--yes").err.startswith(
        'hint: Job "copy" is left out of the training job small: kubectl delete job copy -n '
        "default deletes it alone\n"
    )


@pytest.mark.parametrize("command", CONFIRMED)
def test_nor_do_they_while_it_is_being_deleted(stage: Stage, command: str) -> None:
    deleted = {"deletionTimestamp": "2026-11-21T12:00:00Z", "finalizers": ["example.com/kept"]}
    stage.patch("copy", {"metadata": deleted})
    before = stage.job("small")
    assert stage.run(command, "-l", "app=mine", "--yes").out == ""
    assert stage.job("small") == before


def test_labels_of_the_running_job_select_it(stage: Stage) -> None:
    stage.patch("small", {"metadata": {"labels": {"app": "theirs"}}})
    assert stage.run("pause", "-l", "app=theirs", "--yes").out.startswith("small: paused")
    assert stage.run("delete", "-l", "app=theirs", "--yes").out.startswith("small: deleted")


def test_the_deletion_of_its_name_is_refused_with_the_command_for_it_alone(stage: Stage) -> None:
    found = stage.run("delete", "copy", "--yes")
    why = 'Job "copy" is left out of the training job small'
    assert found.code == 1
    assert found.err == f"error: {why}: kubectl delete job copy deletes it alone\n"


def test_its_release_leaves_the_running_job_as_it_is(stage: Stage) -> None:
    before = stage.job("small")
    assert stage.run("release", "copy").out.startswith("copy: an ordinary Job again; it stays ")
    assert (stage.job("small"), contract.FRAMEWORK in stage.job("copy")["metadata"]["labels"]) == (
        before,
        False,
    )


def test_a_release_of_the_training_job_releases_all_of_its_jobs(stage: Stage) -> None:
    """Else the copy would start in the place of the released one."""
    assert [line.split(":")[0] for line in stage.run("release", "small").out.splitlines()] == [
        "copy",
        "small",
    ]


ROLES = "chief=1,ps=2,worker=1..12"
LACKING = (
    f"Job mnist-chief is left out of mnist: they disagree on edl.dev/roles: chief=1,ps=2,worker=1.."
    f"16 on mnist-chief, {ROLES} on mnist-ps; recreate it with the same edl.dev/roles as mnist-ps"
)


@pytest.fixture
def recreated() -> Stage:
    """A running training job of which the chief was created again with other bounds."""
    stage = Stage()
    lease(stage)
    for name in ("node-1", "node-2"):
        stage.create(node(name))
    mnist(stage)
    stage.delete("mnist-chief")
    stage.put(role_manifests("mnist", "chief=1,ps=2,worker=1..16")[0])
    return stage


def test_the_job_of_a_missing_role_is_the_cause_in_status(recreated: Stage) -> None:
    found = recreated.run("status", "mnist").out
    assert f"\nReason:     {LACKING}\n" in found
    assert f"Blockers:\n  1. {LACKING}\n  2. mnist-worker-3" in found
    assert "gone" not in found


def test_the_job_of_a_missing_role_is_the_cause_in_explain(recreated: Stage) -> None:
    found = recreated.run("explain", "mnist").out
    assert "\nGrows:       unknown: its Jobs of chief are left out of it\n" in found
    assert "its Job is left out\n" in found
    assert f"next 3):\n  1. {LACKING}\n  2. then" in found
    assert found.count(LACKING) == 2, "once as the reason, and once as the blocker"
    assert "exist" not in found


def test_doctor_reports_the_job_of_a_missing_role_once(recreated: Stage) -> None:
    installed(recreated, FakeApi())
    assert [one["message"] for one in checked(recreated, "-n", "default")["stuck"]] == [
        f"default/mnist: {LACKING}"
    ]


def test_the_job_of_a_missing_role_is_named_beside_a_pause(recreated: Stage) -> None:
    recreated.run("pause", "mnist")
    found = recreated.run("explain", "mnist").out
    assert "is to be stopped:\n  1. paused\n" in found
    assert f"  1. {LACKING}\n" in found.partition("Blockers:\n")[2]
