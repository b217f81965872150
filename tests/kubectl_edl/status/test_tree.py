import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edl import contract, reasons
from edl.annotations.json_text import json_text
from edl.messages.container_messages import MORE_MEMORY
from edl.model import ObjectRef
from edl.spec.job_spec import UNLIMITED
from edl.writes import Json
from kubectl_edl.output.alternate_screen import LEAVE, cut, fitted
from kubectl_edl.output.table import Layout
from kubectl_edl.status.tree import CELLS, bar, sparkline
from tests.kubectl_edl.cluster_wrappers import fenced
from tests.kubectl_edl.stage import Stage, event, job, lease, mnist, node, pod, role_manifests

HISTORY = """2026-11-21T11:55:30Z Started 2 2 the gang fits
2026-11-21T11:57:00Z ScaledUp 2 6 idle capacity: 6 of 12 fit
2026-11-21T11:59:00Z ScaledDown 6 4 default/web-1 has a higher priority"""


IMAGE = "is the image's name right, and may this cluster pull it"


def notes(**annotations: str) -> Json:
    return {"metadata": {"annotations": {f"edl.dev/{k}": v for k, v in annotations.items()}}}


@pytest.fixture
def stage() -> Stage:
    stage = Stage(width=120, height=50)
    mnist(stage)
    stage.patch("mnist-worker", notes(history=HISTORY))
    stage.put(job("resnet", framework="none", min="1", max="4"))
    return stage


def frame(stage: Stage, *args: str) -> list[str]:
    """The first drawn text, without the load of the cluster."""
    stage.between = []
    lines = stage.run("status", "-w", *args).out.partition(LEAVE)[2].splitlines()
    return lines[1:] if lines[0].startswith("Cluster: ") else lines


def test_a_watched_tree_shows_jobs_roles_and_pods(stage: Stage) -> None:
    lines = frame(stage)
    assert lines[0] == "2 training jobs: 1 Running, 1 Queued"
    names = [line.split("   ")[0].rstrip() for line in lines[3:7]]
    assert names == ["mnist", "├─ chief", "│  └─ mnist-chief-0-x0", "├─ ps"]
    worker = next(line for line in lines if line.startswith("└─ worker"))
    assert "███░········ 4/1..12" in worker


def test_a_role_without_a_job_is_shown_as_missing(stage: Stage) -> None:
    stage.delete("mnist-ps")
    for index in range(2):
        stage.delete(f"mnist-ps-{index}-x{index}", "Pod")
    row = next(line for line in stage.run("status").out.splitlines() if line.startswith("mnist"))
    assert "chief=1/1,worker=4/1..12,ps=0/?" in row
    lines = stage.run("status", "mnist").out.splitlines()
    whole = next(line for line in lines if line.startswith("mnist  "))
    assert whole.split()[3] == "5/?", "what is left is not the whole job"
    lost = next(line for line in lines if line.startswith("└─ ps"))
    assert lost.split() == ["└─", "ps", "Missing", "0/?"]


def test_the_last_decisions_are_shown_with_their_reasons(stage: Stage) -> None:
    last = frame(stage)[-1]
    assert re.split("  +", last) == [
        *("60s", "mnist", "ScaledDown (ScaleSucceeded)", "worker=6→4"),
        "default/web-1 has a higher priority",
    ]


def test_sizes_over_time_are_a_line_of_bars(stage: Stage) -> None:
    worker = next(line for line in frame(stage) if line.startswith("└─ worker"))
    shown = worker.split("4/1..12")[1].strip()
    assert shown == "▁▂▂▂▂▂▄▄▄▄▄▄▃▃▃▃"


@pytest.mark.parametrize(
    ("height", "shown", "folded"),
    [
        (40, "mnist-worker-0-x0", "3 pods"),
        (20, "mnist-worker-3-x3", "mnist-worker-0-x0"),
        (16, "└─ worker", "mnist-worker-3-x3"),
        (12, "resnet", "└─ worker"),
        (8, "resnet", "LAST DECISIONS"),
    ],
)
def test_a_low_terminal_folds_ready_pods_first(
    stage: Stage, height: int, shown: str, folded: str
) -> None:
    stage.height = height
    text = "\n".join(frame(stage))
    assert shown in text
    assert folded not in text
    assert text.count("\n") < height - 1, "the cursor's line stays free"


