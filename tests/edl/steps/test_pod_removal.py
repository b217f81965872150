"""Named pods leave: off the list first, then they and the highest index, each exactly once."""

from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from edl import contract, reasons
from edl.annotations import cleared_nodes
from edl.annotations.last_change import read_reason
from edl.kube.writer.executor import ClusterWriter
from edl.model import (
    Clearing,
    Code,
    ObjectRef,
    Pod,
    ResizePolicy,
    Role,
    Share,
    TrainingJob,
)
from edl.planner.plan import Drain, Resize
from edl.steps.host_lists import JOIN, LEAVE
from edl.steps.pod_removal import untracked_end, with_drained_pods
from edl.steps.running_jobs import upkeep
from edl.writes import Delete, Json, Patch, Step
from tests.edl.kube.faults import FaultyCluster
from tests.edl.trainings import (
    KEY,
    LONG_AGO,
    NOW,
    deleted,
    hostfile,
    job_patches,
    patches,
    pod,
    pods,
    published,
    role,
    seconds,
    training,
    written,
)
from tests.fake_cluster.cluster import FakeCluster
from tests.reasons import because

NAMED = "mnist-worker-1-abcde"


def launcher(*listed: int, told: int = 3600) -> Role:
    at = NOW - seconds(told)
    found = pod("launcher", 0, hosts=hostfile(listed), published_at=at, confirmed_at=at)
    return role("launcher", pods=(found,))


def workers(*found: Pod, size: int, **fields: object) -> Role:
    return role("worker", 1, 12, size=size, pods=found, removing=frozenset({NAMED}), **fields)


def horovod(*roles: Role) -> TrainingJob:
    return training(*roles, framework="horovod", started_at=LONG_AGO)


def shrink(job: TrainingJob, before: int, after: int) -> tuple[Step, object]:
    resize = Resize(KEY, "worker", before, after, because("manual size"))
    (step,), recheck = upkeep(job, [resize], NOW)
    return step, recheck


def test_at_first_the_list_loses_the_named_and_the_highest() -> None:
    job = horovod(launcher(0, 1, 2, 3), workers(*pods("worker", range(4)), size=4))
    step, recheck = shrink(job, 4, 3)
    assert published(step.writes) == hostfile([0, 2])
    assert deleted(step) == []
    assert job_patches(step) == {}
    assert recheck == LEAVE


def test_then_the_named_pod_goes_and_the_size_with_it() -> None:
    job = horovod(launcher(0, 2, told=4), workers(*pods("worker", range(4)), size=4))
    step, _ = shrink(job, 4, 3)
    record, end = step.writes[:2]
    assert isinstance(end, Delete)
    assert (end.target.name, end.version) == (NAMED, f"v-{NAMED}")
    assert job_patches(step) == {"mnist-worker": {"parallelism": 3, "completions": 3}}
    (patch,) = patches(step)
    assert patch is record
    assert written(patch)[contract.REMOVE] is None
    assert written(patch)[contract.REMOVED_PODS] == NAMED
    assert written(patch)[contract.HISTORY].endswith(
        f" PodsRemoved 4 3 PodsRemoved removed by name: {NAMED}"
    )
    assert [event.action for event in step.events] == ["ScaledDown", "PodsRemoved"]


def test_after_a_crash_a_recorded_removal_is_completed_and_not_recorded_again() -> None:
    recorded = workers(*pods("worker", range(4)), size=3, removed=frozenset({NAMED}))
    job = horovod(launcher(0, 2, told=5), recorded.changed(removing=frozenset()))
    (step,), _ = upkeep(job, [], NOW)
    assert [target.name for target in deleted(step)] == [NAMED]
    assert patches(step) == []


def test_a_replacement_is_not_taken_for_the_removed_pod() -> None:
    again = replace(pod("worker", 1), name="mnist-worker-1-fghij", ready=False, created_at=NOW)
    rest = pods("worker", [0, 2, 3])
    job = horovod(launcher(0, 2, told=5), workers(*rest, again, size=4))
    step, _ = shrink(job, 4, 3)
    assert deleted(step) == []
    (patch,) = patches(step)
    assert written(patch)[contract.REMOVE] is None
    assert patch.body["spec"] == {"parallelism": 3, "completions": 3}


