"""Dashboard and alerts, as files: what they ask is tried on a real Prometheus elsewhere."""

import re
from itertools import combinations
from pathlib import Path

import pytest

from dev.reference import metrics
from edl.writes import Json
from manifests import monitoring
from manifests.monitoring.grafana import dashboard
from tests.manifests.monitoring_questions import alerts, queries

ROOT = Path(__file__).parents[2]
RUNBOOK = ROOT / "docs" / "operations" / "runbook.md"


def test_what_is_made_from_the_panels_is_up_to_date() -> None:
    message = "run `python -m manifests.monitoring`"
    assert monitoring.CONFIG_MAP.read_text() == monitoring.rendered(), message


def test_make_manifests_writes_all_that_is_made_here() -> None:
    recipe = re.search(
        r"^manifests:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE
    )
    assert recipe
    assert {"manifests.render", "manifests.monitoring"} <= set(recipe[1].split())


def test_the_page_of_metrics_says_something_of_each() -> None:
    rows = [line.split(" | ") for line in metrics.page().splitlines() if line.startswith("| `")]
    assert [row[0] for row in rows if not row[3].rstrip(" |").endswith(".")] == []
    told = {row[0].strip("| `").removesuffix("_total") for row in rows}
    asked = {
        re.sub(r"_(bucket|total)$", "", name)
        for text in [
            *queries().values(),
            *(a["expr"] for a in alerts()),
        ]
        for name in re.findall(r"\bedl_\w+", text)
    }
    assert asked <= told


def test_no_panel_lies_on_another() -> None:
    places = [panel["gridPos"] for panel in dashboard()["panels"]]
    assert [one for one in places if one["x"] + one["w"] > 24] == []
    assert [pair for pair in combinations(places, 2) if overlap(*pair)] == []


def overlap(one: Json, other: Json) -> bool:
    beside = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
    above = one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
    return not (beside or above)


def test_panels_are_told_apart_and_each_says_what_it_shows() -> None:
    document = dashboard()
    panels = [panel for panel in document["panels"] if panel["type"] != "row"]
    assert len({panel["id"] for panel in document["panels"]}) == len(document["panels"])
    assert len({panel["title"] for panel in panels}) == len(panels)
    assert [panel["title"] for panel in panels if not panel["description"]] == []


@pytest.mark.parametrize("alert", alerts(), ids=lambda alert: str(alert["alert"]))
def test_every_alert_leads_to_a_page_of_the_runbook(alert: Json) -> None:
    headings = re.findall(r"^#+ (.+)$", RUNBOOK.read_text(), re.MULTILINE)
    page, _, anchor = alert["annotations"]["runbook"].partition("#")
    assert page == "docs/operations/runbook.md"
    assert anchor in {heading.lower().replace(" ", "-") for heading in headings}
    assert alert["labels"]["severity"] in ("critical", "warning")
    assert alert["annotations"]["summary"].endswith(".")
