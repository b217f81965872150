"""The history of a `FakeCluster`, in order, for its watches."""

import itertools
from collections.abc import Sequence
from threading import Condition
from typing import NamedTuple

import msgspec

from edl.errors import Gone
from edl.writes import Json


class FakeKey(NamedTuple):
    """The identity of an object; `namespace` is empty for cluster-scoped kinds."""

    kind: str
    namespace: str
    name: str


class FakeChange(msgspec.Struct, frozen=True):
    """One change. `before` is None for a new object; `last` carries the version of this change."""

    version: int
    key: FakeKey
    before: Json | None
    last: Json
    deleted: bool


class FakeHistory:
    """Changes, numbered without gaps. Thread-safe; an added change is never mutated."""

    def __init__(self) -> None:
        self.lock = Condition()
        self.version = 1
        self._changes: list[FakeChange] = []
        self._forgotten = 0
        self._readers: set[int] = set()
        self._names = itertools.count()

    def add(self, key: FakeKey, before: Json | None, last: Json, *, deleted: bool) -> None:
        with self.lock:
            self.version += 1
            self._changes.append(FakeChange(self.version, key, before, last, deleted))
            self.lock.notify_all()

    def reader(self) -> int:
        with self.lock:
            name = next(self._names)
            self._readers.add(name)
            return name

    def after(self, version: int, reader: int) -> Sequence[FakeChange] | None:
        """Waits for changes after `version`; None if the reader was ended. Raises Gone."""
        with self.lock:
            self.lock.wait_for(lambda: reader not in self._readers or version < self.version)
            if reader not in self._readers:
                return None
            if version < self._forgotten:
                raise Gone(f"too old resource version: {version} ({self._forgotten})", 410)
            return self._changes[len(self._changes) - (self.version - version) :]

    def forget(self) -> None:
        """Drops all changes; watches that have not read them get Gone."""
        with self.lock:
            self._changes.clear()
            self._forgotten = self.version
            self.lock.notify_all()

    def end(self, reader: int) -> None:
        with self.lock:
            self._readers.discard(reader)
            self.lock.notify_all()

    def end_all(self) -> None:
        with self.lock:
            self._readers.clear()
            self.lock.notify_all()