def test_a_pod_that_leaves_already_is_not_ended_twice() -> None:
    leaving = pod("worker", 1, terminating=True)
    job = horovod(launcher(0, 2, told=5), workers(*pods("worker", [0, 2]), leaving, size=3))
    (step,), _ = upkeep(job, [], NOW)
    assert deleted(step) == []
    assert written(patches(step)[0])[contract.REMOVE] is None


def test_a_name_of_no_pod_is_reported_and_recorded_as_no_removal() -> None:
    found = pods("worker", [0, 2])
    job = training(role("ps", pods=pods("ps", [0])), workers(*found, size=2))
    (step,), _ = upkeep(job, [], NOW)
    (patch,) = patches(step)
    assert deleted(step) == []
    assert written(patch)[contract.REMOVE] is None
    assert contract.HISTORY not in written(patch)
    assert contract.REASON not in written(patch)
    (event,) = step.events
    assert (event.action, event.reason, event.warning) == ("Refused", "Invalid", True)
    assert event.message == f"worker: no pod {NAMED} exists (any longer)"


def test_a_removal_records_only_names_of_pods() -> None:
    asked = frozenset({NAMED, "mnist-worker-77-abcde"})
    found = role("worker", 1, 12, size=2, pods=pods("worker", range(2)), removing=asked)
    (step,), _ = upkeep(training(role("ps", pods=pods("ps", [0])), found), [], NOW)
    (patch,) = patches(step)
    assert written(patch)[contract.MESSAGE] == f"removed by name: {NAMED}"
    assert [event.action for event in step.events] == ["PodsRemoved", "Refused"]


def test_a_name_is_a_whole_name() -> None:
    found = (*pods("worker", [0]), pod("worker", 1), pod("worker", 10))
    job = horovod(launcher(0, 10, told=5), workers(*found, size=11))
    assert [target.name for target in deleted(upkeep(job, [], NOW).steps[0])] == [NAMED]


def test_without_a_list_it_goes_at_once() -> None:
    job = training(role("ps", pods=pods("ps", [0])), workers(*pods("worker", range(3)), size=3))
    step, _ = shrink(job, 3, 2)
    assert [target.name for target in deleted(step)] == [NAMED]
    assert job_patches(step) == {"mnist-worker": {"parallelism": 2, "completions": 2}}


def test_without_a_new_size_its_index_comes_back_at_the_same_size() -> None:
    job = training(role("ps", pods=pods("ps", [0])), workers(*pods("worker", range(3)), size=3))
    (step,), _ = upkeep(job, [], NOW)
    assert [target.name for target in deleted(step)] == [NAMED]
    (patch,) = patches(step)
    assert "spec" not in patch.body
    assert written(patch)[contract.HISTORY].endswith(
        f" PodsRemoved 3 3 PodsRemoved removed by name: {NAMED}"
    )


def test_a_named_work_item_is_ended_whatever_its_index() -> None:
    """Indexes of work items go up to `completions`: no new size ends them."""
    named = "mnist-worker-7-abcde"
    items = role(
        "worker",
        1,
        4,
        indexed=False,
        resizing=ResizePolicy.ITEMS,
        size=2,
        pods=pods("worker", [6, 7]),
        removing=frozenset({named}),
    )
    (step,), _ = upkeep(training(items, framework="none"), [], NOW)
    assert [target.name for target in deleted(step)] == [named]


@pytest.mark.parametrize("closed", [False, True])
def test_the_last_pod_of_a_closed_work_queue_is_not_removed(*, closed: bool) -> None:
    """Kubernetes would take its Job as complete."""
    found = pods("worker", range(3))
    named = frozenset(one.name for one in found)
    fields = {"is_queue": True, "remaining": 3 if closed else None, "removing": named}
    queue = role("worker", 1, 4, indexed=False, size=4, pods=found, **fields)
    (step,), _ = upkeep(training(queue, framework="none"), [], NOW)
    assert len(deleted(step)) == (2 if closed else 3)


