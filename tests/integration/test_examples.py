"""Every example is what the API server takes, under strict validation."""

from pathlib import Path

import pytest

from tests.integration.support.stage import Stage

pytestmark = pytest.mark.integration

FOLDER = Path(__file__).parents[2] / "examples"
EXAMPLES = sorted(
    path for path in FOLDER.glob("*/*.yaml") if path.parent.name not in ("convert", "simulate")
)
"""What is to be converted first has tests of its own."""


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_an_example_is_accepted(installed: Stage, example: Path) -> None:
    said = installed.kubectl(
        *("apply", "--dry-run=server", "--validate=strict", "-f", str(example))
    )
    assert "created (server dry run)" in said
