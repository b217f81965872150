import json
from pathlib import Path

import pytest
import yaml

from edl import contract
from edl.model import Code
from edl.writes import Json
from kubectl_edl.output.yaml_writer import dump
from tests.kubectl_edl.cluster_wrappers import fenced, followed, overtaken
from tests.kubectl_edl.stage import Stage, job, mnist, pod, role_manifests

NEXT = "the reconciler will apply it; scale-up waits for free capacity: kubectl edl status mnist\n"


@pytest.fixture
def stage() -> Stage:
    stage = Stage()
    mnist(stage)
    stage.put(job("resnet", framework="none", min="2", max="4"))
    return stage


def held(stage: Stage, name: str = "mnist-worker") -> str | None:
    annotations = stage.job(name)["metadata"]["annotations"]
    value: str | None = annotations.get(contract.REPLICAS)
    return value


def test_a_manual_size_is_an_annotation_on_the_elastic_role(stage: Stage) -> None:
    found = stage.run("scale", "mnist", "6")
    assert found.code == 0
    assert found.out == f"mnist: worker set to 6 (manual; min 1, max 12); {NEXT}"
    assert held(stage) == "6"
    assert held(stage, "mnist-ps") is None


def test_a_raised_minimum_that_requests_no_nodes_waits_for_capacity_alone(stage: Stage) -> None:
    never = {contract.PROVISION: contract.Provision.NEVER.value}
    stage.patch("mnist-worker", {"metadata": {"annotations": never}})
    assert stage.run("scale", "mnist", "--min", "5").out.endswith(NEXT)


def quota(stage: Stage, pods: int, used: int) -> None:
    hard = {"pods": str(pods)}
    status = {"hard": hard, "used": {"pods": str(used)}}
    meta = {"name": "team", "namespace": "default"}
    stage.create(
        {"kind": "ResourceQuota", "metadata": meta, "spec": {"hard": hard}, "status": status}
    )


def without_extras(stage: Stage) -> None:
    """The 4 workers of mnist are its minimum."""
    stage.patch("mnist-worker", {"metadata": {"labels": {contract.MIN: "4"}}})


def test_a_size_beyond_the_quota_names_it(stage: Stage) -> None:
    quota(stage, pods=9, used=7)
    found = stage.run("scale", "mnist", "8")
    assert (found.code, held(stage)) == (0, "8")
    assert found.err == (
        'hint: worker cannot have 8: exceeded ResourceQuota "team" of namespace default, '
        "requested: pods=4, used: pods=7, limited: pods=9; would help: ResourceQuota "
        '"team" of namespace default raised to pods=11\n'
    )
    assert stage.run("scale", "mnist", "6").err == ""
    assert stage.run("scale", "mnist", "3").err == ""


def test_without_a_timeout_a_size_that_no_other_pods_keep_from_the_quota_is_not_waited_for(
    stage: Stage,
) -> None:
    quota(stage, pods=10, used=7)
    found = stage.run("scale", "mnist", "8", "--wait")
    assert (found.code, held(stage)) == (1, "8")
    hint, error = found.err.splitlines()
    assert "requested: pods=4, used: pods=7, limited: pods=10" in hint
    assert error == (
        "error: mnist: not waiting for worker, for which only this makes room: ResourceQuota "
        '"team" of namespace default raised to pods=11; with --timeout the command waits for that'
    )
    assert stage.run("scale", "mnist", "8", "--wait", "--timeout", "5s").code == 5


def test_a_size_is_waited_for_if_other_pods_keep_it_from_the_quota(stage: Stage) -> None:
    quota(stage, pods=11, used=8)
    found = stage.run("scale", "mnist", "8", "--wait")
    assert "requested: pods=4, used: pods=8, limited: pods=11" in found.err
    assert "not waiting" not in found.err


def test_a_manual_size_with_which_a_queued_job_never_starts_names_the_quota(stage: Stage) -> None:
    without_extras(stage)
    quota(stage, pods=9, used=7)
    found = stage.run("scale", "resnet", "3")
    assert found.err.startswith("hint: worker cannot have 3: exceeded ResourceQuota")
    assert "requested: pods=3, used: pods=7, limited: pods=9" in found.err
    assert stage.run("scale", "resnet", "2").err == ""


