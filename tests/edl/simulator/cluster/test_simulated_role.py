"""The parts of the simulator, each alone."""

from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from edl.model import Node, PodAffinityTerm, PodConstraints, Requirement, Selector, Shape, Taint
from edl.quantities import Resources
from edl.simulator import (
    LINEAR,
    Amdahl,
    Measured,
    Timing,
    Work,
    Workload,
    WorkloadRole,
    queued,
)
from edl.simulator.cluster.progress import Progress
from edl.simulator.cluster.scheduler import PendingPod, Scheduler
from edl.simulator.cluster.simulated_nodes import Place, SimulatedNodes
from edl.simulator.event_queue import EventQueue
from edl.simulator.timeline import StepSeries
from tests.edl.simulator.worlds import node, shape

# -- curves and work ---------------------------------------------------------------------------


@given(st.floats(0, 1), st.integers(1, 500))
def test_more_replicas_are_never_slower_and_never_faster_than_linear(
    serial: float, replicas: int
) -> None:
    curve = Amdahl(serial)
    assert curve(0) == 0
    assert curve(1) == pytest.approx(1)
    assert curve(replicas) <= curve(replicas + 1) + 1e-9
    assert curve(replicas) <= LINEAR(replicas) + 1e-9


def test_a_measured_curve_is_straight_between_its_points_and_flat_behind_them() -> None:
    curve = Measured(((1, 1.0), (4, 2.5), (8, 3.5)))
    assert [curve(size) for size in (0, 1, 2, 4, 6, 8, 20)] == [0, 1.0, 1.5, 2.5, 3.0, 3.5, 3.5]


def test_a_measured_curve_begins_at_zero_workers() -> None:
    assert Measured(((4, 2.0),))(2) == 1.0


@pytest.mark.parametrize("table", [(), ((4, 1.0), (2, 2.0)), ((0, 1.0),), ((1, 0.0),)])
def test_a_table_that_is_none_is_refused(table: tuple[tuple[int, float], ...]) -> None:
    with pytest.raises(ValueError, match="table: "):
        Measured(table)


def test_a_serial_share_above_one_and_negative_times_are_refused() -> None:
    with pytest.raises(ValueError, match="from 0 to 1"):
        Amdahl(1.5)
    with pytest.raises(ValueError, match="above it"):
        Timing(round=0)


def test_work_after_the_last_checkpoint_is_lost() -> None:
    progress = Progress(Work(1000, LINEAR), checkpoint=30)
    progress.run(0, 2)
    progress.run(50, 4)
    progress.advance(75)
    assert (progress.done, progress.saved) == (200, 140)
    progress.fall_back(75)
    assert (progress.done, progress.lost) == (140, 60)


def test_without_checkpoints_nothing_is_lost() -> None:
    progress = Progress(Work(1000, LINEAR))
    progress.run(0, 2)
    progress.fall_back(10)
    assert (progress.done, progress.lost, progress.end) == (20, 0, 500)


# -- time --------------------------------------------------------------------------------------


def test_things_of_one_instant_happen_in_the_order_in_which_they_were_planned() -> None:
    event_queue, seen = EventQueue(), list[str]()
    for at, name in ((2.0, "later"), (1.0, "a"), (1.0004, "b"), (1.0, "c")):
        event_queue.add(at, lambda name=name: seen.append(name))  # type: ignore[misc]
    event_queue.run(event_queue.next)
    assert seen == ["a", "c"]
    assert event_queue.next == 1.001


def test_a_line_keeps_the_last_value_of_an_instant_and_no_value_twice() -> None:
    line = StepSeries(0)
    for at, value in ((1, 5), (1, 0), (2, 3), (3, 3), (4, 1)):
        line.put(at, value)
    assert (line.times, line.values) == ([2, 4], [3, 1])
    assert line.spans(0, 5) == [(0, 2, 0), (2, 4, 3), (4, 5, 1)]


# -- the scheduler -----------------------------------------------------------------------------


class Pods:
    """Pods that the scheduler is given, and the nodes that it finds for them."""

    def __init__(self, *nodes: Node) -> None:
        self.sim_nodes = SimulatedNodes(nodes, ["pods", "gpu"])
        self.scheduler = Scheduler(self.sim_nodes)
        self.on: dict[str, str] = {}
        self._numbers = count()

    def ask(self, name: str, wanted: Shape, priority: int = 0, to: str = "") -> None:
        def bind(node: str) -> None:
            self.sim_nodes.bind(wanted, node)
            self.on[name] = node

        rank = (-priority, 0.0, next(self._numbers))
        self.scheduler.add(wanted, PendingPod(rank, name, bind, to))


def test_pods_go_to_the_least_allocated_node() -> None:
    pods = Pods(node("a", 4), node("b", 8))
    for name in ("one", "two", "three"):
        pods.ask(name, shape(2))
    assert pods.scheduler.run()
    # With one more pod of 2 CPU, a is left half of 4, b three quarters of 8, then half, then one.
    assert pods.on == {"one": "b", "two": "a", "three": "b"}


def test_a_pod_that_does_not_fit_does_not_hold_up_a_pod_that_fits() -> None:
    pods = Pods(node("a", 2))
    pods.ask("large", shape(4), priority=9)
    pods.ask("small", shape(1))
    pods.scheduler.run()
    assert pods.on == {"small": "a"}
    assert pods.scheduler.surprised()
    assert not pods.scheduler.surprised()


