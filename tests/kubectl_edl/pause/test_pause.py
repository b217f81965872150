import pytest

from edl import contract
from edl.model import ObjectRef
from edl.writes import Json
from tests.kubectl_edl.cluster_wrappers import fenced, overtaken
from tests.kubectl_edl.stage import Stage, job, mnist

ROLES = ("mnist-chief", "mnist-ps", "mnist-worker")
COMPLETE: Json = {"status": {"conditions": [{"type": "Complete", "status": "True"}]}}


@pytest.fixture
def stage() -> Stage:
    stage = Stage()
    mnist(stage)
    return stage


def paused(stage: Stage) -> list[str | None]:
    return [stage.job(name)["metadata"]["annotations"].get(contract.PAUSED) for name in ROLES]


def test_pausing_marks_every_job_of_the_training_job(stage: Stage) -> None:
    found = stage.run("pause", "mnist")
    assert found.out == (
        "mnist: paused, its pods end; it starts again after: kubectl edl resume mnist\n"
    )
    assert paused(stage) == ["true"] * 3


def test_resuming_takes_the_mark_away(stage: Stage) -> None:
    stage.run("pause", "mnist")
    found = stage.run("resume", "mnist", "-n", "default")
    status = "kubectl edl status mnist -n default\n"
    assert found.out == f"mnist: resumed before its pods were stopped: {status}"
    assert paused(stage) == [None] * 3
    stage.run("pause", "mnist")
    for name in ROLES:
        stage.patch(name, {"spec": {"suspend": True}})
    found = stage.run("resume", "mnist", "-n", "default")
    assert found.out == f"mnist: resumed, it starts when its minimum fits: {status}"


def test_resuming_what_a_controller_suspended_says_that_it_may_come_back(stage: Stage) -> None:
    flux = "system:serviceaccount:flux-system:kustomize-controller"
    notes = {contract.PAUSED: "true", contract.PAUSED_BY: flux}
    for name in ROLES:
        stage.cluster.patch(ObjectRef("Job", "default", name), {"metadata": {"annotations": notes}})
    found = stage.run("resume", "mnist")
    assert found.out.startswith("mnist: resumed")
    assert found.err == (
        f"warning: {flux} paused mnist by spec.suspend: true, and may do so again: remove that "
        "from the manifest that it applies, or exclude namespace default from it\n"
    )


def test_a_queued_job_has_no_pods_to_end(stage: Stage) -> None:
    stage.put(job("late", framework="none"))
    assert stage.run("pause", "late").out == (
        "late: paused, it leaves the queue; it returns after: kubectl edl resume late\n"
    )


def test_an_unknown_name_keeps_the_other_jobs_as_they_are(stage: Stage) -> None:
    found = stage.run("pause", "mnist", "mnits")
    assert found.code == 3
    assert found.err.endswith("; nothing was changed\n")
    assert paused(stage) == [None] * 3
    assert not stage.run("pause", "mnits").err.endswith("; nothing was changed\n")


def test_pausing_a_paused_job_writes_nothing(stage: Stage) -> None:
    stage.run("pause", "mnist")
    before = stage.job("mnist-chief")
    found = stage.run("pause", "mnist")
    assert (found.code, found.out) == (
        0,
        "mnist: is paused already; it starts again after: kubectl edl resume mnist\n",
    )
    assert stage.job("mnist-chief") == before


def test_resuming_a_job_that_is_not_paused_succeeds(stage: Stage) -> None:
    found = stage.run("resume", "mnist")
    assert found.out == "mnist: is not paused; what it does now: kubectl edl status mnist\n"


def test_a_partly_paused_job_is_paused_completely(stage: Stage) -> None:
    stage.patch("mnist-ps", {"metadata": {"annotations": {contract.PAUSED: "true"}}})
    assert stage.run("resume", "mnist").code == 0
    assert paused(stage) == [None] * 3


def closed_queue(stage: Stage) -> None:
    """A work queue of which one pod has succeeded, and two run."""
    stage.put(job("trials", framework="none", max="8"), suspend=False, parallelism=3)
    stage.patch("trials", {"status": {"succeeded": 1, "active": 2}})


def test_a_work_queue_is_not_paused_once_a_pod_has_succeeded(stage: Stage) -> None:
    closed_queue(stage)
    found = stage.run("pause", "trials", "mnist", "-n", "default")
    assert (found.code, paused(stage)) == (1, ["true"] * 3), "the others are"
    assert contract.PAUSED not in stage.job("trials")["metadata"]["annotations"]
    assert found.err == (
        "error: trials is not paused, as that would end it: a pod of this work queue has succeeded:"
        " Kubernetes takes the job as complete once no pod runs; "
        "kubectl edl status trials -n default --for Succeeded waits for them, or to end it: "
        "kubectl edl delete trials -n default\n"
    )


def test_a_pause_that_is_not_carried_out_is_withdrawn_by_resume(stage: Stage) -> None:
    closed_queue(stage)
    stage.patch("trials", {"metadata": {"annotations": {contract.PAUSED: "true"}}})
    assert stage.run("pause", "trials").code == 1
    shown = stage.run("status", "trials").out
    assert "not paused, as that would end it: a pod of this work queue has succeeded" in shown
    assert stage.run("resume", "trials").code == 0
    assert contract.PAUSED not in stage.job("trials")["metadata"]["annotations"]


def test_an_ended_job_is_neither_paused_nor_resumed(stage: Stage) -> None:
    for name in ROLES:
        stage.patch(name, COMPLETE)
    found = stage.run("pause", "mnist")
    assert found.code == 1
    assert found.err == ("error: mnist has ended (Complete): there is nothing to pause or resume\n")


