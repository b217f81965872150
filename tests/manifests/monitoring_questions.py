"""What watches kubectl-edl, as Prometheus is asked: alerts, and the dashboard's queries."""

from typing import Final

import yaml

from edl.writes import Json
from manifests.monitoring import RULES
from manifests.monitoring.panels import ROWS

RATE_INTERVAL: Final = "$__rate_interval"


def groups() -> Json:
    """The rules as Prometheus' own rule files have them: without what the operator wraps around."""
    rule: Json = yaml.safe_load(RULES.read_text())
    return {"groups": rule["spec"]["groups"]}


def alerts() -> list[Json]:
    """Every alert, in the file's order."""
    return [rule for group in groups()["groups"] for rule in group["rules"]]


def queries() -> dict[str, str]:
    """Each query of the dashboard by the title of its panel and what its legend says."""
    asked = ((panel, query) for row in ROWS for panel in row.panels for query in panel.queries)
    return {f"{panel.title}: {query.legend}": query.text for panel, query in asked}