@pytest.mark.parametrize("by_plan", [True, False], ids=["by the plan", "by its user"])
def test_only_named_work_items_end_whenever_the_job_controller_counts(*, by_plan: bool) -> None:
    """It counts at once when the size changes, and deletes the youngest that are too many."""
    found = pods("worker", range(4))
    oldest = (found[0].name, found[1].name)
    asked = frozenset() if by_plan else frozenset(oldest)
    items = role("worker", 1, 4, indexed=False, size=4, pods=found, removing=asked)
    job = training(items, framework="none")
    if by_plan:
        drain = Drain(KEY, "worker", oldest, reasons.room_for_job(KEY))
        job = with_drained_pods(job, {(KEY, "worker"): drain})
    (step,), _ = upkeep(job, [Resize(KEY, "worker", 4, 2, reasons.room_for_job(KEY))], NOW)
    size, active = 4, [one.name for one in found]
    for write in step.writes:
        if isinstance(write, Delete):
            active.remove(write.target.name)
        elif isinstance(write, Patch):
            size = (write.body.get("spec") or {}).get("parallelism", size)
        active = active[:size]
    assert (size, active) == (2, [found[2].name, found[3].name])
    assert contract.HISTORY in written(patches(step)[0]), "recorded before a pod ends"
    waits = [isinstance(write, Patch) and write.delay > 0 for write in step.writes]
    assert waits == [False] * (len(waits) - 1) + [True], "before the size alone"


@pytest.mark.parametrize("by_user", [True, False])
def test_a_plan_chooses_anew_which_work_items_end_but_those_that_a_user_named_do(
    *, by_user: bool
) -> None:
    """A conflict cut the removal short: the pods are recorded, and the size is as before."""
    found = pods("worker", range(4))
    why = reasons.about_pods(Code.PODS_REMOVED, [NAMED]) if by_user else reasons.room_for_job(KEY)
    removed = {"removed": frozenset({NAMED}), "last": why}
    items = role("worker", 1, 4, indexed=False, size=4, pods=found, **removed)
    (step,), _ = upkeep(training(items, framework="none"), [], NOW)
    assert [target.name for target in deleted(step)] == ([NAMED] if by_user else [])


@pytest.mark.parametrize(
    ("change", "done"),
    [
        ({"status": {"phase": "Running"}}, True),
        ({"metadata": {"finalizers": ["example.com/own"]}}, False),
    ],
    ids=["status", "finalizers"],
)
def test_a_pod_is_removed_in_a_newer_version_with_the_same_finalizers(
    *, change: Json, done: bool
) -> None:
    fake, target = FakeCluster(lambda: NOW), ObjectRef("Pod", KEY.namespace, NAMED)
    metadata = {"finalizers": [contract.JOB_TRACKING]}
    version = fake.create(target, {"metadata": metadata})["metadata"]["resourceVersion"]
    found = replace(pod("worker", 1, finalizers=(contract.JOB_TRACKING,)), version=version)
    fake.patch(target, change)
    report = ClusterWriter(fake).act(
        [Step(KEY, untracked_end(training(workers(found, size=2)), found))]
    )
    assert (bool(report.done), bool(report.conflicts)) == (done, not done)


def test_the_record_of_thousands_of_removed_pods_fits_into_annotations() -> None:
    found = pods("worker", range(9000))
    items = role("worker", 1, 9000, indexed=False, size=9000, pods=found)
    names = tuple(one.name for one in found[:8999])
    drain = Drain(KEY, "worker", names, reasons.room_for_job(KEY))
    chosen = with_drained_pods(training(items, framework="none"), {(KEY, "worker"): drain})
    (step,), _ = upkeep(chosen, [Resize(KEY, "worker", 9000, 1, reasons.room_for_job(KEY))], NOW)
    recorded = written(patches(step)[0])[contract.REMOVED_PODS]
    assert len(recorded) <= 64 * 1024
    assert {*recorded.split(",")} < {*names}, "whole names"
    assert len(deleted(step)) == 8999


