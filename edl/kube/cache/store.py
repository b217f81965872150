"""`Store`: the facts of one kind, fed by an informer and by this process's own writes."""

import logging
from collections.abc import Callable, Mapping
from threading import Event, Lock
from typing import Final, Generic, NamedTuple, TypeVar

import msgspec

from edl.kube.cluster import Delta, ObjectKey
from edl.writes import Json

T = TypeVar("T")


class StoredObject(NamedTuple, Generic[T]):
    """One version of an object: resource versions are increasing integers (Kubernetes 1.35).

    `facts` is None for an object that is irrelevant to us.
    """

    key: ObjectKey
    version: int
    facts: T | None


class _Meta(msgspec.Struct):
    name: str = ""  # bookmarks have none
    namespace: str = ""
    resourceVersion: str = "0"  # noqa: N815 - the API's name


class _Object(msgspec.Struct):
    metadata: _Meta


_log: Final = logging.getLogger(__name__)
_decoder: Final = msgspec.json.Decoder(_Object)


class Store(Generic[T]):
    """Facts by name. Thread-safe; `changed` is called, outside the lock, when facts differ."""

    def __init__(
        self, decode: Callable[[bytes], T | None], changed: Callable[[], None] = lambda: None
    ) -> None:
        self._decode = decode
        self._changed = changed
        self._lock = Lock()
        self._items: dict[ObjectKey, StoredObject[T]] = {}
        self._version = 0
        self._synced = Event()
        self._served = True
        self._changes: dict[ObjectKey, T | None] | None = None
        """For each changed object, its facts at the last call of `take_changes`."""

    @property
    def synced(self) -> bool:
        """Whether a whole list was read."""
        return self._synced.is_set()

    @property
    def served(self) -> bool:
        """Whether the API server serves this kind, as far as is known."""
        return self._served

    def mark_absent(self) -> None:
        """Records that the API server does not serve this kind: the store is empty, and synced."""
        self._served = False
        self.replace({}, 0)

    def values(self) -> list[T]:
        with self._lock:
            return [item.facts for item in self._items.values() if item.facts is not None]

    def get(self, name: ObjectKey) -> T | None:
        """The facts of an object; None if it is unknown, or irrelevant to us."""
        with self._lock:
            return self._known(name)

    def __len__(self) -> int:
        return len(self._items)

    def take_changes(self, *, whole: bool = False) -> list[Delta[T]]:
        """The differences since the last call, for a single reader; `whole`: all objects.

        The first call also returns all objects. An object that changed several times has one entry.
        """
        with self._lock:
            changes, self._changes = self._changes, {}
            if changes is None or whole:
                items = (item for item in self._items.values() if item.facts is not None)
                return [Delta(item.key, None, item.facts) for item in items]
            return [Delta(name, before, self._known(name)) for name, before in changes.items()]

    def last_read(self) -> list[Delta[T]]:
        """All objects as of the last `take_changes`, as additions: later ones follow there."""
        with self._lock:
            later = self._changes or {}
            items = [(key, item.facts) for key, item in self._items.items() if key not in later]
            both = (*items, *later.items())
            return [Delta(key, None, facts) for key, facts in both if facts is not None]

    def item(self, raw: bytes) -> StoredObject[T]:
        """Decodes an object. Raises msgspec.DecodeError if it has no identity.

        Equal facts are one object in memory, so that listing again needs no extra memory.
        """
        name, version = _identity(raw)
        item = StoredObject(name, version, self._facts(name, raw))
        held = self._items.get(name)
        if held is None or held.facts != item.facts:
            return item
        return held if held.version == item.version else item._replace(facts=held.facts)

    def _facts(self, name: ObjectKey, raw: bytes) -> T | None:
        try:
            return self._decode(raw)
        except Exception:  # noqa: BLE001 - below
            # One object that cannot be read must not hide all the others.
            _log.exception("cannot decode %s/%s, ignoring it", *name)
            return None

    def replace(self, items: Mapping[ObjectKey, StoredObject[T]], version: int) -> None:
        """Replaces the content by a list of `version`; objects that it lacks are gone.

        Our own writes after that version stay, unless versions decreased, as after a restored
        backup.
        """
        with self._lock:
            self._served = self._served or bool(version)
            fresh = dict(items)
            if version >= self._version:
                for name, held in self._items.items():
                    if held.version > max(version, fresh[name].version if name in fresh else 0):
                        fresh[name] = held
            before, self._items, self._version = self._items, fresh, version
            same = self._compare(before) and self._synced.is_set()
        self._synced.set()
        if not same:
            self._changed()

    def _compare(self, before: Mapping[ObjectKey, StoredObject[T]]) -> bool:
        """Whether all facts are as before; differences are noted for `take_changes`."""
        same = True
        for name, held in before.items():
            if self._items.get(name) is not held:
                same &= self._note(name, held.facts)
        for name in self._items.keys() - before.keys():
            same &= self._note(name, None)
        return same

    def _note(self, name: ObjectKey, before: T | None) -> bool:
        """Whether the facts of an object are unchanged; `take_changes` returns a difference."""
        current = self._known(name)
        if current == before:
            return True
        if self._changes is not None and self._changes.setdefault(name, before) == current:
            del self._changes[name]
        return False

    def _known(self, name: ObjectKey) -> T | None:
        item = self._items.get(name)
        return item.facts if item else None

    def apply_event(self, raw: bytes, *, gone: bool = False) -> int:
        """Applies the object of a watch event, and returns its version.

        An object that is known in this version already, mostly from a write of ours, is not
        decoded.
        """
        name, version = _identity(raw)
        held = self._items.get(name)
        if gone:
            self.update(StoredObject(name, version, None), gone=True)
        elif held is None or held.version < version:
            self.update(self.item(raw))
        else:
            self.advance(version)
        return version

    def update(self, item: StoredObject[T], *, gone: bool = False) -> None:
        """Applies a watch event; one that is older than the known version changes nothing."""
        with self._lock:
            self._version = max(self._version, item.version)
            held = self._items.get(item.key)
            if held is not None and held.version > item.version:
                return
            if gone:
                self._items.pop(item.key, None)
            else:
                self._items[item.key] = item
            same = self._note(item.key, held.facts if held else None)
        if not same:
            self._changed()

    def advance(self, version: int) -> None:
        """Records that nothing happened up to this version (a bookmark)."""
        with self._lock:
            self._version = max(self._version, version)

    def accept(self, body: Json) -> None:
        """Stores the response of our own write, so that the next decision knows it.

        The watch may already be past this version, or past the deletion: then nothing changes.
        """
        metadata = body["metadata"]
        name = ObjectKey(metadata.get("namespace", ""), metadata["name"])
        if self._is_old(name, int(metadata["resourceVersion"])):
            return
        item = self.item(msgspec.json.encode(body))
        with self._lock:
            if self._is_old(name, item.version):  # the watch was quicker
                return
            held = self._items.get(name)
            self._items[name] = item
            same = self._note(name, held.facts if held else None)
        if not same:
            self._changed()

    def version(self, name: ObjectKey) -> int:
        """The known version of an object; 0 if it is unknown."""
        held = self._items.get(name)
        return held.version if held else 0

    def forget(self, name: ObjectKey, version: int) -> None:
        """Removes an object that was found gone while this version was the known one.

        No watch may ever tell: our right to watch the kind may have been withdrawn.
        """
        with self._lock:
            held = self._items.get(name)
            if held is None or held.version != version:
                return
            del self._items[name]
            same = self._note(name, held.facts)
        if not same:
            self._changed()

    def _is_old(self, name: ObjectKey, version: int) -> bool:
        held = self._items.get(name)
        return version <= max(self._version, held.version if held else 0)


def version_of(raw: bytes) -> int:
    """The resource version of an object."""
    return _identity(raw)[1]


def _identity(raw: bytes) -> tuple[ObjectKey, int]:
    meta = _decoder.decode(raw).metadata
    return ObjectKey(meta.namespace, meta.name), int(meta.resourceVersion)
