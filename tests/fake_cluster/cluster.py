"""`FakeCluster`: a `Cluster` in memory for tests and simulations, under the same contract tests.

It implements versions, history, preconditions, finalizers and grace periods as an API server does.
It has no controllers, admission or validation; pods end when their grace period has passed.
"""

import uuid
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Literal

import msgspec

from edl import contract
from edl.errors import AlreadyExists, Conflict, KindNotServed, NotFound
from edl.kube.cluster import RESOURCES, ListOptions, LogRequest, RawEvent, RawList
from edl.model import ObjectRef
from edl.patches.merge_patch import merged
from edl.writes import Json
from tests.fake_cluster.history import FakeChange, FakeHistory, FakeKey
from tests.fake_cluster.label_matching import matches
from tests.fake_cluster.logs import FakeLog, FakeLogs

_NAMES: Final = uuid.UUID("8c8b1c1e-3c4f-4a39-9a55-6f2f3c7d9d10")
_PAGE_SIZE: Final = 500
_GRACE: Final = 30
"""Seconds: the API server's default for pods."""
AUTOSCALERS: Final = frozenset({"NodePool", "ProvisioningRequest"})
"""Kinds that an API server serves only if a node autoscaler is installed."""
_TYPE: Final = ("apiVersion", "kind")  # items of a list do not repeat them


class FakeCluster:
    """A cluster in memory; thread-safe. `clock` gives creation times and ends grace periods."""

    default_namespace = "default"
    system_namespace = contract.SYSTEM_NAMESPACE

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._objects: dict[FakeKey, Json] = {}
        self._history = FakeHistory()
        self._lock = self._history.lock
        self.logs = FakeLogs()
        self.release = "v1.37.2"
        self.unserved: frozenset[str] = AUTOSCALERS
        """Kinds that this API server does not serve."""
        self.ahead = timedelta()

    def tick(self) -> None:
        """Ends pods whose grace period has passed, as kubelets would; watches get the events."""
        with self._lock:
            due = [key for key, body in self._objects.items() if self._is_over(key, body)]
            for key in due:
                self._commit(key, None)

    def get(self, target: ObjectRef) -> Json:
        self.tick()
        with self._lock:
            return _copied(self._found(_key(target)))

    def list(self, selection: ListOptions) -> RawList:
        self.tick()
        if selection.kind in self.unserved:
            raise KindNotServed("the server could not find the requested resource", 404)
        with self._lock:
            chosen = [
                msgspec.json.encode({name: body[name] for name in body if name not in _TYPE})
                for key, body in sorted(self._objects.items(), key=lambda entry: entry[0])
                if _selects(selection, key, body)
            ]
            return RawList(tuple(chosen), str(self._history.version))

    def pages(self, selection: ListOptions) -> Iterator[RawList]:
        listing = self.list(selection)
        for start in range(0, max(len(listing.items), 1), _PAGE_SIZE):
            yield RawList(listing.items[start : start + _PAGE_SIZE], listing.version)

    def watch(self, selection: ListOptions, version: str) -> "FakeWatch":
        return FakeWatch(self._history, selection, int(version))

    def version(self) -> str:
        return self.release

    def serves(self, kind: str) -> bool:
        return kind not in self.unserved

    def clock_ahead(self) -> timedelta:
        return self.ahead

    def without_warnings(self) -> "FakeCluster":
        return self

    def log(self, wanted: LogRequest) -> FakeLog:
        with self._lock:
            self._found(_key(wanted.pod))
        return self.logs.open(wanted, self._clock())

    def create(
        self, target: ObjectRef, manifest: Mapping[str, Any], *, dry_run: bool = False
    ) -> Json:
        self.tick()
        with self._lock:
            body = self._born(target, manifest)
            key = _key(target)._replace(name=body["metadata"]["name"])
            if key in self._objects:
                raise AlreadyExists(f'{_plural(key)} "{key.name}" already exists', 409)
            if not dry_run:
                self._commit(key, body)
            return _copied(body)

    def patch(self, target: ObjectRef, body: Mapping[str, Any], *, dry_run: bool = False) -> Json:
        self.tick()
        with self._lock:
            before = self._found(_key(target))
            _check_version(_key(target), before, body.get("metadata", {}).get("resourceVersion"))
            after = merged(_copied(before), body)
            after["metadata"]["resourceVersion"] = before["metadata"]["resourceVersion"]
            if after != before and not dry_run:
                self._store(_key(target), after)
            return _copied(after)

    def add_condition(self, target: ObjectRef, condition: Mapping[str, str], version: str) -> Json:
        with self._lock:
            before = self._found(_key(target)).get("status", {}).get("conditions", [])
            others = [one for one in before if one["type"] != condition["type"]]
            status = {"conditions": [*others, dict(condition)]}
            return self.patch(target, {"metadata": {"resourceVersion": version}, "status": status})

    def apply(
        self,
        target: ObjectRef,
        manifest: Mapping[str, Any],
        *,
        force: bool = False,
        dry_run: bool = False,
    ) -> Json:
        """Creates or patches the object.

        Field ownership is not simulated: `force` has no effect.
        """
        del force
        with self._lock:
            if _key(target) in self._objects:
                return self.patch(target, manifest, dry_run=dry_run)
            return self.create(target, manifest, dry_run=dry_run)

    def delete(
        self, target: ObjectRef, *, version: str = "", uid: str = "", dry_run: bool = False
    ) -> None:
        self.tick()
        with self._lock:
            key = _key(target)
            before = self._found(key)
            _check_version(key, before, version)
            if uid and uid != before["metadata"]["uid"]:
                raise Conflict(f'"{target.name}" is another object by now; read it again', 409)
            if "deletionTimestamp" not in before["metadata"] and not dry_run:
                self._store(key, self._deleted(key, before))

    def forget_history(self) -> None:
        """Drops the history, as a compaction does: older watches end with Gone."""
        self._history.forget()

    def end_watches(self) -> None:
        """Ends every watch without an error, as a restart of the API server does."""
        self._history.end_all()

    def _deleted(self, key: FakeKey, before: Json) -> Json:
        """The object during its grace period, or while it has finalizers."""
        after, grace = _copied(before), _grace(key, before)
        ends = self._clock() + timedelta(seconds=grace)
        after["metadata"]["deletionTimestamp"] = _text(ends)
        after["metadata"]["deletionGracePeriodSeconds"] = grace
        return after

    def _is_over(self, key: FakeKey, body: Json) -> bool:
        """Whether a deleted object has neither finalizers nor a grace period left."""
        metadata = body["metadata"]
        ends = metadata.get("deletionTimestamp")
        if ends is None or metadata.get("finalizers"):
            return False
        return key.kind != "Pod" or datetime.fromisoformat(ends) <= self._clock()

    def _found(self, key: FakeKey) -> Json:
        try:
            return self._objects[key]
        except KeyError:
            raise NotFound(f'{_plural(key)} "{key.name}" not found', 404) from None

    def _born(self, target: ObjectRef, manifest: Mapping[str, Any]) -> Json:
        body = _copied(manifest)
        metadata = body.setdefault("metadata", {})
        identity = uuid.uuid5(_NAMES, f"{target}{self._history.version}")
        if prefix := metadata.get("generateName"):
            metadata.setdefault("name", f"{prefix}{identity.hex[:5]}")
        metadata.setdefault("name", target.name)
        if RESOURCES[target.kind].namespaced:
            metadata["namespace"] = target.namespace
        body.setdefault("apiVersion", RESOURCES[target.kind].api_version)
        body.setdefault("kind", target.kind)
        metadata["uid"] = str(identity)
        metadata["creationTimestamp"] = _text(self._clock())
        return body

    def _store(self, key: FakeKey, after: Json) -> None:
        """Stores a new version, or removes the object if nothing delays its deletion."""
        if self._is_over(key, after):
            self._objects[key] = after
            self._commit(key, None)
        else:
            self._commit(key, after)

    def _commit(self, key: FakeKey, after: Json | None) -> None:
        before = self._objects.pop(key, None)
        last = _copied(before or {}) if after is None else after
        last["metadata"]["resourceVersion"] = str(self._history.version + 1)
        if after is not None:
            self._objects[key] = after
        self._history.add(key, before, last, deleted=after is None)


