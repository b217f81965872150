"""Questions, panels and rows of the dashboard."""

import msgspec


class Query(msgspec.Struct, frozen=True):
    """One line of a panel; `legend` may name labels: `{{cause}}`."""

    text: str
    legend: str


class Panel(msgspec.Struct, frozen=True):
    """One panel; `unit` is Grafana's word, `width` in 24ths of the page."""

    title: str
    help: str
    unit: str
    queries: tuple[Query, ...]
    width: int = 8
    stacked: bool = False


class Row(msgspec.Struct, frozen=True):
    """Panels under a heading."""

    title: str
    panels: tuple[Panel, ...]
