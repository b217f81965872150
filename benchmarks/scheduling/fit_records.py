"""Figures of gangs that fill clusters: one line per cluster, also read from a file."""

from collections.abc import Iterable, Iterator, Sequence
from math import ceil
from pathlib import Path
from statistics import fmean
from typing import Final

import msgspec

SOON: Final = 10.0
"""The criterion: within this many seconds after the last arrival all gangs that fit run, and no
gang has a part of its minimum bound for longer without the rest.
"""


class ClusterRecord(msgspec.Struct, frozen=True):
    """The results of the gangs of one cluster. Times in seconds."""

    seed: int
    commit: str
    date: str
    loads: tuple[float, float]
    stalled: float
    """The longest time for which the benchmark itself got no processor."""
    gangs: int
    ran: int
    waited: tuple[str, ...]
    """Gangs that did not run although they would fit, each with the last message of its Job."""
    after: float
    """From the last arrival until the last gang that runs does so."""
    starts: tuple[float, ...]
    """From each admission until the minimum runs."""
    halves: tuple[float, ...]
    """How long a part of a minimum was bound without the rest."""
    stolen: int
    """Tenants' pods that arrived just when a gang was given their node, and got it."""
    tenants: int
    reconciler: float
    """The processor seconds of the reconciler."""

    @property
    def missed(self) -> str:
        """The parts of the criterion that do not hold; empty if all hold."""
        found = {
            "late": self.after > SOON,
            "half": max(self.halves, default=0.0) > SOON,
            "waited": bool(self.waited),
        }
        return ", ".join(name for name, is_missed in found.items() if is_missed)


HEAD: Final = (
    f"{'':22}{'gangs':>6}{'ran':>6}{'no room':>8}{'waited':>7}{'all ran after':>14}"
    f"{'half':>6}{'longest':>9}  start  50 %    99 %   100 %{'tenants':>8}{'stolen':>7}"
    f"{'reconciler':>11}{'stall':>8}{'load':>6}  missed"
)


def line(name: str, found: Sequence[ClusterRecord]) -> str:
    """One line of figures. `half`: gangs that were half placed longer than the criterion allows."""
    starts = sorted(seconds for one in found for seconds in one.starts)
    parts = [starts[ceil(part * len(starts)) - 1] for part in (0.5, 0.99, 1)] if starts else []
    halves = [seconds for one in found for seconds in one.halves]
    gangs, ran, waited = (
        sum(counts)
        for counts in zip(*((one.gangs, one.ran, len(one.waited)) for one in found), strict=True)
    )
    missed = sum(bool(one.missed) for one in found)
    return (
        f"{name:22}{gangs:6}{ran:6}{gangs - ran - waited:8}{waited:7}"
        f"{max(one.after for one in found):12.1f} s"
        f"{sum(seconds > SOON for seconds in halves):6}{max(halves, default=0):7.1f} s     "
        + "".join(f"{seconds:6.2f} s" for seconds in parts)
        + f"{sum(one.tenants for one in found):8}{sum(one.stolen for one in found):7}"
        f"{sum(one.reconciler for one in found):9.1f} s{max(one.stalled for one in found):6.1f} s"
        f"{fmean(one.loads[1] for one in found):6.1f}"
        f"  {found[0].missed if len(found) == 1 else f'{missed} of {len(found)}'}"
    )


def table(found: Sequence[ClusterRecord]) -> Iterator[str]:
    """One line per cluster, and a line of sums."""
    yield HEAD
    for one in found:
        yield line(f"cluster {one.seed}", [one])
    groups = {"gangs alone": 0, "with other tenants": 1}
    for name, rest in groups.items():
        if some := [one for one in found if one.seed % 2 == rest]:
            yield line(name, some)
    yield line("all", found)
    commits = sorted({one.commit for one in found})
    yield f"commit {', '.join(commits)}; {found[0].date} to {found[-1].date} UTC"
    yield from (f"cluster {one.seed}, {gang}" for one in found for gang in one.waited)


def read(path: Path | None) -> list[ClusterRecord]:
    lines = path.read_text().splitlines() if path and path.exists() else []
    return [msgspec.json.decode(text, type=ClusterRecord) for text in lines]


def add(path: Path | None, lines: Iterable[str]) -> None:
    """Append the lines to the file, if one is given."""
    if path:
        with path.open("a") as file:
            file.writelines(f"{one}\n" for one in lines)
