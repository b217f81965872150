from typing import Any

import pytest

from edl.errors import Conflict, NotFound
from edl.model import ObjectRef
from edl.writes import Json
from tests.kubectl_edl.cluster_wrappers import ClusterWrapper
from tests.kubectl_edl.stage import Stage, job, mnist, role_manifests

ROLES = ["mnist-chief", "mnist-ps", "mnist-worker"]
OTHERS = ["plain", "sweep"]


@pytest.fixture
def stage() -> Stage:
    """Two training jobs and an ordinary Job."""
    stage = Stage()
    mnist(stage)
    sweep = job("sweep", framework="none", min="1", max="4")
    sweep["metadata"]["labels"]["team"] = "vision"
    stage.put(sweep)
    stage.create(job("plain"))
    return stage


def names(stage: Stage) -> list[str]:
    return [name for name in (*ROLES, *OTHERS) if exists(stage, name)]


def exists(stage: Stage, name: str) -> bool:
    try:
        stage.job(name)
    except NotFound:
        return False
    return True


def test_only_jobs_of_the_training_job_are_deleted(stage: Stage) -> None:
    found = stage.run("delete", "mnist", "--yes")
    assert (found.code, found.err) == (0, "")
    assert found.out == "mnist: deleted with its Jobs mnist-chief, mnist-ps, mnist-worker\n"
    assert names(stage) == OTHERS


def test_pods_of_a_paused_job_that_still_end_are_counted(stage: Stage) -> None:
    stage.patch("sweep", {"spec": {"suspend": True}, "status": {"active": 1, "terminating": 2}})
    assert stage.run("delete", "sweep", "-y").out == "sweep: deleted; its 3 pods end within 30s\n"


def test_pods_that_run_on_for_their_grace_period_are_counted(stage: Stage) -> None:
    stage.patch("sweep", {"status": {"active": 1}})
    assert stage.run("delete", "sweep", "-y").out == "sweep: deleted; its pod ends within 30s\n"
    stage.patch("mnist-worker", {"status": {"active": 4}})
    long = {"spec": {"template": {"spec": {"terminationGracePeriodSeconds": 3600}}}}
    stage.patch("mnist-worker", long)
    jobs = "mnist-chief, mnist-ps, mnist-worker"
    kept = stage.run("delete", "mnist", "-y", "--dry-run", "client").out
    assert kept == f"mnist: deleted with its Jobs {jobs} (dry run)\n"
    found = stage.run("delete", "mnist", "-y").out
    assert found == f"mnist: deleted with its Jobs {jobs}; its 4 pods end within 1h\n"


def test_several_names_and_a_name_twice(stage: Stage) -> None:
    found = stage.run("delete", "sweep", "job.batch/sweep", "mnist", "-y")
    assert found.out.splitlines() == [
        "sweep: deleted",
        "mnist: deleted with its Jobs mnist-chief, mnist-ps, mnist-worker",
    ]
    assert names(stage) == ["plain"]


def test_a_selector_selects_whole_training_jobs(stage: Stage) -> None:
    assert stage.run("delete", "-l", "team=vision", "-y").out == "sweep: deleted\n"
    for name in ("mnist-chief", "mnist-ps", "mnist-worker"):
        stage.patch(name, {"metadata": {"labels": {"team": "vision"}}})
    assert stage.run("delete", "-l", "team=vision", "-y").code == 0
    assert names(stage) == ["plain"]


def test_a_conflict_is_reported_unless_the_job_is_gone(stage: Stage) -> None:
    class Refusing(ClusterWrapper):
        def delete(self, target: ObjectRef, **_: object) -> None:
            raise Conflict(f"{target.name} is protected", 409)

    stage.wrapped = Refusing
    found = stage.run("delete", "sweep", "-y", "--no-wait")
    assert (found.code, found.out, found.err) == (1, "", "error: sweep is protected\n")


