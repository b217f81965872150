"""Jobs queue, start as gangs, grow, shrink for others and finish: on a real control plane.

The cluster has 4 nodes of 8 CPU; the load ceiling leaves 31 of 32 CPU for growth.
"""

import json
import time
from typing import TYPE_CHECKING

import pytest

from edl import contract, reasons
from edl.annotations.job_history import Operation, entries
from edl.messages import message
from tests.integration.conftest import PENDING_LIMIT
from tests.integration.support.stage import Stage, elastic, horovod, role_jobs, tensorflow, web

if TYPE_CHECKING:
    from edl.writes import Json

pytestmark = pytest.mark.integration


def test_two_labels_make_a_job_grow_to_its_max(installed: Stage) -> None:
    installed.apply(elastic("sweep", labels={"max": "6"}, completions=40, parallelism=2))
    installed.until_runs("sweep", 6)
    assert installed.job("sweep")["spec"]["completions"] == 40, "work items never change"
    assert installed.message("sweep").endswith(message(reasons.grown(6, 6))), (
        "it says what it grew into"
    )


def test_a_work_queue_is_neither_suspended_nor_resized_after_its_first_success(
    installed: Stage,
) -> None:
    """Suspended, it would be complete; for a smaller size Kubernetes would remove no pod."""
    installed.apply(elastic("trials", labels={"min": "2", "max": "3"}, parallelism=2))
    installed.until_runs("trials", 3)
    first, *others = [pod["metadata"]["name"] for pod in installed.pods("trials")]
    installed.kubectl("annotate", "pod", first, "sandbox.edl.dev/complete-after=1ms")
    installed.until(lambda: installed.job("trials")["status"].get("succeeded"), "one is counted")
    installed.annotate("trials", paused="true", replicas="2")
    installed.apply(elastic("next", parallelism=2))
    installed.until_runs("next", 2)
    assert (installed.size("trials"), installed.is_complete("trials")) == (3, False)
    left = [pod for pod in installed.pods("trials") if pod["status"]["phase"] == "Running"]
    assert [pod["metadata"]["name"] for pod in left] == others


def test_nothing_starts_before_the_listed_roles_is_complete(installed: Stage) -> None:
    chief, ps, worker = tensorflow("mnist", "2..4")
    installed.apply(chief, worker)
    installed.until(lambda: "ps" in installed.message("mnist-chief"), "it says who is missing")
    assert installed.all("Pod") == []
    installed.apply(ps)
    installed.until_runs("mnist-worker", 4)
    assert installed.running("mnist-chief") == installed.running("mnist-ps") == 1


def test_a_gang_that_does_not_fit_waits_as_a_whole_and_starts_as_a_whole(installed: Stage) -> None:
    installed.apply(web(13, cpu="2"))
    installed.until(lambda: installed.web_running() == 13, "others fill the cluster")
    installed.apply(*tensorflow("mnist", "6..8"))
    installed.until(lambda: "needs" in installed.message("mnist-chief"), "it says why it waits")
    roles = ["mnist-chief", "mnist-ps", "mnist-worker"]
    assert all(installed.job(role)["spec"]["suspend"] for role in roles), "no half gang"
    assert [pod for role in roles for pod in installed.pods(role)] == []
    installed.apply(web(10, cpu="2"))
    installed.until(lambda: installed.running("mnist-worker") >= 6, "the gang runs")
    assert installed.running("mnist-chief") == installed.running("mnist-ps") == 1
    notes = [installed.job(role)["metadata"]["annotations"] for role in roles]
    assert len({one[contract.STARTED_AT] for one in notes}) == 1, "all of them by one decision"
    begun = [entries(one[contract.HISTORY])[0] for one in notes]
    assert [one.operation for one in begun] == [Operation.STARTED] * 3, "and none a second time"
    assert [one.after >= least for one, least in zip(begun, (1, 1, 6), strict=True)] == [True] * 3


def test_a_gang_gets_the_nodes_cleared_for_it_before_a_small_job_beside_it(
    installed: Stage,
) -> None:
    """kube-scheduler would spread the small pods over the 2 CPUs that are idle on each node."""
    installed.apply(elastic("sweep", cpu="3", labels={"max": "8"}, completions=40, parallelism=1))
    installed.until_runs("sweep", 8)
    fixed = {"framework": "pytorch", "min": "3", "max": "3"}
    gang = elastic("gang", cpu="8", labels=fixed, parallelism=3)
    installed.apply(gang, elastic("small", labels={"max": "3"}, completions=40, parallelism=2))
    installed.until_runs("gang", 3)
    installed.until(lambda: installed.running("small") >= 2, "the small job starts after it")
    history = entries(installed.job("sweep")["metadata"]["annotations"][contract.HISTORY])
    yielded = [(one.before, one.after) for one in history if one.after < one.before]
    assert yielded == [(8, 2)], "it yields once"


