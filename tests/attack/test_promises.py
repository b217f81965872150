"""The judge: each promise that is broken is found, and nothing else."""

import ast
from pathlib import Path

import pytest

from tests.attack.promises import BEHIND, PATIENCE, PREFIX, Json, Judge

FOLDER = Path(__file__).parent


def job(name: str = "j-worker", *, size: int = 1, **fields: object) -> Json:
    labels = {PREFIX + "framework": "horovod", PREFIX + "job": "j", PREFIX + "role": "worker"}
    labels[PREFIX + "role"] = name.rpartition("-")[2]
    spec = {"parallelism": size, "template": {"spec": {"containers": [{}]}}, **fields}
    notes = {PREFIX + "roles": "launcher=1,worker=1..4"}
    meta = {"name": name, "namespace": "ns", "uid": name, "labels": labels, "annotations": notes}
    return {"metadata": meta, "spec": spec, "status": {}}


def pod(name: str, cpu: str = "1", hosts: str | None = None, **meta: object) -> Json:
    notes = {} if hosts is None else {PREFIX + "hostfile": hosts}
    owner = {"uid": name.rpartition("-")[0].rpartition("-")[0]}
    found = {"name": name, "namespace": "ns", "uid": name, "annotations": notes}
    containers = [{"resources": {"requests": {"cpu": cpu}}}]
    return {
        "metadata": found | {"ownerReferences": [owner]} | meta,
        "spec": {"nodeName": "n1", "containers": containers},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    }


NODE = {"metadata": {"name": "n1", "uid": "n1"}, "status": {"allocatable": {"cpu": "1500m"}}}
ENDED = {"type": "Complete", "status": "True"}
LEAVING = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


def broken(judge: Judge) -> list[str]:
    return [found.promise for found in judge.violations]


@pytest.fixture
def judge() -> Judge:
    return Judge()


@pytest.mark.parametrize(("size", "says"), [(4, []), (5, ["min <= parallelism <= max"])])
def test_a_size_is_judged_by_the_bounds_of_its_roles(
    judge: Judge, size: int, says: list[str]
) -> None:
    judge.see("Job", "ADDED", job(size=size), 0)
    assert broken(judge) == says


def test_a_half_start_may_last_a_while_and_no_longer(judge: Judge) -> None:
    judge.see("Job", "ADDED", job("j-launcher", suspend=True), 0)
    judge.see("Job", "ADDED", job(), 0)
    judge.look(0)
    judge.look(PATIENCE)
    assert broken(judge) == []
    judge.look(PATIENCE + 1)
    judge.look(PATIENCE + 9)
    assert broken(judge) == ["no half starts"]


def test_a_node_holds_no_more_than_its_allocatable(judge: Judge) -> None:
    judge.see("Node", "ADDED", NODE, 0)
    judge.see("Pod", "ADDED", pod("a"), 0)
    judge.see("Pod", "DELETED", pod("a"), 1)
    judge.see("Pod", "ADDED", pod("b"), 2)
    assert broken(judge) == []
    judge.see("Pod", "ADDED", pod("c", "501m"), 3)
    assert broken(judge) == ["no node is overcommitted"]


def test_a_launcher_stays_while_its_job_runs(judge: Judge) -> None:
    judge.see("Job", "ADDED", job("j-launcher"), 0)
    judge.see("Pod", "ADDED", pod("j-launcher-0-abcde"), 0)
    judge.see("Pod", "MODIFIED", pod("j-launcher-0-abcde", **LEAVING), 1)
    judge.look(1 + BEHIND)
    assert broken(judge) == []
    judge.look(2 + BEHIND)
    judge.look(3 + BEHIND)
    assert broken(judge) == ["protected pods stay"]


def test_a_launcher_that_never_had_a_node_may_be_made_again(judge: Judge) -> None:
    waits = pod("j-launcher-0-abcde")
    waits["spec"]["nodeName"] = ""
    judge.see("Job", "ADDED", job("j-launcher"), 0)
    judge.see("Pod", "ADDED", waits, 0)
    judge.see("Pod", "MODIFIED", {**waits, "metadata": waits["metadata"] | LEAVING}, 1)
    judge.look(2 + BEHIND)
    judge.look(3 + BEHIND)
    assert broken(judge) == []


