"""The options `--price` and `--serial`, for costs of a cluster."""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import click

from edl.kube.option_group import group, option, option_group

_AMOUNT: Final = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")


def _prices(
    _context: click.Context, _option: click.Parameter, given: tuple[str, ...]
) -> Mapping[str, float]:
    """Prices by the name before the "="; the last one of a name counts."""
    prices = {}
    for text in given:
        name, sign, amount = text.rpartition("=")
        if not (name and sign and _AMOUNT.fullmatch(amount)):
            raise click.UsageError(f"--price {text}: such as m7i.4xlarge=0.81, an amount from 0.")
        prices[name] = float(amount)
    return prices


@option_group
class CostOptions:
    """Inputs of the cost computation. Hourly `prices` of nodes are by instance type, or node pool.

    `serial` is the fraction of a job's work that more replicas do not speed up; 0 means unknown.
    """

    prices: Mapping[str, float] = option(
        "--price",
        fallback=MappingProxyType({}),
        multiple=True,
        metavar="TYPE=AMOUNT",
        callback=_prices,
        help="Hourly price of a node, by instance type or node pool; may be repeated.",
    )
    serial: float = option(
        type=click.FloatRange(0, 1),
        default=0.0,
        metavar="PART",
        help="Fraction of the work that more replicas do not speed up; defaults to 0.",
    )


NO_PRICES: Final = CostOptions()
cost_options: Final = group(CostOptions, "costs")
"""`--serial --price`, as `costs`."""
serial_cost_options: Final = group(CostOptions, "costs", without={"prices"})