def test_it_shrinks_for_pending_pods_of_others_and_grows_back(installed: Stage) -> None:
    installed.apply(*tensorflow("mnist", "1..13", cpu="2"))
    installed.until_runs("mnist-worker", 13)
    untouched = installed.uids("mnist-chief") | installed.uids("mnist-ps")
    installed.apply(web(5, cpu="2"))
    installed.until(lambda: installed.web_running() == 5, "others get their room")
    assert installed.size("mnist-worker") >= 1
    assert "web" in installed.message("mnist-worker"), "it says for whom it shrank"
    installed.apply(web(0, cpu="2"))
    installed.until_runs("mnist-worker", 13)
    assert installed.uids("mnist-chief") | installed.uids("mnist-ps") == untouched


def test_a_pod_of_one_node_ends_few_replicas_and_leaves_all_others_alone(installed: Stage) -> None:
    """Of 31 it needs the room of three; as many more move to where the highest indexes ran."""
    words = {"framework": "pytorch", "min": "1", "max": "40"}
    installed.apply(elastic("fill", labels=words, parallelism=1))
    installed.until_runs("fill", 31)
    before = set(installed.uids("fill").values())
    node = installed.pod("fill", 0)["spec"]["nodeName"]
    (pod,) = [web(1, cpu="3")["spec"]["template"]]
    pod["spec"]["nodeSelector"] = {"kubernetes.io/hostname": node}
    pod["metadata"]["name"] = "pinned"
    installed.apply({"apiVersion": "v1", "kind": "Pod"} | pod)
    installed.until(lambda: installed.web_running() == 1, "it gets its room")
    installed.until(lambda: installed.running("fill") == installed.size("fill"), "it is whole")
    assert installed.size("fill") >= 28
    assert len(before & set(installed.uids("fill").values())) >= 24


def test_work_items_leave_the_nodes_that_larger_pods_then_use(installed: Stage) -> None:
    """Two pods of 3 CPU need the room of six work items, and no more leave."""
    installed.apply(elastic("fill", labels={"max": "40"}, completions=400, parallelism=1))
    installed.until_runs("fill", 31)
    installed.until(lambda: installed.job("fill")["status"].get("ready") == 31, "all are counted")
    before = {pod["metadata"]["uid"] for pod in installed.pods("fill")}
    installed.apply(web(2, cpu="3"))
    installed.until(lambda: installed.web_running() == 2, "the larger pods run")
    installed.until(lambda: installed.running("fill") == installed.size("fill"), "it is whole")
    assert installed.size("fill") >= 25
    assert len(before & {pod["metadata"]["uid"] for pod in installed.pods("fill")}) >= 25
    assert "web" in installed.message("fill")


def test_no_replica_yields_to_a_pod_whose_scheduler_does_not_run(installed: Stage) -> None:
    installed.apply(elastic("fill", "2", {"min": "1", "max": "20"}, parallelism=1))
    installed.until_runs("fill", 15)
    pod = web(1, cpu="4")["spec"]["template"]
    pod["spec"]["schedulerName"] = "none-that-runs"
    pod["metadata"]["name"] = "unseen"
    installed.apply({"apiVersion": "v1", "kind": "Pod"} | pod)
    installed.apply(elastic("after", "2", {"min": "2", "max": "2"}, parallelism=2))
    installed.until_runs("after", 2)
    assert installed.size("fill") >= 13


def test_no_replica_yields_to_a_pod_whose_claim_does_not_exist(installed: Stage) -> None:
    installed.apply(elastic("fill", "2", {"min": "1", "max": "20"}, parallelism=1))
    installed.until_runs("fill", 15)
    pod = web(1, cpu="4")["spec"]["template"]
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "nope"}}
    pod["spec"]["volumes"] = [volume]
    pod["metadata"]["name"] = "hopeless"
    installed.apply({"apiVersion": "v1", "kind": "Pod"} | pod)
    installed.apply(elastic("after", "2", {"min": "2", "max": "2"}, parallelism=2))
    installed.until_runs("after", 2)
    assert installed.size("fill") >= 13


