"""Options of `kubectl edl dashboard`."""

import click

from kubectl_edl.cli.options import option, option_group
from kubectl_edl.top.options import NO_PRICES, CostOptions


@option_group
class DashboardOptions:
    """The listening address, write access to sizes, and whether a browser is opened.

    `costs`: options of the cost computation.
    """

    port: int = option(
        unsaid=8180, type=click.IntRange(0, 65535), help="Default: 8180; 0 takes a free one."
    )
    address: str = option(
        unsaid="127.0.0.1", metavar="ADDRESS", help="Where to listen; default: 127.0.0.1."
    )
    opened: bool = option(
        "--open/--no-open",
        unsaid=True,
        default=None,
        help="Open a browser, where there is a screen; default: yes.",
    )
    allow_scale: bool = option(help="Let the page set sizes. Default: it only reads.")
    costs: CostOptions = NO_PRICES