def test_the_job_controller_lets_go_of_a_pod_before_it_is_ended_by_name() -> None:
    """What it does not track, it does not count as failed."""
    tracked = ("example.com/own", contract.JOB_TRACKING)
    found = pods("worker", range(3), finalizers=tracked)
    job = training(role("ps", pods=pods("ps", [0])), workers(*found, size=3))
    (step,), _ = upkeep(job, [], NOW)
    release, end = step.writes[1:3]
    assert isinstance(release, Patch)
    assert release.target.name == NAMED
    assert release.version == f"v-{NAMED}"
    assert release.optional, "the size follows although the pod has gone meanwhile"
    assert release.body == {"metadata": {"finalizers": ["example.com/own"]}}
    assert isinstance(end, Delete)
    assert end.target.name == NAMED


def test_a_removal_by_name_during_a_start_keeps_the_count_of_failed_starts() -> None:
    last = replace(reasons.started(3), failed_starts=2)
    named = workers(*pods("worker", range(3)), size=3, last=last)
    (step,), _ = upkeep(training(named, framework="none"), [], NOW)
    said = [written(one) for one in patches(step) if contract.LAST_CHANGE in written(one)]
    (recorded,) = (read_reason(one[contract.LAST_CHANGE]) for one in said)
    assert recorded is not None
    assert (recorded.code, recorded.failed_starts) == (Code.PODS_REMOVED, 2)


class Binding(FaultyCluster):
    """kube-scheduler binds the pod as soon as its finalizers have changed."""

    def patch(self, target: ObjectRef, body: Mapping[str, Any], *, dry_run: bool = False) -> Json:
        written = super().patch(target, body, dry_run=dry_run)
        super().patch(target, {"spec": {"nodeName": "n1"}})
        return written


def test_a_pod_that_is_no_longer_tracked_ends_whatever_happens_to_it_meanwhile() -> None:
    """It would run on, and its Job would not count its success."""
    fake, target = FakeCluster(lambda: NOW), ObjectRef("Pod", KEY.namespace, NAMED)
    metadata = {"finalizers": [contract.JOB_TRACKING]}
    version = fake.create(target, {"metadata": metadata})["metadata"]["resourceVersion"]
    found = replace(pod("worker", 1, finalizers=(contract.JOB_TRACKING,)), version=version)
    step = Step(KEY, untracked_end(training(workers(found, size=2)), found))
    assert ClusterWriter(Binding(fake)).act([step]).done == (step,)
    assert fake.get(target)["metadata"]["deletionTimestamp"]


def test_a_removal_that_failed_half_way_is_completed_whatever_the_next_plan_removes() -> None:
    """The pod would run on, and its Job would not count its success."""
    released = pod("worker", 1, finalizers=())
    tracked = pods("worker", (0, 2), finalizers=(contract.JOB_TRACKING,))
    leaving = pod("worker", 3, finalizers=(), terminating=True)
    items = role("worker", 1, 9, indexed=False, size=4, pods=(*tracked, released, leaving))
    (step,), _ = upkeep(training(items, framework="none"), [], NOW)
    assert step.writes == (Delete(ObjectRef("Pod", KEY.namespace, released.name)),)
    unbound = items.changed(pods=(replace(released, node="", ready=False),))
    assert upkeep(training(unbound, framework="none"), [], NOW).steps[0].writes == ()
    shared = items.changed(shape=replace(items.template.shape, share=Share(500)))
    assert upkeep(training(shared, framework="none"), [], NOW).steps[0].writes == ()


def test_a_pod_that_the_job_controller_releases_at_a_scale_down_is_left_to_it() -> None:
    """A second deletion of each pod would be a needless request."""
    stays, leaves = pod("worker", 0), pod("worker", 1, finalizers=())
    smaller = role("worker", 1, 12, size=1, pods=(stays, leaves))
    assert upkeep(training(smaller), [], NOW).steps[0].writes == ()
    items = training(smaller.changed(indexed=False), framework="none")
    (step,) = upkeep(items, [], NOW).steps
    assert [target.name for target in deleted(step)] == [leaves.name]


