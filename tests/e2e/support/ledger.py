"""The ledgers that the examples' scripts write: one JSON object for each training step.

A process has a file of its own, `ledger/HOSTNAME-START.jsonl`, and adds a line a step; so a pod
that comes back begins a new file, and lines of different processes never mix.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

SETTLED = 30.0
"""Seconds after which a standstill has nothing to do with a resize any more."""


@dataclass(frozen=True, slots=True, order=True)
class Step:
    """One line: `time` in Unix seconds, `world` the number of trainers, `file` the process's."""

    time: float
    who: str
    step: int
    samples: int
    loss: float
    world: int
    file: str


def read(files: Mapping[str, str]) -> list[Step]:
    """The steps of all ledgers (contents by file name), in order of time.

    A last line without its end is left out: its process was killed while it wrote.
    """
    return sorted(_step(name, line) for name, text in files.items() for line in _whole_lines(text))


def _whole_lines(text: str) -> list[str]:
    return text.split("\n")[:-1]


def _step(name: str, line: str) -> Step:
    found = json.loads(line)
    return Step(
        time=float(found["time"]),
        who=str(found["who"]),
        step=int(found["step"]),
        samples=int(found["samples"]),
        loss=float(found["loss"]),
        world=int(found["world"]),
        file=name,
    )


def stalls(steps: Sequence[Step], around: Sequence[float]) -> list[float]:
    """For each moment (Unix seconds) the longest time without a step that it may have caused.

    That is a gap which touches the time from the moment until the next one, or until `SETTLED`. A
    moment outside the training has none: 0.
    """
    times = sorted(step.time for step in steps)
    moments = [*sorted(around), float("inf")]
    return [
        _longest_gap(times, moment, min(following, moment + SETTLED))
        for moment, following in pairwise(moments)
    ]


def _longest_gap(times: Sequence[float], begin: float, end: float) -> float:
    gaps = (after - before for before, after in pairwise(times) if after > begin and before < end)
    return max(gaps, default=0.0)


def standstill(steps: Sequence[Step], moment: float) -> tuple[list[Step], list[Step]]:
    """The steps before and after the longest time without one that ends after a moment.

    `steps` in order of time, at least one of them after the moment (Unix seconds).
    """
    ends = [place for place in range(1, len(steps)) if steps[place].time > moment]
    place = max(ends, key=lambda place: steps[place].time - steps[place - 1].time)
    return list(steps[:place]), list(steps[place:])


@dataclass(frozen=True, slots=True)
class Setback:
    """What a loss cost: steps above `saved`, up to `reached`, are made again; `moment` it came."""

    saved: int
    reached: int
    moment: float


def setback(steps: Sequence[Step], moment: float) -> Setback:
    """What was lost at a moment (Unix seconds), by the standstill that followed."""
    before, after = standstill(steps, moment)
    return Setback(after[0].step - 1, before[-1].step, moment)


def unexplained(steps: Sequence[Step], setbacks: Sequence[Setback]) -> list[int]:
    """The step numbers that were made again more often than the setbacks explain."""
    return [
        step
        for step, count in repeated(steps).items()
        if count > 1 + sum(one.saved < step <= one.reached for one in setbacks)
    ]


def worlds(steps: Sequence[Step]) -> list[int]:
    """How many trained, one world after the other."""
    sizes = [step.world for step in steps]
    return sizes[:1] + [after for before, after in pairwise(sizes) if after != before]


def mean_losses(steps: Sequence[Step], share: float = 0.1) -> tuple[float, float]:
    """The mean loss of the first and of the last `share` of the steps, at least one each."""
    count = max(1, int(len(steps) * share))
    begin, end = steps[:count], steps[-count:]
    return fmean(step.loss for step in begin), fmean(step.loss for step in end)


def repeated(steps: Sequence[Step]) -> dict[int, int]:
    """How often a step number stands in the ledgers, for those that stand there more than once."""
    return {step: count for step, count in _counted(steps).items() if count > 1}


def absent(steps: Sequence[Step], last: int) -> list[int]:
    """The step numbers from 1 to `last` that stand in no ledger."""
    counted = _counted(steps)
    return [step for step in range(1, last + 1) if step not in counted]


def _counted(steps: Sequence[Step]) -> Counter[int]:
    return Counter(step.step for step in sorted(steps))


def files(steps: Sequence[Step]) -> frozenset[str]:
    """The ledgers of processes that trained."""
    return frozenset(step.file for step in steps)


def workers(steps: Sequence[Step]) -> set[str]:
    """The host names that trained."""
    return {step.who for step in steps}
