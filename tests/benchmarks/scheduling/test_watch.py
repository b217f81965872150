"""What counts as a gang's start, as running and as half placed."""

from msgspec import convert

from benchmarks.follow import Observed
from benchmarks.scheduling.watch import Gang
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

    def jobs(self, *, suspend: bool = False) -> None:
        for name in GANG:
            self.now += 1
            found = seen(name, {"suspend": suspend})
            self.gang.see_job(found, deleted=False, now=self.now)

    def pod(self, job: str, name: str, phase: str = "Pending", node: str = "") -> None:
        self.now += 1
        found = seen(name, {"nodeName": node}, {"phase": phase})
        self.gang.see_pod(job, found, deleted=False, now=self.now)

    def pods(self) -> None:
        for job, name in PODS:
            self.pod(job, name, "Running", "n1")


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


def test_it_is_half_placed_while_a_role_has_fewer_nodes_than_its_minimum() -> None:
    story = Story()
    story.jobs()
    story.pods()
    assert story.gang.halves == [2.0]


def test_a_gang_that_is_suspended_before_it_runs_starts_again() -> None:
    story = Story()
    story.jobs()
    story.jobs(suspend=True)
    story.jobs()
    story.pods()
    assert [(start.admitted, start.ran, start.stopped) for start in story.gang.starts] == [
        (1.0, None, 4.0),
        (5.0, 9.0, None),
    ]


def test_a_half_placement_lasts_until_the_end_of_the_observation_at_most() -> None:
    story = Story()
    story.jobs()
    story.pod(*PODS[0], node="n1")
    story.gang.close(story.now + 2)
    assert story.gang.halves == [2.0]
