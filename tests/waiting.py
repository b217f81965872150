"""Waiting for what other threads and processes do."""

import time
from collections.abc import Callable


def until(holds: Callable[[], object], what: str = "", *, within: float = 90) -> None:
    """Look again and again; fails when it has not come within so many seconds."""
    deadline = time.monotonic() + within
    while not holds():
        assert time.monotonic() < deadline, f"it never came: {what}"
        time.sleep(0.05)
