"""Removal by name, scale-ups with a timeout, scripts in the launcher, and exit codes."""

import shlex
import subprocess
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from edl import contract
from edl.model import ObjectRef
from edl.writes import Json
from kubectl_edl.main import run
from tests.kubectl_edl.cluster_wrappers import fenced
from tests.kubectl_edl.stage import NOW, Run, Stage, job, lease, mnist, pod

if TYPE_CHECKING:
    import io

REMOVED = (
    "mnist: worker set to 3 (manual; min 1, max 12): worker-1 is replaced by a new pod, and "
    "worker-3 (the highest index) ends instead; the reconciler will apply it: "
    "kubectl edl status mnist\n"
)
AGAIN = (
    "a new pod may run on node-2 again, unless you cordon first: kubectl cordon node-2; that alone "
    "also moves workers off, at the same size\n"
)


def horovod(stage: Stage, workers: int = 12, name: str = "hvd") -> None:
    """A launcher and workers that run."""
    roles = "launcher=1,worker=1..12"
    for role, size in (("launcher", 1), ("worker", workers)):
        manifest = job(f"{name}-{role}", framework="horovod", job=name, role=role)
        manifest["metadata"]["annotations"] = {contract.ROLES: roles}
        owner = stage.put(manifest, suspend=False, parallelism=size, completions=size)
        for index in range(size):
            stage.create(pod(owner, index))


@pytest.fixture
def stage() -> Stage:
    stage = Stage()
    mnist(stage)
    return stage


def notes(stage: Stage, name: str = "mnist-worker") -> dict[str, str]:
    found: dict[str, str] = stage.job(name)["metadata"]["annotations"]
    return found


def noted(stage: Stage, name: str, **annotations: str | None) -> Callable[[], Json]:
    """A concurrent write by the reconciler or another client."""
    named = {contract.PREFIX + word.replace("_", "-"): text for word, text in annotations.items()}
    return lambda: stage.patch(name, {"metadata": {"annotations": named}})


@pytest.mark.parametrize(
    "name",
    [
        "worker-1",
        "mnist-worker-1",
        "mnist-worker-1.mnist.default.svc",
        "mnist-worker-1.mnist.default.svc.cluster.local",
        "mnist-worker-1-x1",
    ],
)
def test_a_worker_is_removed_by_any_of_its_names(stage: Stage, name: str) -> None:
    found = stage.run("scale", "mnist", "--remove", name)
    assert found == Run(0, REMOVED, AGAIN)
    assert notes(stage)[contract.REMOVE] == "mnist-worker-1-x1"
    assert notes(stage)[contract.REPLICAS] == "3"


@pytest.mark.parametrize(
    "named",
    [
        ("--remove", "worker-2,worker-0,mnist-worker-0"),
        ("--remove", "worker-2", "--remove", "worker-0"),
    ],
)
def test_several_are_removed_together_each_once(stage: Stage, named: tuple[str, ...]) -> None:
    found = stage.run("scale", "mnist", *named)
    assert (
        "worker set to 2 (manual; min 1, max 12): worker-2 is removed, and worker-0 is replaced by "
        "a new pod, and worker-3 (the highest index) ends instead;"
    ) in found.out
    assert notes(stage)[contract.REMOVE] == "mnist-worker-0-x0,mnist-worker-2-x2"


def test_the_highest_worker_is_removed_and_no_other(stage: Stage) -> None:
    found = stage.run("scale", "mnist", "--remove", "worker-3")
    assert "max 12): worker-3 is removed; the reconciler will apply it" in found.out
    assert found.err == ""


def test_a_pod_of_work_items_is_removed_and_no_other() -> None:
    stage = Stage()
    owner = stage.put(job("sweep", framework="none", max="4"), suspend=False, parallelism=3)
    for index in range(3):
        stage.create(pod(owner, index))
    found = stage.run("scale", "sweep", "--remove", "worker-0")
    assert found.code == 0, found.err
    assert "worker-0 is removed; the reconciler will apply it" in found.out


def test_a_worker_is_replaced_at_the_same_size(stage: Stage) -> None:
    found = stage.run("scale", "mnist", "4", "--remove", "worker-1")
    assert "max 12): worker-1 is replaced by a new pod; the reconciler will" in found.out