@pytest.mark.parametrize("kind", ["Pod", "LimitRange"])
def test_no_limit_is_named_to_a_user_who_may_not_read_what_counts_in_it(
    stage: Stage, kind: str
) -> None:
    quota(stage, pods=9, used=7)
    stage.wrapped = fenced(kind)
    found = stage.run("scale", "mnist", "8")
    assert (found.code, found.err) == (0, "")


@pytest.mark.parametrize("wish", [["--auto"], ["--max", "6"]])
def test_without_a_size_the_minimum_of_a_queued_job_is_compared(
    stage: Stage, wish: list[str]
) -> None:
    without_extras(stage)
    stage.put(job("vit", framework="none", min="2", max="6"))
    quota(stage, pods=8, used=7)
    found = stage.run("scale", "vit", *wish)
    assert found.err.startswith("hint: worker cannot have 2: exceeded ResourceQuota")
    assert "requested: pods=2, used: pods=7, limited: pods=8" in found.err


@pytest.mark.parametrize(
    ("patch", "lacks"),
    [
        ({}, 0),
        ({"labels": {contract.MIN: "4"}}, 3),
        ({"annotations": {contract.REPLICAS: "4"}}, 3),
    ],
    ids=["extras", "minimum", "manual"],
)
def test_a_minimum_takes_what_extras_of_other_jobs_use_of_a_quota(
    stage: Stage, patch: Json, lacks: int
) -> None:
    """3 of the 4 workers that run are extras."""
    stage.put(job("vit", framework="none", min="6", max="8"))
    stage.patch("mnist-worker", {"metadata": patch})
    quota(stage, pods=7, used=7)
    for size in (3, 4):
        more = size - 3 + lacks
        found = stage.run("scale", "vit", "--min", str(size)).err
        assert found.endswith(f"of namespace default raised to pods={7 + more}\n" if more else "")
        assert bool(found) == bool(more)


def test_pods_that_start_while_the_command_runs_do_not_keep_their_job_from_its_size(
    stage: Stage,
) -> None:
    without_extras(stage)
    stage.put(job("vit", framework="none", min="3", max="6"))
    quota(stage, pods=9, used=7)
    counts = {"status": {"used": {"pods": "9"}}}
    stage.wrapped = followed(lambda: stage.patch("team", counts, "ResourceQuota"))
    assert stage.run("scale", "vit", "--min", "2").err == ""


def test_completed_work_items_need_no_pods(stage: Stage) -> None:
    sweep = job("sweep", framework="none", min="1", max="8")
    stage.put(sweep, suspend=False, parallelism=2, completions=9, completionMode="NonIndexed")
    stage.patch("sweep", {"status": {"succeeded": 7, "active": 2}})
    for index in range(2):
        stage.create(pod(stage.job("sweep"), index))
    quota(stage, pods=10, used=9)
    assert stage.run("scale", "sweep", "8").err == ""
    stage.patch("sweep", {"status": {"succeeded": 5}})
    assert (
        "requested: pods=2, used: pods=9, limited: pods=10" in stage.run("scale", "sweep", "8").err
    )


def test_a_work_queue_of_one_size_gets_another_max(stage: Stage) -> None:
    owner = stage.put(job("trials", framework="none", max="2"), suspend=False, parallelism=2)
    assert owner["metadata"]["annotations"][contract.INJECTED_MAX] == "2"
    found = stage.run("scale", "trials", "4", "--max", "8")
    assert (found.code, held(stage, "trials")) == (0, "4")
    assert stage.job("trials")["metadata"]["labels"][contract.MAX] == "8"


def ending_queue(stage: Stage) -> None:
    """A work queue of which one pod has succeeded, and three run."""
    owner = stage.put(job("trials", framework="none", max="8"), suspend=False, parallelism=4)
    for index in range(3):
        stage.create(pod(owner, index))
    stage.patch("trials", {"status": {"succeeded": 1, "active": 3}})