@pytest.mark.parametrize(
    ("command", "done"),
    [("delete", "sweep: deleted"), ("pause", "sweep: paused"), ("resume", "sweep: is not paused")],
)
def test_a_training_job_of_which_some_jobs_match_is_refused_alone(
    stage: Stage, command: str, done: str
) -> None:
    for name in ("mnist-ps", "mnist-worker"):
        stage.patch(name, {"metadata": {"labels": {"keep": "yes"}}})
    before = [stage.job(name) for name in ("mnist-chief", "mnist-ps", "mnist-worker")]
    found = stage.run(command, "-l", "!keep", "-y")
    assert found.code == 1
    assert found.out.startswith(done)
    assert found.err.splitlines()[-1] == (
        "error: default/mnist: -l matches some of its Jobs, and not mnist-ps, mnist-worker; all of "
        "them would change together: give its name instead"
    )
    assert [stage.job(name) for name in ("mnist-chief", "mnist-ps", "mnist-worker")] == before


@pytest.mark.parametrize("command", ["delete", "pause"])
def test_the_refused_job_is_named_before_the_others_are_confirmed(
    stage: Stage, command: str
) -> None:
    stage.patch("mnist-ps", {"metadata": {"labels": {"keep": "yes"}}})
    stage.answers = "n\n"
    found = stage.run(command, "-l", "!keep")
    assert found.code == 1
    refusal, question, *_ = found.err.splitlines()
    assert refusal.startswith("error: default/mnist: -l matches some of its Jobs")
    assert "sweep" in question


def test_a_refused_job_does_not_end_the_wait_for_the_others(stage: Stage) -> None:
    stage.patch("mnist-ps", {"metadata": {"labels": {"keep": "yes"}}})
    held(stage)
    found = stage.run("delete", "-l", "!keep", "-y", "--timeout", "1s")
    assert found.err.endswith("error: deleted, and after 1s still there (a finalizer?): sweep\n")


@pytest.mark.parametrize("command", ["delete", "pause"])
def test_nothing_is_asked_if_all_jobs_are_matched_in_part(stage: Stage, command: str) -> None:
    for name in ("mnist-ps", "mnist-worker", "sweep"):
        stage.patch(name, {"metadata": {"labels": {"keep": "yes"}}})
    stage.answers = "y\n"
    found = stage.run(command, "-l", "!keep")
    assert (found.code, found.out) == (1, "")
    assert found.err.startswith("error: default/mnist: -l matches some of its Jobs")


def test_all_are_the_training_jobs_of_the_namespace(stage: Stage) -> None:
    elsewhere = job("other", framework="none")
    elsewhere["metadata"]["namespace"] = "team-b"
    stage.put(elsewhere)
    assert stage.run("delete", "--all", "-y").code == 0
    assert names(stage) == ["plain"]
    assert stage.cluster.get(ObjectRef("Job", "team-b", "other"))


def test_remaining_jobs_of_several_namespaces_are_named_with_namespace(stage: Stage) -> None:
    twins(stage)
    held(stage)
    found = stage.run("delete", "-l", "team=vision", "-A", "-y", "--timeout", "1s")
    assert found.code == 5
    assert found.err.endswith(" still there (a finalizer?): default/sweep\n")


def test_a_selector_without_a_match_gives_no_error(stage: Stage) -> None:
    found = stage.run("delete", "-l", "team=none", "-y")
    assert (found.code, found.out) == (0, "")
    assert found.err == "No training jobs found in default namespace.\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "Specify training jobs by name, -l SELECTOR or --all."),
        (["mnist", "--all"], "exclude each other"),
        (["--all", "-l", "team=vision"], "exclude each other"),
        (["-A"], "Specify training jobs by name, -l SELECTOR or --all."),
        (["mnist", "-A"], "A name belongs to one namespace: with -A, use -l SELECTOR or --all."),
    ],
)
@pytest.mark.parametrize("verb", ["delete", "pause", "resume"])
def test_exactly_one_way_to_choose(
    stage: Stage, verb: str, arguments: list[str], words: str
) -> None:
    found = stage.run(verb, *arguments)
    assert found.code == 2
    assert words in found.err


def test_a_name_that_is_not_there_keeps_all_others(stage: Stage) -> None:
    found = stage.run("delete", "sweep", "mnits", "-y")
    assert found.code == 3
    assert "did you mean mnist?" in found.err
    assert found.err.endswith("; nothing was deleted\n")
    assert names(stage) == [*ROLES, *OTHERS]
    assert stage.run("delete", "sweep", "mnits", "-y", "--ignore-not-found").code == 0
    assert names(stage) == [*ROLES, "plain"]


