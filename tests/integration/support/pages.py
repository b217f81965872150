"""Pages of the dashboard in a browser."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from playwright.sync_api import expect

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Locator, Page

    from kubectl_edl.dashboard.run_dashboard import Dashboard

expect.set_options(timeout=30_000)  # a busy machine is no fault of a page


@contextmanager
def opened(
    chromium: Browser,
    found: Dashboard,
    jobs: int = 2,
    **how: Any,  # noqa: ANN401 - Playwright's
) -> Iterator[Page]:
    """A page that is live. Its scripts fail at nothing, and its policy has nothing to forbid."""
    wrong: list[str] = []
    page = chromium.new_context(**how).new_page()
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda said: wrong.extend([said.text] if said.type == "error" else []))
    page.goto(found.url)
    expect(page.locator("#state")).to_have_text("live")
    expect(page.locator("#jobs-table tbody tr")).to_have_count(jobs)
    yield page
    page.context.close()
    # What the server refuses, and a server that is gone, the browser itself notes.
    assert [text for text in wrong if not text.startswith("Failed to load resource")] == []


def row(page: Page, table: str, name: str) -> Locator:
    return page.get_by_role("table", name=table).get_by_role("row", name=name)
