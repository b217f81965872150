"""Runs the simulations of a command: each variant in turn, with a progress bar on a terminal."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from typing import TextIO

import click

from edl.simulator import ControlMode, Result, Scenario, Watcher, simulate
from kubectl_edl.cli.command_errors import Refused


@dataclass(frozen=True, slots=True)
class Variant:
    """One run: the scenario, the control mode, and its name in the report."""

    name: str
    scenario: Scenario
    control_mode: ControlMode


@dataclass(frozen=True, slots=True)
class Run:
    """A variant and its result."""

    variant: Variant
    result: Result


def run(variants: Sequence[Variant], until: float, err: TextIO) -> list[Run]:
    """Run all variants up to `until` seconds, one after another; progress is shown on a terminal.

    Raises Refused if a simulation passes the last date that Python can represent.
    """
    runs = []
    for variant in variants:
        with _bar(err, variant.name, until) as passed:
            runs.append(Run(variant, _result(variant, until, Watcher(passed=passed))))
    return runs


def _result(variant: Variant, until: float, watcher: Watcher) -> Result:
    try:
        return simulate(variant.scenario, variant.control_mode, until, watcher)
    except OverflowError as error:
        what = f"{variant.name}: exceeds the maximum date (year 9999)"
        raise Refused(f"{what}; set --until") from error


@contextmanager
def _bar(err: TextIO, name: str, until: float) -> Iterator[Callable[[float], None]]:
    """Yields a callback for the simulated time in seconds. Without an end there is only a name."""
    if not err.isatty():
        yield lambda _now: None
        return
    length = None if until == inf else int(until)
    with click.progressbar(length=length or 1, label=name, file=err, show_eta=False) as bar:
        yield lambda now: bar.update(int(now) - bar.pos) if length else None
