"""Follows objects of a real control plane by list and watch, for benchmarks."""

import time
from collections.abc import Callable, Iterable
from threading import Thread
from typing import Final, Self

import msgspec

from edl.errors import ClusterError, Gone
from edl.kube.api.client import connect
from edl.kube.cluster import Cluster, ListOptions

_PAUSE: Final = 0.1
"""The seconds before a request is repeated that the API server refused or did not receive."""


class _Named(msgspec.Struct):
    name: str = ""


class _Meta(msgspec.Struct):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resourceVersion: str = ""  # noqa: N815 - the API's name
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    deletionTimestamp: str | None = None  # noqa: N815 - the API's name
    ownerReferences: list[_Named] = []  # noqa: N815 - the API's name


class _Resources(msgspec.Struct):
    limits: dict[str, str] = {}
    requests: dict[str, str] = {}


class _Container(msgspec.Struct):
    resources: _Resources = msgspec.field(default_factory=_Resources)


class ObservedSpec(msgspec.Struct):
    """Fields of a Job's spec, and of a pod's."""

    suspend: bool = False
    parallelism: int = 0
    nodeName: str = ""  # noqa: N815 - the API's name
    containers: list[_Container] | None = None
    """Null in a watch's bookmarks."""


class _Condition(msgspec.Struct):
    type: str = ""
    status: str = ""
    message: str = ""


class _Status(msgspec.Struct):
    phase: str = ""
    conditions: list[_Condition] = []
    allocatable: dict[str, str] = {}


class Observed(msgspec.Struct):
    """A Job, pod or node with the fields that benchmarks need."""

    metadata: _Meta
    spec: ObservedSpec = msgspec.field(default_factory=ObservedSpec)
    status: _Status = msgspec.field(default_factory=_Status)

    @property
    def gone(self) -> bool:
        return self.metadata.deletionTimestamp is not None

    @property
    def finished(self) -> bool:
        """Whether the Job has ended or is about to."""
        ends = ("Complete", "Failed", "SuccessCriteriaMet", "FailureTarget")
        return any(one.type in ends and one.status == "True" for one in self.status.conditions)


_decode: Final = msgspec.json.Decoder(Observed).decode


def observed(items: Iterable[bytes]) -> list[Observed]:
    """The objects of a list."""
    return [_decode(item) for item in items]


def follow(
    api: Cluster,
    selection: ListOptions,
    listed: Callable[[list[Observed]], None],
    seen: Callable[[Observed, bool], None],
    ended: Callable[[], bool] = lambda: False,
) -> None:
    """Follow objects until `ended`. `listed` receives lists, `seen` events (True: a deletion).

    A broken watch resumes at its last version; the list is read again if that version is too old.
    """
    version = ""
    while not ended():
        try:
            if not version:
                listing = api.list(selection)
                listed(observed(listing.items))
                version = listing.version
            for event in api.watch(selection, version):
                found = _decode(event.object)
                version = found.metadata.resourceVersion
                if event.type != "BOOKMARK":
                    seen(found, event.type == "DELETED")
        except Gone:
            version = ""
        except ClusterError:
            time.sleep(_PAUSE)


class Followers:
    """Follows objects of several selections, each in a thread of its own, while it is entered.

    Objects that exist already are seen first.
    """

    def __init__(
        self, kubeconfig: str, *followed: tuple[ListOptions, Callable[[Observed, bool], None]]
    ) -> None:
        self._kubeconfig, self._followed, self._closed = kubeconfig, followed, False
        self._failure: Exception | None = None

    def __enter__(self) -> Self:
        for pair in self._followed:
            Thread(target=self._run, args=pair, daemon=True).start()
        time.sleep(1.0)  # until all watches are open
        return self

    def __exit__(self, *_: object) -> None:
        self._closed = True

    def check(self) -> None:
        """Raises the error that ended a thread, as events would be missing."""
        if self._failure:
            raise self._failure

    def _run(self, selection: ListOptions, seen: Callable[[Observed, bool], None]) -> None:
        def listed(found: list[Observed]) -> None:
            for one in found:
                seen(one, False)  # noqa: FBT003 - as it is called

        try:
            follow(connect(self._kubeconfig), selection, listed, seen, lambda: self._closed)
        except Exception as error:  # noqa: BLE001 - raised again by `check`
            self._failure = error