def test_ready_pods_are_counted_with_their_nodes(stage: Stage) -> None:
    stage.height = 20
    line = next(line for line in frame(stage) if "3 pods" in line)
    assert re.split("  +", line.strip())[1:] == ["Running", "2 nodes"]


def test_completed_work_items_are_counted_apart_from_running_ones(stage: Stage) -> None:
    manifest = job("items", framework="none", min="2", max="2")
    manifest["spec"] |= {"parallelism": 2, "completions": 9}
    owner = stage.put(manifest, suspend=False)
    for number, at in enumerate(("Succeeded", "Succeeded", "Succeeded", "Running")):
        conditions = [{"type": "Ready", "status": "True"}] if at == "Running" else []
        stage.create(pod(owner, number, phase=at, conditions=conditions))
    stage.delete("resnet")
    stage.patch("mnist-worker", notes(history=""))
    stage.height = 20
    shown = [re.split("  +", line.strip(" └├─│")) for line in frame(stage)]
    assert {("3 pods", "Succeeded"), ("1 pod", "Running")} <= {tuple(one[:2]) for one in shown}


def test_jobs_that_do_not_fit_on_the_screen_are_counted(stage: Stage) -> None:
    for number in range(20):
        stage.put(job(f"many-{number:02}", framework="none"))
    stage.height = 10
    lines = frame(stage)
    assert len(lines) == 9
    assert lines[-1] == "… 18 more training jobs: -n and -l choose among them"
    assert lines[0] == "22 training jobs: 21 Queued, 1 Running"


def test_no_line_is_wider_than_the_terminal(stage: Stage) -> None:
    for width, titles in ((60, ["NAME", "STATUS", "SIZE"]), (30, ["NAME", "STAT"])):
        stage.width = width
        assert max(map(len, frame(stage))) <= width
        assert frame(stage)[2].split()[: len(titles)] == titles


def test_all_namespaces_name_theirs(stage: Stage) -> None:
    assert any(line.startswith("default/mnist ") for line in frame(stage, "-A"))


def test_a_watched_job_shows_its_blockers(stage: Stage) -> None:
    text = "\n".join(frame(stage, "mnist"))
    assert text.startswith("Name:       mnist\n")
    assert "\n  1. mnist-worker-3-x3 waits: kube-scheduler has not processed it yet\n" in text


def blockers_section(stage: Stage, name: str) -> list[tuple[str, str]]:
    found = json.loads(stage.run("status", name, "-o", "json").out)["blockers"]
    return [(one["message"], one["remediation"]) for one in found]


def waiting(owner: Json, index: int, **state: str) -> Json:
    statuses = [{"name": "main", "state": {"waiting": state}}]
    return pod(owner, index, phase="Pending", conditions=[], containerStatuses=statuses)


def test_an_image_that_cannot_be_pulled_is_named_with_the_way_out(stage: Stage) -> None:
    owner = stage.put(job("bad", framework="none", min="1", max="2"), suspend=False)
    stage.create(waiting(owner, 0, reason="ImagePullBackOff", message="no such image"))
    assert blockers_section(stage, "bad") == [
        (
            "bad-0-x0 waits: container main: ImagePullBackOff: no such image",
            f"{IMAGE}? kubectl describe pod bad-0-x0 -n default",
        )
    ]


def test_a_container_that_cannot_start_is_named_by_the_list(stage: Stage) -> None:
    told = {"reason": "Admitted", "message": "all 2 pods of its minimum fit"}
    owner = stage.put(job("bad", framework="none", min="2", max="2"), suspend=False, parallelism=2)
    stage.patch("bad", notes(**told))
    for index in range(2):
        stage.create(waiting(owner, index, reason="ErrImageNeverPull", message="no such image"))
    found = json.loads(stage.run("status", "-o", "json").out)["items"]
    (bad,) = [one for one in found if one["metadata"]["name"] == "bad"]
    for one in (bad, bad["roles"][0]):
        assert (one["reason"], one["message"]) == (
            "ContainerWaiting",
            "2 pods wait: container main: ErrImageNeverPull: no such image",
        )
    creating = waiting(owner, 2, reason="ContainerCreating")
    for index in range(2):
        stage.delete(f"bad-{index}-x{index}", "Pod")
    stage.create(creating)
    found = json.loads(stage.run("status", "-o", "json").out)["items"]
    (bad,) = [one for one in found if one["metadata"]["name"] == "bad"]
    assert bad["reason"] == "Admitted"


