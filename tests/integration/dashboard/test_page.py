"""What the page shows, what it asks, and what nobody else may ask."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from edl import contract
from edl.model import ObjectRef
from kubectl_edl.cli.context import Scope
from kubectl_edl.dashboard.options import DashboardOptions
from kubectl_edl.dashboard.run_dashboard import started
from kubectl_edl.top.cluster_costs import INSTANCE_TYPE
from kubectl_edl.top.options import CostOptions
from tests.integration.support.pages import opened, row
from tests.kubectl_edl.dashboard.test_watcher import fenced

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from kubectl_edl.dashboard.run_dashboard import Dashboard
    from tests.kubectl_edl.stage import Stage

pytestmark = pytest.mark.integration


def test_the_page_shows_nodes_jobs_and_the_queue(page: Page) -> None:
    mnist = row(page, "Training jobs", "default/mnist")
    expect(mnist).to_contain_text("Running")
    expect(mnist).to_contain_text("3 of 4 in 1..12")
    expect(mnist).to_contain_text("idle capacity: 4 of 12 fit")
    expect(mnist.get_by_role("img", name="worker: 3 of 4 running, 1 to 12 poss")).to_be_visible()
    expect(mnist.get_by_role("img", name="worker: 4 now, between 2 and 4")).to_be_visible()
    large = row(page, "Queue", "default/large")
    expect(large).to_contain_text("80 CPU, 40 pods")
    expect(large).to_contain_text("Insufficient cpu")
    expect(row(page, "Load by node", "node-1")).to_contain_text("62 %")
    expect(page.get_by_text("Decided by policy fair")).to_be_visible()


def test_a_change_arrives_by_itself_and_is_said_politely(page: Page, stage: Stage) -> None:
    stage.patch("mnist-worker", {"spec": {"parallelism": 6, "completions": 6}})
    expect(row(page, "Training jobs", "default/mnist")).to_contain_text("3 of 6 in 1..12")
    news = page.locator("#news")
    expect(news).to_have_attribute("aria-live", "polite")
    expect(news).to_contain_text("default/mnist: Running, 3 of 6 running", timeout=10_000)


def test_jobs_are_found_by_their_words(page: Page) -> None:
    rows = page.locator("#jobs-table tbody tr:visible")
    page.get_by_role("searchbox").fill("mnist run")
    expect(rows).to_have_count(1)
    page.get_by_role("searchbox").fill("queued")
    expect(rows).to_have_text([re.compile("default/large")])


def test_the_slider_says_by_keyboard_what_another_max_would_change(page: Page) -> None:
    page.get_by_label("Training job", exact=True).select_option("default/mnist")
    slider = page.get_by_role("slider", name="Its max")
    slider.focus()
    for _ in range(4):
        page.keyboard.press("ArrowLeft")
    expect(slider).to_have_attribute("aria-valuetext", "8 replicas")
    said = page.get_by_role("status").filter(has_text="With a max of 8")
    expect(said).to_contain_text("would have 8 in 10 minutes instead of 12", timeout=15_000)
    expect(row(page, "What if", "default/mnist").get_by_role("cell").nth(2)).to_have_text("8")
    page.keyboard.press("Home")
    expect(page.get_by_text("With a max of 1, default/mnist would have 1")).to_be_visible()


def test_a_size_over_time_is_a_chart_and_a_table(page: Page) -> None:
    page.get_by_label("Training job", exact=True).select_option("default/mnist")
    expect(page.locator("#history-chart svg")).to_have_attribute(
        "aria-label", re.compile("worker: 4 now, between 2 and 4 in the last")
    )
    page.get_by_text("Its changes as a table").click()
    table = page.get_by_role("table", name="Changes of its size")
    sizes = [
        row.get_by_role("cell").first.inner_text() for row in table.get_by_role("row").all()[1:]
    ]
    assert sizes == ["4", "2"]


def test_a_size_is_held_from_the_page_and_refused_in_words(page: Page, stage: Stage) -> None:
    page.get_by_label("Training job", exact=True).select_option("default/mnist")
    page.get_by_label("Replicas").fill("2")
    page.keyboard.press("Enter")
    expect(page.get_by_text("mnist: worker set to 2")).to_be_visible()
    assert stage.job("mnist-worker")["metadata"]["annotations"][contract.REPLICAS] == "2"
    page.get_by_role("button", name="Automatic").click()
    expect(page.get_by_text("mnist: worker returned to automatic scaling")).to_be_visible()


def test_a_page_of_another_origin_changes_nothing(
    page: Page, stage: Stage, dashboard: Dashboard
) -> None:
    evil = page.context.new_page()
    evil.route("http://evil.test/", lambda route: route.fulfill(body="<h1>hello</h1>"))
    evil.goto("http://evil.test/")
    target = f"http://127.0.0.1:{dashboard.address.port}/scale"
    # Everything that a page can send without being asked: its cookies, too, if they were sent.
    sent = evil.evaluate(
        """async (target) => {
            const body = JSON.stringify({namespace: "default", name: "mnist", size: 1});
            const how = {method: "POST", mode: "no-cors", credentials: "include", body};
            return await fetch(target, how).then((answer) => answer.type, (error) => error.name);
        }""",
        target,
    )
    assert sent in ("opaque", "TypeError")
    assert contract.REPLICAS not in stage.job("mnist-worker")["metadata"]["annotations"]


def test_the_token_does_not_stay_in_the_address(page: Page, chromium: Browser) -> None:
    assert "token" not in page.url
    stranger = chromium.new_context().new_page()
    stranger.goto(page.url)
    expect(stranger.get_by_text("this dashboard needs its token")).to_be_visible()
    stranger.context.close()


def test_a_hidden_tab_gives_its_connection_back(page: Page) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    hide = """(state) => {
        Object.defineProperty(document, "visibilityState", {value: state, configurable: true});
        document.dispatchEvent(new Event("visibilitychange"));
    }"""
    with page.expect_event("requestfailed", lambda request: request.url.endswith("/events")):
        page.evaluate(hide, "hidden")
    with page.expect_request("**/events"):
        page.evaluate(hide, "visible")
    expect(page.locator("#state")).to_have_text("live")
    assert len([url for url in asked if url.endswith("/events")]) == 1


def test_without_the_right_to_read_the_cluster_the_page_shows_the_jobs_and_why(
    chromium: Browser,
) -> None:
    stage = fenced("Node")
    cli = stage.cli()
    found = started(cli, cli.connect(Scope()), DashboardOptions(port=0))
    with opened(chromium, found, jobs=1) as page:
        said = page.get_by_text("so this is the namespace alone: Node is forbidden")
        expect(said).to_be_visible()
        expect(page.get_by_text("Nodes are not known here.")).to_be_visible()
        page.get_by_role("slider").press("ArrowLeft")
        expect(page.get_by_text("Not known: what-if needs the whole cluster")).to_be_visible()
    found.stop()


def test_it_says_when_the_dashboard_is_gone(page: Page, dashboard: Dashboard) -> None:
    dashboard.stop()
    expect(page.locator("#state")).to_contain_text("connection lost")


def test_teams_are_a_tree_that_goes_with_its_document(page: Page, stage: Stage) -> None:
    rows = page.get_by_role("table", name="Teams").get_by_role("row")
    expect(rows).to_have_count(5)
    names = ["default", "lab", "level 2: speech", "level 2: vision"]
    expect(rows.get_by_role("rowheader")).to_have_text(names)
    vision = row(page, "Teams", "level 2: vision")
    expect(vision.get_by_role("cell").nth(2)).to_have_text("6 CPU")
    bar = vision.get_by_role("img", name="vision: 12 of 6 CPU, 6 borrowed")
    expect(bar).to_be_visible()
    expect(page.get_by_role("link", name="Teams")).to_be_visible()
    expect(row(page, "Queue", "default/large")).to_contain_text("vision")
    place = ObjectRef("ConfigMap", contract.SYSTEM_NAMESPACE, contract.TEAMS_CONFIG_MAP)
    stage.cluster.delete(place)
    expect(page.locator("#teams")).to_be_hidden()
    expect(page.get_by_role("columnheader", name="Team", exact=True)).to_have_count(0)


def test_the_page_shows_what_takes_the_nodes_and_what_that_costs(
    chromium: Browser, stage: Stage
) -> None:
    for name in ("node-1", "node-2"):
        stage.patch(name, {"metadata": {"labels": {INSTANCE_TYPE: "large"}}}, "Node")
    cli = stage.cli()
    options = DashboardOptions(port=0, costs=CostOptions({"large": 8.0}, serial=0.1))
    found = started(cli, cli.connect(Scope()), options)
    with opened(chromium, found) as page:
        page.get_by_role("link", name="Cost").click()
        nodes = row(page, "Cost of an hour", "Node-hours").get_by_role("cell")
        expect(nodes).to_have_text(["0.5", "0.2", "0", "2.2", "3", ""])
        cost = row(page, "Cost of an hour", "Cost")
        expect(cost.get_by_role("img", name="idle of 16")).to_be_visible()
        expect(page.get_by_text("1 node has no price: prices go by the label")).to_be_visible()
        expect(page.locator("#costs-hours")).to_contain_text("CPU-h")
        stage.patch("node-3", {"metadata": {"labels": {INSTANCE_TYPE: "large"}}}, "Node")
        expect(cost.get_by_role("img", name="idle of 24")).to_be_visible()
        expect(page.locator("#costs-note")).to_have_text("")
    found.stop()
    stage.cluster.end_watches()


def test_without_prices_the_page_shows_nodes_and_how_to_give_them(page: Page) -> None:
    expect(row(page, "Cost of an hour", "Node-hours")).to_be_visible()
    expect(page.get_by_text("start the dashboard with --price TYPE=AMOUNT")).to_be_visible()
    expect(row(page, "Cost of an hour", "Cost")).to_have_count(0)
