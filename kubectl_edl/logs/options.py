"""Options of `kubectl edl logs`."""

from datetime import timedelta

import click

from kubectl_edl.cli.candidates import role_names
from kubectl_edl.cli.options import option, option_group
from kubectl_edl.cli.param_types import Duration


@option_group
class LogOptions:
    """The logs to read, the part of them, and the output format; empty or None if not given."""

    follow: bool = option("-f", help="Follow the logs until the job has ended.")
    role: tuple[str, ...] = option(shell_complete=role_names, help="Only this one; repeatable.")
    index: int | None = option(type=click.IntRange(min=0), metavar="N", help="Only these pods.")
    container: str = option("-c", help="Default: as kubectl logs chooses it.")
    tail: int | None = option(
        type=click.IntRange(min=0), metavar="N", help="The last lines of each log."
    )
    since: timedelta | None = option(
        type=Duration(above_zero=True), help="Not older than 90s, 10m, 1h."
    )
    previous: bool = option("-p", help="Logs of containers before their restart.")
    timestamps: bool = option(help="Each line with its time.")
    prefix: bool = option(default=True, help="Each line with its role and index.")
