"""The options that `install` and `upgrade` share."""

from typing import Final

import click

from kubectl_edl.cli.options import DRY_RUNS, TIMEOUT, Command, bundled
from kubectl_edl.cli.param_types import Image
from kubectl_edl.install.install_release import InstallOptions
from kubectl_edl.install.installation_values import InstallationChoice

_ASKED: Final = (
    click.option("--image", type=Image(), help="Where the cluster finds our image."),
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
        "filenames",
        multiple=True,
        type=click.Path(dir_okay=False, allow_dash=True),
        help="A file of values, - for stdin; may be repeated, the later wins.",
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
    TIMEOUT,
    click.option("--force-conflicts", is_flag=True, help="Take fields that others have written."),
)


def asked(function: Command) -> Command:
    """`--image --set --values`, as `asked`."""
    return bundled(InstallationChoice, "asked", _ASKED)(function)


def how(function: Command) -> Command:
    """`--dry-run -o --wait --timeout --force-conflicts`, as `how`."""
    return bundled(InstallOptions, "how", _HOW)(function)
