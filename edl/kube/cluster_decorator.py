"""Decorators of a cluster: each method passes its request on, until a subclass overrides it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import timedelta

    from edl.kube.cluster import (
        Cluster,
        ListOptions,
        Log,
        LogRequest,
        PluginCluster,
        RawList,
        Watch,
    )
    from edl.model import ObjectRef
    from edl.writes import Json


class ClusterDecorator:
    """A `Cluster` that passes all requests on."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    @property
    def system_namespace(self) -> str:
        return self._cluster.system_namespace

    def get(self, target: ObjectRef) -> Json:
        return self._cluster.get(target)

    def list(self, selection: ListOptions) -> RawList:
        return self._cluster.list(selection)

    def pages(self, selection: ListOptions) -> Iterator[RawList]:
        return self._cluster.pages(selection)

    def watch(self, selection: ListOptions, version: str) -> Watch:
        return self._cluster.watch(selection, version)

    def create(
        self, target: ObjectRef, manifest: Mapping[str, Any], *, dry_run: bool = False
    ) -> Json:
        return self._cluster.create(target, manifest, dry_run=dry_run)

    def patch(self, target: ObjectRef, body: Mapping[str, Any], *, dry_run: bool = False) -> Json:
        return self._cluster.patch(target, body, dry_run=dry_run)

    def add_condition(self, target: ObjectRef, condition: Mapping[str, str], version: str) -> Json:
        return self._cluster.add_condition(target, condition, version)

    def delete(self, target: ObjectRef, *, version: str = "", uid: str = "") -> None:
        self._cluster.delete(target, version=version, uid=uid)

    def serves(self, kind: str) -> bool:
        return self._cluster.serves(kind)

    def clock_ahead(self) -> timedelta:
        return self._cluster.clock_ahead()


class PluginClusterDecorator(ClusterDecorator):
    """A `PluginCluster` that passes all requests on.

    `without_warnings` returns a cluster that is not decorated: it is for writes.
    """

    _cluster: PluginCluster

    def __init__(self, cluster: PluginCluster) -> None:
        super().__init__(cluster)

    def delete(
        self, target: ObjectRef, *, version: str = "", uid: str = "", dry_run: bool = False
    ) -> None:
        self._cluster.delete(target, version=version, uid=uid, dry_run=dry_run)

    def apply(
        self,
        target: ObjectRef,
        manifest: Mapping[str, Any],
        *,
        force: bool = False,
        dry_run: bool = False,
    ) -> Json:
        return self._cluster.apply(target, manifest, force=force, dry_run=dry_run)

    def log(self, wanted: LogRequest) -> Log:
        return self._cluster.log(wanted)

    def version(self) -> str:
        return self._cluster.version()

    def without_warnings(self) -> PluginCluster:
        return self._cluster.without_warnings()
