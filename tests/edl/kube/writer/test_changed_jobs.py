"""Jobs that change between a decision and its write."""

from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from edl import contract
from edl.kube.decode import job_facts
from edl.kube.decode.pod_shapes import ShapeInterner
from edl.kube.writer.executor import ClusterWriter
from edl.model import JobKey, ObjectRef, Role
from edl.steps.preconditioned_patches import job_patch
from edl.writes import Json, Step
from tests.edl.kube import manifests
from tests.edl.kube.faults import FaultyCluster
from tests.fake_cluster.cluster import FakeCluster

KEY = JobKey("web", "train")
JOB = ObjectRef("Job", "web", "train")
RANKS: Json = {"parallelism": 3, "completions": 3}
ITEMS: Json = {"parallelism": 3, "completions": 900}
QUEUE: Json = {"parallelism": 3, "completions": None, "completionMode": "NonIndexed"}
NOTES = {contract.REASON: "IdleCapacity"}
TRIES = 5


class BusyCluster(FaultyCluster):
    """A cluster in which the status of a Job changes just before these attempts at a write."""

    def __init__(self, cluster: FakeCluster, changes: Collection[int]) -> None:
        super().__init__(cluster)
        self.fake, self.changes, self.tries = cluster, changes, 0

    def patch(self, target: ObjectRef, body: Mapping[str, Any], *, dry_run: bool = False) -> Json:
        self.tries += 1
        if self.tries in self.changes:
            self.fake.patch(JOB, {"status": {"ready": self.tries}})
        return super().patch(target, body, dry_run=dry_run)


def stored(spec: Mapping[str, Any]) -> FakeCluster:
    """A cluster with a running Job, in which three pods have failed."""
    fake = FakeCluster(lambda: datetime(2026, 1, 1, tzinfo=UTC))
    labels = {contract.FRAMEWORK: "pytorch" if spec is RANKS else "none", contract.MAX: "4"}
    body = manifests.job("train", labels=labels, notes=NOTES, suspend=False, **spec)
    body["metadata"]["finalizers"] = ["example.com/kept"]
    fake.create(JOB, body | {"status": {"active": 3, "failed": 3}})
    return fake


def role_of(fake: FakeCluster) -> Role:
    """The Job as a decision reads it."""
    raw = msgspec.json.encode(fake.get(JOB))
    role = job_facts.job(raw, ShapeInterner()).role
    assert role is not None
    return role


def suspension(fake: FakeCluster) -> Step:
    role = role_of(fake)
    return Step(KEY, (job_patch(KEY, role, {"suspend": True}, {contract.REASON: "Paused"}),))


def is_suspended(fake: FakeCluster) -> bool:
    return fake.get(JOB)["spec"]["suspend"] is True


NUMBERS: Mapping[str, Json] = {
    "its pods": {"status": {"active": 2, "ready": 1, "terminating": 1}},
    "a condition that is no end": {"status": {"conditions": [{"type": "Seen", "status": "True"}]}},
    "the progress": {"metadata": {"annotations": {contract.PROGRESS: "0.5"}}},
    "an annotation of others": {"metadata": {"annotations": {"example.com/seen": "yes"}}},
}


COUNTED: Json = {"status": {"uncountedTerminatedPods": {"succeeded": ["uid"]}}}


@pytest.mark.parametrize("spec", [RANKS, ITEMS], ids=["ranks", "items"])
def test_no_write_to_a_job_with_completions_depends_on_pods_that_are_counted(spec: Json) -> None:
    fake = stored(spec)
    step = suspension(fake)
    fake.patch(JOB, COUNTED)
    assert ClusterWriter(fake).act([step]).done == (step,)


@pytest.mark.parametrize("spec", [RANKS, ITEMS, QUEUE], ids=["ranks", "items", "queue"])
@pytest.mark.parametrize("change", NUMBERS.values(), ids=NUMBERS)
def test_no_write_depends_on_what_the_job_controller_counts(spec: Json, change: Json) -> None:
    fake = stored(spec)
    step = suspension(fake)
    fake.patch(JOB, change)
    assert ClusterWriter(fake).act([step]).done == (step,)
    assert is_suspended(fake)


def test_work_items_may_end_faster_than_a_plan_is_made() -> None:
    fake = stored(ITEMS)
    step = suspension(fake)
    fake.patch(JOB, {"status": {"succeeded": 7, "failed": 4, "completedIndexes": "0-6"}})
    assert ClusterWriter(fake).act([step]).done == (step,)


