"""Users who come and go: their jobs, what they do to them, and a service beside them.

Everything is drawn from one seed before it begins; only the moments depend on the run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from edl.writes import Json
from tests.integration.support.stage import elastic, role_jobs

ENDS_AFTER: Final = "sandbox.edl.dev/complete-after"
STOPS_WELL: Final = "sandbox.edl.dev/stop-after"


@dataclass(frozen=True, slots=True)
class Wish:
    """What a user does to one job, `after` so many seconds."""

    after: float
    verb: str
    size: int | None = None


@dataclass(frozen=True, slots=True)
class Commission:
    """One training job of a user: its Jobs in the order in which they are created, and wishes."""

    name: str
    kind: str
    manifests: Sequence[Json]
    elastic: str = ""
    """The Job whose size its user may ask for."""
    wishes: Sequence[Wish] = field(default=())

    @property
    def jobs(self) -> list[str]:
        return [manifest["metadata"]["name"] for manifest in self.manifests]

    @property
    def deleted(self) -> bool:
        return any(wish.verb == "delete" for wish in self.wishes)


def commissions(count: int, dice: Random) -> list[Commission]:
    """So many, of every kind in turn, each as the dice will."""
    kinds = [list(KINDS)[number % len(KINDS)] for number in range(count)]
    dice.shuffle(kinds)
    return [_commission(kind, f"job-{number:03d}", dice) for number, kind in enumerate(kinds)]


def _commission(kind: str, name: str, dice: Random) -> Commission:
    manifests, resized, bounds = KINDS[kind](name, dice)
    dice.shuffle(manifests)
    return Commission(name, kind, manifests, resized, _wishes(bounds, dice) if bounds else ())


def _wishes(bounds: tuple[int, int], dice: Random) -> list[Wish]:
    chance = dice.random()
    if chance < 0.08:
        return [Wish(dice.uniform(0, 25), "delete")]
    if chance < 0.25:
        begin = dice.uniform(2, 12)
        return [Wish(begin, "pause"), Wish(begin + dice.uniform(1, 10), "resume")]
    if chance < 0.65 and bounds[0] < bounds[1]:
        times = sorted(dice.uniform(1, 25) for _ in range(dice.randint(1, 3)))
        sizes = [Wish(after, "scale", dice.randint(*bounds)) for after in times]
        return [*sizes, Wish(times[-1] + dice.uniform(1, 10), "auto")]
    return []


_Made = tuple[list[Json], str, tuple[int, int] | None]


def _sweep(name: str, dice: Random) -> _Made:
    job = elastic(name, "1", {"max": "5"}, completions=dice.randint(6, 14))
    return _ending([job], {"": dice.randint(4, 9)}, dice), name, (1, 5)


def _gang(name: str, dice: Random) -> _Made:
    size = dice.randint(3, 8)
    job = elastic(name, "2", parallelism=size)
    return _ending([job], {"": dice.randint(8, 25)}, dice), name, (size, size)


def _alone(name: str, dice: Random) -> _Made:
    job = elastic(name, "2", {"framework": "tensorflow", "max": "4"})
    return _ending([job], {"": dice.randint(12, 30)}, dice), name, (1, 4)


def _tensorflow(name: str, dice: Random) -> _Made:
    most = dice.randint(4, 8)
    jobs = role_jobs("tensorflow", name, f"chief=1,ps=2,worker=1..{most}", ps=2)
    ends = {"chief": dice.randint(12, 35), "worker": 50}
    return _ending(jobs, ends, dice), f"{name}-worker", (1, most)


def _horovod(name: str, dice: Random) -> _Made:
    jobs = role_jobs("horovod", name, "launcher=1,worker=2..6")
    return _ending(jobs, {"launcher": dice.randint(12, 30)}, dice), f"{name}-worker", (2, 6)


def _pytorch(name: str, dice: Random) -> _Made:
    jobs = role_jobs("pytorch", name, "rendezvous=1,worker=2..4")
    return _ending(jobs, {"worker": dice.randint(12, 30)}, dice), f"{name}-worker", (2, 4)


def _mxnet(name: str, dice: Random) -> _Made:
    """Each new size is a restart of all."""
    all_roles = "scheduler=1,server=1,worker=1..4"
    jobs = role_jobs("mxnet", name, all_roles)
    ends = {"scheduler": dice.randint(8, 16), "worker": dice.randint(8, 16)}
    return _ending(jobs, ends, dice), f"{name}-worker", (1, 4)


KINDS: Final = {
    "sweep": _sweep,
    "gang": _gang,
    "alone": _alone,
    "tensorflow": _tensorflow,
    "horovod": _horovod,
    "pytorch": _pytorch,
    "mxnet": _mxnet,
}


def _ending(jobs: list[Json], ends: Mapping[str, int], dice: Random) -> list[Json]:
    """Simulated pods end so many seconds after they began, by role; some take long to stop."""
    for job in jobs:
        role = job["metadata"]["labels"].get("edl.dev/role", "")
        notes: dict[str, Any] = {}
        if role in ends:
            notes[ENDS_AFTER] = f"{ends[role]}s"
        if dice.random() < 0.3:
            notes[STOPS_WELL] = f"{dice.randint(1, 4)}s"
        job["spec"]["template"]["metadata"] = {"annotations": notes}
    return jobs
