"""Options of `kubectl edl dashboard`."""

import click

from edl.kube.option_group import option, option_group
from kubectl_edl.top.options import NO_PRICES, CostOptions


@option_group
class DashboardOptions:
    """The listening address, write access to sizes, and whether a browser is opened.

    `costs`: options of the cost computation.
    """

    port: int = option(
        fallback=8180,
        type=click.IntRange(0, 65535),
        help="Port to listen on; defaults to 8180, 0 selects a free one.",
    )
    address: str = option(
        fallback="127.0.0.1", metavar="ADDRESS", help="Address to listen on; defaults to 127.0.0.1."
    )
    opened: bool = option(
        "--open/--no-open",
        fallback=True,
        default=True,
        show_default=True,
        help="Open a browser if there is a display.",
    )
    allow_scale: bool = option(help="Allow resizing from the page, which is read-only otherwise.")
    costs: CostOptions = NO_PRICES