@pytest.mark.parametrize("more", [[], ["--wait"], ["--wait", "--timeout", "5s"]])
@pytest.mark.parametrize("size", [2, 4, 6])
def test_a_work_queue_that_ends_gets_no_other_size(
    stage: Stage, size: int, more: list[str]
) -> None:
    ending_queue(stage)
    found = stage.run("scale", "trials", str(size), *more)
    assert (found.code, found.out, held(stage, "trials")) == (1, "", None)
    assert found.err == (
        "error: trials: worker keeps the pods that run, until they end: a pod of this work queue "
        "has succeeded: Kubernetes adds none, and removes none\n"
    )
    keeps = "; it keeps the pods that run, until they end: a pod of this work queue has succeeded: "
    assert keeps in stage.run("scale", "trials", "--auto").out


def test_pods_of_a_work_queue_that_ends_are_removed_by_name_but_not_all(stage: Stage) -> None:
    ending_queue(stage)
    names = [f"trials-{index}-x{index}" for index in range(3)]
    found = stage.run("scale", "trials", "--remove", ",".join(names))
    assert (found.code, found.out) == (1, "")
    assert found.err == (
        "error: trials: worker keeps at least one of its pods: a pod of this work queue has "
        "succeeded: Kubernetes takes the job as complete once no pod runs\n"
    )
    found = stage.run("scale", "trials", "--remove", ",".join(names[:2]))
    assert (found.code, held(stage, "trials")) == (0, "1")


def test_completed_indexes_need_no_pods(stage: Stage) -> None:
    stage.delete("mnist-worker-0-x0", "Pod")
    stage.patch("mnist-worker", {"status": {"completedIndexes": "0"}})
    quota(stage, pods=7, used=6)
    assert stage.run("scale", "mnist", "5").err == ""
    assert (
        "requested: pods=2, used: pods=6, limited: pods=7" in stage.run("scale", "mnist", "6").err
    )


def test_a_job_starts_with_a_minimum_of_indexes_that_have_not_ended(stage: Stage) -> None:
    """The size of its start is 3: indexes 1 and 2 get pods."""
    stage.put(job("ring", framework="pytorch", min="2", max="6"), parallelism=4, completions=4)
    stage.patch("ring", {"status": {"completedIndexes": "0"}})
    without_extras(stage)
    quota(stage, pods=8, used=7)
    found = stage.run("scale", "ring", "--max", "5")
    assert "requested: pods=2, used: pods=7, limited: pods=8" in found.err


@pytest.mark.parametrize("ended", ["", "0"])
def test_a_job_that_cannot_restart_without_a_rank_has_no_extras_for_a_minimum(
    stage: Stage, ended: str
) -> None:
    without_extras(stage)
    owner = stage.put(
        job("ring", framework="tensorflow", max="4"), suspend=False, parallelism=4, completions=4
    )
    for index in range(1, 4):
        stage.create(pod(owner, index))
    stage.patch("ring", {"status": {"completedIndexes": ended}})
    stage.put(job("vit", framework="none", min="6", max="8"))
    quota(stage, pods=10, used=10)
    assert bool(stage.run("scale", "vit", "--min", "2").err) == bool(ended)


def test_a_terminating_pod_leaves_its_room_to_its_replacement(stage: Stage) -> None:
    leaving = {"metadata": {"deletionTimestamp": "2026-11-21T11:59:00Z"}}
    stage.patch("mnist-worker-1-x1", leaving, "Pod")
    quota(stage, pods=8, used=7)
    assert stage.run("scale", "mnist", "5").err == ""
    assert (
        "requested: pods=2, used: pods=7, limited: pods=8" in stage.run("scale", "mnist", "6").err
    )


def provisional_pod(stage: Stage, name: str) -> None:
    placeholder = pod(stage.job("resnet"), 0)
    metadata, spec = placeholder["metadata"], placeholder["spec"]
    metadata["labels"] = {
        contract.PROVISIONAL: "resnet",
        contract.PROVISIONAL_ROLE: "worker",
        "app.kubernetes.io/managed-by": contract.MANAGED_BY,
    }
    metadata |= {"name": name, "uid": name}
    metadata["ownerReferences"][0]["controller"] = False
    spec["priorityClassName"] = contract.PROVISIONAL_PRIORITY
    stage.create(placeholder)


def test_pods_of_a_job_take_over_what_its_provisional_pods_use(stage: Stage) -> None:
    without_extras(stage)
    provisional_pod(stage, "resnet-a")
    provisional_pod(stage, "resnet-b")
    quota(stage, pods=10, used=9)
    assert stage.run("scale", "resnet", "3").err == ""
    assert (
        "requested: pods=4, used: pods=7, limited: pods=10" in stage.run("scale", "resnet", "4").err
    )
    assert (
        "requested: pods=2, used: pods=9, limited: pods=10" in stage.run("scale", "mnist", "6").err
    )