def test_two_jobs_share_fairly(installed: Stage) -> None:
    items: Json = {"completions": 100, "parallelism": 2}
    installed.apply(elastic("first", "2", {"max": "20"}, **items))
    installed.until(lambda: installed.running("first") > 12, "the first one fills the cluster")
    installed.apply(elastic("second", "2", {"max": "20"}, **items))
    installed.until(
        lambda: (
            abs(installed.running("first") - installed.running("second")) <= 1
            and installed.running("second") > 5
        ),
        "both have the same",
    )


def test_a_shrink_keeps_the_lowest_ranks_and_moves_completions_in_tandem(installed: Stage) -> None:
    installed.apply(*tensorflow("mnist", "1..6"))
    installed.until_runs("mnist-worker", 6)
    before = installed.uids("mnist-worker")
    installed.annotate("mnist-worker", replicas="3")
    installed.until_runs("mnist-worker", 3)
    assert installed.uids("mnist-worker") == {index: before[index] for index in "012"}
    assert installed.job("mnist-worker")["spec"]["completions"] == 3
    installed.annotate("mnist-worker", replicas=None)
    installed.until_runs("mnist-worker", 6)


def test_a_launcher_starts_with_the_list_of_its_ready_workers(installed: Stage) -> None:
    installed.apply(*horovod("ring", "2..4"))
    installed.until_runs("ring-launcher", 1)
    listed = installed.hosts("ring-launcher")
    assert len(listed) >= 2
    assert set(listed) <= {f"ring-worker-{index}" for index in range(4)}
    installed.until(lambda: len(installed.hosts("ring-launcher")) == 4, "all workers are listed")


def test_hosts_leave_the_list_before_they_leave_the_cluster(installed: Stage) -> None:
    installed.apply(*horovod("ring", "2..4"))
    installed.until(lambda: len(installed.hosts("ring-launcher")) == 4, "all workers are listed")
    launcher = installed.uids("ring-launcher")
    installed.annotate("ring-worker", replicas="2")
    installed.until(
        lambda: installed.hosts("ring-launcher") == ["ring-worker-0", "ring-worker-1"],
        "the list without them is published",
    )
    assert installed.size("ring-worker") == 4, "they have time to leave"
    installed.until_runs("ring-worker", 2)
    assert installed.uids("ring-launcher") == launcher


def test_the_deciding_role_ends_the_training_job(installed: Stage) -> None:
    installed.apply(*tensorflow("mnist", "1..3"))
    installed.until_runs("mnist-worker", 3)
    installed.complete("mnist-chief")
    for role in ("chief", "ps", "worker"):
        installed.until(lambda: installed.is_complete(f"mnist-{role}"), f"{role} is complete")  # noqa: B023
    installed.until(lambda: not installed.pods("mnist-ps"), "no pod is left")


def test_worker_0_decides_without_a_chief(installed: Stage) -> None:
    job = elastic("solo", labels={"framework": "tensorflow"}, parallelism=3)
    installed.apply(job)
    installed.until_runs("solo", 3)
    installed.complete("solo", index=0)
    installed.until(lambda: installed.is_complete("solo"), "worker 0 ends it")


def test_deleting_the_jobs_leaves_nothing_owned_behind(installed: Stage) -> None:
    installed.apply(*horovod("ring", "2..4"))
    installed.until_runs("ring-launcher", 1)
    kinds = ("Service", "PodDisruptionBudget", "RoleBinding")
    assert all(installed.all(kind) for kind in kinds)
    assert installed.exists("ServiceAccount", "ring-launcher")
    installed.kubectl("delete", "jobs", "--all")
    for kind in (*kinds, "Pod"):
        installed.until(lambda: not installed.all(kind), f"every {kind} is gone")  # noqa: B023
    installed.until(lambda: not installed.exists("ServiceAccount", "ring-launcher"), "and rights")


def test_a_paused_job_leaves_its_nodes_and_comes_back(installed: Stage) -> None:
    installed.apply(*tensorflow("mnist", "1..3"))
    installed.until_runs("mnist-worker", 3)
    installed.annotate("mnist-worker", paused="true")
    installed.until(lambda: not installed.all("Pod"), "nothing of it runs")
    installed.annotate("mnist-worker", paused=None)
    installed.until_runs("mnist-worker", 3)


