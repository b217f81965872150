"""Options of `kubectl edl simulate`."""

from datetime import timedelta
from typing import Final

import click

from edl.kube.option_group import option, option_group
from edl.planner.decision_limits import GrowthMode
from edl.planner.policies import POLICIES
from kubectl_edl.cli.options import FORM
from kubectl_edl.cli.param_types import Duration

_LONGEST_TIME: Final = timedelta(days=36_500)
"""The longest time, the same as for all times in a scenario."""


def _one_file(_context: click.Context, _option: click.Parameter, names: tuple[str, ...]) -> str:
    if len(names) > 1:
        raise click.UsageError(f"-f {' -f '.join(names)}: one scenario; --trace may be repeated.")
    return "".join(names)


@option_group
class SimulateOptions:
    """What to simulate, and how to print the result."""

    filename: str = option(
        "-f",
        metavar="FILE",
        multiple=True,
        callback=_one_file,
        help="Scenario file, or - for stdin.",
    )
    trace: tuple[str, ...] = option(metavar="CSV", help="CSV file with more jobs; may be repeated.")
    policy: tuple[str, ...] = option(
        type=click.Choice(list(POLICIES)), help="Policy to simulate; may be repeated."
    )
    growth: tuple[str, ...] = option(
        type=click.Choice([mode.value for mode in GrowthMode]),
        help="Where replicas above the minimum may run; may be repeated.",
    )
    plain: bool = option(help="Also simulate without kubectl-edl.")
    seed: int | None = option(type=int, help="Random seed; defaults to the scenario's.")
    until: timedelta | None = option(
        type=Duration(above_zero=True, longest=_LONGEST_TIME),
        help="When to stop; defaults to the horizon, with --live to 10m.",
    )
    output: str = option(
        "-o", fallback="table", type=FORM, help="Output format; wide adds a row per job."
    )
    plot: str = option(metavar="FILE", help="Write a plot to this file: .png, .svg or .pdf.")
    live: bool = option(help="Start from the state of the live cluster.")
    add_nodes: int = option(
        fallback=0,
        type=click.IntRange(0, 100000),
        help="Number of nodes to add, with --live: of the most common kind, or --like.",
    )
    like: str = option(
        metavar="NODE", help="Added nodes are like this node, or have cpu=16,memory=64Gi."
    )
    set: tuple[str, ...] = option(
        metavar="CHANGE", help="Change a job, with --live: job/[NAMESPACE/]NAME.max=40, .min, …"
    )