def test_pods_that_a_limit_range_refuses_are_named(stage: Stage) -> None:
    limits = {"limits": [{"type": "Pod", "max": {"cpu": "1m"}}]}
    meta = {"name": "small", "namespace": "default"}
    stage.create({"kind": "LimitRange", "metadata": meta, "spec": limits})
    found = stage.run("scale", "resnet", "3")
    assert found.code == 0
    assert found.err.startswith("hint: nothing is resized before its problem is fixed: ")
    assert 'LimitRange "small"' in found.err


def test_the_job_of_a_role_means_that_role_and_no_other(stage: Stage) -> None:
    found = stage.run("scale", "mnist-ps", "3")
    assert (found.code, found.out) == (1, "")
    assert found.err == "error: mnist: ps is never resized; --role is one of worker\n"
    assert held(stage) is None
    assert stage.run("scale", "job.batch/mnist-worker", "5").code == 0
    assert held(stage) == "5"
    assert stage.run("scale", "mnist-ps", "6", "--role", "worker").code == 0
    assert held(stage) == "6"


@pytest.mark.parametrize(
    ("wish", "then"),
    [
        (["3"], "the reconciler will apply it: kubectl edl status mnist\n"),
        (["--max", "2"], "the reconciler will apply it: kubectl edl status mnist\n"),
        (["4"], "it has that size now: kubectl edl status mnist\n"),
        (["4", "--remove", "worker-1"], NEXT),
        (["--max", "5"], "it keeps its size, 4: kubectl edl status mnist\n"),
        (["--min", "4"], "it keeps its size, 4: kubectl edl status mnist\n"),
        (["--min", "5"], NEXT.replace("capacity:", "capacity, or for nodes of an autoscaler:")),
    ],
)
def test_only_growth_waits_for_capacity(stage: Stage, wish: list[str], then: str) -> None:
    found = stage.run("scale", "mnist", *wish)
    assert found.code == 0
    assert found.out.endswith(f"; {then}")


def test_a_restarting_framework_restarts_at_once_to_scale_down(stage: Stage) -> None:
    ernie = job("ernie", framework="paddle", min="1", max="8")
    ernie["metadata"]["annotations"] = {contract.MODE: "collective"}
    stage.put(ernie, suspend=False, parallelism=4, completions=4)
    restart = "; the whole job restarts from its checkpoint"
    assert f"{restart}: kubectl" in stage.run("scale", "ernie", "2").out
    assert f"{restart} when capacity is free: kubectl" in stage.run("scale", "ernie", "6").out
    raised = f"{restart} when capacity is free, or an autoscaler has added nodes: kubectl"
    assert raised in stage.run("scale", "ernie", "--min", "6").out


def test_bounds_around_the_current_size_restart_nothing(stage: Stage) -> None:
    ernie = job("ernie", framework="paddle", min="1", max="8")
    ernie["metadata"]["annotations"] = {contract.MODE: "collective"}
    stage.put(ernie, suspend=False, parallelism=4, completions=4)
    for bounds, said in (
        (["--min", "4"], "may be 4..8 (was 1..8); it keeps its size, 4"),
        (["--max", "8"], "may be 4..8 (as before); it keeps its size, 4"),
        (["--max", "4"], "may be 4..4 (was 4..8); it keeps its size, 4"),
    ):
        assert f"{said}: kubectl edl status ernie\n" in stage.run("scale", "ernie", *bounds).out


def test_a_size_that_is_reached_has_met_its_timeout(stage: Stage) -> None:
    found = stage.run("scale", "mnist", "4", "--timeout", "60s")
    assert found.code == 0
    assert "; it has that size now: kubectl" in found.out


def test_a_problem_that_stops_all_sizing_is_said(stage: Stage) -> None:
    stage.patch("mnist-ps", {"metadata": {"annotations": {contract.ROLES: "chief=1,ps=2"}}})
    found = stage.run("scale", "mnist", "6")
    assert (
        "; nothing is resized before its problem is fixed: its Jobs disagree on edl.dev/roles: "
    ) in found.out