def test_workers_are_removed_without_a_right_to_quotas_while_another_job_lacks_pods(
    stage: Stage,
) -> None:
    stage.put(job("other", framework="none"), suspend=False)
    stage.wrapped = fenced("ResourceQuota", "LimitRange")
    found = stage.run("scale", "mnist", "--remove", "worker-1")
    assert found == Run(0, REMOVED, AGAIN)


def test_one_is_not_ten() -> None:
    stage = Stage()
    horovod(stage)
    stage.run("scale", "hvd", "--remove", "worker-1")
    assert notes(stage, "hvd-worker")[contract.REMOVE] == "hvd-worker-1-x1"
    stage.run("scale", "hvd", "--remove", "worker-10")
    assert notes(stage, "hvd-worker")[contract.REMOVE] == "hvd-worker-1-x1,hvd-worker-10-x10"


@pytest.mark.parametrize("name", ["worker", "worker-", "worker-9", "worker-01", "orker-1", ""])
def test_an_unknown_worker_is_refused_with_those_that_are_there(stage: Stage, name: str) -> None:
    found = stage.run("scale", "mnist", "--remove", f"worker-1,{name}")
    there = "there are worker-0, worker-1, worker-2, worker-3"
    assert (found.code, found.err) == (1, f'error: mnist has no worker "{name}"; {there}\n')
    assert contract.REMOVE not in notes(stage)


@pytest.mark.parametrize("name", ["ps-0", "mnist-ps-0", "mnist-ps-0.mnist.default.svc"])
def test_a_pod_of_a_role_that_is_never_resized_is_not_removed(stage: Stage, name: str) -> None:
    found = stage.run("scale", "mnist", "--remove", name)
    assert found.code == 1
    assert found.err.startswith(f'error: mnist: "{name}" is a pod of ps, which is never resized; ')
    assert "there are worker-0, worker-1" in found.err


def test_no_more_are_removed_than_the_minimum_allows(stage: Stage) -> None:
    stage.run("scale", "mnist", "--min", "4")
    found = stage.run("scale", "mnist", "--remove", "worker-1")
    assert found.code == 1
    assert "worker takes 4..12, not 3; change the bound: kubectl edl scale mnist 3" in found.err
    assert found.err.endswith("; only to replace it: kubectl edl scale mnist 4 --remove worker-1\n")
    assert stage.run("scale", "mnist", "4", "--remove", "worker-1").code == 0
    assert "only to replace" not in stage.run("scale", "mnist", "3").err


@pytest.mark.parametrize(
    ("settings", "removed", "kept"),
    [
        (("--min", "3"), "worker-1,worker-2", 4),
        (("3", "--min", "3"), "worker-1", 3),
        (("--min", "5"), "worker-1", 5),
        (("--min", "3", "--max", "3"), "worker-1,worker-2", 3),
    ],
)
def test_replaced_workers_leave_the_present_size(
    stage: Stage, settings: tuple[str, ...], removed: str, kept: int
) -> None:
    """Four run: no further one ends, and a manual size or a raised minimum stays."""
    stage.run("scale", "mnist", *settings)
    found = stage.run("scale", "mnist", "--remove", removed)
    command = f"kubectl edl scale mnist {kept} --remove {removed}"
    assert found.err.endswith(f"; only to replace it: {command}\n")


def test_a_scale_up_with_a_timeout_annotates_the_job(stage: Stage) -> None:
    found = stage.run("scale", "mnist", "6", "--timeout", "90s")
    assert "set to 6 (manual; min 1, max 12), reverted to 4 if not ready within 90s" in found.out
    assert notes(stage)[contract.SCALE_TIMEOUT] == "90s"
    assert contract.SCALE_FALLBACK not in notes(stage)
    stage.run("scale", "mnist", "6", "--timeout", "45")
    assert notes(stage)[contract.SCALE_TIMEOUT] == "45s"


def test_a_reverted_scale_up_restores_the_previous_manual_size(stage: Stage) -> None:
    stage.run("scale", "mnist", "4")
    stage.run("scale", "mnist", "6", "--timeout", "90s")
    assert notes(stage)[contract.SCALE_FALLBACK] == "4"
    stage.run("scale", "mnist", "8", "--timeout", "5m")
    assert notes(stage)[contract.SCALE_FALLBACK] == "4", "6 was never more than a wish"


@pytest.mark.parametrize("again", [["6"], ["--auto"], ["3"]])
def test_another_size_request_removes_the_timeout(stage: Stage, again: list[str]) -> None:
    stage.run("scale", "mnist", "6", "--timeout", "90s")
    stage.run("scale", "mnist", *again)
    assert not {contract.SCALE_TIMEOUT, contract.SCALE_FALLBACK} & notes(stage).keys()


