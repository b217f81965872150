"""Wrappers of a cluster: users with fewer rights, and concurrent writers."""

from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from typing import Any

from edl.errors import Conflict, Forbidden
from edl.kube.cluster import ListOptions, PluginCluster, RawList
from edl.kube.cluster_decorator import PluginClusterDecorator
from edl.model import ObjectRef
from edl.writes import Json


class ClusterWrapper(PluginClusterDecorator):
    """Passes all requests on; subclasses override some."""

    def pages(self, selection: ListOptions) -> Iterator[RawList]:
        """One page of what `list` returns, so that a subclass changes both."""
        yield self.list(selection)

    def without_warnings(self) -> PluginCluster:
        return self


def fenced(*kinds: str) -> Callable[[PluginCluster], PluginCluster]:
    """The user may not list these kinds."""

    class Fence(ClusterWrapper):
        def list(self, selection: ListOptions) -> RawList:
            if selection.kind in kinds:
                raise Forbidden(f'"ann" may not list {selection.kind} (kubectl auth can-i …)', 403)
            return super().list(selection)

    return Fence


def ahead(difference: timedelta) -> Callable[[PluginCluster], PluginCluster]:
    """The API server's clock is ahead of this machine's."""

    class Ahead(ClusterWrapper):
        def clock_ahead(self) -> timedelta:
            return difference

    return Ahead


def one_namespace() -> Callable[[PluginCluster], PluginCluster]:
    """The user may list nothing outside of a namespace."""

    class Inside(ClusterWrapper):
        def list(self, selection: ListOptions) -> RawList:
            if not selection.namespace:
                raise Forbidden(f'"ann" may not list {selection.kind} (kubectl auth can-i …)', 403)
            return super().list(selection)

    return Inside


def recorded(lists: list[ListOptions]) -> Callable[[PluginCluster], PluginCluster]:
    """Appends the selection of each list."""

    class Recorded(ClusterWrapper):
        def list(self, selection: ListOptions) -> RawList:
            lists.append(selection)
            return super().list(selection)

    return Recorded


def reading(read: list[ObjectRef], refused: str = "") -> Callable[[PluginCluster], PluginCluster]:
    """Each object that is read by its name is noted; those named `refused` may not be read."""

    class Reading(ClusterWrapper):
        def get(self, target: ObjectRef) -> Json:
            read.append(target)
            if target.name == refused:
                raise Forbidden(f'"ann" may not get {target.kind} (kubectl auth can-i …)', 403)
            return super().get(target)

    return Reading


def hidden(*kinds: str) -> Callable[[PluginCluster], PluginCluster]:
    """The user may not get objects of these kinds."""

    class Veil(ClusterWrapper):
        def get(self, target: ObjectRef) -> Json:
            if target.kind in kinds:
                raise Forbidden(f'"ann" may not get {target.kind} (kubectl auth can-i …)', 403)
            return super().get(target)

    return Veil


def overtaken(times: int, after: int = 0) -> Callable[[PluginCluster], PluginCluster]:
    """Another client changes the object just before these patches: the first ones `after` some."""
    left, first = [times], [after]

    class Overtaken(ClusterWrapper):
        def patch(
            self, target: ObjectRef, body: Mapping[str, Any], *, dry_run: bool = False
        ) -> Json:
            if first[0]:
                first[0] -= 1
            elif left[0]:
                left[0] -= 1
                raise Conflict("the object has been modified", 409)
            return super().patch(target, body, dry_run=dry_run)

    return Overtaken


def followed(action: Callable[[], object]) -> Callable[[PluginCluster], PluginCluster]:
    """Another client acts right after each patch."""

    class Followed(ClusterWrapper):
        def patch(
            self, target: ObjectRef, body: Mapping[str, Any], *, dry_run: bool = False
        ) -> Json:
            patched = super().patch(target, body, dry_run=dry_run)
            action()
            return patched

    return Followed


def late_deletions(cluster: PluginCluster) -> PluginCluster:
    """Another client deletes each object just before."""

    class Late(ClusterWrapper):
        def delete(self, target: ObjectRef, **given: Any) -> None:  # noqa: ANN401 - preconditions
            super().delete(target, **given)
            super().delete(target, **given)

    return Late(cluster)


def refusing(
    kind: str, error: BaseException, *, also_dry_runs: bool = False
) -> Callable[[PluginCluster], PluginCluster]:
    """The API server does not accept new objects of this kind."""

    class Refusing(ClusterWrapper):
        def create(
            self, target: ObjectRef, manifest: Mapping[str, Any], *, dry_run: bool = False
        ) -> Json:
            if target.kind == kind and (also_dry_runs or not dry_run):
                raise error
            return super().create(target, manifest, dry_run=dry_run)

    return Refusing


def warning_of(created: list[ObjectRef]) -> Callable[[PluginCluster], PluginCluster]:
    """The API server warns of each object that it is asked to create; these are noted."""

    class Warned(ClusterWrapper):
        def create(
            self, target: ObjectRef, manifest: Mapping[str, Any], *, dry_run: bool = False
        ) -> Json:
            created.append(target)
            return super().create(target, manifest, dry_run=dry_run)

        def without_warnings(self) -> PluginCluster:
            return self._cluster

    return Warned