def test_a_job_that_completes_while_it_is_suspended_is_finished(installed: Stage) -> None:
    """The Job controller alone would try for ever to write that down (docs/kubernetes.md 23).

    Before 1.36 a suspended Job keeps its start time, and its controller ends it by itself.
    """
    installed.apply(*tensorflow("mnist", "1..3"))
    installed.until_runs("mnist-worker", 3)
    installed.annotate("mnist-chief", paused="true")
    installed.until(lambda: not installed.all("Pod"), "nothing of it runs")
    installed.until(
        lambda: any(
            (one["type"], one["status"]) == ("Suspended", "True")
            for one in installed.job("mnist-chief")["status"]["conditions"]
        ),
        "its controller has seen it",
    )
    met = {"type": "SuccessCriteriaMet", "status": "True", "reason": "CompletionsReached"}
    status = {"conditions": [*installed.job("mnist-chief")["status"]["conditions"], met]}
    text = json.dumps({"status": status | {"succeeded": 1, "completedIndexes": "0"}})
    installed.kubectl(
        "patch", "job", "mnist-chief", "--subresource=status", "--type=merge", "-p", text
    )
    for role in ("chief", "ps", "worker"):
        installed.until(lambda: installed.is_complete(f"mnist-{role}"), f"{role} is complete")  # noqa: B023
    assert installed.pods("mnist-chief") == [], "nobody was started for it"


def test_an_item_of_work_that_is_done_is_followed_by_another(installed: Stage) -> None:
    """Beyond the pending limit nobody is missed before the Job controller has looked."""
    installed.apply(
        elastic(
            "sweep", labels={"max": "4"}, completions=40, parallelism=1, completionMode="Indexed"
        )
    )
    installed.until_runs("sweep", 4)
    time.sleep(PENDING_LIMIT + 2)
    before = installed.job("sweep")["metadata"]["annotations"][contract.HISTORY]
    installed.complete("sweep", 0)
    installed.until(lambda: installed.job("sweep")["status"].get("succeeded") == 1, "one is done")
    installed.until_runs("sweep", 4)
    assert installed.job("sweep")["metadata"]["annotations"][contract.HISTORY] == before


def test_a_changed_minimum_is_protected(installed: Stage) -> None:
    installed.apply(elastic("sweep", labels={"min": "2", "max": "4"}, completions=40))
    installed.until(lambda: installed.exists("PodDisruptionBudget", "sweep-first-1"), "one pod is")
    patch = {"metadata": {"labels": {contract.MIN: "4"}}}
    installed.api.patch(installed._target("Job", "sweep"), patch)  # noqa: SLF001
    installed.until(lambda: installed.exists("PodDisruptionBudget", "sweep-first-3"), "three are")
    installed.until(
        lambda: not installed.exists("PodDisruptionBudget", "sweep-first-1"), "the old one is gone"
    )


def test_a_collective_job_knows_the_cluster_of_its_start(installed: Stage) -> None:
    job = elastic("solo", labels={"framework": "tensorflow", "max": "3"})
    installed.apply(job)
    installed.until_runs("solo", 3)
    notes = installed.pod("solo", 1)["metadata"]["annotations"]
    host = f"solo.{installed.namespace}.svc:2222"
    workers = ",".join(f'"solo-{index}.{host}"' for index in range(3))
    assert notes[contract.CLUSTER] == f'{{"worker":[{workers}]}}'


def test_a_manual_size_restarts_a_collective_job_with_its_new_cluster(installed: Stage) -> None:
    installed.apply(elastic("solo", labels={"framework": "tensorflow", "max": "3"}))
    installed.until_runs("solo", 3)
    before = set(installed.uids("solo").values())
    for size in (1, 2):
        installed.annotate("solo", replicas=str(size))
        installed.until_runs("solo", size)
        told = json.loads(installed.pod("solo", 0)["metadata"]["annotations"][contract.CLUSTER])
        assert len(told["worker"]) == size, "everybody knows who runs"
        now = set(installed.uids("solo").values())
        assert not now & before, "all of them started again"
        before = now
    assert "restarted" in installed.message("solo")
    assert installed.job("solo")["status"].get("failed", 0) == 0, "a restart is no failure"


def test_a_lost_pod_restarts_all_of_a_collective_job(installed: Stage) -> None:
    installed.apply(elastic("solo", labels={"framework": "tensorflow", "max": "3", "min": "3"}))
    installed.until_runs("solo", 3)
    before = installed.uids("solo")["0"]
    installed.complete("solo", 1, code=137)
    installed.until(lambda: installed.uids("solo").get("0") != before, "who was well stops too")
    installed.until_runs("solo", 3)
    assert "a pod was lost" in installed.message("solo")