def test_new_bounds_keep_the_timeout(stage: Stage) -> None:
    stage.run("scale", "mnist", "6", "--timeout", "90s")
    stage.run("scale", "mnist", "--max", "10")
    assert notes(stage)[contract.SCALE_TIMEOUT] == "90s"


def runs(stage: Stage, size: int, first: int = 4) -> Callable[[], object]:
    """The worker Job comes to this size, its new pods ready."""

    def happen() -> None:
        owner = stage.job("mnist-worker")
        stage.patch("mnist-worker-3-x3", READY, kind="Pod")
        for index in range(first, size):
            stage.create(pod(owner, index))
        stage.patch("mnist-worker", {"spec": {"parallelism": size, "completions": size}})

    return happen


READY = {
    "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
}


def test_waiting_ends_when_every_worker_is_ready(stage: Stage) -> None:
    stage.between = [lambda: None, runs(stage, 6)]
    found = stage.run("scale", "mnist", "6", "--wait")
    assert found.code == 0
    assert found.out.endswith("\nmnist: worker has 6, all of them ready\n")


def test_wait_ends_when_a_scale_up_with_timeout_is_decided(stage: Stage) -> None:
    answer = noted(stage, "mnist-worker", scale_timeout=None)
    stage.between = [runs(stage, 6), lambda: None, answer]
    assert stage.run("scale", "mnist", "6", "--wait", "--timeout", "60s").code == 0
    stage.between = [runs(stage, 8, first=6)]
    found = stage.run("scale", "mnist", "8", "--wait", "--timeout", "60s")
    assert found.code == 5, "nobody answered"


def test_a_growth_that_was_taken_back_is_exit_code_4(stage: Stage) -> None:
    line = "2026-11-21T12:01:00Z ScaleFailed 6 4 reverted to 4: 6 not ready within 60 s"
    back = noted(stage, "mnist-worker", scale_timeout=None, replicas=None, history=line)
    stage.between = [back]
    found = stage.run("scale", "mnist", "6", "--wait", "--timeout", "60s")
    assert found.code == 4
    assert found.err == "error: mnist: worker: reverted to 4: 6 not ready within 60 s\n"


def test_a_growth_whose_pods_are_unschedulable_is_reported_as_reverted(stage: Stage) -> None:
    line = "2026-11-21T12:01:00Z ScaleFailed 6 4 Unschedulable pods stayed pending"
    stage.between = [noted(stage, "mnist-worker", history=line)]
    found = stage.run("scale", "mnist", "6", "--wait", "--timeout", "60s")
    assert (found.code, found.err) == (4, "error: mnist: worker: pods stayed pending\n")


def test_replicas_that_another_job_takes_before_they_ran_are_still_waited_for(
    stage: Stage,
) -> None:
    line = "2026-11-21T12:01:00Z ScaleFailed 6 4 Reclaimed to make room for default/other"
    stage.between = [noted(stage, "mnist-worker", replicas="6", history=line)]
    found = stage.run("scale", "mnist", "6", "--wait", "--timeout", "60s")
    assert found.code == 5


def test_an_earlier_manual_size_that_outlives_a_reverted_growth_is_named(stage: Stage) -> None:
    """The revert requests it again, and the job grows to it once there is room."""
    stage.run("scale", "mnist", "8")
    line = "2026-11-21T12:01:00Z ScaleFailed 8 4 reverted to 4: 8 not ready within 10 s"
    stage.between = [noted(stage, "mnist-worker", scale_timeout=None, history=line)]
    found = stage.run("scale", "mnist", "8", "--wait", "--timeout", "10s")
    assert found.code == 4
    assert found.err == (
        "error: mnist: worker: reverted to 4: 8 not ready within 10 s; its earlier manual size 8 "
        "stays requested; to remove it: kubectl edl scale mnist -n default --role worker --auto\n"
    )


def test_an_older_failure_is_not_taken_for_this_one(stage: Stage) -> None:
    line = "2026-11-21T11:01:00Z ScaleFailed 6 4 reverted to 4: 6 not ready within 60 s"
    noted(stage, "mnist-worker", history=line)()
    stage.between = [runs(stage, 6), noted(stage, "mnist-worker", scale_timeout=None)]
    assert stage.run("scale", "mnist", "6", "--wait", "--timeout", "60s").code == 0


