"""The page of one training job in a browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.integration.support.pages import row
from tests.kubectl_edl.stage import event

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.kubectl_edl.stage import Stage

pytestmark = pytest.mark.integration
MARKUP = "<img src=x onerror=document.title='taken'>"


def by_keyboard(page: Page, name: str) -> None:
    page.get_by_role("table", name="Training jobs").get_by_role("link", name=name).focus()
    page.keyboard.press("Enter")


def test_a_job_is_opened_by_keyboard_and_shows_sizes_pods_events_and_history(
    page: Page, stage: Stage
) -> None:
    body = event("mnist-worker", "FailedCreate", MARKUP, minutes_ago=1, warning=True)
    body["involvedObject"]["uid"] = stage.job("mnist-worker")["metadata"]["uid"]
    stage.create(body)
    by_keyboard(page, "default/mnist")
    expect(page).to_have_title("default/mnist · kubectl edl dashboard")
    worker = row(page, "Sizes of its roles", "worker").get_by_role("cell")
    expect(worker).to_contain_text(["4", "", "1", "12", ""])
    expect(page.get_by_role("heading", name="Why not one more worker")).to_be_visible()
    pod = row(page, "Pods", "mnist-worker-3-x3")
    expect(pod).to_contain_text("kube-scheduler has not processed it yet")
    expect(row(page, "Events", "FailedCreate")).to_contain_text(MARKUP)
    history = page.get_by_role("table", name="History").get_by_role("rowheader")
    expect(history).to_have_text(["ScaledUp", "Started"])
    expect(page.get_by_role("img", name="worker: 4 now, between 2 and 4")).to_be_visible()
    page.get_by_role("link", name="All jobs").press("Enter")
    expect(row(page, "Training jobs", "default/mnist")).to_be_visible()


def test_a_change_and_the_end_of_the_job_arrive_by_themselves(page: Page, stage: Stage) -> None:
    by_keyboard(page, "default/mnist")
    worker = row(page, "Sizes of its roles", "worker").get_by_role("cell").first
    expect(worker).to_have_text("4")
    stage.patch("mnist-worker", {"spec": {"parallelism": 6, "completions": 6}})
    expect(worker).to_have_text("6")
    for role in ("chief", "ps", "worker"):
        stage.delete(f"mnist-{role}")
    said = 'What you see may be old: no training job "mnist" in namespace default'
    expect(page.get_by_role("alert")).to_have_text(said)


def test_a_queued_job_says_why_it_does_not_start(page: Page) -> None:
    by_keyboard(page, "default/large")
    expect(page.get_by_role("heading", name="Why large does not start")).to_be_visible()
    expect(page.get_by_text("would help:").first).to_be_visible()
    expect(page.get_by_text("It has no pods.")).to_be_visible()


@pytest.mark.parametrize("width", [390, 1280])
def test_a_long_word_of_an_event_does_not_widen_the_page(
    page: Page, stage: Stage, width: int
) -> None:
    body = event("mnist-worker", "Failed", f"image {'x' * 300}", minutes_ago=1, warning=True)
    body["involvedObject"]["uid"] = stage.job("mnist-worker")["metadata"]["uid"]
    stage.create(body)
    page.set_viewport_size({"width": width, "height": 844})
    by_keyboard(page, "default/mnist")
    expect(row(page, "Events", "Failed")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_an_unknown_job_is_said_in_a_sentence_with_a_way_back(page: Page) -> None:
    answer = page.goto(f"{page.url}jobs/default/nothing")
    assert answer is not None
    assert answer.status == 404
    expect(page.get_by_text('no training job "nothing" in namespace default')).to_be_visible()
    page.get_by_role("link", name="All training jobs").click()
    expect(row(page, "Training jobs", "default/mnist")).to_be_visible()
