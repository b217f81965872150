"""What teams submit: some borrow the whole cluster, and owners come back in bursts."""

from collections.abc import Iterator, Sequence
from random import Random
from typing import Final, NamedTuple

from sandbox import NodeGroup

NODES: Final = 32
GPUS: Final = 8
"""On each node."""
CAPACITY: Final = NODES * GPUS
GPU: Final = "nvidia.com/gpu"
LARGEST: Final = 16
"""Pods of a job, a GPU each; what a borrower's job grows to."""
LEAST: Final = 4
"""Pods with which a borrower's job makes progress."""
FIRST_BURST: Final = 60.0
BETWEEN: Final = 70.0
WORK: Final = 40.0
"""Seconds for which the pods of an owner's gang run."""
BURSTS: Final = 4


class Submission(NamedTuple):
    """One training job of a team. It has `least` to `pods` pods with a GPU each."""

    at: float
    """Seconds since the trace began."""
    team: str
    name: str
    least: int
    pods: int
    seconds: float | None
    """For how long each of its pods runs; None: until the trace ends."""


class Trace(NamedTuple):
    """`guaranteed`: GPUs of each team."""

    guaranteed: dict[str, int]
    submissions: tuple[Submission, ...]
    lasts: float
    """Seconds."""


def trace(seed: int, teams: int) -> Trace:
    """The first team borrows all there is; the others are idle but for bursts, in turn."""
    random = Random(seed)  # noqa: S311 (no secret depends on it)
    names = [f"team-{number}" for number in range(teams)]
    part = CAPACITY // teams // LARGEST * LARGEST
    borrower, *owners = names
    found = [*_borrowers(random, borrower), *_bursts(random, owners, part // LARGEST)]
    return Trace(dict.fromkeys(names, part), tuple(sorted(found)), FIRST_BURST + BURSTS * BETWEEN)


def _borrowers(random: Random, team: str) -> Iterator[Submission]:
    for number in range(CAPACITY // LARGEST):
        yield Submission(random.uniform(0, 20), team, f"long-{number:02}", LEAST, LARGEST, None)


def _bursts(random: Random, owners: Sequence[str], gangs: int) -> Iterator[Submission]:
    """All gangs of an owner's guarantee within three seconds."""
    for burst in range(BURSTS):
        owner, begin = owners[burst % len(owners)], FIRST_BURST + burst * BETWEEN
        begin += random.uniform(0, 10)
        for number in range(gangs):
            at = begin + random.uniform(0, 3)
            yield Submission(at, owner, f"gang-{burst}-{number:02}", LARGEST, LARGEST, WORK)


def nodes() -> NodeGroup:
    return NodeGroup(NODES, "96", "512Gi", GPUS)


def fair_shares(demands: dict[str, int], capacity: int = CAPACITY) -> dict[str, float]:
    """GPUs of each team if capacity is divided evenly, no team having more than it asks for."""
    shares: dict[str, float] = {}
    left, waiting = float(capacity), sorted(demands, key=lambda team: (demands[team], team))
    while waiting:
        team = waiting.pop(0)
        shares[team] = min(float(demands[team]), left / (len(waiting) + 1))
        left -= shares[team]
    return shares
