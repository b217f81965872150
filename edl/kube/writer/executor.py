"""Perform steps: several at once, the writes of each in order, its Events when all succeeded.

Where many pods of one step are written one after the other, that is done at once, too.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import chain, groupby
from operator import itemgetter
from typing import Any, Final, Protocol

import msgspec

from edl.errors import ClusterError, Conflict, EdlError, NotFound
from edl.kube.cluster import Cluster
from edl.kube.writer.ssh_key_generation import key_pair
from edl.model import ObjectRef
from edl.patches.merge_patch import merged
from edl.writes import Create, CreateKeys, Delete, Json, Note, Patch, Step, Write

THREADS: Final = 16
"""Parallel writers: a busy API server answers late, and large releases need many requests."""
_TRIES: Final = 5
"""The most attempts at one patch, while others write fields that it does not depend on."""


class StepFailure(msgspec.Struct, frozen=True):
    """A step that ended early, and why."""

    step: Step
    error: EdlError


class StepReport(msgspec.Struct, frozen=True):
    """The outcome of each step. Conflicts are not errors: decide again from fresh state.

    Neither is a deleted object, which the watch will deliver. `left` were never begun.
    """

    done: tuple[Step, ...] = ()
    conflicts: tuple[Step, ...] = ()
    failed: tuple[StepFailure, ...] = ()
    left: tuple[Step, ...] = ()


def never() -> bool:
    """Nothing is enough until all is done."""
    return False


class StepExecutor(Protocol):
    """Something that takes steps."""

    def act(self, steps: Sequence[Step], enough: Callable[[], bool] = never) -> StepReport:
        """Begin one after the other until it is `enough`, and end all that were begun."""
        ...


class _Outcome(msgspec.Struct, frozen=True):
    """What became of one step that was begun."""

    step: Step
    error: EdlError | None = None

    @property
    def stale(self) -> bool:
        return isinstance(self.error, Conflict | NotFound)


class ClusterWriter:
    """Writes to a cluster. `written(kind, object)` is told what each write returned."""

    def __init__(
        self,
        cluster: Cluster,
        written: Callable[[str, Json], None] = lambda _kind, _body: None,
        announce: Callable[[Note], None] = lambda _note: None,
        threads: int = THREADS,
    ) -> None:
        self._cluster = cluster
        self._written = written
        self._announce = announce
        self._threads = threads
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="writer")

    def act(self, steps: Sequence[Step], enough: Callable[[], bool] = never) -> StepReport:
        """Wait for all steps that were begun. A failure ends its own step only; nothing is raised.

        No step waits for another: a slow one delays only itself.
        """
        waiting = deque(enumerate(steps))
        count = min(self._threads, len(steps))
        hands = [self._pool.submit(self._take, waiting, enough) for _ in range(count)]
        taken = sorted(chain.from_iterable(hand.result() for hand in hands), key=itemgetter(0))
        outcomes = [outcome for _, outcome in taken]
        bad = [outcome for outcome in outcomes if outcome.error and not outcome.stale]
        return StepReport(
            done=tuple(one.step for one in outcomes if not one.error),
            conflicts=tuple(outcome.step for outcome in outcomes if outcome.stale),
            failed=tuple(StepFailure(one.step, one.error) for one in bad if one.error),
            left=tuple(step for _, step in waiting),
        )

    def close(self) -> None:
        self._pool.shutdown()

    def _take(
        self, waiting: deque[tuple[int, Step]], enough: Callable[[], bool]
    ) -> list[tuple[int, _Outcome]]:
        """One hand's work: the first that waits, until it is enough."""
        outcomes = []
        while not enough():
            try:
                number, step = waiting.popleft()
            except IndexError:  # another hand took the last one
                break
            outcomes.append((number, self._perform(step)))
        return outcomes

    def _perform(self, step: Step) -> _Outcome:
        error = self._written_all(step)
        if not error:
            for note in step.notes:
                self._announce(note)
        return _Outcome(step, error)

    def _written_all(self, step: Step) -> EdlError | None:
        ours: dict[ObjectRef, str] = {}
        try:
            for chains in _at_once(step.writes):
                self._write_chains(chains, ours)
        except ClusterError as error:
            return error
        except Exception as error:  # noqa: BLE001 — one step must not stop all others
            return ClusterError(f"{type(error).__name__}: {error}")
        return None

    def _write_chains(self, chains: Sequence[Sequence[Write]], ours: dict[ObjectRef, str]) -> None:
        """All of them, with the hands that are free; after a failure none is begun."""
        waiting = deque(chains)
        helpers = [
            self._pool.submit(self._write_next, waiting, ours) for _ in chains[1 : self._threads]
        ]
        try:
            self._write_next(waiting, ours)
        finally:
            # One that is not begun would wait for a hand that may wait for this one.
            begun = [helper for helper in helpers if not helper.cancel()]
            wait(begun)
        for helper in begun:
            helper.result()

    def _write_next(self, waiting: deque[Sequence[Write]], ours: dict[ObjectRef, str]) -> None:
        """One chain after the other, until none waits."""
        while True:
            try:
                found = waiting.popleft()
            except IndexError:  # another hand took the last one
                return
            try:
                for write in found:
                    self._write(write, ours)
            except BaseException:
                waiting.clear()
                raise

    def _write(self, write: Write, ours: dict[ObjectRef, str]) -> None:
        """`ours`: the versions that this step made; a later write of it follows them."""
        body = perform(self._cluster, write, ours.get(write.target, ""))
        if body is not None:
            ours[write.target] = body["metadata"]["resourceVersion"]
            self._written(write.target.kind, body)