def test_two_jobs_of_one_role_are_not_resized(stage: Stage) -> None:
    copy = job("copy", framework="none", min="1", max="9")
    copy["metadata"]["labels"][contract.JOB] = "resnet"
    stage.put(copy)
    found = stage.run("scale", "resnet", "3")
    assert (found.code, found.out) == (1, "")
    assert found.err == (
        "error: resnet is not resized: several Jobs are its worker: copy, resnet; delete all but "
        "one\n"
    )


def test_auto_gives_the_size_back(stage: Stage) -> None:
    stage.run("scale", "mnist", "6")
    found = stage.run("scale", "mnist", "--auto")
    assert found.out == (f"mnist: worker returned to automatic scaling (min 1, max 12); {NEXT}")
    assert held(stage) is None


@pytest.mark.parametrize("wish", [["--auto"], ["4"], ["6"]])
def test_a_new_size_removes_the_message_of_a_reverted_scale_up(
    stage: Stage, wish: list[str]
) -> None:
    reverted = {contract.REASON: Code.SCALE_FAILED, contract.MESSAGE: "reverted to 4: 8 not ready"}
    stage.patch("mnist-worker", {"metadata": {"annotations": reverted}})
    stage.run("scale", "mnist", *wish)
    assert not reverted.keys() & stage.job("mnist-worker")["metadata"]["annotations"].keys()


def test_new_bounds_keep_the_message_of_a_reverted_scale_up(stage: Stage) -> None:
    reverted = {contract.REASON: Code.SCALE_FAILED}
    stage.patch("mnist-worker", {"metadata": {"annotations": reverted}})
    stage.run("scale", "mnist", "--max", "8")
    assert contract.REASON in stage.job("mnist-worker")["metadata"]["annotations"]


def test_new_bounds_are_labels_and_keep_a_manual_size(stage: Stage) -> None:
    stage.run("scale", "mnist", "6")
    found = stage.run("scale", "mnist", "--min", "2", "--max", "8")
    assert found.out == f"mnist: worker may be 2..8 (was 1..12); {NEXT}"
    labels = stage.job("mnist-worker")["metadata"]["labels"]
    assert (labels[contract.MIN], labels[contract.MAX]) == ("2", "8")
    assert held(stage) == "6"


def test_size_and_bounds_change_in_one_patch(stage: Stage) -> None:
    stage.run("scale", "mnist", "--max", "4")
    before = int(stage.job("mnist-worker")["metadata"]["resourceVersion"])
    found = stage.run("scale", "mnist", "8", "--max", "8")
    assert found.out.startswith(
        "mnist: worker may be 1..8 (was 1..4), set to 8 (manual; min 1, max 8);"
    )
    assert int(stage.job("mnist-worker")["metadata"]["resourceVersion"]) == before + 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["resnet", "1"],
            (
                "resnet: worker takes 2..4, not 1; change the bound: "
                "kubectl edl scale resnet 1 --min 1"
            ),
        ),
        (
            ["resnet", "0"],
            "resnet: worker takes 2..4, not 0; to stop it: kubectl edl pause resnet",
        ),
        (
            ["resnet", "9"],
            (
                "resnet: worker takes 2..4, not 9; change the bound: "
                "kubectl edl scale resnet 9 --max 9"
            ),
        ),
        (
            ["pt", "9"],
            (
                "pt: worker takes 4 at most, its pods were made for that many "
                "(edl.dev/injected-max); more takes a new Job, which ends this one, from its file: "
                "kubectl edl adopt -f FILE --max 9 | kubectl replace --force -f -"
            ),
        ),
        (
            ["pt", "--max", "9", "-n", "default"],
            (
                "pt: worker takes 4 at most, its pods were made for that many "
                "(edl.dev/injected-max); more takes a new Job, which ends this one, from its file: "
                "kubectl edl adopt -f FILE --max 9 | kubectl replace --force -f - -n default"
            ),
        ),
        (
            ["mnist", "13"],
            (
                "mnist: worker takes 12 at most, its pods were made for that many "
                "(edl.dev/injected-max); more takes a new training job: kubectl edl delete mnist, "
                "and create it again with more; or, if FILE has all of its Jobs, with more in "
                "edl.dev/roles: kubectl edl adopt -f FILE --roles … | kubectl replace --force -f -"
            ),
        ),
        (["resnet", "--min", "5"], "resnet: worker cannot have min 5 above max 4"),
        (["mnist", "3", "--role", "ps"], "mnist: ps is never resized; --role is one of worker"),
        (
            ["mnist", "3", "--role", "captain"],
            "mnist: captain is not one of its roles; --role is one of worker",
        ),
    ],
)
def test_a_size_that_cannot_be_is_refused_with_the_way_out(
    stage: Stage, arguments: list[str], words: str
) -> None:
    stage.put(job("pt", framework="pytorch", min="2", max="4"))
    found = stage.run("scale", *arguments)
    assert found.code == 1
    assert found.out == ""
    assert found.err == f"error: {words}\n"
    assert held(stage) is None


