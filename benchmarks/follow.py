"""Jobs and pods of a real control plane, followed by list and watch, as benchmarks read them."""

import time
from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from edl.errors import ClusterError, Gone
from edl.kube.cluster import Cluster, ListOptions

_PAUSE: Final = 0.1
"""Seconds before an API server that refuses or is away is asked again."""


class _Named(msgspec.Struct):
    name: str = ""


class _Meta(msgspec.Struct):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resourceVersion: str = ""  # noqa: N815 - the API's name
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    deletionTimestamp: str | None = None  # noqa: N815 - the same
    ownerReferences: list[_Named] = []  # noqa: N815 - the same


class _Resources(msgspec.Struct):
    limits: dict[str, str] = {}


class _Container(msgspec.Struct):
    resources: _Resources = msgspec.field(default_factory=_Resources)


class ObservedSpec(msgspec.Struct):
    """Fields of a Job's spec, and of a pod's."""

    suspend: bool = False
    parallelism: int = 0
    nodeName: str = ""  # noqa: N815 - the same
    schedulingGates: list[_Named] = []  # noqa: N815 - the same
    containers: list[_Container] | None = None
    """Null in a watch's bookmarks."""


class _Condition(msgspec.Struct):
    type: str = ""
    status: str = ""
    message: str = ""


class _Status(msgspec.Struct):
    phase: str = ""
    conditions: list[_Condition] = []


class Observed(msgspec.Struct):
    """A Job or a pod, as far as it matters here."""

    metadata: _Meta
    spec: ObservedSpec = msgspec.field(default_factory=ObservedSpec)
    status: _Status = msgspec.field(default_factory=_Status)

    @property
    def gone(self) -> bool:
        return self.metadata.deletionTimestamp is not None

    @property
    def finished(self) -> bool:
        """Whether the Job has ended, or is about to."""
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
    """Until `ended`: `listed` gets every list, `seen` every event, with whether it is a deletion.

    A watch that breaks goes on from where it was; the list is read again when that is too old.
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
