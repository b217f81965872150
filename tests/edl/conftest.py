"""What laws share."""

from collections.abc import Iterator

import pytest

from tests.edl.reached import LEAST, Reached


@pytest.fixture
def reached() -> Iterator[Reached]:
    """Fails a law of whose draws too few reached its assertion."""
    found = Reached()
    yield found
    assert found.part >= LEAST, f"{found.hits} of {found.draws} draws reach the assertion"
