"""The queries, panels and rows of the dashboard."""

import msgspec


class Query(msgspec.Struct, frozen=True):
    """A PromQL query, one or more lines of a panel; `legend` may contain labels: `{{cause}}`."""

    text: str
    legend: str


class Panel(msgspec.Struct, frozen=True):
    """A panel of the dashboard; `unit` is Grafana's identifier, `width` is in 24ths of the page."""

    title: str
    help: str
    unit: str
    queries: tuple[Query, ...]
    width: int = 8
    stacked: bool = False


class Row(msgspec.Struct, frozen=True):
    """Panels below a heading."""

    title: str
    panels: tuple[Panel, ...]
