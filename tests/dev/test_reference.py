"""The pages of the reference that are made from the code are up to date."""

from pathlib import Path

import pytest

from dev.reference.pages import pages


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_a_page_says_what_the_code_says(page: Path) -> None:
    assert page.read_text() == pages()[page], "run python -m dev.reference"
