"""`Guarded`: a `Cluster` that refuses to write once this process does not lead any more."""

from collections.abc import Iterator, Mapping
from typing import Any

from edl.errors import ClusterError
from edl.kube.cluster import Cluster, RawListing, Selection, Watch
from edl.model import Target
from edl.writes import Json
from reconciler.leader import Leadership


class NotLeading(ClusterError):
    """The leadership was lost between a decision and its write."""


class Guarded:
    """Checked before each write, not only before each round: a round may outlast a lease."""

    def __init__(self, cluster: Cluster, leadership: Leadership) -> None:
        self._cluster = cluster
        self._leadership = leadership

    def get(self, target: Target) -> Json:
        return self._cluster.get(target)

    def list(self, selection: Selection) -> RawListing:
        return self._cluster.list(selection)

    def pages(self, selection: Selection) -> Iterator[RawListing]:
        return self._cluster.pages(selection)

    def watch(self, selection: Selection, version: str) -> Watch:
        return self._cluster.watch(selection, version)

    def create(self, target: Target, manifest: Mapping[str, Any], *, dry_run: bool = False) -> Json:
        self._check(target)
        return self._cluster.create(target, manifest, dry_run=dry_run)

    def patch(self, target: Target, body: Mapping[str, Any], *, dry_run: bool = False) -> Json:
        self._check(target)
        return self._cluster.patch(target, body, dry_run=dry_run)

    def delete(self, target: Target, *, version: str = "") -> None:
        self._check(target)
        self._cluster.delete(target, version=version)

    def _check(self, target: Target) -> None:
        if not self._leadership.leading:
            raise NotLeading(f"{target.kind} {target.name} is left to the new leader")