def test_the_way_to_a_larger_max_works_for_a_job_that_was_not_made_by_apply(
    stage: Stage, tmp_path: Path
) -> None:
    pytorch = job("pt", framework="pytorch", min="2", max="4")
    stage.put(pytorch)
    assert stage.run("adopt", "pt", "--max", "9", "--recreate", "-y").code == 1
    command = stage.run("scale", "pt", "9").err.split("kubectl edl ")[1].split(" |")[0]
    file = tmp_path / "FILE"
    file.write_text(dump(pytorch))
    found = stage.run(*command.replace("FILE", str(file)).split())
    assert (found.code, found.err) == (0, "")
    assert yaml.safe_load(found.out)["metadata"]["labels"]["edl.dev/max"] == "9"


def test_fewer_than_the_pods_wait_for_take_a_new_job(stage: Stage) -> None:
    stage.put(job("pt", framework="pytorch", min="2", max="4"))
    stage.run("scale", "pt", "--min", "3")
    found = stage.run("scale", "pt", "1")
    assert found.err == (
        "error: pt: worker takes 2 at least, its pods wait for that many; "
        "fewer takes a new Job, which ends this one, from its file: "
        "kubectl edl adopt -f FILE --min 1 | kubectl replace --force -f -\n"
    )
    found = stage.run("scale", "pt", "2")
    assert found.err.endswith("change the bound: kubectl edl scale pt 2 --min 2\n")
    assert stage.run("scale", "pt", "2", "--min", "2").code == 0


def test_a_lowered_max_that_is_raised_again_needs_no_new_job(stage: Stage) -> None:
    stage.run("scale", "resnet", "--max", "3")
    found = stage.run("scale", "resnet", "4")
    assert found.err.endswith("change the bound: kubectl edl scale resnet 4 --max 4\n")
    assert stage.run("scale", "resnet", "4", "--max", "4").code == 0


def test_a_size_above_the_work_items_names_their_number(stage: Stage) -> None:
    stage.put(job("items", framework="none", min="1", max="4"), completions=10)
    found = stage.run("scale", "items", "12")
    assert found.err.endswith(
        "worker takes 1..4, not 12; it has 10 work items (spec.completions), which never change: "
        "kubectl edl scale items 10 --max 10\n"
    )
    assert stage.run("scale", "items", "10", "--max", "10").code == 0
    found = stage.run("scale", "items", "12")
    assert found.err.endswith("it has 10 work items (spec.completions), which never change\n")


def test_bounds_that_exclude_the_manual_size_are_refused(stage: Stage) -> None:
    stage.run("scale", "mnist", "6")
    found = stage.run("scale", "mnist", "--max", "4")
    assert found.err == (
        "error: mnist: worker has the manual size 6, outside 1..4; set another size with the "
        "new bounds, or clear it: kubectl edl scale mnist --auto\n"
    )
    assert stage.run("scale", "mnist", "--auto", "--max", "4").code == 0


def test_an_ended_job_is_not_resized(stage: Stage) -> None:
    complete = {"status": {"conditions": [{"type": "Complete", "status": "True"}]}}
    stage.patch("resnet", complete)
    found = stage.run("scale", "resnet", "3")
    assert found.err == "error: resnet: worker has ended (Complete): nothing is left to resize\n"