def test_a_wait_that_times_out_exits_with_5(stage: Stage) -> None:
    lease(stage, minutes_ago=-2)
    stage.now = [NOW + timedelta(seconds=age) for age in range(0, 600, 20)]
    stage.between = [lambda: None] * 10
    found = stage.run("scale", "mnist", "3", "--wait", "--timeout", "60s")
    assert (found.code, found.err) == (5, "error: mnist: worker is not at 3 after 60s\n")


def test_a_reconciler_that_never_answers_is_waited_for_a_little_and_named(stage: Stage) -> None:
    lease(stage, minutes_ago=-5)
    stage.now = [NOW + timedelta(seconds=age) for age in range(0, 600, 5)]
    stage.between = [lambda: None] * 30
    found = stage.run("scale", "mnist", "6", "--wait", "--timeout", "60s")
    late = "mnist: worker is not at 6 after 60s"
    assert (found.code, found.err.splitlines()) == (
        5,
        [
            f"{late}; waiting for the reconciler to revert it",
            f"error: {late}; it was not reverted: is a reconciler running?",
        ],
    )
    assert stage.deadlines == (timedelta(seconds=60), timedelta(seconds=75))


@pytest.mark.parametrize("released", [False, True])
def test_a_growth_that_is_taken_back_after_its_time_is_reported_as_such(
    stage: Stage, *, released: bool
) -> None:
    lease(stage, minutes_ago=-5)
    if released:
        target = ObjectRef("Lease", contract.SYSTEM_NAMESPACE, contract.RECONCILER_LEASE)
        stage.cluster.patch(target, {"spec": {"holderIdentity": ""}})
    reverted = "ScaleFailed reverted to 4: 6 not ready within 60 s"
    line = f"2026-11-21T12:01:02.000Z ScaleFailed 6 4 {reverted}"
    back = noted(stage, "mnist-worker", scale_timeout=None, replicas=None, history=line)
    stage.now = [NOW + timedelta(seconds=age) for age in (0, 0, 0, 0, 61, 61, 62, 62, 62)]
    stage.between = [lambda: None, back]
    assert stage.run("scale", "mnist", "6", "--wait", "--timeout", "60s").code == 4


def test_without_a_reconciler_the_wait_ends_at_its_timeout(stage: Stage) -> None:
    stage.now = [NOW + timedelta(seconds=age) for age in (0, 0, 0, 0, 61)]
    stage.between = [lambda: None, lambda: pytest.fail("nothing is left to wait for")]
    found = stage.run("scale", "mnist", "6", "--wait", "--timeout", "60s")
    late = "error: mnist: worker is not at 6 after 60s; it was not reverted"
    assert (found.code, found.err) == (5, f"{late}: is a reconciler running?\n")


def test_a_change_by_another_client_ends_the_wait(stage: Stage) -> None:
    stage.between = [noted(stage, "mnist-worker", replicas="9")]
    found = stage.run("scale", "mnist", "6", "--wait")
    assert found.code == 1
    assert found.err == "error: mnist: another client has changed it: worker is set to 9\n"


def test_the_first_success_in_a_work_queue_ends_the_wait_for_more_pods(stage: Stage) -> None:
    owner = stage.put(job("trials", framework="none", max="8"), suspend=False, parallelism=3)
    for index in range(3):
        stage.create(pod(owner, index))
    stage.between = [
        lambda: None,
        lambda: stage.patch("trials", {"status": {"succeeded": 1, "active": 2}}),
    ]
    found = stage.run("scale", "trials", "6", "--wait")
    assert found.code == 1
    assert found.err == (
        "error: trials: worker has 2, not 6: a pod of this work queue has succeeded: "
        "Kubernetes adds none, and removes none\n"
    )


def test_the_pods_that_are_left_of_a_work_queue_are_counted_after_a_removal(stage: Stage) -> None:
    """Its Job's status still counts the removed one."""
    owner = stage.put(job("trials", framework="none", max="8"), suspend=False, parallelism=4)
    for index in range(4):
        stage.create(pod(owner, index))
    stage.patch("trials", {"status": {"succeeded": 1, "active": 4}})
    removed = "trials-2-x2"

    def ended() -> None:
        stage.patch("trials", {"metadata": {"annotations": {contract.REMOVE: None}}})
        stage.cluster.delete(ObjectRef("Pod", "default", removed))

    stage.between = [ended]
    found = stage.run("scale", "trials", "--remove", removed, "--wait")
    assert found.code == 0
    assert found.out.splitlines()[-1] == (
        "trials: worker has 3, a pod of this work queue has succeeded: "
        "Kubernetes adds none, and removes none"
    )