def _at_once(writes: Iterable[Write]) -> Iterator[Sequence[Sequence[Write]]]:
    """Groups in order: the writes of pods in a row, by pod; each other write alone."""
    for of_pods, found in groupby(writes, key=lambda write: write.target.kind == "Pod"):
        if not of_pods:
            yield from ([[write]] for write in found)
            continue
        by_pod = defaultdict[ObjectRef, list[Write]](list)
        for write in found:
            by_pod[write.target].append(write)
        yield [*by_pod.values()]


def perform(cluster: Cluster, write: Write, version: str = "") -> Json | None:
    """One write; `version` replaces its own precondition. None when there is nothing to return.

    That a new object exists already, or an old one is gone already, is what was wanted.
    """
    match write:
        case Patch():
            found = _patch(cluster, write, version)
            return None if write.dry_run else found
        case Create():
            return _create(cluster, write)
        case CreateKeys():
            _create_keys(cluster, write)
            return None
        case Delete():
            _delete(cluster, write, version)
            return None


def _patch(cluster: Cluster, write: Patch, version: str) -> Json:
    """Tried again with a newer version where the fields are as they were that it depends on."""
    for _ in range(_TRIES - 1):
        try:
            return cluster.patch(write.target, _with_version(write, version), dry_run=write.dry_run)
        except Conflict:
            if write.unless_changed is None:
                raise
            known = cluster.get(write.target)
            if merged(known, write.unless_changed) != known:
                raise
            version = known["metadata"]["resourceVersion"]
    return cluster.patch(write.target, _with_version(write, version), dry_run=write.dry_run)


def _with_version(patch: Patch, version: str) -> Mapping[str, Any]:
    metadata = patch.body.get("metadata", {}) | {"resourceVersion": version or patch.version}
    return {**patch.body, "metadata": metadata}


def _create(cluster: Cluster, write: Create) -> Json | None:
    try:
        return cluster.create(write.target, write.manifest)
    except Conflict:
        return None


def _create_keys(cluster: Cluster, write: CreateKeys) -> None:
    """Ask first: a key pair costs a fraction of a second. Nothing of it is ever returned."""
    try:
        cluster.create(write.target, write.manifest, dry_run=True)
        cluster.create(write.target, {**write.manifest, "data": key_pair()})
    except Conflict:
        return


def _delete(cluster: Cluster, write: Delete, version: str) -> None:
    try:
        cluster.delete(
            write.target, version=write.version and (version or write.version), uid=write.uid
        )
    except NotFound:
        return