def test_a_fixed_job_can_get_bounds_below_its_injected_max(stage: Stage) -> None:
    stage.put(job("gang", framework="none", min="4", max="4"))
    assert stage.run("scale", "gang", "--min", "1").code == 0
    assert stage.job("gang")["metadata"]["labels"][contract.MIN] == "1"


def test_a_job_without_an_elastic_role_is_refused_with_the_reason(stage: Stage) -> None:
    bad = job("broken", framework="none", min="9", max="2")
    stage.create(bad)
    found = stage.run("scale", "broken", "3")
    assert found.code == 1
    assert "it has no role that can be resized" in found.err
    assert "min 9 is above max 2" in found.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["mnist"], "Specify --replicas=N, --remove, --auto, --min or --max."),
        (["mnist", "6", "--auto"], "6 sets a manual size and --auto clears it: choose one."),
        (
            ["mnist", "six"],
            (
                "Invalid value for '[N|ROLE=N]': \"six\": write replicas as 6, "
                "or worker=6 for one role"
            ),
        ),
        (
            ["mnist", "-1"],
            '"-1": replicas cannot be negative; write replicas as 6, or worker=6 for one role',
        ),
        (
            ["mnist", "--replicas=worker=-12"],
            (
                "Invalid value for '--replicas': \"worker=-12\": replicas cannot be negative; "
                "write replicas as 6, or worker=6 for one role"
            ),
        ),
        (["mnist", "-z"], "No such option '-z'."),
        (["mnist", "--min", "0"], "Invalid value for '--min': 0 is not in the range x>=1."),
    ],
)
def test_a_command_line_that_makes_no_sense_is_wrong_usage(
    stage: Stage, arguments: list[str], words: str
) -> None:
    found = stage.run("scale", *arguments)
    assert found.code == 2
    assert found.err == f"error: {words}\nSee 'kubectl edl scale --help' for usage.\n"


@pytest.mark.parametrize(("how", "remark"), [("client", "dry run"), ("server", "server dry run")])
def test_a_dry_run_prints_the_same_and_changes_nothing(stage: Stage, how: str, remark: str) -> None:
    before = stage.job("mnist-worker")
    found = stage.run("scale", "mnist", "6", "--dry-run", how)
    assert (
        found.out == f"mnist: worker set to 6 (manual; min 1, max 12); {NEXT.strip()} ({remark})\n"
    )
    shown = json.loads(stage.run("scale", "mnist", "6", "--dry-run", how, "-o", "json").out)
    assert shown["metadata"]["annotations"][contract.REPLICAS] == "6"
    assert stage.job("mnist-worker") == before


def test_name_is_for_other_commands(stage: Stage) -> None:
    assert stage.run("scale", "mnist", "6", "-o", "name").out == "job.batch/mnist-worker\n"


def test_a_change_that_was_overtaken_is_made_on_fresh_state(stage: Stage) -> None:
    stage.wrapped = overtaken(3)
    assert stage.run("scale", "mnist", "6").code == 0
    assert held(stage) == "6"


def test_repeated_write_conflicts_are_refused(stage: Stage) -> None:
    stage.wrapped = overtaken(100)
    found = stage.run("scale", "mnist", "6")
    assert found.code == 1
    assert found.err == (
        "error: the object changed 6 times while it was being written; try again\n"
    )


@pytest.mark.parametrize(
    "spelled", [["6"], ["--replicas=6"], ["--replicas", "worker=6"], ["worker=6"]]
)
def test_replicas_are_a_number_or_a_number_by_role(stage: Stage, spelled: list[str]) -> None:
    assert stage.run("scale", "mnist", *spelled).code == 0
    assert stage.job("mnist-worker")["metadata"]["annotations"][contract.REPLICAS] == "6"


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (["6", "--replicas=6"], "Replicas are given twice: leave out --replicas or the argument."),
        (["worker=6", "--role", "ps"], "--role ps and worker=… name two roles: drop one."),
        (["six"], '"six": write replicas as 6, or worker=6 for one role'),
        (["9" * 5000], '9": write replicas as 6, or worker=6 for one role'),
        (["=6"], '"=6": write replicas as 6, or worker=6 for one role'),
        (["--replicas=worker"], '"worker": write replicas as 6, or worker=6 for one role'),
    ],
)
def test_replicas_that_are_none_are_wrong_usage(
    stage: Stage, args: list[str], problem: str
) -> None:
    found = stage.run("scale", "mnist", *args)
    assert found.code == 2
    assert problem in found.err


