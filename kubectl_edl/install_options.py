"""The options that `install` and `upgrade` share."""

from typing import Final

import click

from kubectl_edl.installing.choice import Asked
from kubectl_edl.installing.install import How
from kubectl_edl.options import DRY_RUNS, Command, bundled

_ASKED: Final = (
    click.option("--image", help="Where the cluster finds our image."),
    click.option(
        "--set",
        "settings",
        multiple=True,
        metavar="NAME=VALUE",
        help="A value of the chart: reconciler.planning.policy=throughput; may be repeated.",
    ),
    click.option(
        "-f",
        "--values",
        "filename",
        type=click.Path(exists=True, dir_okay=False, allow_dash=True),
        help="A file of values, - for stdin.",
    ),
)
_HOW: Final = (
    click.option(
        "--dry-run",
        type=click.Choice(DRY_RUNS),
        default="none",
        help="client: print it, send nothing. server: let the API server check, change nothing.",
    ),
    click.option(
        "-o",
        "--output",
        type=click.Choice(("name", "json", "yaml")),
        help="Print the objects instead of sentences.",
    ),
    click.option("--wait/--no-wait", default=True, help="Until both are ready; default: wait."),
    click.option("--timeout", default=120.0, show_default=True, help="Seconds to wait."),
    click.option(
        "--force-conflicts", is_flag=True, help="Take fields that somebody else has written."
    ),
)


def asked(function: Command) -> Command:
    """`--image --set --values`, as `asked`."""
    return bundled(Asked, "asked", _ASKED)(function)


def how(function: Command) -> Command:
    """`--dry-run -o --wait --timeout --force-conflicts`, as `how`."""
    return bundled(How, "how", _HOW)(function)
