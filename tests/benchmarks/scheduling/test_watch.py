"""What counts as a gang's start, as running and as half placed."""

from msgspec import convert

from benchmarks.follow import Observed
from benchmarks.scheduling.gangs import is_late, is_stopped
from benchmarks.scheduling.watch import Gang, StartStage
from edl.contract import PLACEMENT_GATE
from edl.writes import Json

GANG = {"mnist-ps": 1, "mnist-worker": 2}
PODS = (("mnist-ps", "ps-0"), ("mnist-worker", "worker-0"), ("mnist-worker", "worker-1"))


def seen(name: str, spec: Json | None = None, status: Json | None = None) -> Observed:
    return convert(
        {"metadata": {"name": name}, "spec": spec or {}, "status": status or {}}, Observed
    )


class Story:
    """One gang, and a second between two events."""

    def __init__(self) -> None:
        self.gang = Gang("mnist", GANG)
        self.now = 0.0

    def job(self, name: str, *, suspend: bool = False, done: bool = False) -> None:
        self.now += 1
        status = {"conditions": [{"type": "Complete", "status": "True"}]} if done else {}
        found = seen(name, {"suspend": suspend}, status)
        self.gang.see_job(found, deleted=False, now=self.now)

    def jobs(self, *, suspend: bool = False) -> None:
        for name in GANG:
            self.job(name, suspend=suspend)

    def pod(self, job: str, name: str, phase: str = "Pending", node: str = "") -> None:
        self.now += 1
        gates = [] if node else [{"name": PLACEMENT_GATE}]
        spec = {"nodeName": node, "schedulingGates": gates}
        self.gang.see_pod(job, seen(name, spec, {"phase": phase}), deleted=False, now=self.now)

    def pods(self, phase: str = "Running") -> None:
        for job, name in PODS:
            self.pod(job, name, phase, "n1")


def test_a_gang_runs_once_every_role_has_its_minimum() -> None:
    story = Story()
    story.jobs(suspend=True)
    assert story.gang.starts == []
    story.jobs()
    for job, name in PODS:
        story.pod(job, name)
    story.pods()
    (start,) = story.gang.starts
    assert (start.admitted, start.ran) == (3.0, 10.0)
    assert [start.lasted(stage) for stage in StartStage] == [4.0, 3.0, 0.0, 0.0]
    assert not is_late(start)


def test_it_is_half_placed_while_a_role_has_fewer_nodes_than_its_minimum() -> None:
    story = Story()
    story.jobs()
    story.pods()
    assert story.gang.halves == [2.0]


def test_what_does_not_run_in_time_is_late_and_what_is_taken_back_before_is_stopped() -> None:
    story = Story()
    story.jobs()
    story.jobs(suspend=True)
    story.jobs()
    story.now += 11
    story.pods()
    assert [is_stopped(start) for start in story.gang.starts] == [True, False]
    assert [is_late(start) for start in story.gang.starts] == [False, True]


def test_a_start_whose_end_is_seen_before_its_pods_ran() -> None:
    story = Story()
    story.jobs()
    story.job("mnist-worker", done=True)
    assert story.gang.over
    story.pods("Succeeded")
    (start,) = story.gang.starts
    assert start.ran


def test_pods_that_leave_after_the_work_is_done_make_no_half_gang() -> None:
    story = Story()
    story.jobs()
    story.pods()
    story.gang.halves.clear()
    story.pod("mnist-worker", "worker-0", "Succeeded", "n1")
    story.pod("mnist-worker", "worker-1", "Failed", "n1")
    story.gang.close(story.now)
    assert story.gang.halves == []