@pytest.mark.parametrize("change", [["6"], ["--auto"], ["--max", "8"]])
def test_a_change_of_a_paused_job_applies_once_it_is_resumed(
    stage: Stage, change: list[str]
) -> None:
    stage.run("pause", "mnist")
    assert stage.run("scale", "mnist", *change).out.endswith(
        "; it is paused, and this applies once it is resumed: kubectl edl resume mnist\n"
    )


@pytest.mark.parametrize(
    ("change", "then"),
    [
        (["3"], "starts with 3 when capacity is free"),
        (["--auto"], "this applies when it starts"),
        (["--max", "3"], "this applies when it starts"),
    ],
)
def test_a_change_of_a_queued_job_applies_when_it_starts(
    stage: Stage, change: list[str], then: str
) -> None:
    found = stage.run("scale", "resnet", *change)
    assert found.code == 0
    assert found.out.endswith(f"; it is queued, and {then}: kubectl edl status resnet\n")


@pytest.mark.parametrize("wait", [[], ["--wait"]])
@pytest.mark.parametrize(
    ("name", "state", "remedy"),
    [
        ("resnet", "queued", "and wait with kubectl edl status resnet --for Running"),
        ("mnist", "paused", "or kubectl edl resume mnist"),
    ],
)
def test_a_timeout_is_refused_for_a_job_that_does_not_run(
    stage: Stage, name: str, state: str, remedy: str, wait: list[str]
) -> None:
    stage.run("pause", "mnist")
    found = stage.run("scale", name, "3", "--timeout", "8s", *wait)
    limits = "--timeout limits the scale-up of a running job: leave it out"
    assert found.err == f"error: {name}: it is {state}, and {limits}, {remedy}\n"
    assert (found.code, found.out) == (1, "")
    assert held(stage, "mnist-worker" if name == "mnist" else name) is None


@pytest.mark.parametrize(("name", "role_job"), [("mnist", "mnist-worker"), ("resnet", "resnet")])
def test_a_timeout_is_refused_for_a_job_that_is_not_resized(
    stage: Stage, name: str, role_job: str
) -> None:
    if name == "mnist":
        stage.patch("mnist-ps", {"metadata": {"annotations": {contract.ROLES: "chief=1,ps=2"}}})
    else:
        limits = {"limits": [{"type": "Pod", "max": {"cpu": "1m"}}]}
        meta = {"name": "small", "namespace": "default"}
        stage.create({"kind": "LimitRange", "metadata": meta, "spec": limits})
    found = stage.run("scale", name, "3", "--timeout", "8s", "--wait")
    assert (found.code, found.out, held(stage, role_job)) == (1, "", None)
    what = f"error: {name}: --timeout has no effect before its problem is fixed: "
    assert found.err.startswith(what)


def test_a_paused_job_is_not_waited_for(stage: Stage) -> None:
    stage.run("pause", "mnist")
    stage.between = [lambda: pytest.fail("it waits")]
    found = stage.run("scale", "mnist", "6", "--wait")
    assert (found.code, held(stage)) == (1, "6")
    assert found.err == "error: mnist: not waiting for worker: it is paused\n"


def test_a_job_with_a_problem_is_not_waited_for(stage: Stage) -> None:
    stage.patch("mnist-ps", {"metadata": {"annotations": {contract.ROLES: "chief=1,ps=2"}}})
    stage.between = [lambda: pytest.fail("it waits")]
    found = stage.run("scale", "mnist", "6", "--wait")
    assert (found.code, held(stage)) == (1, "6")
    assert "error: mnist: not waiting for worker: its Jobs disagree on " in found.err


def test_a_role_whose_training_job_has_one_job_takes_a_new_one_from_its_file(stage: Stage) -> None:
    (manifest,) = role_manifests("alone", "worker=1..4")
    stage.put(manifest)
    found = stage.run("scale", "alone", "--max", "9")
    assert found.err == (
        "error: alone: worker takes 4 at most, its pods were made for that many "
        "(edl.dev/injected-max); more takes a new Job, which ends this one, from its file: "
        "kubectl edl adopt -f FILE --roles … | kubectl replace --force -f -\n"
    )
