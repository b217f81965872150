"""`WriterThreads`: the threads that write, shared among namespaces."""

from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event, Lock
from typing import TypeVar

_T = TypeVar("_T")


class WriterThreads:
    """A namespace takes no more threads than it leaves free: half of all if it writes alone.

    So threads are left for others however long its writes take, as at an admission webhook of its
    own that does not answer. A second such namespace takes half of the rest, and so on.
    """

    def __init__(self, count: int) -> None:
        self._pool = ThreadPoolExecutor(count, thread_name_prefix="writer")
        self._start(count)
        self._lock = Lock()
        self._free = count
        self._taken = Counter[str]()

    def _start(self, count: int) -> None:
        """Starts all threads now: later one may be refused, while its work waits and is unknown."""
        started = Event()
        try:
            for _ in range(count):
                self._pool.submit(started.wait)
        finally:
            started.set()

    def begin(self, namespace: str, work: Callable[[], _T]) -> Future[_T] | None:
        """Begins the work at once; None if the namespace has its share of the threads."""
        return self._begin(namespace, work, 1)

    def help(self, namespace: str, work: Callable[[], _T]) -> Future[_T] | None:
        """As `begin`, for work that only makes other work faster: it leaves twice as many free.

        So a long step leaves threads for other jobs of its namespace.
        """
        return self._begin(namespace, work, 2)

    def _begin(self, namespace: str, work: Callable[[], _T], least: int) -> Future[_T] | None:
        def run() -> _T:
            try:
                return work()
            finally:
                self._give_back(namespace)

        with self._lock:
            if self._taken[namespace] * least >= self._free:
                return None
            begun = self._pool.submit(run)
            self._taken[namespace] += 1
            self._free -= 1
            return begun

    def close(self) -> None:
        """Waits for the work that was begun; none may be begun any longer."""
        self._pool.shutdown()

    def _give_back(self, namespace: str) -> None:
        with self._lock:
            self._free += 1
            self._taken[namespace] -= 1
            if not self._taken[namespace]:
                del self._taken[namespace]
