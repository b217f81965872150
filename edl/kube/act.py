"""Perform steps: several at once, the writes of each in order, its Events when all succeeded."""

import operator
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import compress
from typing import Any, Final, Protocol

from edl.errors import ClusterError, Conflict, EdlError, NotFound
from edl.kube.cluster import Cluster
from edl.kube.keys import key_pair
from edl.model import Target
from edl.writes import Create, CreateKeys, Delete, Json, Note, Patch, Step, Write

THREADS: Final = 8


@dataclass(frozen=True, slots=True)
class Failure:
    """A step that ended early, and why."""

    step: Step
    error: EdlError


@dataclass(frozen=True, slots=True)
class Report:
    """What became of each step. Conflicts are no errors: decide again from fresh state.

    Nor is an object that is gone: the watch has yet to say so.
    """

    done: tuple[Step, ...] = ()
    conflicts: tuple[Step, ...] = ()
    failed: tuple[Failure, ...] = ()


class Actuator(Protocol):
    """Something that takes steps."""

    def act(self, steps: Sequence[Step]) -> Report: ...


class Writer:
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
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="writer")

    def act(self, steps: Sequence[Step]) -> Report:
        """Wait for all steps. A failure ends its own step only; nothing is raised."""
        outcomes = list(zip(steps, self._pool.map(self._perform, steps), strict=True))
        failures = [Failure(step, error) for step, error in outcomes if error]
        stale = [isinstance(failure.error, Conflict | NotFound) for failure in failures]
        return Report(
            done=tuple(step for step, error in outcomes if not error),
            conflicts=tuple(failure.step for failure in compress(failures, stale)),
            failed=tuple(compress(failures, map(operator.not_, stale))),
        )

    def close(self) -> None:
        self._pool.shutdown()

    def _perform(self, step: Step) -> EdlError | None:
        ours: dict[Target, str] = {}
        try:
            for write in step.writes:
                self._write(write, ours)
        except ClusterError as error:
            return error
        except Exception as error:  # noqa: BLE001 — one step must not stop all others
            return ClusterError(f"{type(error).__name__}: {error}")
        for note in step.notes:
            self._announce(note)
        return None

    def _write(self, write: Write, ours: dict[Target, str]) -> None:
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
            return cluster.patch(write.target, _with_version(write, version))
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
        cluster.delete(write.target, version=version or write.version)
    except NotFound:
        return