def test_a_released_pod_that_is_still_named_for_removal_is_deleted_once() -> None:
    released = pod("worker", 1, finalizers=())
    (step,), _ = upkeep(training(workers(released, size=2)), [], NOW)
    assert [target.name for target in deleted(step)] == [released.name]


def test_it_never_takes_the_last_two_at_once() -> None:
    """Index 0 is named and 1 is above the new size: nobody who trains would be left."""
    last = role(
        "worker",
        1,
        2,
        size=2,
        pods=pods("worker", range(2)),
        removing=frozenset({"mnist-worker-0-abcde"}),
    )
    step, recheck = shrink(horovod(launcher(0, 1), last), 2, 1)
    assert published(step.writes) == hostfile([1])
    assert (job_patches(step), deleted(step), recheck) == ({}, [], LEAVE)
    step, _ = shrink(horovod(launcher(1, told=4), last), 2, 1)
    assert [target.name for target in deleted(step)] == ["mnist-worker-0-abcde"]
    (patch,) = patches(step)
    assert "spec" not in patch.body


def test_the_shrink_waits_until_the_one_that_stays_is_back() -> None:
    back = replace(pod("worker", 0), ready=False, created_at=NOW - seconds(10))
    staying = role("worker", 1, 2, size=2, pods=(back, pod("worker", 1)), resized_at=NOW)
    step, recheck = shrink(horovod(launcher(1, told=9), staying), 2, 1)
    assert (job_patches(step), published(step.writes)) == ({}, None)
    assert recheck == JOIN - seconds(10)


def test_a_node_that_goes_takes_no_name_off_the_users_list() -> None:
    job = horovod(launcher(0, 1, 2), workers(*pods("worker", range(3)), size=3))
    leaving = Drain(KEY, "worker", ("mnist-worker-2-abcde",), because("node n1 goes"))
    found = with_drained_pods(job, {(KEY, "worker"): leaving})
    assert found.roles[1].request.removing == {NAMED, "mnist-worker-2-abcde"}
    assert found.roles[0] == job.roles[0]


def test_a_pod_that_a_plan_takes_off_its_node_is_recorded_with_the_reason_of_the_plan() -> None:
    job = training(role("ps", pods=pods("ps", [0])), role("worker", 1, 3, pods=pods("worker", [0])))
    leaving = Drain(KEY, "worker", ("mnist-worker-0-abcde",), because("node n1 goes"))
    (step,), _ = upkeep(with_drained_pods(job, {(KEY, "worker"): leaving}), [], NOW)
    (patch,) = patches(step)
    assert written(patch)[contract.HISTORY].endswith(" PodsRemoved 1 1 IdleCapacity node n1 goes")
    assert [event.reason for event in step.events] == ["IdleCapacity"]


def test_a_scale_up_beside_a_move_is_recorded_as_a_scale_up() -> None:
    job = training(role("ps", pods=pods("ps", [0])), role("worker", 1, 3, pods=pods("worker", [0])))
    leaving = Drain(KEY, "worker", ("mnist-worker-0-abcde",), because("node n1 goes"))
    grown = Resize(KEY, "worker", 1, 3, because("3 of 3 fit"))
    (step,), _ = upkeep(with_drained_pods(job, {(KEY, "worker"): leaving}), [grown], NOW)
    told = [
        notes[contract.HISTORY] or ""
        for notes in map(written, patches(step))
        if contract.HISTORY in notes
    ]
    assert [text.partition(" ")[2] for text in told] == ["ScaledUp 1 3 IdleCapacity 3 of 3 fit"]


def test_what_is_cleared_for_a_pod_of_few_nodes_is_counted_on_the_job() -> None:
    job = training(role("ps", pods=pods("ps", [0])), role("worker", 1, 3, pods=pods("worker", [0])))
    leaving = Drain(KEY, "worker", ("mnist-worker-0-abcde",), because("makes room"), ("n1",))
    (step,), _ = upkeep(with_drained_pods(job, {(KEY, "worker"): leaving}), [], NOW)
    notes = written(patches(step)[-1])
    assert cleared_nodes.read(notes[contract.CLEARED] or "") == (Clearing("n1", 1, NOW),)


