"""Performs steps in parallel: the writes of each in order, and its Events if all succeeded.

Consecutive writes to different pods of one step run in parallel as well.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import chain, groupby
from operator import itemgetter
from time import sleep
from typing import Any, Final, Protocol, TypeVar

import msgspec

from edl.errors import (
    AlreadyExists,
    ClusterError,
    Conflict,
    EdlError,
    Invalid,
    KindNotServed,
    NotFound,
)
from edl.kube.cache.watched_kinds import Stores
from edl.kube.cluster import Cluster
from edl.kube.writer.conditional_patch import WrittenVersion, check_stored, patched
from edl.kube.writer.disruption_condition import set_condition
from edl.kube.writer.ssh_key_generation import key_pair
from edl.model import ObjectRef
from edl.writes import Create, CreateKeys, Delete, Disrupt, JobEvent, Json, Patch, Step, Write

THREADS: Final = 16
"""Parallel writers: a busy API server answers late, and large releases need many requests."""

_Work = TypeVar("_Work")


class WriteDefect(ClusterError):
    """A defect of ours ended a step; `__cause__` is the exception, with its traceback."""


class StepFailure(msgspec.Struct, frozen=True):
    """A step that ended early, and why."""

    step: Step
    error: EdlError


class StepReport(msgspec.Struct, frozen=True):
    """The outcome of each step; `left` were never begun.

    A conflict and a deleted object are not failures: the next decision uses fresh state.
    """

    done: tuple[Step, ...] = ()
    conflicts: tuple[Step, ...] = ()
    failed: tuple[StepFailure, ...] = ()
    left: tuple[Step, ...] = ()


def never() -> bool:
    """The default stop condition: all steps are performed."""
    return False


class StepExecutor(Protocol):
    """Performs steps."""

    def act(self, steps: Sequence[Step], enough: Callable[[], bool] = never) -> StepReport:
        """Begins one step after the other until `enough()`, and completes those that began."""
        ...


class _Outcome(msgspec.Struct, frozen=True):
    """The outcome of one step that was begun."""

    step: Step
    error: EdlError | None = None

    @property
    def stale(self) -> bool:
        return isinstance(self.error, Conflict | NotFound)


class ClusterWriter:
    """Performs steps in a cluster, and tells `stores` what the API server answers."""

    def __init__(
        self,
        cluster: Cluster,
        stores: Stores | None = None,
        record: Callable[[JobEvent], None] = lambda _event: None,
        threads: int = THREADS,
        pause: Callable[[float], object] = sleep,
    ) -> None:
        self._cluster = cluster
        self._pause = pause
        self._stores = stores or Stores()
        self._record = record
        self._threads = threads
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="writer")

    def act(self, steps: Sequence[Step], enough: Callable[[], bool] = never) -> StepReport:
        """Performs steps, and waits for those that were begun. Nothing is raised.

        A failure ends only its own step. Steps do not wait for each other: a slow one delays only
        itself.
        """
        waiting = deque(enumerate(steps))
        count = min(self._threads, len(steps))
        futures = [self._pool.submit(self._take, waiting, enough) for _ in range(count)]
        taken = sorted(
            chain.from_iterable(future.result() for future in futures), key=itemgetter(0)
        )
        outcomes = [outcome for _, outcome in taken]
        bad = [outcome for outcome in outcomes if outcome.error and not outcome.stale]
        return StepReport(
            done=tuple(outcome.step for outcome in outcomes if not outcome.error),
            conflicts=tuple(outcome.step for outcome in outcomes if outcome.stale),
            failed=tuple(StepFailure(one.step, one.error) for one in bad if one.error),
            left=tuple(step for _, step in waiting),
        )

    def close(self) -> None:
        self._pool.shutdown()

    def _take(
        self, waiting: deque[tuple[int, Step]], enough: Callable[[], bool]
    ) -> list[tuple[int, _Outcome]]:
        """The work of one thread: performs the next waiting step until `enough()` holds."""
        return [(number, self._perform(step)) for number, step in _taken(waiting, enough)]

    def _perform(self, step: Step) -> _Outcome:
        if error := self._written_all(step):
            return _Outcome(step, error)
        for event in step.events:
            self._record(event)
        return _Outcome(step)

    def _written_all(self, step: Step) -> EdlError | None:
        """Performs the writes; notes each object in a response."""
        ours: dict[ObjectRef, WrittenVersion] = {}
        try:
            for chains in _at_once(step.writes):
                self._write_chains(chains, ours)
        except ClusterError as error:
            return error
        except Exception as error:  # noqa: BLE001 - one step must not stop all others
            defect = WriteDefect(f"{type(error).__name__}: {error}")
            defect.__cause__ = error
            return defect
        return None

    def _write_chains(
        self, chains: Sequence[Sequence[Write]], ours: dict[ObjectRef, WrittenVersion]
    ) -> None:
        """Performs all chains with the threads that are free; after a failure none is begun."""
        waiting = deque(chains)
        helpers = [
            self._pool.submit(self._write_next, waiting, ours) for _ in chains[1 : self._threads]
        ]
        try:
            self._write_next(waiting, ours)
        finally:
            # A helper that was not begun would wait for a thread that may wait for this one.
            begun = [helper for helper in helpers if not helper.cancel()]
            wait(begun)
        for helper in begun:
            helper.result()

    def _write_next(
        self, waiting: deque[Sequence[Write]], ours: dict[ObjectRef, WrittenVersion]
    ) -> None:
        """Performs one chain after the other until none is left."""
        for writes in _taken(waiting, never):
            try:
                self._write_chain(writes, ours)
            except BaseException:
                waiting.clear()
                raise

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
            if not _delete(self._cluster, write):
                forget()
            return
        body = perform(self._cluster, write)
        if body is not None:
            ours[write.target] = WrittenVersion.of(write.target, body)
            self._stores.accept(write.target.kind, body)


def _taken(waiting: deque[_Work], enough: Callable[[], bool]) -> Iterator[_Work]:
    """The next waiting entries, which several threads take, until none is left or `enough()`."""
    while not enough():
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


def perform(cluster: Cluster, write: Write) -> Json | None:
    """Performs one write; None if it has no response.

    A new object that exists already, or a deleted one that is gone already, is a success.
    """
    match write:
        case Patch():
            stored = patched(cluster, write)
            check_stored(write, stored)
            return None if write.dry_run else stored
        case Create():
            return _create(cluster, write.target, write.manifest)
        case CreateKeys():
            _create_keys(cluster, write)
            return None
        case Delete():
            _delete(cluster, write)
            return None
        case Disrupt():
            return set_condition(cluster, write)


def _create(
    cluster: Cluster, target: ObjectRef, manifest: Mapping[str, Any], *, dry_run: bool = False
) -> Json | None:
    """The new object; None if it exists already.

    Without its namespace, or the role that it binds, it is refused: only for other writes does
    NotFound mean that the object is gone.
    """
    try:
        return cluster.create(target, manifest, dry_run=dry_run)
    except AlreadyExists:
        return None
    except NotFound as error:
        raise Invalid(str(error), error.status) from error


def _create_keys(cluster: Cluster, write: CreateKeys) -> None:
    """Creates a Secret with keys if a dry run succeeds: a key pair takes a fraction of a second.

    The response is not returned, so that no caller holds a key.
    """
    if _create(cluster, write.target, write.manifest, dry_run=True) is not None:
        _create(cluster, write.target, {**write.manifest, "data": key_pair()})


def _delete(cluster: Cluster, write: Delete) -> bool:
    """False if the object is gone already; a 404 for its whole kind does not say so."""
    try:
        cluster.delete(write.target, version=write.version, uid=write.uid)
    except KindNotServed:
        return True
    except NotFound:
        return False
    return True
