"""Options of `kubectl edl simulate`."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import click

from edl.planner.decision_limits import GrowthMode
from edl.planner.policies import POLICIES
from kubectl_edl.cli.options import FORM, option
from kubectl_edl.cli.param_types import Duration

_LONGEST: Final = timedelta(days=36_500)
"""As of all times in a scenario."""


def _one_file(_context: click.Context, _option: click.Parameter, names: tuple[str, ...]) -> str:
    if len(names) > 1:
        raise click.UsageError(f"-f {' -f '.join(names)}: one scenario; --trace may be repeated.")
    return "".join(names)


@dataclass(frozen=True, slots=True)
class SimulateOptions:
    """What to simulate, and how to print the result."""

    filename: str = option(
        "-f",
        "--filename",
        unsaid="",
        metavar="FILE",
        multiple=True,
        callback=_one_file,
        help="A scenario; - for stdin.",
    )
    trace: tuple[str, ...] = option(
        "--trace", multiple=True, metavar="CSV", help="More jobs, of a log."
    )
    policy: tuple[str, ...] = option(
        "--policy", multiple=True, type=click.Choice(list(POLICIES)), help="May be repeated."
    )
    growth: tuple[str, ...] = option(
        "--growth",
        multiple=True,
        type=click.Choice([mode.value for mode in GrowthMode]),
        help="Where replicas beyond the minimum run; may be repeated.",
    )
    plain: bool = option("--plain", is_flag=True, help="Also without kubectl-edl.")
    seed: int | None = option(
        "--seed", unsaid=None, type=int, help="Seed of random draws; default: the scenario's."
    )
    until: timedelta | None = option(
        "--until",
        unsaid=None,
        type=Duration(above_zero=True, longest=_LONGEST),
        help="Stop there; default: its horizon; live: 10m.",
    )
    output: str = option(
        "-o", "--output", unsaid="table", type=FORM, help="Default: table; wide: every job."
    )
    plot: str = option("--plot", metavar="FILE", help="A picture: .png, .svg or .pdf.")
    live: bool = option("--live", is_flag=True, help="Start from the live cluster.")
    add_nodes: int = option(
        "--add-nodes",
        unsaid=0,
        type=click.IntRange(0, 100_000),
        help="Add this number of nodes; with --live.",
    )
    like: str = option(
        "--like", metavar="NODE", help="What each has: as NODE, or cpu=16,memory=64Gi."
    )
    set: tuple[str, ...] = option(
        "--set", multiple=True, metavar="CHANGE", help="With --live: job/NAME.max=40, .min, …"
    )