@pytest.mark.parametrize("phase", ["Pending", "Running"])
@pytest.mark.parametrize(
    ("reason", "code", "advice"),
    [("Error", 1, ""), ("OOMKilled", 137, f"{MORE_MEMORY}: ")],
    ids=["it failed", "too little memory"],
)
def test_a_crash_loop_names_the_last_end_of_its_container(
    stage: Stage, phase: str, reason: str, code: int, advice: str
) -> None:
    owner = stage.put(job("crash", framework="none", min="1", max="2"), suspend=False)
    back_off = "back-off 5m0s restarting failed container"
    status = {
        "name": "main",
        "restartCount": 7,
        "state": {"waiting": {"reason": "CrashLoopBackOff", "message": back_off}},
        "lastState": {"terminated": {"reason": reason, "exitCode": code}},
    }
    stage.create(pod(owner, 0, phase=phase, conditions=[], containerStatuses=[status]))
    why = f"container main: CrashLoopBackOff: {reason}, exit code {code}, 7 restarts"
    assert blockers_section(stage, "crash") == [
        (
            f"crash-0-x0 waits: {why}",
            f"{advice}kubectl logs crash-0-x0 -c main -n default",
        )
    ]


def test_a_failed_pod_is_shown_with_the_reason_of_its_container_and_the_count(stage: Stage) -> None:
    owner = stage.put(job("crash", framework="none", min="1", max="2"), suspend=False)
    ended = {"reason": "OOMKilled", "exitCode": 137, "finishedAt": "2026-11-21T11:59:00Z"}
    statuses = [{"name": "main", "state": {"terminated": ended}}]
    stage.create(pod(owner, 0, phase="Failed", conditions=[], containerStatuses=statuses))
    stage.patch("crash", {"status": {"failed": 3}})
    why = "container main: OOMKilled, exit code 137"
    limit = stage.job("crash")["spec"]["backoffLimit"]
    message = f"crash-0-x0 failed: {why} (3 failures of crash; more than {limit} fail it)"
    remedy = (
        "raise its container's memory limit, or make its program use less: kubectl logs crash-0-x0"
    )
    assert (message, f"{remedy} -n default") in blockers_section(stage, "crash")
    stage.width = 200
    assert any("Failed" in line and why in line for line in frame(stage, "crash"))
    assert message in stage.run("explain", "crash").out
    stage.patch("crash", {"status": {"failed": 1}, "spec": {"backoffLimit": UNLIMITED}})
    ((what, _),) = [one for one in blockers_section(stage, "crash") if why in one[0]]
    assert what.endswith("(1 failure of crash; its backoffLimit does not limit them)")
    stage.patch("crash", {"spec": {"backoffLimitPerIndex": 1, "maxFailedIndexes": 0}})
    ((what, _),) = [one for one in blockers_section(stage, "crash") if why in one[0]]
    assert what.endswith(
        "(1 failure of crash; its backoffLimitPerIndex of 1 limits those of one index; "
        "its maxFailedIndexes of 0 limits failed indexes)"
    )


def test_a_failed_pod_that_its_job_has_not_counted_yet_is_counted() -> None:
    """With backoffLimitPerIndex the Job controller counts a pod once its replacement exists."""
    stage = Stage()
    owner = stage.put(job("crash", framework="none", min="1", max="2"), suspend=False)
    ended = {"reason": "Error", "exitCode": 3, "finishedAt": "2026-11-21T11:59:00Z"}
    statuses = [{"name": "main", "state": {"terminated": ended}}]
    stage.create(pod(owner, 0, phase="Failed", conditions=[], containerStatuses=statuses))
    assert any("(1 failure of crash; " in what for what, _ in blockers_section(stage, "crash"))


@pytest.mark.parametrize(
    ("code", "count"),
    [
        (1, "by the podFailurePolicy of crash, exit code 1 fails it at once"),
        (137, "1 failure of crash; more than 12 fail it"),
    ],
)
def test_a_final_exit_code_fails_its_job_whatever_the_count(
    stage: Stage, code: int, count: str
) -> None:
    manifest = job("crash", framework="none", min="1", max="2")
    manifest["metadata"]["annotations"] = {contract.RESTART: "ExitCode"}
    owner = stage.put(manifest, suspend=False)
    ended = {"reason": "Error", "exitCode": code, "finishedAt": "2026-11-21T11:59:00Z"}
    statuses = [{"name": "main", "state": {"terminated": ended}}]
    stage.create(pod(owner, 0, phase="Failed", conditions=[], containerStatuses=statuses))
    stage.patch("crash", {"status": {"failed": 1}})
    message = f"crash-0-x0 failed: container main: Error, exit code {code} ({count})"
    assert message in [what for what, _ in blockers_section(stage, "crash")]
    stage.width = 200
    assert message in stage.run("explain", "crash").out


