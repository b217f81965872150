"""Waiting for what other threads and processes do."""

import time
from collections.abc import Callable

PAUSES = (0.1, 0.3)


def until(holds: Callable[[], object], what: str = "", *, within: float = 90) -> None:
    """Look again and again; fails when it has not come within so many seconds."""
    begun = time.monotonic()
    while not holds():
        waited = time.monotonic() - begun
        assert waited < within, f"it never came: {what}"
        time.sleep(pause_after(waited, *PAUSES))


def pause_after(waited: float, shortest: float, longest: float) -> float:
    """A quarter of what was waited already: looks cost the cluster more than what they look for."""
    return min(max(waited / 4, shortest), longest)