class FakeWatch:
    """A watch of a `FakeCluster`. It blocks for the next event until it is closed or ended."""

    def __init__(self, history: FakeHistory, selection: ListOptions, version: int) -> None:
        self._history = history
        self._selection = selection
        self._version = version
        self._reader = history.reader()

    def __iter__(self) -> Iterator[RawEvent]:
        while (changes := self._history.after(self._version, self._reader)) is not None:
            for change in changes:
                self._version = change.version
                if event := _event(self._selection, change):
                    yield event

    def close(self) -> None:
        self._history.end(self._reader)


def _event(selection: ListOptions, change: FakeChange) -> RawEvent | None:
    was = change.before is not None and _selects(selection, change.key, change.before)
    remains = not change.deleted and _selects(selection, change.key, change.last)
    kinds: dict[tuple[bool, bool], Literal["ADDED", "MODIFIED", "DELETED"]] = {
        (False, True): "ADDED",
        (True, True): "MODIFIED",
        (True, False): "DELETED",
    }
    kind = kinds.get((was, remains))
    return RawEvent(kind, msgspec.json.encode(change.last)) if kind else None


def _selects(selection: ListOptions, key: FakeKey, body: Json) -> bool:
    if key.kind != selection.kind or selection.namespace not in ("", key.namespace):
        return False
    if selection.name not in ("", key.name):
        return False
    if not all(_has_field(body, one) for one in filter(None, selection.fields.split(","))):
        return False
    return matches(selection.labels, body["metadata"].get("labels") or {})


def _has_field(body: Json, requirement: str) -> bool:
    path, _, value = requirement.partition("=")
    found: Any = body
    for name in path.split("."):
        found = (found or {}).get(name)
    return bool(found == value)


def _copied(body: Mapping[str, Any]) -> Json:
    """A copy by way of JSON, as an API server stores objects: faster than `deepcopy`."""
    found: Json = msgspec.json.decode(msgspec.json.encode(body))
    return found


def _grace(key: FakeKey, body: Json) -> int:
    """The grace period in seconds; 0 for a pod that is unbound or ended, and for other kinds."""
    spec, phase = body.get("spec") or {}, (body.get("status") or {}).get("phase")
    if key.kind != "Pod" or not spec.get("nodeName") or phase in ("Succeeded", "Failed"):
        return 0
    found: int = spec.get("terminationGracePeriodSeconds", _GRACE)
    return found


def _text(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _check_version(key: FakeKey, found: Json, wanted: str | None) -> None:
    if wanted and wanted != found["metadata"]["resourceVersion"]:
        raise Conflict(f'{_plural(key)} "{key.name}" has been modified; read it again', 409)


def _key(target: ObjectRef) -> FakeKey:
    namespaced = RESOURCES[target.kind].namespaced
    return FakeKey(target.kind, target.namespace if namespaced else "", target.name)


def _plural(key: FakeKey) -> str:
    resource = RESOURCES[key.kind]
    return f"{resource.plural}.{resource.group}" if resource.group else resource.plural