def ended(condition: str) -> Json:
    return {"status": {"conditions": [{"type": condition, "status": "True"}]}}


BY_USERS: Mapping[str, Json] = {
    "a size": {"spec": {"parallelism": 2}},
    "another field of the spec": {"spec": {"backoffLimit": 3}},
    "a manual size": {"metadata": {"annotations": {contract.REPLICAS: "2"}}},
    "names of pods to remove": {"metadata": {"annotations": {contract.REMOVE: "train-1"}}},
    "a new limit": {"metadata": {"labels": {contract.MAX: "9"}}},
    "a record that another leader wrote": {
        "metadata": {"annotations": {contract.REASON: "Paused"}}
    },
    "the Job is deleted": {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}},
}
ENDS = {condition: ended(condition) for condition in ("Complete", "SuccessCriteriaMet", "Failed")}


@pytest.mark.parametrize("spec", [RANKS, ITEMS, QUEUE], ids=["ranks", "items", "queue"])
@pytest.mark.parametrize("change", [*BY_USERS.values(), *ENDS.values()], ids=[*BY_USERS, *ENDS])
def test_what_others_have_written_is_decided_anew(spec: Json, change: Json) -> None:
    fake = stored(spec)
    step = suspension(fake)
    fake.patch(JOB, change)
    assert ClusterWriter(fake).act([step]).conflicts == (step,)
    assert not is_suspended(fake)


@pytest.mark.parametrize(
    ("spec", "status"),
    [
        (RANKS, {"completedIndexes": "2"}),
        (RANKS, {"failedIndexes": "1"}),
        (RANKS, {"failed": 4}),
        (QUEUE, {"succeeded": 1}),
        (QUEUE, COUNTED["status"]),
    ],
    ids=[
        *("a rank has succeeded", "a rank has failed for good", "a rank has failed"),
        *("a queue ends", "a queue whose first pod is counted"),
    ],
)
def test_a_rank_that_ends_and_a_queue_that_closes_are_decided_anew(
    spec: Json, status: Json
) -> None:
    fake = stored(spec)
    step = suspension(fake)
    fake.patch(JOB, {"status": status})
    assert ClusterWriter(fake).act([step]).conflicts == (step,)


def test_a_job_of_the_same_name_that_was_created_since_is_left_alone() -> None:
    fake = stored(RANKS)
    step = suspension(fake)
    again = fake.get(JOB)
    fake.delete(JOB)
    fake.patch(JOB, {"metadata": {"finalizers": []}})
    fake.create(JOB, again)
    assert ClusterWriter(fake).act([step]).conflicts == (step,)


@pytest.mark.parametrize(("changes", "done"), [(range(TRIES), True), (range(9), False)])
def test_a_write_is_tried_five_times(changes: range, *, done: bool) -> None:
    fake = stored(RANKS)
    step, busy = suspension(fake), BusyCluster(fake, changes)
    report = ClusterWriter(busy).act([step])
    assert (report.done, report.conflicts) == (((step,), ()) if done else ((), (step,)))
    assert busy.tries == TRIES


def test_a_later_write_of_a_step_relies_on_the_earlier_one_and_on_no_status() -> None:
    fake = stored(ITEMS)
    role = role_of(fake)
    size = {"parallelism": 2}
    step = Step(KEY, (job_patch(KEY, role, {}, NOTES), job_patch(KEY, role, size, {})))
    busy = BusyCluster(fake, (1, 3))  # each before the first attempt at one of the two
    assert ClusterWriter(busy).act([step]).done == (step,)
    assert fake.get(JOB)["spec"]["parallelism"] == 2


class EditedCluster(FaultyCluster):
    """A cluster in which a user asks for another size after the first write of a step."""

    def patch(self, target: ObjectRef, body: Mapping[str, Any], *, dry_run: bool = False) -> Json:
        written = super().patch(target, body, dry_run=dry_run)
        if "spec" not in body:
            super().patch(JOB, {"metadata": {"annotations": {contract.REPLICAS: "1"}}})
        return written


def test_a_later_write_of_a_step_gives_way_to_a_user() -> None:
    fake = stored(ITEMS)
    role = role_of(fake)
    noted = {contract.REASON: "Paused"}
    resized = job_patch(KEY, role, {"parallelism": 2}, {})
    step = Step(KEY, (job_patch(KEY, role, {}, noted), resized))
    assert ClusterWriter(EditedCluster(fake)).act([step]).conflicts == (step,)
    assert fake.get(JOB)["spec"]["parallelism"] == 3