def test_a_pod_above_the_new_size_is_removed_by_the_resize_alone() -> None:
    """A crash between the two would have its index made again, and ended again."""
    job = training(role("ps", pods=pods("ps", [0])), workers(*pods("worker", range(2)), size=2))
    step, _ = shrink(job, 2, 1)
    assert deleted(step) == []
    assert job_patches(step) == {"mnist-worker": {"parallelism": 1, "completions": 1}}


def test_a_removal_at_the_manual_size_answers_no_wish_for_a_size() -> None:
    found = workers(*pods("worker", range(3)), size=3, replicas=3)
    (step,), _ = upkeep(training(role("ps", pods=pods("ps", [0])), found), [], NOW)
    assert [event.action for event in step.events] == ["PodsRemoved"]


MOVES = reasons.off_nodes(["worker-1"], ["n1"])
GROWN = because("idle capacity: 3 of 12 fit")


def moved(*found: Pod, **fields: object) -> TrainingJob:
    """Three workers, of which one was on its way off its node."""
    said = {"reason": MOVES.code, "message": "worker-1 moves", "last": GROWN} | fields
    return training(
        role("ps", pods=pods("ps", [0])), role("worker", 1, 12, size=3, pods=found, **said)
    )


def tracked(*indexes: int, **fields: object) -> tuple[Pod, ...]:
    return pods("worker", indexes, finalizers=(contract.JOB_TRACKING,), **fields)


def test_a_move_is_told_and_the_reason_of_the_size_is_kept() -> None:
    job = training(role("ps", pods=pods("ps", [0])), role("worker", size=3, pods=tracked(0, 1, 2)))
    plan = {(KEY, "worker"): Drain(KEY, "worker", (NAMED,), MOVES)}
    (step,), _ = upkeep(with_drained_pods(job, plan), [], NOW)
    said = written(patches(step)[0])
    told = "worker-1 moves off n1, which is cordoned"
    assert (said[contract.REASON], said[contract.MESSAGE]) == (MOVES.code, told)
    assert contract.LAST_CHANGE not in said
    assert [event.message for event in step.events] == [told]


def test_when_all_are_ready_the_reason_of_the_size_is_told_again() -> None:
    (patch,) = patches(upkeep(moved(*tracked(0, 1, 2)), [], NOW).steps[0])
    said = {contract.REASON: GROWN.code, contract.MESSAGE: "idle capacity: 3 of 12 fit"}
    assert written(patch) == said
    assert "spec" not in patch.body


@pytest.mark.parametrize(
    "last",
    [
        (),
        tracked(1, ready=False),
        tracked(1, terminating=True),
        pods("worker", [1], finalizers=()),
    ],
    ids=["missing", "not ready", "leaving", "let go"],
)
def test_until_then_the_move_is_told(last: tuple[Pod, ...]) -> None:
    assert patches(upkeep(moved(*tracked(0, 2), *last), [], NOW).steps[0]) == []


def test_a_change_for_the_same_reason_is_not_told_twice() -> None:
    job = moved(*tracked(0, 1, 2), reason=GROWN.code)
    assert patches(upkeep(job, [], NOW).steps[0]) == []


def test_a_move_with_a_new_size_has_the_reason_of_the_size() -> None:
    job = training(
        role("ps", pods=pods("ps", [0])), role("worker", 1, 12, size=3, pods=tracked(0, 1, 2))
    )
    plan = {(KEY, "worker"): Drain(KEY, "worker", (NAMED,), MOVES)}
    shrinks = [Resize(KEY, "worker", 3, 2, because("other"))]
    said = written(patches(upkeep(with_drained_pods(job, plan), shrinks, NOW).steps[0])[0])
    assert said[contract.MESSAGE] == "other"
    assert read_reason(said[contract.LAST_CHANGE]) == because("other")
