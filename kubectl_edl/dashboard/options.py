"""Options of `kubectl edl dashboard`."""

from dataclasses import dataclass

from kubectl_edl.top.options import NO_PRICES, CostOptions


@dataclass(frozen=True, slots=True)
class DashboardOptions:
    """Where it listens, whether sizes may be set there, and whether a browser is opened.

    `costs`: what the costs on it are computed with.
    """

    address: str = "127.0.0.1"
    port: int = 8180
    allow_scale: bool = False
    opened: bool = True
    costs: CostOptions = NO_PRICES
