"""How good the fair policy's plans are.

`python -m benchmarks.planner.optimality [--clusters 1000]`

Small clusters of different nodes, with two to four jobs of different pods, in two situations: all
jobs run at random sizes, or all are queued; plans are acted on until nothing changes. Counted are
those where the least satisfied job (Fluid's fulfilment) is as satisfied as the best plan could
make it, found by trying them all: pods that run stay, or leave from the highest index, new ones go
to any node. All pods of queued jobs are new: the best is any packing whatever, although only
the scheduler decides where pods go.
"""

import argparse
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from fractions import Fraction
from random import Random
from typing import NamedTuple

from msgspec.structs import replace

from benchmarks.planner.clusters import NOON, pod, training
from benchmarks.planner.small_clusters import Puzzle, Room, puzzles
from edl.model import ClusterState, Code, Node, Shape, TrainingJob
from edl.planner.decide import decide
from edl.planner.decision_limits import Limits
from edl.planner.plan import Plan
from edl.planner.policies import POLICIES
from edl.quantities import Resources

LIMITS = Limits(load_ceiling=1)
_ROUNDS = 40


def _resources(room: Room, pods: int) -> Resources:
    return Resources.of({"cpu": room[0] * 500, "nvidia.com/gpu": room[1], "pods": pods})


Seats = tuple[tuple[str, ...], ...]
"""The nodes of each job's pods, by index; empty for a queued job."""


class World(NamedTuple):
    """A puzzle and its state while plans are carried out."""

    puzzle: Puzzle
    seats: Seats
    resized: tuple[tuple[datetime, Code | None], ...]
    """When, and why, each job's size last changed."""
    now: datetime

    def state(self) -> ClusterState:
        names = [f"node-{number}" for number in range(len(self.puzzle.nodes))]
        nodes = tuple(
            Node(name, _resources(room, 99), self._used(name), Resources())
            for name, room in zip(names, self.puzzle.nodes, strict=True)
        )
        jobs = tuple(self._job(number) for number in range(len(self.seats)))
        return ClusterState(self.now, nodes, jobs)

    def _used(self, name: str) -> Resources:
        used = Resources()
        for wish, seats in zip(self.puzzle.wishes, self.seats, strict=True):
            used += _resources(wish.need, 1) * seats.count(name)
        return used

    def _job(self, number: int) -> TrainingJob:
        wish, seats = self.puzzle.wishes[number], self.seats[number]
        since, reason = self.resized[number]
        job = training(number, Shape(_resources(wish.need, 1)), wish.min, wish.max)
        role = job.roles[0].changed(
            size=len(seats) or wish.min,
            suspended=not seats,
            pods=tuple(pod(index, name) for index, name in enumerate(seats)),
            resized_at=since,
            reason=reason,
        )
        started = NOON - timedelta(hours=1) if seats else None
        return replace(job, roles=(role,), started_at=started)

    def best(self, runs: Sequence[bool]) -> Fraction:
        """The largest minimum of fulfilments that any plan can give the running jobs.

        Running pods stay where they are or leave from the highest index; new ones go to any node.
        """
        wishes = self.puzzle.wishes
        levels = {
            Fraction(more, wish.max - wish.min)
            for wish, run in zip(wishes, runs, strict=True)
            if run
            for more in range(wish.max - wish.min + 1)
        }
        found = sorted(levels) or [Fraction(1)]
        reached = [level for level in found if self._reaches(level, runs)]
        return max(reached, default=Fraction(-1))

    def _reaches(self, level: Fraction, runs: Sequence[bool]) -> bool:
        wishes = self.puzzle.wishes
        sizes = [wish.size(level) * run for wish, run in zip(wishes, runs, strict=True)]
        kept = tuple(seats[:size] for seats, size in zip(self.seats, sizes, strict=True))
        missing = [size - len(seats) for size, seats in zip(sizes, kept, strict=True)]
        rooms = self._replace(seats=kept).free()
        return self.puzzle.fits(missing, list(rooms.values()))

    def free(self) -> dict[str, Room]:
        rooms = {f"node-{number}": room for number, room in enumerate(self.puzzle.nodes)}
        for wish, seats in zip(self.puzzle.wishes, self.seats, strict=True):
            for name in seats:
                rooms[name] = _less(rooms[name], wish.need)
        return rooms


def _less(room: Room, need: Room) -> Room:
    return tuple(have - amount for have, amount in zip(room, need, strict=True))


