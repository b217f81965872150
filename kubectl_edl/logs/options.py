"""Options of `kubectl edl logs`."""

from datetime import timedelta

import click

from edl.kube.option_group import option, option_group
from kubectl_edl.cli.completion_candidates import role_names
from kubectl_edl.cli.param_types import Duration


@option_group
class LogOptions:
    """The logs to read, the part of them, and the output format; empty or None if not given."""

    follow: bool = option("-f", help="Follow the logs until the training job has ended.")
    role: tuple[str, ...] = option(
        shell_complete=role_names, help="Only print logs of this role; may be repeated."
    )
    index: int | None = option(
        type=click.IntRange(min=0), metavar="N", help="Only print logs of pods with this index."
    )
    container: str = option("-c", help="Container; defaults to the one that kubectl logs selects.")
    tail: int | None = option(
        type=click.IntRange(min=0), metavar="N", help="Number of recent lines of each log to print."
    )
    since: timedelta | None = option(
        type=Duration(above_zero=True), help="Only print lines newer than 90s, 10m or 1h."
    )
    previous: bool = option("-p", help="Print the logs of the previous instance of each container.")
    timestamps: bool = option(help="Include timestamps.")
    prefix: bool = option(default=True, help="Prefix each line with its role and index.")
