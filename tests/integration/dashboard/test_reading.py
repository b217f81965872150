"""The dashboard for everybody: keyboard, screen reader, phone, any colours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.integration.support.pages import opened, row

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from kubectl_edl.dashboard.run_dashboard import Dashboard

pytestmark = pytest.mark.integration

PHONE = {"width": 360, "height": 740}
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def brightness(page: Page) -> float:
    found = page.evaluate("getComputedStyle(document.body).backgroundColor")
    parts = [int(part) for part in found[4:-1].split(",")]
    return sum(parts) / 3


def test_colours_follow_the_system_until_they_are_chosen(page: Page) -> None:
    assert brightness(page) > 200
    page.emulate_media(color_scheme="dark")
    assert brightness(page) < 60
    switch = page.get_by_role("button", name="Colours")
    switch.click()
    assert switch.inner_text() == "Colours: light"
    assert brightness(page) > 200
    page.reload()
    assert brightness(page) > 200
    switch.click()
    page.emulate_media(color_scheme="light")
    assert brightness(page) < 60


def test_nothing_moves_where_reduced_motion_is_preferred(page: Page) -> None:
    moves = """[
        getComputedStyle(document.documentElement).scrollBehavior,
        getComputedStyle(document.querySelector(".skip")).transitionDuration,
    ]"""
    assert page.evaluate(moves) == ["smooth", "0.15s"]
    page.emulate_media(reduced_motion="reduce")
    assert page.evaluate(moves) == ["auto", "0s"]


def test_a_phone_never_scrolls_sideways(chromium: Browser, dashboard: Dashboard) -> None:
    with opened(chromium, dashboard, viewport=PHONE, is_mobile=True, has_touch=True) as page:
        for summary in page.locator("summary").all():
            summary.click()
        assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
        # Cards are rows of tables still.
        expect(row(page, "Training jobs", "default/mnist").get_by_role("cell")).to_have_count(5)


def test_everything_is_reached_by_tab_and_the_focus_is_seen(page: Page) -> None:
    focused = """() => {
        const at = document.activeElement, style = getComputedStyle(at);
        return [at.id || at.textContent.trim(), style.outlineStyle, parseFloat(style.outlineWidth)];
    }"""
    walk = []
    for _ in range(20):
        page.keyboard.press("Tab")
        walk.append(page.evaluate(focused))
    assert (
        [name for name, *_ in walk]
        == [
            "Skip to the cluster",
            "theme",
            "Cluster",
            "Jobs",
            "Queue",
            "Teams",
            "What if",
            "Nodes",
            "Cost",
            "The same as a table",
            "filter",
            "default/large",
            "default/mnist",
            "default/large",  # in the queue
            "imagine-job",
            "imagine-max",
            "Its changes as a table",
            "scale-size",
            *[name for name, *_ in walk[18:]],
        ]
    )
    assert {name for name, *_ in walk[18:]} == {"Set", "scale-auto"}
    assert all(style == "solid" and width >= 2 for _, style, width in walk), walk


def test_the_first_link_skips_to_the_cluster(page: Page) -> None:
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


def test_a_screen_reader_hears_a_name_of_everything(page: Page) -> None:
    session = page.context.new_cdp_session(page)
    nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    named = [
        (node["role"]["value"], node.get("name", {}).get("value", ""))
        for node in nodes
        if not node["ignored"]
    ]
    controls = {
        "button",
        "link",
        "slider",
        "combobox",
        "searchbox",
        "spinbutton",
        "table",
        "region",
        "image",
        "columnheader",
        "rowheader",
    }
    assert [role for role, name in named if role in controls and not name] == []
    roles = {role for role, _ in named}
    assert {"banner", "navigation", "main", "contentinfo", "heading", "status"} <= roles
    assert ("slider", "Its max") in named


@pytest.mark.parametrize(
    "how",
    [{}, {"color_scheme": "dark"}, {"viewport": PHONE}],
    ids=["light", "dark", "phone"],
)
def test_axe_finds_nothing_to_mend(
    chromium: Browser, dashboard: Dashboard, how: dict[str, Any]
) -> None:
    with opened(chromium, dashboard, **how) as page:
        page.get_by_label("Training job", exact=True).select_option("default/mnist")
        page.get_by_role("slider").press("ArrowLeft")
        expect(page.get_by_text("With a max of 11")).to_be_visible(timeout=15_000)
        for summary in page.locator("summary").all():
            summary.click()
        assert run_axe(page) == []


@pytest.mark.parametrize(
    "how",
    [{}, {"color_scheme": "dark"}, {"viewport": PHONE}],
    ids=["light", "dark", "phone"],
)
@pytest.mark.parametrize("name", ["mnist", "large"])
def test_axe_finds_nothing_to_mend_on_the_page_of_a_job(
    chromium: Browser, dashboard: Dashboard, how: dict[str, Any], name: str
) -> None:
    with opened(chromium, dashboard, **how) as page:
        page.goto(f"{page.url}jobs/default/{name}")
        expect(page.get_by_role("heading", name="Why ")).to_be_visible()
        expect(page.locator("#state")).to_have_text("live")
        assert run_axe(page) == []


def run_axe(page: Page) -> list[str]:
    options = {"runOnly": {"type": "tag", "values": RULES}, "resultTypes": ["violations"]}
    answer = Axe().run(page, options=options)
    return [f"{one['id']}: {one['nodes'][0]['html']}" for one in answer.response["violations"]]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_parts_of_charts_are_told_apart_by_their_brightness(page: Page, scheme: Any) -> None:  # noqa: ANN401 - Playwright's words
    page.emulate_media(color_scheme=scheme)
    for part, ground in [
        ("--fill", "--track"),
        *[(f"--kind-{n}", ground) for n in range(4) for ground in ("--sheet", "--track")],
    ]:
        assert contrast(colour(page, part), colour(page, ground)) >= 3, (part, ground)


def colour(page: Page, name: str) -> list[float]:
    text = page.evaluate(f"getComputedStyle(document.documentElement).getPropertyValue('{name}')")
    return [int(text.strip()[at : at + 2], 16) / 255 for at in (1, 3, 5)]


def contrast(one: list[float], other: list[float]) -> float:
    """WCAG 2's ratio."""

    def luminance(parts: list[float]) -> float:
        linear = [
            part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
        ]
        return sum(
            weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True)
        )

    bright, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)
