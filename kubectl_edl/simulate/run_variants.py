"""Runs the simulations of a command: each variant in turn, with a progress bar on a terminal."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import inf
from typing import NamedTuple, TextIO

import click

from edl.simulator import ControlMode, Result, Scenario, Watcher, simulate
from kubectl_edl.cli.command_errors import Refused


class Variant(NamedTuple):
    """One run: the scenario, the control mode, and its name in the report."""

    name: str
    scenario: Scenario
    control_mode: ControlMode


class Run(NamedTuple):
    name: str
    result: Result


def run(variants: Sequence[Variant], until: float, err: TextIO) -> list[Run]:
    """Run all variants up to `until` seconds, one after another; progress is shown on a terminal.

    Raises Refused if a simulation passes the last date that Python can represent.
    """
    runs = []
    for variant in variants:
        name, scenario, control_mode = variant
        with _bar(err, name, until) as passed:
            try:
                result = simulate(scenario, control_mode, until, Watcher(passed=passed))
            except OverflowError as error:
                what = f"{name}: exceeds the maximum date (year 9999)"
                raise Refused(f"{what}; set --until") from error
        runs.append(Run(name, result))
    return runs


@contextmanager
def _bar(err: TextIO, name: str, until: float) -> Iterator[Callable[[float], None]]:
    """Yields a callback for the simulated time in seconds. Without an end there is only a name."""
    if not err.isatty():
        yield lambda _now: None
        return
    length = None if until == inf else int(until)
    with click.progressbar(length=length or 1, label=name, file=err, show_eta=False) as bar:
        yield lambda now: bar.update(int(now) - bar.pos) if length else None