def test_a_deleted_pod_that_a_finalizer_keeps_is_not_a_failure(stage: Stage) -> None:
    owner = stage.put(job("again", framework="none", min="1", max="2"))
    ended = {"reason": "Error", "exitCode": 143, "finishedAt": "2026-11-21T11:59:55Z"}
    statuses = [{"name": "main", "state": {"terminated": ended}}]
    kept = pod(owner, 0, phase="Failed", conditions=[], containerStatuses=statuses)
    deleted = {"deletionTimestamp": "2026-11-21T11:59:50Z", "finalizers": ["example.com/keep"]}
    kept["metadata"] |= deleted
    stage.create(kept)
    assert not any("143" in what for what, _ in blockers_section(stage, "again"))


def test_the_failure_of_a_pod_whose_replacement_runs_is_past(stage: Stage) -> None:
    owner = stage.put(job("crash", framework="none", min="1", max="2"), suspend=False)
    ended = {"reason": "Error", "exitCode": 1, "finishedAt": "2026-11-21T11:59:00Z"}
    statuses = [{"name": "main", "state": {"terminated": ended}}]
    stage.create(pod(owner, 0, phase="Failed", conditions=[], containerStatuses=statuses))
    size = stage.job("crash")["spec"]["parallelism"]
    for index in range(1, size + 1):
        assert any("failed" in what for what, _ in blockers_section(stage, "crash"))
        stage.create(pod(owner, index))
    assert blockers_section(stage, "crash") == []
    ended["finishedAt"] = "2026-11-21T11:59:45Z"
    stage.create(pod(owner, 9, phase="Failed", conditions=[], containerStatuses=statuses))
    assert [what.split()[0] for what, _ in blockers_section(stage, "crash")] == ["crash-9-x9"]


def test_a_running_job_without_its_chief_shows_that_it_cannot_complete(stage: Stage) -> None:
    stage.delete("mnist-chief")
    assert blockers_section(stage, "mnist")[0] == (
        "its Job mnist-chief is gone, and 5 pods cannot complete the training without it",
        "apply the Job again, or: kubectl edl delete mnist -n default",
    )
    assert stage.run("status").out.splitlines()[1].split()[2] == "Incomplete"


def test_a_new_job_without_a_reconciler_refers_to_doctor(stage: Stage) -> None:
    stage.minutes_ago = 0.2
    stage.put(job("new", framework="none"))
    seen = "not yet processed by the reconciler"
    assert blockers_section(stage, "new") == [(seen, "kubectl edl explain new -n default")]
    lease(stage, minutes_ago=1)
    assert blockers_section(stage, "new") == [(seen, "kubectl edl doctor")]


def test_a_message_that_names_its_remedy_is_the_remedy(stage: Stage) -> None:
    allow = "kubectl label namespace default edl.dev/kubexec=enabled"
    stage.put(job("queued", framework="none"))
    stage.patch("queued", notes(reason="Invalid", message=f"launchers may not exec: {allow}"))
    assert blockers_section(stage, "queued") == [(f"launchers may not exec: {allow}", "")]


def test_pods_with_one_reason_are_one_obstacle(stage: Stage) -> None:
    owner = stage.put(job("bad", framework="none", min="1", max="2"), suspend=False)
    for index in range(2):
        stage.create(waiting(owner, index, reason="CreateContainerConfigError"))
    ((what, way_out),) = blockers_section(stage, "bad")
    assert what == "2 pods wait: container main: CreateContainerConfigError"
    assert way_out.startswith("a ConfigMap or Secret that it names is missing: kubectl describe")


def test_pods_that_were_just_created_are_not_blockers(stage: Stage) -> None:
    stage.minutes_ago = 0.2
    owner = stage.put(job("young", framework="none"), suspend=False)
    stage.create(waiting(owner, 0, reason="ContainerCreating"))
    assert blockers_section(stage, "young") == []


