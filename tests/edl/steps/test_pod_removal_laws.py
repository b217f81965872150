"""Whatever is interrupted, a removal ends in the same way: a small world of Jobs and pods."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from msgspec.structs import replace

from edl import contract
from edl.model import Pod, TrainingJob
from edl.planner.plan import Resize
from edl.steps.running_jobs import upkeep
from edl.writes import Delete, Patch, Write
from tests.edl.trainings import KEY, LONG_AGO, NOW, hostfile, pod, role, training, written
from tests.reasons import because

pytestmark = pytest.mark.laws

ROUNDS = 60


@dataclass
class World:
    """Workers as a Job controller keeps them, and a launcher; time goes on round by round."""

    size: int
    wanted: int
    named: frozenset[str]
    slow: int
    """Rounds until a new worker is ready."""
    now: datetime = NOW
    listed: str = ""
    told: datetime = LONG_AGO
    pods: dict[int, Pod] = field(default_factory=dict)
    born: dict[str, int] = field(default_factory=dict)
    round: int = 0
    ended: list[str] = field(default_factory=list)
    lists: list[str] = field(default_factory=list)
    worked: bool = True
    """At every moment somebody who is listed was there and ready."""
    resized: datetime = LONG_AGO
    removed: frozenset[str] = frozenset()
    removals: list[str] = field(default_factory=list)
    """Lines of the history about removals."""

    def __post_init__(self) -> None:
        self.pods = {index: pod("worker", index) for index in range(self.size)}
        self.listed = hostfile(range(self.size))

    def job(self) -> TrainingJob:
        launcher = pod(
            "launcher", 0, hosts=self.listed, published_at=self.told, confirmed_at=self.told
        )
        workers = role(
            "worker",
            1,
            12,
            size=self.size,
            pods=tuple(self.pods[index] for index in sorted(self.pods)),
            removing=self.named,
            removed=self.removed,
            replicas=self.wanted,
            resized_at=self.resized,
        )
        found = (role("launcher", pods=(launcher,)), workers)
        return training(*found, framework="horovod", started_at=LONG_AGO)

    def plan(self) -> list[Resize]:
        if self.size == self.wanted:
            return []
        return [Resize(KEY, "worker", self.size, self.wanted, because("manual size"))]

    def take(self, writes: Sequence[Write]) -> None:
        for write in writes:
            if isinstance(write, Delete):
                self._end(write.target.name)
            elif isinstance(write, Patch) and write.target.kind == "Pod":
                self._publish(written(write))
            elif isinstance(write, Patch):
                self._patch(write)

    def _end(self, name: str) -> None:
        (index,) = (index for index, found in self.pods.items() if found.name == name)
        self.ended.append(name)
        del self.pods[index]

    def _publish(self, notes: object) -> None:
        assert isinstance(notes, dict)
        if contract.HOSTFILE in notes:
            self.listed, self.told = notes[contract.HOSTFILE], self.now
            self.lists.append(self.listed)

    def _patch(self, patch: Patch) -> None:
        notes = written(patch)
        if contract.REMOVE in notes:
            self.named = frozenset()
            self.removed = frozenset(filter(None, (notes[contract.REMOVED_PODS] or "").split(",")))
            self.removals += notes.get(contract.HISTORY, "").splitlines()
        self.size = (patch.body.get("spec") or {}).get("parallelism", self.size)
        if contract.RESIZED_AT in notes:
            self.resized = self.now

    def go_on(self) -> None:
        """The Job controller drops what is too high and makes what is missing."""
        self.now += timedelta(seconds=1)
        self.round += 1
        for index in [index for index in self.pods if index >= self.size]:
            self.ended.append(self.pods.pop(index).name)
        listed = [int(line.partition(".")[0].rpartition("-")[2]) for line in self.listed.split()]
        self.worked &= any(index in self.pods and self.pods[index].ready for index in listed)
        for index in set(range(self.size)) - self.pods.keys():
            name = f"mnist-worker-{index}-new{self.round}"
            fresh = pod("worker", index, ready=False, created_at=self.now)
            self.pods[index] = replace(fresh, name=name)
            self.born[name] = self.round
        for index, found in self.pods.items():
            if self.round - self.born.get(found.name, -ROUNDS) >= self.slow:
                self.pods[index] = replace(found, ready=True)


def lived(world: World, cuts: Iterator[int]) -> None:
    for _ in range(ROUNDS):
        (step,), _ = upkeep(world.job(), world.plan(), world.now)
        # A crash may come after any write: the rest is never done.
        world.take(step.writes[: next(cuts, len(step.writes))])
        world.go_on()


@given(
    some.integers(2, 8).flatmap(
        lambda size: some.tuples(some.just(size), some.sets(some.integers(0, size - 1), max_size=2))
    ),
    some.integers(1, 12),
    some.lists(some.integers(0, 2), max_size=20),
)
@settings(max_examples=150, deadline=None)
def test_exactly_the_named_and_the_highest_end_whatever_crashes(
    asked: tuple[int, set[int]], slow: int, cuts: list[int]
) -> None:
    size, indexes = asked
    wanted = max(size - len(indexes), 1)
    names = {f"mnist-worker-{index}-abcde" for index in indexes}
    world = World(size, wanted, frozenset(names), slow)
    lived(world, iter(cuts))
    highest = {f"mnist-worker-{index}-abcde" for index in range(wanted, size)}
    assert set(world.ended) >= names | highest
    assert len(world.ended) == len(set(world.ended)), "nobody ends twice"
    others = set(world.ended) - names - highest
    assert not others or indexes >= set(range(wanted)), "others only where nobody else would stay"
    assert all("-new" in name for name in others), "and they have not worked yet"
    assert world.worked or len(indexes) == size, "somebody worked all the time"
    assert (world.size, world.named) == (wanted, frozenset())
    assert world.listed == hostfile(range(wanted))
    assert all(world.lists), "no list was ever empty"
    assert len(world.removals) == bool(names), "a removal is recorded once"
    (step,), _ = upkeep(world.job(), world.plan(), world.now)
    assert step.writes == (), "nothing is left to do"
