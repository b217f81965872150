"""Perform steps: several at once, the writes of each in order, its Events when all succeeded."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from operator import itemgetter
from typing import Any, Final, Protocol

import msgspec

from edl.errors import ClusterError, Conflict, EdlError, NotFound
from edl.kube.cluster import Cluster
from edl.kube.writer.ssh_key_generation import key_pair
from edl.model import ObjectRef
from edl.writes import Create, CreateKeys, Delete, Json, Note, Patch, Step, Write

THREADS: Final = 16
"""Parallel writers: a busy API server answers late, and large releases need many requests."""


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
            for write in step.writes:
                self._write(write, ours)
        except ClusterError as error:
            return error
        except Exception as error:  # noqa: BLE001 — one step must not stop all others
            return ClusterError(f"{type(error).__name__}: {error}")
        return None

    def _write(self, write: Write, ours: dict[ObjectRef, str]) -> None:
        """`ours`: the versions that this step made; a later write of it follows them."""
        body = perform(self._cluster, write, ours.get(write.target, ""))
        if body is not None:
            ours[write.target] = body["metadata"]["resourceVersion"]
            self._written(write.target.kind, body)


def perform(cluster: Cluster, write: Write, version: str = "") -> Json | None:
    """One write; `version` replaces its own precondition. None when there is nothing to return.

    That a new object exists already, or an old one is gone already, is what was wanted.
    """
    match write:
        case Patch():
            found = cluster.patch(
                write.target, _with_version(write, version), dry_run=write.dry_run
            )
            return None if write.dry_run else found
        case Create():
            return _create(cluster, write)
        case CreateKeys():
            _create_keys(cluster, write)
            return None
        case Delete():
            _delete(cluster, write, version)
            return None


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