def test_a_pod_that_never_becomes_ready_is_named(stage: Stage) -> None:
    owner = stage.put(job("slow", framework="none"), suspend=False)
    stage.create(pod(owner, 0, conditions=[]))
    assert blockers_section(stage, "slow") == [
        (
            "1 pod of worker is not ready: slow-0-x0",
            "kubectl describe pod slow-0-x0 -n default",
        )
    ]


def test_pods_whose_node_is_lost_are_named_with_the_node_alone(stage: Stage) -> None:
    stage.create(node("node-1"))
    lost = {"conditions": [{"type": "Ready", "status": "Unknown"}]}
    stage.create(node("node-9") | {"status": lost})
    owner = stage.put(job("slow", framework="none", min="2"), suspend=False, parallelism=2)
    stage.create(pod(owner, 0, node="node-9", conditions=[]))
    stage.create(pod(owner, 1, conditions=[]))
    found = [what for what, _ in blockers_section(stage, "slow")]
    assert [what.partition(":")[0] for what in found] == [
        "1 pod of worker is not ready",
        "1 pod is on node-9, which is not ready",
    ]
    assert "slow-1-x1" in found[0]


def test_the_way_out_of_a_blocker_reaches_the_same_cluster(stage: Stage) -> None:
    owner = stage.put(job("slow", framework="none"), suspend=False)
    stage.create(pod(owner, 0, conditions=[]))
    slow = stage.run("status", "slow", "--context", "prod").out
    assert "kubectl describe pod slow-0-x0 -n default --context prod\n" in slow


@pytest.mark.parametrize(
    ("refused", "commands"),
    [
        ("exceeded quota: team", ["describe resourcequota -n default"]),
        ("maximum cpu usage per Container is 1", ["describe limitrange -n default"]),
        ('no PriorityClass with name "a" was found', ["create priorityclass a --value=VALUE"]),
        ('pod rejected: RuntimeClass "a" not found', ["get runtimeclass"]),
        (
            'admission webhook "a" denied the request',
            [
                "describe job/poor -n default",
                "get mutatingwebhookconfiguration,validatingwebhookconfiguration",
            ],
        ),
        ("something else", ["describe job/poor -n default"]),
    ],
)
def test_the_way_out_for_a_refused_pod_reaches_the_same_cluster(
    stage: Stage, refused: str, commands: list[str]
) -> None:
    stage.put(job("poor", framework="none"), suspend=False)
    stage.create(event("poor", "FailedCreate", refused, minutes_ago=2, warning=True))
    *_, fix = stage.run("status", "poor", "--context", "prod").out.splitlines()
    assert [one.rstrip("; ") for one in fix.split("kubectl ")[1:]] == [
        f"{command} --context prod" for command in commands
    ]


def test_pods_that_cannot_be_made_are_named_by_the_event(stage: Stage) -> None:
    stage.put(job("poor", framework="none", min="1", max="2"), suspend=False)
    quota = "pods is forbidden: exceeded quota: team"
    stage.create(event("poor", "FailedCreate", quota, minutes_ago=2, warning=True))
    assert blockers_section(stage, "poor") == [
        (f"poor: FailedCreate: {quota}", "kubectl describe resourcequota -n default")
    ]
    stage.create(pod(stage.job("poor"), 0))
    assert blockers_section(stage, "poor") == []


def test_a_missing_service_account_is_to_be_created(stage: Stage) -> None:
    stage.put(job("poor", framework="none", min="1", max="2"), suspend=False)
    refused = (
        'Error creating: pods "poor-" is forbidden: error looking up service account '
        'default/nope: serviceaccount "nope" not found'
    )
    stage.create(event("poor", "FailedCreate", refused, minutes_ago=2, warning=True))
    way_out = "create the ServiceAccount: kubectl create serviceaccount nope -n default"
    assert blockers_section(stage, "poor") == [(f"poor: FailedCreate: {refused}", way_out)]