def test_a_smaller_size_of_work_items_is_reached_with_a_pod_for_each_that_is_left(
    stage: Stage,
) -> None:
    trials = job("trials", framework="none", max="8")
    owner = stage.put(trials, suspend=False, parallelism=5, completions=9)
    stage.patch("trials", {"status": {"succeeded": 5, "active": 4}})
    for index in range(2):
        stage.create(pod(owner, index))

    def shrunk() -> None:
        stage.patch("trials", {"spec": {"parallelism": 3}, "status": {"succeeded": 7, "active": 2}})

    stage.between = [lambda: None, shrunk]
    found = stage.run("scale", "trials", "3", "--wait")
    assert (found.code, found.out.splitlines()[-1]) == (
        0,
        "trials: worker has 2, all of them ready",
    )


def test_wait_ends_when_a_removed_worker_is_gone(stage: Stage) -> None:
    def gone() -> None:
        stage.delete("mnist-worker-1-x1", kind="Pod")
        stage.create(pod(stage.job("mnist-worker"), 1) | named("mnist-worker-1-y1", stage))
        stage.patch("mnist-worker", {"spec": {"parallelism": 3, "completions": 3}})
        noted(stage, "mnist-worker", remove=None)()

    stage.between = [lambda: None, gone]
    found = stage.run("scale", "mnist", "--remove", "worker-1", "--wait")
    assert (found.code, found.out.splitlines()[-1]) == (
        0,
        "mnist: worker has 3, all of them ready",
    )


def named(name: str, stage: Stage) -> Json:
    metadata = pod(stage.job("mnist-worker"), 1)["metadata"]
    return {"metadata": metadata | {"name": name}}


def test_a_dry_run_waits_for_nothing_and_runs_nothing(stage: Stage) -> None:
    horovod(stage, 4)
    found = stage.run("scale", "hvd", "6", "--wait", "--script", "x.sh", "--dry-run", "client")
    assert found.code == 0
    assert stage.kubectl_calls == []


def grown(stage: Stage, size: int) -> Callable[[], object]:
    def happen() -> None:
        owner = stage.job("hvd-worker")
        for index in range(4, size):
            stage.create(pod(owner, index))
        stage.patch("hvd-worker", {"spec": {"parallelism": size, "completions": size}})

    return happen


LAUNCHER = ("exec", "--quiet", "--stdin", "hvd-launcher-0-x0", "-n", "default")


def hosts(*indexes: int) -> str:
    return ",".join(f"hvd-worker-{index}.hvd.default.svc:1" for index in indexes)


def test_a_script_runs_in_the_launcher_after_a_growth(stage: Stage) -> None:
    horovod(stage, 4)
    stage.between = [lambda: None, grown(stage, 6)]
    script = ("--script", "/app/scaler.sh --add 'a b'", "--env", "LEVEL=1; rm -rf /")
    found = stage.run("scale", "hvd", "6", *script)
    assert found.code == 0
    command = ("timeout", "60", "sh", "/app/scaler.sh", "--add", "a b", hosts(4, 5))
    assert stage.kubectl_calls == [((*LAUNCHER, "--", "env", "LEVEL=1; rm -rf /", *command), "")]


ODD = ("it's", "a\nb", "$(touch executed)", "`touch executed`", "; touch executed", "*", "\\", '"')


@pytest.mark.parametrize("odd", ODD)
def test_arguments_of_a_script_are_not_parsed_by_a_shell(
    stage: Stage, tmp_path: Path, odd: str
) -> None:
    """The words behind `--`, run here as the kubelet runs them."""
    horovod(stage, 4)
    (tmp_path / odd).write_text('printf "%s|" "$0" "$1" "$2" "$LEVEL"\n')
    stage.between = [lambda: None]
    script = f"{shlex.quote(f'{tmp_path}/{odd}')} {shlex.quote(odd)}"
    stage.run("scale", "hvd", "3", "--script", script, "--env", f"LEVEL={odd}")
    ((arguments, _),) = stage.kubectl_calls
    command = arguments[arguments.index("--") + 1 :]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout == f"{tmp_path}/{odd}|{odd}|{hosts(3)}|{odd}|"
    assert not (tmp_path / "executed").exists()


