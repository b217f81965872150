"""Sizes at which ranks are left to train: ended ones alone would make the Job complete."""

import msgspec
import pytest

from edl.kube.decode import job_facts
from edl.kube.decode.pod_shapes import ShapeInterner
from edl.model import PodPhase
from edl.spec.allowed_sizes import (
    is_finishing,
    pods_at,
    start_pods,
    start_size,
    with_unended,
)
from tests.edl.manifests import created, job
from tests.edl.planner.states import pod, role


@pytest.mark.parametrize(
    ("low", "over", "least"),
    [
        (1, (), 1),
        (1, (0,), 2),
        (1, (3,), 1),
        (2, (0, 2), 4),
        (3, (0, 1), 4),  # two are left, as many as there are
        (4, (3,), 4),  # the min stays the least size
        (5, (0,), 5),  # nor does it grow beyond a min that was raised
        (1, (0, 1, 2, 3), 4),
    ],
)
def test_a_start_leaves_the_minimum_of_ranks_to_train(
    low: int, over: tuple[int, ...], least: int
) -> None:
    of_four = role("worker", low, 8, size=4, finished_indexes=frozenset(over))
    assert start_size(of_four) == least


def test_a_rank_has_ended_once_its_pod_has_succeeded() -> None:
    """The Job controller counts it later; a failed pod is created again."""
    pods = (pod(0, "a", phase=PodPhase.SUCCEEDED), pod(1, "a", phase=PodPhase.FAILED), pod(2, "a"))
    assert start_size(role("worker", 1, 8, size=3, pods=pods)) == 2


def test_a_larger_size_is_kept() -> None:
    mine = role("worker", 1, 8, size=4, finished_indexes=frozenset({0}))
    assert [with_unended(mine, size) for size in (1, 2, 3, 9)] == [2, 2, 3, 9]
    assert start_size(mine.changed(replicas=1)) == 2


def test_ranks_that_have_ended_get_no_pods() -> None:
    mine = role("worker", 1, 8, size=4, finished_indexes=frozenset({0, 2}))
    assert [pods_at(mine, size) for size in (2, 3, 5)] == [1, 1, 3]
    assert start_pods(mine) == 1


def test_work_items_have_no_ranks() -> None:
    """Another pod takes the next item, and the Job is complete once all items are."""
    items = role("worker", 1, 8, size=4, indexed=False, finished_indexes=frozenset({0}))
    assert start_size(items) == 1


@pytest.mark.parametrize(
    ("framework", "mode", "role", "roles", "finishing"),
    [
        ("paddle", "cloud", "trainer", "master=1,pserver=1,trainer=1..4", True),
        ("paddle", "elastic", "trainer", "master=1,trainer=1..4", True),
        ("tensorflow", "ps", "worker", "chief=1,ps=1,worker=1..4", True),
        ("mxnet", "fork", "worker", "scheduler=1,server=1,worker=1..4", True),
        ("tensorflow", "ps", "worker", "ps=1,worker=1..4", False),  # worker 0 decides
        ("pytorch", "elastic", "worker", "rendezvous=1,worker=1..4", False),  # the first decides
        ("horovod", "kubexec", "worker", "launcher=1,worker=1..4", False),  # the launcher does
        ("none", "items", "worker", "worker=1..4", False),  # items do not depend on each other
    ],
)
def test_a_success_ends_the_training_where_each_rank_has_to_succeed(
    framework: str, mode: str, role: str, roles: str, *, finishing: bool
) -> None:
    notes = {"mode": mode, "roles": roles}
    spec = {"parallelism": 4, "completions": 4}
    manifest = created(
        job(
            f"mnist-{role}",
            annotations=notes,
            spec=spec,
            framework=framework,
            job="mnist",
            role=role,
        )
    )
    manifest["metadata"] |= {
        "uid": "u",
        "resourceVersion": "1",
        "creationTimestamp": "2026-01-01T00:00:00Z",
    }
    manifest["status"] = {"succeeded": 1, "completedIndexes": "1"}
    found = job_facts.job(msgspec.json.encode(manifest), ShapeInterner()).role
    assert found is not None
    assert is_finishing(found) is finishing