def test_what_refused_the_pods_of_a_failed_start_stays_while_the_job_backs_off(
    stage: Stage,
) -> None:
    why = {contract.REASON: "BackOff", contract.MESSAGE: "back-off: not all pods …"}
    stage.put(job("poor", framework="none", min="1", max="2"))
    stage.patch("poor", {"metadata": {"annotations": why}})
    refused = 'error looking up service account default/nope: serviceaccount "nope" not found'
    stage.create(event("poor", "FailedCreate", refused, minutes_ago=40, warning=True))
    assert [what for what, _ in blockers_section(stage, "poor")] == [why[contract.MESSAGE]]
    last = {contract.LAST_CHANGE: json_text(reasons.GANG_UNSCHEDULABLE_CREATION)}
    stage.patch("poor", {"metadata": {"annotations": last}})
    way_out = (
        "create the ServiceAccount: kubectl create serviceaccount nope -n default; then, for a "
        "start at once: kubectl edl pause poor -n default, and some seconds later "
        "kubectl edl resume poor -n default"
    )
    assert blockers_section(stage, "poor")[0] == (f"poor: FailedCreate: {refused}", way_out)
    assert f"poor: FailedCreate: {refused}" in stage.run("explain", "poor").out


def test_a_completed_work_item_does_not_hide_that_no_pod_can_be_made(stage: Stage) -> None:
    manifest = job("poor", framework="none", min="2", max="2")
    manifest["spec"] |= {"parallelism": 2, "completions": 9}
    owner = stage.put(manifest, suspend=False)
    stage.create(pod(owner, 0, phase="Succeeded", conditions=[]))
    stage.create(pod(owner, 1))
    quota = "pods is forbidden: exceeded quota: team"
    stage.create(event("poor", "FailedCreate", quota, minutes_ago=2, warning=True))
    assert [what for what, _ in blockers_section(stage, "poor")] == [f"poor: FailedCreate: {quota}"]


def test_a_failed_job_without_pods_is_explained_by_its_events(stage: Stage) -> None:
    """Its only pod was deleted, and the limit of its back-off is 0."""
    owner = stage.put(job("gone", framework="none"), suspend=False)
    created = pod(owner, 0, phase="Failed", conditions=[])
    stage.create(created)
    over = {"type": "Failed", "status": "True", "lastTransitionTime": "2026-11-21T11:59:00Z"}
    stage.patch("gone", {"status": {"conditions": [over]}})
    then = "delete its Jobs and apply them to try again"
    logs = f"kubectl edl logs gone -n default shows why; {then}"
    assert blockers_section(stage, "gone")[0][1] == logs
    stage.delete(created["metadata"]["name"], "Pod")
    assert blockers_section(stage, "gone")[0][1] == (
        f"its pods no longer exist, and so have no logs: kubectl edl events gone -n default; {then}"
    )


def test_each_phase_that_waits_has_its_way_out(stage: Stage) -> None:
    stage.put(role_manifests("part")[0])
    paused = job("paused", framework="none")
    paused["metadata"]["annotations"] = {contract.PAUSED: "true"}
    stage.put(paused)
    failed = stage.put(job("failed", framework="none"), suspend=False)
    stage.create(pod(failed, 0, phase="Failed", conditions=[]))
    over = {"type": "Failed", "status": "True", "lastTransitionTime": "2026-11-21T11:59:00Z"}
    stage.patch(failed["metadata"]["name"], {"status": {"conditions": [over]}})
    stage.put(job("seen", framework="none"))
    stage.patch("seen", notes(reason="InsufficientCapacity", message="insufficient CPU"))
    ways = {
        name: blockers_section(stage, name)[0][1]
        for name in ("part", "paused", "failed", "resnet", "seen")
    }
    assert ways == {
        "part": "apply the Jobs: no role starts without them",
        "paused": "kubectl edl resume paused -n default",
        "failed": "kubectl edl logs failed -n default shows why; "
        "delete its Jobs and apply them to try again",
        "resnet": "kubectl edl doctor",
        "seen": "kubectl edl explain seen -n default",
    }


def test_a_new_job_shows_its_blockers_at_once(stage: Stage) -> None:
    stage.minutes_ago = 0.05
    stage.put(job("huge", framework="none", min="99", max="99"))
    explain = "kubectl edl explain huge -n default"
    assert blockers_section(stage, "huge") == [("not yet processed by the reconciler", explain)]
    stage.patch("huge", notes(reason="NeverFits", message="too large"))
    fix = f"a node that worker may use, with 2 CPU free for each pod; see {explain}"
    assert blockers_section(stage, "huge") == [("too large", fix)]
    stage.patch("huge", notes(reason="PodsTerminating", message="99 pods wait"))
    assert blockers_section(stage, "huge") == []


