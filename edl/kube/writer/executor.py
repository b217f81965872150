"""Performs steps in parallel: the writes of each in order, and its Events if all succeeded.

Consecutive writes to different pods of one step run in parallel as well.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from functools import partial
from itertools import chain, groupby
from time import monotonic, sleep
from typing import Final, TypeAlias, TypeVar

import msgspec

from edl.errors import (
    ClusterError,
    Conflict,
    EdlError,
    Invalid,
    NotFound,
)
from edl.kube.cache.watched_kinds import Stores
from edl.kube.cluster import Cluster
from edl.kube.writer.conditional_patch import WrittenVersion
from edl.kube.writer.single_writes import delete, perform
from edl.kube.writer.writer_threads import WriterThreads
from edl.model import ObjectRef
from edl.writes import Create, Delete, JobEvent, Patch, Step, Write

THREADS: Final = 32
"""Parallel writers, half of them for a single namespace: a busy API server answers late, and large
releases need many requests."""

_Work = TypeVar("_Work")
_Outcome: TypeAlias = tuple[Step, EdlError | None]
"""A step that has ended, and the error that ended it early."""
_STALE: Final = (Conflict, NotFound)
"""Errors after which a step is decided again from fresh state."""


class WriteDefect(ClusterError):
    """A defect of ours ended a step; `__cause__` is the exception, with its traceback."""


class StepFailure(msgspec.Struct, frozen=True):
    """A step that ended early, and why."""

    step: Step
    error: EdlError


class StepReport(msgspec.Struct, frozen=True):
    """The outcome of each step that has ended; `left` were not begun for lack of time.

    `running` have not ended, whenever they were begun: a later report has their outcome. A conflict
    and a deleted object are not failures: the next decision uses fresh state.
    """

    done: tuple[Step, ...] = ()
    conflicts: tuple[Step, ...] = ()
    failed: tuple[StepFailure, ...] = ()
    left: tuple[Step, ...] = ()
    running: tuple[Step, ...] = ()


def never() -> bool:
    """The default stop condition: all steps are performed."""
    return False


class Concurrency(msgspec.Struct, frozen=True):
    """How many writes are in flight, and how long a step is waited for.

    `ended` is called when a step ends for which `act` did not wait.
    """

    threads: int = THREADS
    patience: float = 600.0
    ended: Callable[[], None] = lambda: None


_WAITS_FOR_ALL: Final = Concurrency()


class ClusterWriter:
    """Performs steps in a cluster, and tells `stores` what the API server answers.

    It is used by one thread, but for `longest`.
    """

    def __init__(
        self,
        cluster: Cluster,
        stores: Stores | None = None,
        record: Callable[[JobEvent], None] = lambda _event: None,
        pause: Callable[[float], object] = sleep,
        concurrency: Concurrency = _WAITS_FOR_ALL,
    ) -> None:
        self._cluster = cluster
        self._pause = pause
        self._stores = stores or Stores()
        self._record = record
        self._threads = WriterThreads(concurrency.threads)
        self._patience = concurrency.patience
        self._ended = concurrency.ended
        self._running: dict[Future[EdlError | None], tuple[Step, float]] = {}
        """The steps that were begun, and when each was."""

    def act(self, steps: Sequence[Step], enough: Callable[[], bool] = never) -> StepReport:
        """Performs steps, and waits for those that were begun, unless they last. Nothing is raised.

        A failure ends only its own step. Steps do not wait for each other: a slow one delays only
        itself, and others of its namespace once this has its share of the threads. What is not
        begun for this is to be decided again when a running step has ended.
        """
        waiting = defaultdict[str, deque[Step]](deque)
        for step in steps:
            waiting[step.job.namespace].append(step)
        outcomes: list[_Outcome] = []
        announced = {*self._running}
        while True:
            outcomes += self._collect()
            self._begin(waiting, enough)
            if not (awaited := self._awaited()):
                break
            ends = max(awaited.values()) + self._patience
            wait(awaited, ends - monotonic(), FIRST_COMPLETED)
        for future in self._running.keys() - announced:
            future.add_done_callback(lambda _: self._ended())
        left = tuple(chain.from_iterable(waiting.values()))
        return self._report(outcomes, left if left and enough() else ())

    def _begin(self, waiting: Mapping[str, deque[Step]], enough: Callable[[], bool]) -> None:
        """Begins the steps for which their namespaces have threads, until `enough()`."""
        for namespace, queue in waiting.items():
            while queue and not enough():
                step = queue[0]
                if (future := self._threads.begin(namespace, partial(self._perform, step))) is None:
                    break
                queue.popleft()
                self._running[future] = step, monotonic()

    def _collect(self) -> list[_Outcome]:
        """The outcomes of running steps that have ended."""
        ended = [future for future in self._running if future.done()]
        return [(self._running.pop(future)[0], future.result()) for future in ended]

    def _awaited(self) -> dict[Future[EdlError | None], float]:
        """The running steps that are worth waiting for, with the times when they were begun."""
        since = monotonic() - self._patience
        return {future: begun for future, (_, begun) in self._running.items() if begun > since}

    def _report(self, outcomes: Sequence[_Outcome], left: tuple[Step, ...]) -> StepReport:
        ended = [(step, error) for step, error in outcomes if error is not None]
        return StepReport(
            done=tuple(step for step, error in outcomes if error is None),
            conflicts=tuple(step for step, error in ended if isinstance(error, _STALE)),
            failed=tuple(StepFailure(*one) for one in ended if not isinstance(one[1], _STALE)),
            left=left,
            running=tuple(step for step, _ in self._running.values()),
        )

    def longest(self) -> float:
        """Seconds for which the oldest step runs, 0 if none does."""
        running = self._running.copy().items()
        times = [begun for future, (_, begun) in running if not future.done()]
        return monotonic() - min(times) if times else 0.0

    def close(self) -> None:
        """Waits for the steps that were begun, which may need further threads until they end."""
        wait(self._running)
        self._threads.close()

    def _perform(self, step: Step) -> EdlError | None:
        """Performs the writes, then records the Events; the error that ended the step early."""
        ours: dict[ObjectRef, WrittenVersion] = {}
        try:
            for chains in _at_once(step.writes):
                self._write_chains(step.job.namespace, chains, ours)
        except ClusterError as error:
            return error
        except Exception as error:  # noqa: BLE001 - one step must not stop all others
            defect = WriteDefect(f"{type(error).__name__}: {error}")
            defect.__cause__ = error
            return defect
        for event in step.events:
            self._record(event)
        return None

    def _write_chains(
        self,
        namespace: str,
        chains: Sequence[Sequence[Write]],
        ours: dict[ObjectRef, WrittenVersion],
    ) -> None:
        """Performs all chains with the threads that are free; after a failure none is begun."""
        waiting, helpers = deque(chains), deque[Future[None]]()

        def write_next() -> None:
            """Performs one chain after the other until none is left, with ever more helpers."""
            for writes in _taken(waiting):
                if waiting and (helper := self._threads.help(namespace, write_next)):
                    helpers.append(helper)
                try:
                    self._write_chain(writes, ours)
                except BaseException:
                    waiting.clear()
                    raise

        ended = []
        try:
            write_next()
        finally:
            while helpers:  # each has added those that it began
                ended.append(helpers.popleft())
                wait(ended)
        for helper in ended:
            helper.result()

    def _write_chain(self, writes: Sequence[Write], ours: dict[ObjectRef, WrittenVersion]) -> None:
        """Performs the writes to one object in order, until an optional one finds it gone."""
        for write in writes:
            try:
                self._write(write, ours)
            except NotFound:
                if not (isinstance(write, Patch) and write.optional):
                    raise
                return

    def _write(self, write: Write, ours: dict[ObjectRef, WrittenVersion]) -> None:
        """`ours` has the versions that this step produced, on which its later writes build."""
        if isinstance(write, Patch) and write.delay:
            self._pause(write.delay)
        if isinstance(write, Create) and write.needs and write.needs not in ours:
            raise Invalid(_foreign(write.needs))
        if previous := ours.get(write.target):
            write = previous.before(write)
        if isinstance(write, Delete):
            forget = self._stores.deleting(write.target)
            if not delete(self._cluster, write):
                forget()
            return
        body = perform(self._cluster, write)
        if body is not None:
            ours[write.target] = WrittenVersion.of(write.target, body)
            self._stores.accept(write.target.kind, body)


def _taken(waiting: deque[_Work]) -> Iterator[_Work]:
    """The next waiting entries, which several threads take, until none is left."""
    while True:
        try:
            yield waiting.popleft()
        except IndexError:  # another thread took the last one
            return


def _at_once(writes: Iterable[Write]) -> Iterator[Sequence[Sequence[Write]]]:
    """Groups in order: consecutive writes to pods, by pod; each other write by itself."""
    for of_pods, group in groupby(writes, key=lambda write: write.target.kind == "Pod"):
        if not of_pods:
            yield from ([[write]] for write in group)
            continue
        by_pod = defaultdict[ObjectRef, list[Write]](list)
        for write in group:
            by_pod[write.target].append(write)
        yield [*by_pod.values()]


def _foreign(needed: ObjectRef) -> str:
    return (
        f"{needed.kind} {needed.name} exists and is not known as the training job's own, "
        "so it gets no rights: delete it, or name another one in the pods"
    )