def test_a_job_with_malformed_labels_is_refused_with_the_label(stage: Stage) -> None:
    stage.create(job("broken", framework="none", min="9", max="2"))
    found = stage.run("pause", "broken")
    assert found.code == 1
    assert "min 9 is above max 2" in found.err


def test_a_dry_run_pauses_nothing(stage: Stage) -> None:
    found = stage.run("pause", "mnist", "--dry-run", "server")
    assert found.out.endswith("kubectl edl resume mnist (server dry run)\n")
    assert paused(stage) == [None] * 3


def test_names_of_all_changed_jobs(stage: Stage) -> None:
    names = stage.run("pause", "mnist", "-o", "name").out.splitlines()
    assert names == [f"job.batch/{name}" for name in ROLES]


def test_being_overtaken_in_the_middle_ends_with_all_jobs_paused(stage: Stage) -> None:
    stage.wrapped = overtaken(2, after=1)
    assert stage.run("pause", "mnist").out.startswith("mnist: paused, its pods end")
    assert paused(stage) == ["true"] * 3


def test_an_ended_job_keeps_no_other_paused(stage: Stage) -> None:
    """Its workers exit with 0 on SIGTERM, and so complete their Job while it is paused."""
    stage.run("pause", "mnist")
    stage.patch("mnist-worker", COMPLETE)
    assert stage.run("resume", "mnist").code == 0
    assert stage.run("resume", "mnist").out == (
        "mnist: is not paused; what it does now: kubectl edl status mnist\n"
    )


def test_pausing_and_resuming_a_job_with_lost_pods_warns_of_the_job_controllers_back_off(
    stage: Stage,
) -> None:
    notes = {contract.FAILURES_AT_START: "0"}
    stage.patch("mnist-worker", {"metadata": {"annotations": notes}, "status": {"failed": 5}})
    assert stage.run("pause", "mnist").err == ""
    stage.run("resume", "mnist")
    stage.cluster.delete(ObjectRef("Pod", "default", "mnist-worker-3-x3"))
    lost = "warning: mnist lost pods, and the Job controller creates no pod until "
    latest = "12:02:40 UTC at the latest: "
    assert stage.run("pause", "mnist").err == (
        f"{lost}{latest}once resumed, it waits in the queue until then\n"
    )
    notes = {contract.DELAYED_UNTIL: "2026-11-21T12:02:40Z"}
    stage.patch("mnist-worker", {"metadata": {"annotations": notes}, "spec": {"suspend": True}})
    assert stage.run("resume", "mnist").err == (f"{lost}{latest}it waits in the queue until then\n")
    assert stage.run("resume", "mnist").err == ""
    queued = stage.run("pause", "mnist")
    assert "pods end" not in queued.err
    assert queued.err.endswith("once resumed, it waits in the queue until then\n")


def test_the_warning_of_lost_pods_needs_no_right_to_read_quotas(stage: Stage) -> None:
    notes = {contract.FAILURES_AT_START: "0"}
    stage.patch("mnist-worker", {"metadata": {"annotations": notes}, "status": {"failed": 5}})
    stage.cluster.delete(ObjectRef("Pod", "default", "mnist-worker-3-x3"))
    stage.wrapped = fenced("ResourceQuota", "LimitRange")
    assert stage.run("pause", "mnist").err.startswith("warning: mnist lost pods, ")


def test_resuming_a_job_that_cannot_start_says_why(stage: Stage) -> None:
    other = ObjectRef("PriorityClass", "", "other")
    stage.cluster.create(other, {"metadata": {"name": "other"}, "value": 5})
    late = job("late", framework="none")
    late["spec"]["template"]["spec"]["priorityClassName"] = "nope"
    stage.put(late)
    assert stage.run("pause", "late").err == ""
    found = stage.run("resume", "late")
    assert (found.code, contract.PAUSED in stage.job("late")["metadata"]["annotations"]) == (
        0,
        False,
    )
    assert found.err.startswith(
        "warning: late does not start before its problem is fixed: "
        'PriorityClass "nope" does not exist: create it'
    )


def test_pausing_all_jobs_asks_for_confirmation(stage: Stage) -> None:
    stage.answers = "n\n"
    found = stage.run("pause", "--all")
    assert (found.code, found.out, paused(stage)) == (0, "", [None] * 3)
    asked = "Pause training job mnist (3 Jobs, 7 active pods)? [y/N] "
    assert found.err == f"{asked}nothing was paused\n"
    stage.answers = "y\n"
    assert stage.run("pause", "--all").err == asked
    assert paused(stage) == ["true"] * 3


def test_pausing_all_jobs_without_a_terminal_takes_yes(stage: Stage) -> None:
    found = stage.run("pause", "-l", contract.FRAMEWORK)
    assert (found.code, paused(stage)) == (1, [None] * 3)
    assert found.err.endswith("? No terminal can answer: add --yes\n")
    assert stage.run("pause", "-l", contract.FRAMEWORK, "--yes").err == ""
    assert paused(stage) == ["true"] * 3


@pytest.mark.parametrize(
    "arguments",
    [
        ("pause", "mnist"),
        ("pause", "--all", "--dry-run", "server"),
        ("resume", "--all"),
        ("resume", "--all", "--yes"),
    ],
)
def test_a_job_by_name_a_dry_run_and_a_resume_ask_nothing(
    stage: Stage, arguments: tuple[str, ...]
) -> None:
    assert (stage.run(*arguments).code, stage.run(*arguments).err) == (0, "")


def test_pausing_paused_jobs_asks_nothing(stage: Stage) -> None:
    stage.run("pause", "mnist")
    assert stage.run("pause", "--all").code == 0
