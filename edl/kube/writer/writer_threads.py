"""`WriterThreads`: the threads that write, shared among namespaces."""

from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import ParamSpec, TypeVar

_T = TypeVar("_T")
_Args = ParamSpec("_Args")


class WriterThreads:
    """A namespace takes no more threads than it leaves free: half of all if it writes alone.

    So threads are left for others however long its writes take, as at an admission webhook of its
    own that does not answer. A second such namespace takes half of the rest, and so on.
    """

    def __init__(self, count: int) -> None:
        self._pool = ThreadPoolExecutor(count, thread_name_prefix="writer")
        self._lock = Lock()
        self._free = count
        self._taken = Counter[str]()

    def begin(
        self,
        namespace: str,
        work: Callable[_Args, _T],
        *args: _Args.args,
        **kwargs: _Args.kwargs,
    ) -> Future[_T] | None:
        """Begins the work at once; None if the namespace has its share of the threads."""
        with self._lock:
            if self._taken[namespace] >= self._free:
                return None
            self._taken[namespace] += 1
            self._free -= 1

        def run() -> _T:
            try:
                return work(*args, **kwargs)
            finally:
                self._give_back(namespace)

        return self._pool.submit(run)

    def close(self) -> None:
        """Waits for the work that was begun."""
        self._pool.shutdown()

    def _give_back(self, namespace: str) -> None:
        with self._lock:
            self._free += 1
            self._taken[namespace] -= 1
            if not self._taken[namespace]:
                del self._taken[namespace]
