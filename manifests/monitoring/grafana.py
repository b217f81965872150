"""The Grafana dashboard as JSON, made from the table of panels."""

from collections.abc import Iterator
from itertools import accumulate
from typing import Final

from edl.writes import Json
from manifests.monitoring.panel_model import Panel
from manifests.monitoring.panels import ROWS

_HEIGHT: Final = 8
_SOURCE: Final = {"type": "prometheus", "uid": "${source}"}


def dashboard() -> Json:
    """The dashboard in Grafana's schema 39: imported by hand, or by a sidecar from a ConfigMap."""
    return {
        "uid": "kubectl-edl",
        "title": "kubectl-edl",
        "description": "Elastic training: queue, sizes, utilisation, latency, webhook.",
        "tags": ["kubectl-edl"],
        "schemaVersion": 39,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {
            "list": [
                {"name": "source", "label": "Source", "type": "datasource", "query": "prometheus"}
            ]
        },
        "panels": [{"id": number, **panel} for number, panel in enumerate(_placed(), 1)],
    }


def _placed() -> Iterator[Json]:
    top = 0
    for row in ROWS:
        yield {
            "type": "row",
            "title": row.title,
            "collapsed": False,
            "gridPos": {"h": 1, "w": 24, "x": 0, "y": top},
            "panels": [],
        }
        ends = list(accumulate(panel.width for panel in row.panels))
        for panel, end in zip(row.panels, ends, strict=True):
            begins = end - panel.width
            y = top + 1 + begins // 24 * _HEIGHT
            yield _panel(panel, {"h": _HEIGHT, "w": panel.width, "x": begins % 24, "y": y})
        top += 1 + (ends[-1] + 23) // 24 * _HEIGHT


def _panel(panel: Panel, place: Json) -> Json:
    style = {
        "fillOpacity": 30 if panel.stacked else 0,
        "stacking": {"mode": "normal" if panel.stacked else "none"},
    }
    return {
        "type": "timeseries",
        "title": panel.title,
        "description": panel.help,
        "datasource": _SOURCE,
        "gridPos": place,
        "fieldConfig": {
            "defaults": {"unit": panel.unit, "min": 0, "custom": style},
            "overrides": [],
        },
        "options": {"legend": {"displayMode": "list", "placement": "bottom"}},
        "targets": [
            {
                "refId": chr(ord("A") + number),
                "datasource": _SOURCE,
                "expr": query.text,
                "legendFormat": query.legend,
            }
            for number, query in enumerate(panel.queries)
        ],
    }