def act(world: World, plan: Plan) -> World:
    """Carry out the plan: highest indexes leave; new pods, largest first, fill the fullest node."""
    after = {found.job: found.after for found in plan.resizes}
    after |= {found.job: found.sizes[0][1] for found in plan.admissions}
    why = {found.job: found.reason.code for found in plan.resizes}
    why |= {found.job: found.reason.code for found in plan.admissions}
    keys = [job.key for job in world.state().jobs]
    wanted = [after.get(key, len(seats)) for key, seats in zip(keys, world.seats, strict=True)]
    kept = [seats[:size] for seats, size in zip(world.seats, wanted, strict=True)]
    shrunk = world._replace(seats=tuple(kept))
    rooms, seats = shrunk.free(), [list(here) for here in kept]
    needs = [wish.need for wish in world.puzzle.wishes]
    for job in sorted(range(len(seats)), key=lambda job: -sum(needs[job])):
        while len(seats[job]) < wanted[job] and (name := _fullest(rooms, needs[job])):
            rooms[name] = _less(rooms[name], needs[job])
            seats[job].append(name)
    resized = [
        (world.now, why[key]) if key in why else before
        for key, before in zip(keys, world.resized, strict=True)
    ]
    return shrunk._replace(
        seats=tuple(tuple(here) for here in seats),
        resized=tuple(resized),
        now=world.now + timedelta(minutes=2),
    )


def _fullest(rooms: dict[str, Room], need: Room) -> str:
    fitting = [(room, name) for name, room in rooms.items() if min(_less(room, need)) >= 0]
    return min(fitting, default=(None, ""))[1]


def queued(puzzle: Puzzle) -> World:
    before = tuple((NOON - timedelta(hours=1), None) for _ in puzzle.wishes)
    return World(puzzle, tuple(() for _ in puzzle.wishes), before, NOON)


def running(puzzle: Puzzle, random: Random) -> World | None:
    """All jobs running at random sizes, placed at random; None if their minimums did not fit so."""
    world = queued(puzzle)
    rooms = world.free()
    seats: list[list[str]] = [[] for _ in puzzle.wishes]
    waves = [number for number, wish in enumerate(puzzle.wishes) for _ in range(wish.min)]
    extras = [
        number
        for number, wish in enumerate(puzzle.wishes)
        for _ in range(random.randint(0, wish.max - wish.min))
    ]
    for number in [*random.sample(waves, len(waves)), *random.sample(extras, len(extras))]:
        need = puzzle.wishes[number].need
        found = [name for name, room in rooms.items() if min(_less(room, need)) >= 0]
        if found:
            name = random.choice(found)
            rooms[name] = _less(rooms[name], need)
            seats[number].append(name)
    if any(len(here) < wish.min for here, wish in zip(seats, puzzle.wishes, strict=True)):
        return None
    return world._replace(seats=tuple(tuple(here) for here in seats))


def settle(world: World) -> World:
    for _ in range(_ROUNDS):
        plan = decide(world.state(), POLICIES["fair"], LIMITS)
        if not (plan.resizes or plan.admissions):
            break
        world = act(world, plan)
    return world


class Verdict(NamedTuple):
    """The result of one puzzle."""

    world: World
    best: Fraction
    found: Fraction
    sizes: list[int]

    @property
    def optimal(self) -> bool:
        return self.found >= self.best


def judge(world: World) -> Verdict:
    end = settle(world)
    sizes = [len(here) for here in end.seats]
    best = world.best([bool(size) for size in sizes])
    return Verdict(world, best, world.puzzle.least(sizes), sizes)


def verdicts(count: int, seed: int) -> dict[str, list[Verdict]]:
    random = Random(seed)  # noqa: S311 - no secret depends on it
    found: dict[str, list[Verdict]] = {"jobs run": [], "jobs are queued": []}
    drawn = puzzles(random)
    while len(found["jobs run"]) < count:
        puzzle = next(drawn)
        started = running(puzzle, random)
        if started is not None:
            found["jobs run"].append(judge(started))
            found["jobs are queued"].append(judge(queued(puzzle)))
    return found


def describe(name: str, found: Sequence[Verdict], shown: int) -> None:
    rest = [one for one in found if not one.optimal]
    part = 1 - len(rest) / len(found)
    gaps = sorted(one.best - one.found for one in rest)
    print(f"{name:<16} {len(found):>6} clusters  {part * 100:>6.2f} % optimal", end="")
    print(f"   rest: {float(gaps[len(gaps) // 2]):.2f} below it (median)" if gaps else "")
    steps = Counter(_steps(one) for one in rest)
    print(*(f"    {count:>4} x {what}" for what, count in steps.most_common()), sep="\n")
    for one in rest[:shown]:
        print(f"    {one.world.puzzle.nodes} {[tuple(wish) for wish in one.world.puzzle.wishes]}")
        print(f"      {one.world.seats}: best {one.best}, found {one.found} {one.sizes}")


def _steps(one: Verdict) -> str:
    least = max(Fraction(1, wish.max - wish.min) for wish in one.world.puzzle.wishes)
    return "within one replica" if one.best - one.found <= least else "more than one replica"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clusters", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=0, help="of those that are not optimal")
    options = parser.parse_args()
    for name, found in verdicts(options.clusters, options.seed).items():
        describe(name, found, options.show)


if __name__ == "__main__":
    main()
