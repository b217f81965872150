"""The figures of a run, as benchmarks/README.md shows them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tests.torture.faults import LANES
from tests.torture.lanes import Tally


@dataclass(frozen=True, slots=True)
class Report:
    """What a run has found. `seconds`: of faults, and from their end until all was quiet."""

    seed: int
    seconds: tuple[float, float]
    tally: Tally
    figures: Mapping[str, str]
    kinds: Mapping[str, str]
    """What became of the jobs of each kind."""
    longest: Mapping[str, float]
    violations: tuple[str, ...]

    def text(self) -> str:
        return "\n".join((*self._head(), "", *self._faults(), "", *self._end())) + "\n"

    def _head(self) -> Iterator[str]:
        broken = len(self.violations)
        yield (
            f"{self.tally.total} faults in {self.seconds[0] / 60:.1f} min, seed {self.seed}: "
            f"{broken or 'no'} law{'' if broken == 1 else 's'} broken"
        )
        yield ""
        for name, figure in self.figures.items():
            yield f"{name:44} {figure}"

    def _faults(self) -> Iterator[str]:
        yield f"{'fault':34} {'struck':>7} {'unproven':>9} {'s each':>7}"
        for lane in LANES.values():
            for kind in lane:
                struck = self.tally.struck[kind]
                each = self.tally.seconds[kind] / struck if struck else 0.0
                yield f"{kind:34} {struck:7} {self.tally.unproven[kind]:9} {each:7.1f}"
        yield "struck: faults that were shown to have hit; unproven: further tries that were"
        yield "not, and were repeated: they count nowhere else"

    def _end(self) -> Iterator[str]:
        yield f"{'jobs':14} became"
        for kind, ends in self.kinds.items():
            yield f"{kind:14} {ends}"
        yield ""
        yield "longest that a state lasted which must not stay, in seconds (a law allows that long)"
        for law, seconds in sorted(self.longest.items()):
            yield f"  {law:42} {seconds:5.1f}"
        for violation in self.violations:
            yield f"BROKEN {violation}"
