"""Calls the app on a bounded pool of threads, where it may wait."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from webhook.http.body_budget import BudgetExceeded

MAY_WAIT: Final = "edl.may-wait"
"""Environ key, which the app sets if it has to wait: it is called again with it, on a thread."""
THREADS: Final = 4
"""Namespaces that are read at the same time."""
MAX_CALLS: Final = 32
"""Deferred calls at a time; each reads a namespace, which takes two seconds at most."""
_T = TypeVar("_T")


class DeferredCalls:
    """Threads for deferred calls, and a limit on the calls that run or wait."""

    def __init__(self, most: int = MAX_CALLS) -> None:
        self._most = most
        self._running = 0
        self._pool = ThreadPoolExecutor(THREADS, "deferred-call")

    async def run(self, call: Callable[[], _T]) -> _T:
        """The result of a call on a thread. Raises BudgetExceeded if too many calls wait."""
        if self._running >= self._most:
            raise BudgetExceeded("too many namespaces are being read; try again")
        self._running += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, call)
        finally:
            self._running -= 1