@pytest.mark.parametrize("option", [(), ("--ignore-not-found",)])
def test_the_name_of_one_job_is_not_the_training_job(stage: Stage, option: tuple[str]) -> None:
    found = stage.run("delete", "mnist-worker", "-y", *option)
    assert found.code == 1
    assert found.err == (
        'error: "mnist-worker" is one Job of the training job mnist: kubectl edl delete mnist '
        "deletes all of them, kubectl delete job mnist-worker this one\n"
    )
    assert names(stage) == [*ROLES, *OTHERS]


def test_the_names_of_all_its_jobs_are_the_training_job(stage: Stage) -> None:
    listed = stage.run("status", "mnist", "-o", "name").out.split()
    assert stage.run("delete", *listed, "-y").code == 0
    assert not [name for name in names(stage) if name.startswith("mnist")]


def test_a_job_that_is_not_elastic_is_kubectls(stage: Stage) -> None:
    found = stage.run("delete", "plain", "-y")
    assert found.err == 'error: Job "plain" is not elastic: kubectl delete job plain\n'
    assert exists(stage, "plain")


def test_declining_the_confirmation_deletes_nothing(stage: Stage) -> None:
    stage.patch("mnist-worker", {"status": {"active": 4}})
    stage.answers = "n\n"
    found = stage.run("delete", "mnist")
    assert found.code == 0
    assert found.err == (
        "Delete training job mnist (3 Jobs, 4 active pods)? [y/N] nothing was deleted\n"
    )
    assert names(stage) == [*ROLES, *OTHERS]
    stage.answers = "yes\n"
    assert stage.run("delete", "mnist", "sweep").err.startswith(
        "Delete 2 training jobs: mnist, sweep (4 Jobs, 4 active pods)? [y/N] "
    )
    assert names(stage) == ["plain"]


def test_without_a_terminal_yes_is_required(stage: Stage) -> None:
    found = stage.run("delete", "mnist")
    assert found.code == 1
    assert found.err.endswith("No terminal can answer: add --yes\n")
    assert names(stage) == [*ROLES, *OTHERS]


@pytest.mark.parametrize(
    ("dry_run", "remark"), [("client", " (dry run)"), ("server", " (server dry run)")]
)
def test_a_dry_run_needs_no_confirmation_and_deletes_nothing(
    stage: Stage, dry_run: str, remark: str
) -> None:
    found = stage.run("delete", "sweep", "--dry-run", dry_run)
    assert (found.code, found.out) == (0, f"sweep: deleted{remark}\n")
    assert names(stage) == [*ROLES, *OTHERS]


def test_names_of_the_deleted_jobs(stage: Stage) -> None:
    found = stage.run("delete", "mnist", "-y", "-o", "name").out.splitlines()
    assert found == [f"job.batch/{name}" for name in ROLES]


def held(stage: Stage) -> None:
    stage.patch("sweep", {"metadata": {"finalizers": ["example.com/keeps-it"]}})


def test_jobs_with_finalizers_time_out_and_are_named(stage: Stage) -> None:
    held(stage)
    found = stage.run("delete", "sweep", "-y", "--timeout", "1s")
    assert found.code == 5
    assert found.err == ("error: deleted, and after 1s still there (a finalizer?): sweep\n")
    assert stage.run("delete", "sweep", "-y", "--no-wait").code == 0


def test_a_new_job_of_the_same_name_is_not_waited_for(stage: Stage) -> None:
    held(stage)

    def anew(_: float) -> None:
        if "deletionTimestamp" in stage.job("sweep")["metadata"]:
            stage.patch("sweep", {"metadata": {"finalizers": None}})
            stage.put(job("sweep", framework="none"))

    stage.sleep = anew
    assert stage.run("delete", "sweep", "-y").code == 0
    assert "deletionTimestamp" not in stage.job("sweep")["metadata"]


@pytest.fixture
def three() -> Stage:
    """a and c run, b has ended."""
    stage = Stage()
    for name in ("a", "b", "c"):
        manifest = job(name, framework="none")
        manifest["metadata"]["labels"]["team"] = "vision"
        stage.put(manifest)
    over = {"status": {"conditions": [{"type": "Complete", "status": "True"}]}}
    stage.patch("b", over)
    return stage