def test_before_a_shrink_the_script_gets_the_hosts_that_leave(stage: Stage) -> None:
    horovod(stage, 4)
    stage.between = [lambda: None]
    stage.run("scale", "hvd", "--remove", "worker-1", "--script", "s.sh", "--timeout", "5s")
    ((arguments, _),) = stage.kubectl_calls
    assert arguments[-4:] == ("5", "sh", "s.sh", hosts(1, 3))


def test_workers_that_join_while_the_script_runs_do_not_leave_without_it(stage: Stage) -> None:
    horovod(stage, 5)
    owner = stage.job("hvd-worker")

    def grow() -> None:
        stage.patch("hvd-worker", {"spec": {"parallelism": 7, "completions": 7}})
        for index in (5, 6):
            stage.create(pod(owner, index))

    stage.during_kubectl = [grow]
    stage.run("scale", "hvd", "3", "--script", "s.sh")
    assert [words[-1] for words, _ in stage.kubectl_calls] == [hosts(3, 4), hosts(5, 6)]


def test_a_refusal_after_the_script_has_run_names_its_workers(stage: Stage) -> None:
    horovod(stage, 4)
    raised = {"metadata": {"labels": {contract.MIN: "4"}}}
    stage.during_kubectl = [lambda: stage.patch("hvd-worker", raised)]
    found = stage.run("scale", "hvd", "3", "--script", "s.sh")
    assert found.code == 1
    assert found.err.splitlines()[0] == (
        f"warning: the script has run, and these workers may stay: {hosts(3)}"
    )


def test_an_interrupt_after_the_script_has_run_names_its_workers(stage: Stage) -> None:
    horovod(stage, 4)
    owner = stage.job("hvd-worker")

    def grow() -> None:
        stage.patch("hvd-worker", {"spec": {"parallelism": 5, "completions": 5}})
        stage.create(pod(owner, 4))

    def interrupt() -> None:
        raise KeyboardInterrupt

    stage.during_kubectl = [grow, interrupt]
    found = stage.run("scale", "hvd", "3", "--script", "s.sh")
    assert found.code == 130
    assert f"warning: the script has run, and these workers may stay: {hosts(3)}" in found.err


def test_a_file_that_is_here_is_sent(stage: Stage, tmp_path: Path) -> None:
    horovod(stage, 4)
    (tmp_path / "s.sh").write_text("echo $1\n")
    stage.between = [grown(stage, 5)]
    stage.run("scale", "hvd", "5", "--script", f"@{tmp_path / 's.sh'} --add")
    ((arguments, text),) = stage.kubectl_calls
    assert arguments[-4:] == ("sh", "/dev/stdin", "--add", hosts(4))
    assert text == "echo $1\n"


def test_a_script_that_fails_prevents_a_shrink(stage: Stage) -> None:
    horovod(stage, 4)
    stage.kubectl_code = 7
    found = stage.run("scale", "hvd", "3", "--script", "s.sh")
    assert (found.code, found.out) == (1, "")
    assert found.err == "error: hvd: the script failed in hvd-launcher-0-x0: exit code 7\n"
    assert contract.REPLICAS not in notes(stage, "hvd-worker")


def resized(stage: Stage, seen: list[str]) -> Callable[[], object]:
    """The workers come to their manual size, which is noted."""

    def happen() -> None:
        owner = stage.job("hvd-worker")
        seen.append(notes(stage, "hvd-worker")[contract.REPLICAS])
        before, size = owner["spec"]["parallelism"], int(seen[-1])
        for index in range(before, size):
            stage.create(pod(owner, index))
        for index in range(size, before):
            stage.delete(f"hvd-worker-{index}-x{index}", kind="Pod")
        stage.patch("hvd-worker", {"spec": {"parallelism": size, "completions": size}})

    return happen


FAILING = ("scale", "hvd", "6", "--max", "8", "--script", "s.sh")


def test_a_script_that_fails_takes_a_growth_back(stage: Stage) -> None:
    horovod(stage, 4)
    stage.kubectl_code = 124
    sizes: list[str] = []
    stage.between = [resized(stage, sizes)]
    found = stage.run(*FAILING, "--env", "A=b")
    assert found.code == 4
    assert found.err.endswith("longer than 60 s; reverted to 4, and to automatic scaling\n")
    assert sizes == ["6", "4"], "automatic scaling would keep 6"
    metadata = stage.job("hvd-worker")["metadata"]
    assert contract.REPLICAS not in metadata["annotations"]
    assert metadata["labels"][contract.MAX] == "12"


