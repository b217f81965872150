"""Running simulations for a command: each variant in turn, with a bar where somebody looks on."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

from edl.simulator import Watcher, simulate
from kubectl_edl.cli.command_errors import Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import TextIO

    from edl.simulator import Manner, Result, Scenario


@dataclass(frozen=True, slots=True)
class Variant:
    """One run: what is simulated, who decides in it, and how it is called in the answer."""

    name: str
    world: Scenario
    manner: Manner


@dataclass(frozen=True, slots=True)
class Run:
    """A variant and what came of it."""

    variant: Variant
    result: Result


def run(variants: Sequence[Variant], until: float, err: TextIO) -> list[Run]:
    """All of them until then, one after the other; a bar on `err` if it is a terminal.

    Raises Refused for what ends later than a date can say.
    """
    runs = []
    for variant in variants:
        with _bar(err, variant.name, until) as passed:
            runs.append(Run(variant, _result(variant, until, Watcher(passed=passed))))
    return runs


def _result(variant: Variant, until: float, watcher: Watcher) -> Result:
    try:
        return simulate(variant.world, variant.manner, until, watcher)
    except OverflowError as error:
        what = f"{variant.name}: goes on beyond the year 9999, behind which there are no dates"
        raise Refused(f"{what}; --until says how long to look") from error


@contextmanager
def _bar(err: TextIO, name: str, until: float) -> Iterator[Callable[[float], None]]:
    if not err.isatty():
        yield lambda _now: None
        return
    from rich.console import Console  # noqa: PLC0415 (only for people who look on)
    from rich.progress import Progress  # noqa: PLC0415 (the same)

    with Progress(console=Console(file=err), transient=True) as progress:
        task = progress.add_task(name, total=None if until == inf else until)
        yield lambda now: progress.update(task, completed=now)