def test_a_copy_of_a_running_job_is_left_out_and_others_get_the_extras(installed: Stage) -> None:
    """A copied manifest with another name, of which `edl.dev/job` was forgotten."""
    words = {"framework": "pytorch", "job": "ra", "max": "16"}
    original = elastic("ra", cpu="2", labels=words, parallelism=2)
    installed.apply(original)
    installed.until_runs("ra", 15)
    copy = elastic("rb", cpu="2", labels=words, parallelism=2)
    framework = words | {"framework": "none", "max": "1"}
    installed.apply(copy, elastic("rc", labels=framework, completions=1))
    installed.until(lambda: "left out of ra" in installed.message("rb"), "the copy says why")
    installed.until(lambda: "left out of ra" in installed.message("rc"), "so does the other")
    other = {"framework": "pytorch", "min": "4", "max": "4"}
    installed.apply(elastic("other", cpu="2", labels=other, parallelism=4))
    installed.until_runs("other", 4)
    installed.apply(web(8))
    installed.until(lambda: installed.web_running() == 8, "pending pods get their room")
    assert installed.size("ra") >= 2
    assert [installed.job(name)["spec"]["suspend"] for name in ("rb", "rc")] == [True, True]
    installed.kubectl("delete", "job", "ra")
    installed.until(lambda: "several Jobs are its" in installed.message("rb"), "none has started")
    installed.kubectl("delete", "job", "rc")
    installed.until(lambda: installed.running("rb") >= 2, "the copy is alone, and starts")


def test_a_scale_down_leaves_a_rank_that_still_trains(installed: Stage) -> None:
    """The ranks that have ended would make the smaller Job complete."""
    _trainer_0_ends(installed)
    installed.apply(web(8, cpu="4"))
    installed.until(lambda: installed.size("mnist-trainer") == 2, "trainer 1 is left")
    installed.until(lambda: installed.web_running() == 6, "the others have their room")
    assert not installed.is_complete("mnist-trainer")
    assert installed.running("mnist-trainer") == 1


def test_a_job_resumes_with_a_rank_that_has_not_ended(installed: Stage) -> None:
    """In the room of its min, 1: at size 1 the Job would be complete, and nothing would train."""
    _trainer_0_ends(installed)
    for job in ("mnist-trainer", "mnist-master"):
        installed.annotate(job, paused="true")
    installed.until(lambda: not _unended(installed), "the job has stopped")
    installed.apply(web(6, cpu="4"))
    installed.until(lambda: installed.web_running() == 6, "others have all but the room of two")
    for job in ("mnist-trainer", "mnist-master"):
        installed.annotate(job, paused=None)
    installed.until(lambda: installed.size("mnist-trainer") > 0, "the job has started")
    assert installed.size("mnist-trainer") == 2
    installed.until(lambda: len(_unended(installed)) == 2, "the master and trainer 1 are there")
    installed.until_runs("mnist-master", 1)
    installed.until(lambda: installed.running("mnist-trainer") == 1, "trainer 1 trains")
    assert not installed.is_complete("mnist-trainer")


def test_a_training_that_ends_gets_no_more_trainers(installed: Stage) -> None:
    """Each of them would have to succeed as well before the Job is complete."""
    made = role_jobs("paddle", "deep", "master=1,pserver=1,trainer=1..40", "4")
    for job in made:
        job["metadata"]["annotations"][contract.MODE] = "cloud"
    installed.apply(*made)
    installed.until_runs("deep-trainer", 5)
    before = installed.job("deep-trainer")["metadata"]["annotations"][contract.HISTORY]
    installed.complete("deep-trainer", 0)
    installed.until(
        lambda: installed.job("deep-trainer")["status"].get("completedIndexes") == "0",
        "trainer 0 has ended",
    )
    installed.apply(elastic("next", "4", completions=1))
    installed.until_runs("next", 1)
    assert installed.job("deep-trainer")["metadata"]["annotations"][contract.HISTORY] == before
    for index in range(1, 5):
        installed.complete("deep-trainer", index)
    installed.until(lambda: installed.is_complete("deep-trainer"), "the training is complete")


def _trainer_0_ends(installed: Stage) -> None:
    """An elastic Paddle job of a master and four trainers, each as large as half a node."""
    made = role_jobs("paddle", "mnist", "master=1,trainer=1..4", "4", trainer=1)
    for job in made:
        job["metadata"]["annotations"][contract.MODE] = "elastic"
    installed.apply(*made)
    installed.until_runs("mnist-trainer", 4)
    installed.complete("mnist-trainer", 0)
    installed.until(
        lambda: installed.job("mnist-trainer")["status"].get("completedIndexes") == "0",
        "trainer 0 has ended",
    )


def _unended(installed: Stage) -> "list[Json]":
    pods = installed.pods("mnist-trainer") + installed.pods("mnist-master")
    return [pod for pod in pods if pod["status"]["phase"] in ("Pending", "Running")]