def test_a_script_that_fails_restores_the_manual_size(stage: Stage) -> None:
    horovod(stage, 4)
    noted(stage, "hvd-worker", replicas="5")()
    stage.kubectl_code = 7
    stage.between = [resized(stage, [])]
    found = stage.run(*FAILING)
    assert (found.code, found.err.split("; ")[1:]) == (4, ["reverted to 5\n"])
    assert notes(stage, "hvd-worker")[contract.REPLICAS] == "5"


def test_a_revert_that_takes_long_is_left_to_the_reconciler(stage: Stage) -> None:
    horovod(stage, 4)
    stage.kubectl_code = 7
    stage.now = [NOW + timedelta(seconds=age) for age in (0, 0, 0, 0, 0, 0, 0, 61)]
    stage.between = [grown(stage, 6)]
    found = stage.run(*FAILING, "-n", "default")
    remedy = "back to automatic scaling: kubectl edl scale hvd -n default --role worker --auto\n"
    assert (found.code, found.err.split("; ")[1:]) == (4, ["set to 4", remedy])
    assert notes(stage, "hvd-worker")[contract.REPLICAS] == "4"


def test_a_script_that_fails_reverts_no_size_of_another_client(stage: Stage) -> None:
    horovod(stage, 4)
    stage.between = [resized(stage, [])]

    def fails(*_: object) -> int:
        noted(stage, "hvd-worker", replicas="9")()
        return 7

    cli = replace(stage.cli(), kubectl=fails)
    assert run(FAILING, cli, {}) == 1
    why = "exit code 7; the scale-up was not reverted: another client has changed its size\n"
    assert cast("io.StringIO", cli.err).getvalue().endswith(why)
    assert notes(stage, "hvd-worker")[contract.REPLICAS] == "9"


def test_a_framework_without_a_launcher_runs_no_scripts(stage: Stage) -> None:
    found = stage.run("scale", "mnist", "3", "--script", "s.sh")
    assert (found.code, stage.kubectl_calls) == (1, [])
    assert "--script runs in a launcher, and tensorflow has none (chief, ps, worker)" in found.err


def test_a_script_without_a_running_launcher_is_refused_before_a_change(stage: Stage) -> None:
    horovod(stage, 4)
    stage.patch("hvd-launcher-0-x0", {"status": {"conditions": []}}, kind="Pod")
    found = stage.run("scale", "hvd", "6", "--script", "s.sh")
    assert found.err == "error: hvd: its launcher does not run: --script has no pod to run in\n"
    assert contract.REPLICAS not in notes(stage, "hvd-worker")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--remove", "worker-1", "--auto"], "--remove sets a manual size and --auto clears it"),
        (
            ["6", "--timeout", "soon"],
            "'soon' is not a duration from 0.001s to 365d: write 60s, ",
        ),
        (
            ["6", "--timeout", "0"],
            "'0' is not a duration from 0.001s to 365d: write 60s, ",
        ),
        (["--auto", "--timeout", "60s"], "add --replicas or --wait, or leave it out."),
        (["--max", "10", "--timeout", "60s"], "add --replicas or --wait, or leave it out."),
        (["3", "--timeout", "60s"], "add --wait, or leave out --timeout"),
        (["--remove", "worker-1", "--timeout", "60s"], "add --replicas or --wait"),
        (["--auto", "--script", "x"], "--script runs when workers are added or removed"),
        (["6", "--env", "A=b"], "--env is for --script."),
        (["6", "--script", "x", "--env", "A"], '--env "A": write NAME=VALUE.'),
        (["6", "--script", "x", "--env", "-i=b"], '--env "-i=b": write NAME=VALUE.'),
        (["6", "--script", "'x"], "is not a command line."),
        (["6", "--script", " "], "is not a command line."),
        (["6", "--script", "@/nowhere"], "No such file or directory"),
    ],
)
def test_contradictory_options_are_a_usage_error(
    stage: Stage, arguments: list[str], words: str
) -> None:
    found = stage.run("scale", "mnist", *arguments)
    assert found.code == 2
    assert words in found.err
    assert contract.REPLICAS not in notes(stage)