@pytest.mark.parametrize("choice", [["--all"], ["-l", "team=vision"], ["a", "c"]])
def test_pause_and_resume_take_several(three: Stage, choice: list[str]) -> None:
    found = three.run("pause", *choice, "--yes")
    assert (found.code, found.err) == (0, "")
    assert [line.split(":")[0] for line in found.out.splitlines()] == ["a", "c"]
    assert "edl.dev/paused" in three.job("c")["metadata"]["annotations"]
    assert three.run("resume", *choice, "-o", "name").out == "job.batch/a\njob.batch/c\n"
    assert "edl.dev/paused" not in three.job("a")["metadata"]["annotations"]


def test_an_error_on_one_job_does_not_stop_the_others(three: Stage) -> None:
    found = three.run("pause", "b", "a")
    assert found.code == 1
    assert found.err == "error: b has ended (Complete): there is nothing to pause or resume\n"
    assert "edl.dev/paused" in three.job("a")["metadata"]["annotations"]


def test_an_unknown_name_pauses_no_job(three: Stage) -> None:
    assert three.run("pause", "a", "nope").code == 3
    assert "edl.dev/paused" not in three.job("a")["metadata"]["annotations"]


def test_all_roles_of_each_are_paused() -> None:
    stage = Stage()
    mnist(stage)
    for manifest in role_manifests("bert", "chief=1,worker=1..2"):
        stage.put(manifest)
    assert len(stage.run("pause", "mnist", "bert", "-o", "name").out.splitlines()) == 5


def twins(stage: Stage) -> None:
    """sweep of another namespace, and one of team nlp beside it."""
    for name, team in (("sweep", "vision"), ("other", "nlp")):
        manifest = job(name, framework="none")
        manifest["metadata"] |= {"namespace": "team-b"}
        manifest["metadata"]["labels"]["team"] = team
        stage.put(manifest)


def test_a_selector_deletes_in_all_namespaces(stage: Stage) -> None:
    twins(stage)
    stage.answers = "y\n"
    found = stage.run("delete", "-l", "team=vision", "-A")
    assert found.out == "default/sweep: deleted\nteam-b/sweep: deleted\n"
    asked = "Delete 2 training jobs: default/sweep, team-b/sweep (2 Jobs in 2 namespaces"
    assert found.err.startswith(asked)
    assert names(stage) == [*ROLES, "plain"]
    assert stage.cluster.get(ObjectRef("Job", "team-b", "other"))


def test_all_with_all_namespaces_deletes_every_training_job(stage: Stage) -> None:
    twins(stage)
    assert stage.run("delete", "--all", "-A", "-y").code == 0
    assert names(stage) == ["plain"]
    found = stage.run("delete", "--all", "-A", "-y")
    assert (found.code, found.err) == (0, "No training jobs found.\n")


def test_pausing_in_all_namespaces_prints_each_resume_command(stage: Stage) -> None:
    twins(stage)
    found = stage.run("pause", "-l", "team=vision", "-A", "--yes")
    waits = "paused, it leaves the queue; it returns after: kubectl edl resume sweep"
    assert found.out.splitlines() == [
        f"default/sweep: {waits} -n default",
        f"team-b/sweep: {waits} -n team-b",
    ]
    assert stage.run("resume", "--all", "-A", "-o", "name").out == "job.batch/sweep\n" * 2


def test_a_deleted_job_is_not_requested_again(stage: Stage) -> None:
    asked: list[str] = []

    class Counting(ClusterWrapper):
        def get(self, target: ObjectRef) -> Json:
            asked.append(target.name)
            return super().get(target)

    held(stage)
    stage.wrapped = Counting
    found = stage.run("delete", "--all", "--yes", "--timeout", "1s")
    assert found.code == 5
    assert {name: asked.count(name) for name in asked if name != "sweep"} == dict.fromkeys(
        {name for name in asked if name != "sweep"}, 1
    )
    assert asked.count("sweep") > 1


def test_a_job_that_was_created_again_meanwhile_is_kept(stage: Stage) -> None:
    class Quick(ClusterWrapper):
        def delete(self, target: ObjectRef, **given: Any) -> None:  # noqa: ANN401 - preconditions
            if target.name == "mnist-ps":
                super().delete(target)
                stage.create(job("mnist-ps"))
            super().delete(target, **given)

    stage.wrapped = Quick
    found = stage.run("delete", "mnist", "--yes")
    assert (found.code, found.err) == (0, "")
    assert names(stage) == ["mnist-ps", *OTHERS]