def test_pods_that_were_deleted_are_not_counted_among_those_that_wait() -> None:
    pods = Pods(node("a", 2))
    for name in ("first", "deleted"):
        pods.ask(name, shape(4))
    pods.scheduler.run()
    assert pods.scheduler.surprised()
    pods.scheduler.drop("deleted")
    pods.scheduler.run()
    assert not pods.scheduler.surprised()
    pods.scheduler.drop("first")
    for name in ("second", "third"):
        pods.ask(name, shape(4))
    pods.scheduler.run()
    assert pods.scheduler.surprised()


def test_priority_comes_before_time() -> None:
    pods = Pods(node("a", 2))
    pods.ask("first", shape(2))
    pods.ask("urgent", shape(2), priority=1)
    pods.scheduler.run()
    assert pods.on == {"urgent": "a"}


def test_a_pod_that_was_taken_back_is_not_bound() -> None:
    pods = Pods(node("a", 2))
    pods.ask("gone", shape(2))
    pods.ask("there", shape(2))
    pods.scheduler.drop("gone")
    pods.scheduler.run()
    assert pods.on == {"there": "a"}


def test_taints_cordons_and_selectors_keep_pods_away() -> None:
    tainted = node("a", taints=(Taint("gpu", "", "NoSchedule"),))
    pods = Pods(tainted, node("b", cordoned=True), node("c", 1, labels={"zone": "z"}))
    pods.ask("plain", shape(1))
    picky = Shape(Resources.parse({"cpu": 1, "pods": 1}), node_selector=(("zone", "y"),))
    pods.ask("picky", picky)
    pods.scheduler.run()
    assert pods.on == {"plain": "c"}


def test_a_placed_pod_goes_to_its_node_in_its_turn() -> None:
    pods = Pods(node("a", 3), node("b", 64))
    pods.ask("first", shape(2), to="a")
    pods.ask("urgent", shape(2), priority=1, to="a")
    pods.ask("second", shape(1), to="a")
    pods.scheduler.run()
    assert pods.on == {"urgent": "a", "second": "a"}
    pods.ask("least", shape(1), to="nowhere")
    assert not pods.scheduler.run()
    pods.sim_nodes.free(shape(2), Place("a"), leaving=False)
    assert pods.scheduler.run()
    assert pods.on == {"urgent": "a", "second": "a", "first": "a"}


@pytest.mark.parametrize(("priority", "found"), [(-1, {"other": "a"}), (1, {"placed": "a"})])
def test_placed_pods_and_others_take_turns(priority: int, found: dict[str, str]) -> None:
    pods = Pods(node("a", 2))
    pods.ask("other", shape(2))
    pods.ask("placed", shape(1), priority, to="a")
    pods.scheduler.run()
    assert pods.on == found


def test_a_placed_pod_that_waits_or_was_deleted_is_counted_as_any_other() -> None:
    pods = Pods(node("a", 2))
    pods.ask("placed", shape(4), to="a")
    pods.scheduler.run()
    assert pods.scheduler.surprised()
    assert not pods.scheduler.surprised()
    pods.scheduler.drop("placed")
    pods.ask("other", shape(4), to="a")
    pods.scheduler.run()
    assert not pods.scheduler.surprised()
    pods.sim_nodes.change(node("a", 9))
    pods.scheduler.run()
    assert pods.on == {"other": "a"}


def test_a_placed_pod_is_bound_after_the_pods_it_follows() -> None:
    leader, label = shape(1), Selector(("default",), (Requirement("app", "In", ("ps",)),))
    follower = replace(
        shape(1),
        constraints=PodConstraints("default", (), affinity=(PodAffinityTerm("zone", label),)),
    )
    leader = replace(leader, constraints=PodConstraints("default", (("app", "ps"),)))
    pods = Pods(node("a", 4, labels={"zone": "z"}))
    pods.ask("follower", follower, to="a")
    pods.ask("leader", leader, to="a")
    pods.scheduler.run()
    assert pods.on == {"follower": "a", "leader": "a"}


def test_of_equal_nodes_the_caller_may_draw() -> None:
    pods = Pods(node("a"), node("b"), node("c"))
    pods.scheduler.tie = lambda count: count - 1
    pods.ask("one", shape(1))
    pods.scheduler.run()
    assert pods.on == {"one": "c"}


# -- jobs --------------------------------------------------------------------------------------

WORKER = WorkloadRole("worker", 1, 4, shape())


@pytest.mark.parametrize(
    ("kind", "all_roles", "said"),
    [
        (Workload("caffe"), [WORKER], "one of tensorflow"),
        (Workload("pytorch", "fast"), [WORKER], "one of elastic"),
        (Workload("pytorch"), [], "at least one"),
        (Workload("pytorch"), [WorkloadRole("boss", 1, 1, shape())], "knows rendezvous"),
        (Workload("horovod"), [WORKER], "needs launcher"),
        (Workload("pytorch"), [WorkloadRole("worker", 3, 2, shape())], "1 ≤ min ≤ max"),
        (Workload("tensorflow"), [WORKER, WorkloadRole("ps", 1, 2, shape())], "never resized"),
        (Workload("tensorflow"), [WORKER, WorkloadRole("chief", 2, 2, shape())], "exactly one"),
        (Workload("tensorflow"), [WORKER, WORKER], "each role once"),
    ],
)
def test_what_the_webhook_would_refuse_is_refused(
    kind: Workload, all_roles: list[WorkloadRole], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        queued("one", kind, all_roles)
