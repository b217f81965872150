"""What others write as nodes that did not come is bounded, and fit for a terminal."""

import json

from edl.annotations import provisioning_failures


def written(message: str) -> str:
    return json.dumps({"at": "2026-01-01T00:00:00Z", "attempts": 1, "message": message})


def test_a_long_message_is_cut() -> None:
    found = provisioning_failures.read(written("x" * 200_000))
    assert found is not None
    assert len(found.message) == provisioning_failures.MOST


def test_control_characters_are_left_out() -> None:
    found = provisioning_failures.read(written("no\x1b[2J \u202enodes\n"))
    assert found is not None
    assert found.message == "no [2J nodes"
