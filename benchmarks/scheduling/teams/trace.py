"""The submissions of teams: some borrow the whole cluster, and owners come back in bursts."""

from collections.abc import Iterator, Sequence
from random import Random
from typing import Final, NamedTuple

from sandbox import NodeGroup

NODES: Final = 32
GPUS: Final = 8
"""GPUs per node."""
CAPACITY: Final = NODES * GPUS
GPU: Final = "nvidia.com/gpu"
LARGEST: Final = 16
"""The pods of the largest job, one GPU each; a borrower's job grows to this."""
LEAST: Final = 4
"""The minimum pods with which a borrower's job makes progress."""
FIRST_BURST: Final = 60.0
BETWEEN: Final = 70.0
WORK: Final = 40.0
"""The seconds for which the pods of an owner's gang run."""
BURSTS: Final = 4


class Submission(NamedTuple):
    """One training job of a team, with `least` to `pods` pods of one GPU each."""

    at: float
    """The seconds since the trace began."""
    team: str
    name: str
    least: int
    pods: int
    seconds: float | None
    """The seconds for which each of its pods runs; None: until the trace ends."""


class Trace(NamedTuple):
    """The submissions of all teams; `guaranteed`: the GPUs of each team."""

    guaranteed: dict[str, int]
    submissions: tuple[Submission, ...]
    lasts: float
    """The duration in seconds."""


def trace(seed: int, teams: int) -> Trace:
    """The trace: the first team borrows everything; others are idle except for bursts, in turn."""
    random = Random(seed)  # noqa: S311 - no secret depends on it
    names = [f"team-{number}" for number in range(teams)]
    part = CAPACITY // teams // LARGEST * LARGEST
    borrower, *owners = names
    found = [*_borrowers(random, borrower), *_bursts(random, owners, part // LARGEST)]
    return Trace(dict.fromkeys(names, part), tuple(sorted(found)), FIRST_BURST + BURSTS * BETWEEN)


def _borrowers(random: Random, team: str) -> Iterator[Submission]:
    for number in range(CAPACITY // LARGEST):
        yield Submission(random.uniform(0, 20), team, f"long-{number:02}", LEAST, LARGEST, None)


def _bursts(random: Random, owners: Sequence[str], gangs: int) -> Iterator[Submission]:
    """All gangs of an owner's guarantee, submitted within three seconds."""
    for burst in range(BURSTS):
        owner, begin = owners[burst % len(owners)], FIRST_BURST + burst * BETWEEN
        begin += random.uniform(0, 10)
        for number in range(gangs):
            at = begin + random.uniform(0, 3)
            yield Submission(at, owner, f"gang-{burst}-{number:02}", LARGEST, LARGEST, WORK)


def nodes() -> NodeGroup:
    return NodeGroup(NODES, "96", "512Gi", GPUS)


def fair_shares(demands: dict[str, int], capacity: int = CAPACITY) -> dict[str, float]:
    """The GPUs of each team if capacity is divided evenly, limited by each team's demand."""
    shares: dict[str, float] = {}
    left, waiting = float(capacity), sorted(demands, key=lambda team: (demands[team], team))
    while waiting:
        team = waiting.pop(0)
        shares[team] = min(float(demands[team]), left / (len(waiting) + 1))
        left -= shares[team]
    return shares