def test_a_job_that_never_fits_names_its_fix_before_the_queue_is_published(stage: Stage) -> None:
    stage.create(node("node-1"))
    huge = job("huge", framework="none", min="2", max="2")
    huge["spec"]["parallelism"] = 2
    huge["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "99"}}
    stage.put(huge)
    stage.patch("huge", notes(reason="NeverFits", message="too large"))
    huge["metadata"] = huge["metadata"] | {"name": "alike"}  # which comes first, by its name
    stage.put(huge)
    fix = "smaller pods, or 2 nodes with 99 CPU each; see kubectl edl explain huge -n default"
    assert blockers_section(stage, "huge") == [("too large", fix)]
    stage.wrapped = fenced("Node")
    explain = "kubectl edl explain huge -n default"
    assert blockers_section(stage, "huge") == [("too large", explain)]


def test_a_problem_of_the_job_is_the_first_blocker(stage: Stage) -> None:
    bad = job("broken", framework="none", min="9", max="2")
    bad["spec"]["suspend"] = True
    stage.create(bad)
    what, way_out = blockers_section(stage, "broken")[0]
    assert "min 9 is above max 2" in what
    assert (
        way_out
        == "correct its file and apply it again; where that is refused, delete the Job first"
    )


def test_a_missing_priority_class_is_to_be_created(stage: Stage) -> None:
    other = ObjectRef("PriorityClass", "", "other")
    stage.cluster.create(other, {"metadata": {"name": "other"}, "value": 5})
    waits = job("waits", framework="none")
    waits["spec"]["template"]["spec"]["priorityClassName"] = "nope"
    stage.put(waits)
    what, way_out = blockers_section(stage, "waits")[0]
    assert what.startswith('PriorityClass "nope" does not exist: create it (kubectl create ')
    fix = "create the PriorityClass: kubectl create priorityclass nope --value=VALUE"
    assert way_out == fix
    assert stage.run("status", "waits").out.endswith(f"Blockers:\n  1. {what}\n     fix: {fix}\n")
    first, _, others = stage.run("explain", "waits").out.partition("  1. ")[2].partition("  2. ")
    assert others
    assert "would help" not in first


def test_a_missing_priority_class_of_the_namespace_names_its_annotation(stage: Stage) -> None:
    metadata = {"name": "default", "annotations": {contract.DEFAULT_PRIORITY: "nope"}}
    stage.cluster.create(ObjectRef("Namespace", "", "default"), {"metadata": metadata})
    other = ObjectRef("PriorityClass", "", "other")
    stage.cluster.create(other, {"metadata": {"name": "other"}, "value": 5})
    waits = job("waits", framework="none")
    waits["spec"]["template"]["spec"]["priorityClassName"] = "nope"
    stage.put(waits)
    origin = 'which is the edl.dev/default-priority of namespace "default": create it'
    assert origin in blockers_section(stage, "waits")[0][0]
    assert origin in stage.run("explain", "waits").out
    assert origin in json.loads(stage.run("status", "-o", "json").out)["items"][-1]["message"]


@given(st.integers(0, 50), st.integers(0, 50), st.integers(1, 50))
def test_a_bar_has_a_fixed_width(running: int, size: int, most: int) -> None:
    shown = bar(min(running, size), size, most)
    assert len(shown) == CELLS
    assert ("█" in shown) == (min(running, size) > 0)
    assert shown.rstrip() == "█" * shown.count("█") + "░" * shown.count("░") + "·" * shown.count(
        "·"
    )


def test_a_line_of_bars_knows_nothing_from_little_and_from_the_most() -> None:
    assert sparkline([None, 0, 1, 50, 100], 100) == " ▁▂▄▇"
    assert sparkline([0, 0], 0) == "▁▁"


def test_a_cut_line_ends_its_colour() -> None:
    assert cut("\x1b[32mRunning\x1b[0m well", 3) == "\x1b[32mRun\x1b[0m"
    assert cut("Running", 7) == "Running"
    assert fitted("a\nb\nc\n", Layout(width=1, height=3)) == "a\n…\n"


def test_a_line_of_wide_letters_is_truncated() -> None:
    assert cut("学習学習", 8) == "学習学習"
    assert cut("学習学習", 7) == "学習学"
    assert cut("\x1b[31m学習\x1b[0mab", 3) == "\x1b[31m学\x1b[0m"