@pytest.mark.parametrize(
    ("event", "after"),
    [
        ("DELETED", job("j-launcher")),
        ("MODIFIED", job("j-launcher", suspend=True)),
        ("MODIFIED", {**job("j-launcher"), "status": {"conditions": [ENDED]}}),
    ],
)
def test_a_launcher_may_leave_before_its_jobs_end_is_told(
    judge: Judge, event: str, after: Json
) -> None:
    judge.see("Job", "ADDED", job("j-launcher"), 0)
    judge.see("Pod", "ADDED", pod("j-launcher-0-abcde"), 0)
    judge.see("Pod", "MODIFIED", pod("j-launcher-0-abcde", **LEAVING), 1)
    judge.see("Job", event, after, BEHIND)
    judge.see("Job", "MODIFIED", job("j-launcher"), 1 + BEHIND)
    judge.look(2 + BEHIND)
    assert broken(judge) == []


def test_a_launcher_of_an_earlier_start_may_leave(judge: Judge) -> None:
    before = {"creationTimestamp": "2026-01-01T00:00:00Z"}
    again = {**job("j-launcher"), "status": {"startTime": "2026-01-01T00:00:02Z"}}
    judge.see("Job", "ADDED", again, 0)
    judge.see("Pod", "ADDED", pod("j-launcher-0-abcde", **before), 0)
    judge.see("Pod", "MODIFIED", pod("j-launcher-0-abcde", **before, **LEAVING), 1)
    judge.look(2 + BEHIND)
    assert broken(judge) == []


@pytest.mark.parametrize(("after", "says"), [(2, ["host lists do not flap"]), (99, [])])
def test_a_host_relisted_at_once_breaks_the_promise_about_removals(
    judge: Judge, after: float, says: list[str]
) -> None:
    both, one = "j-worker-0.j.ns:1\nj-worker-1.j.ns:1\n", "j-worker-0.j.ns:1\n"
    for name in ("j-worker-0-abcde", "j-worker-1-abcde"):
        judge.see("Pod", "ADDED", pod(name), 0)
    for now, hosts in ((0, both), (1, one), (1 + after, both)):
        judge.see("Pod", "MODIFIED", pod("j-launcher-0-abcde", hosts=hosts), now)
    assert broken(judge) == says


@pytest.mark.parametrize(
    ("there", "says"), [(("j-worker-1-abcde",), ["listed hosts exist"]), ((), [])]
)
def test_a_host_without_a_pod_leaves_the_list_but_for_the_last_one(
    judge: Judge, there: tuple[str, ...], says: list[str]
) -> None:
    hosts = "j-worker-0.j.ns:1\nj-worker-1.j.ns:1\n"
    for found in (pod("j-launcher-0-abcde", hosts=hosts), *map(pod, there)):
        judge.see("Pod", "ADDED", found, 0)
    judge.look(0)
    judge.look(PATIENCE + 1)
    assert broken(judge) == says


def test_twins_start_in_their_order(judge: Judge) -> None:
    judge.started = {("ns", "first"): 9.0, ("ns", "second"): 2.0}
    judge.twins(("ns", "second"), ("ns", "first"), slack=3)
    assert broken(judge) == []
    judge.twins(("ns", "first"), ("ns", "second"), slack=3)
    assert broken(judge) == ["twins start in their order"]


def test_a_calm_cluster_resizes_nothing(judge: Judge) -> None:
    judge.see("Job", "ADDED", job(size=2), 0)
    judge.see("Job", "MODIFIED", job(size=3), 5)
    judge.calm(since=6)
    assert broken(judge) == []
    judge.calm(since=5)
    assert broken(judge) == ["a calm cluster stays as it is"]


def test_what_stands_around_a_job_goes_with_it(judge: Judge) -> None:
    meta = {"name": "j", "namespace": "ns", "uid": "s", "labels": {PREFIX + "job": "j"}}
    judge.see("Job", "ADDED", job(), 0)
    service = {"metadata": meta | {"ownerReferences": [{"uid": "j-worker"}]}}
    judge.see("Service", "ADDED", service, 0)
    assert judge.orphans() == []
    judge.see("Job", "DELETED", job(), 1)
    assert judge.orphans() == ["Service ns/j"]


def test_the_observer_imports_no_module_of_the_product() -> None:
    for source in ("api", "attack", "churn", "promises"):
        tree = ast.parse((FOLDER / f"{source}.py").read_text())
        names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import)
                 for alias in node.names}  # fmt: skip
        names |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert not {name for name in names if name.partition(".")[0] in _OURS}


_OURS = {"edl", "webhook", "reconciler", "kubectl_edl", "certs", "manifests"}
