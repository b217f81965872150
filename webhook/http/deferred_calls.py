"""Runs calls that the app must wait for on a bounded pool of threads."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from webhook.http.body_budget import BudgetExceeded

DEFERRED_CALL: Final = "edl.deferred-call"
"""Environ key of a function to run before the app is called a second time."""
THREADS: Final = 4
MOST: Final = 32
"""Deferred calls at a time; each reads a namespace, which takes two seconds at most."""


class DeferredCalls:
    """Threads for deferred calls, and a limit on the calls that run or wait."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._running = 0
        self._pool = ThreadPoolExecutor(THREADS, "deferred-call")

    async def run(self, call: Callable[[], object]) -> None:
        """Runs a call on a thread. Raises BudgetExceeded if too many calls wait."""
        if self._running >= self._most:
            raise BudgetExceeded("too many namespaces are being read; try again")
        self._running += 1
        try:
            await asyncio.get_running_loop().run_in_executor(self._pool, call)
        finally:
            self._running -= 1
