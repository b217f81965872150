"""Wrappers of a cluster: users with fewer rights, and concurrent writers."""

from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from typing import Any, cast

from edl.errors import Conflict, Forbidden
from edl.kube.cluster import ListOptions, PluginCluster, RawList
from edl.model import ObjectRef
from edl.writes import Json


class ClusterWrapper:
    """Passes all requests on; subclasses override some."""

    def __init__(self, cluster: PluginCluster) -> None:
        self.cluster = cluster

    def list(self, selection: ListOptions) -> RawList:
        return self.cluster.list(selection)

    def pages(self, selection: ListOptions) -> Iterator[RawList]:
        """One page of what `list` returns, so that a subclass changes both."""
        yield self.list(selection)

    def without_warnings(self) -> PluginCluster:
        return cast("PluginCluster", self)

    def __getattr__(self, name: str) -> object:
        return getattr(self.cluster, name)


def fenced(*kinds: str) -> Callable[[PluginCluster], PluginCluster]:
    """The user may not list these kinds."""

    class Fence(ClusterWrapper):
        def list(self, selection: ListOptions) -> RawList:
            if selection.kind in kinds:
                raise Forbidden(f'"ann" may not list {selection.kind} (kubectl auth can-i …)', 403)
            return self.cluster.list(selection)

    return lambda cluster: cast("PluginCluster", Fence(cluster))


def ahead(difference: timedelta) -> Callable[[PluginCluster], PluginCluster]:
    """The API server's clock is ahead of this machine's."""

    class Ahead(ClusterWrapper):
        def clock_ahead(self) -> timedelta:
            return difference

    return lambda cluster: cast("PluginCluster", Ahead(cluster))


def one_namespace() -> Callable[[PluginCluster], PluginCluster]:
    """The user may list nothing outside of a namespace."""

    class Inside(ClusterWrapper):
        def list(self, selection: ListOptions) -> RawList:
            if not selection.namespace:
                raise Forbidden(f'"ann" may not list {selection.kind} (kubectl auth can-i …)', 403)
            return self.cluster.list(selection)

    return lambda cluster: cast("PluginCluster", Inside(cluster))


def recorded(lists: list[ListOptions]) -> Callable[[PluginCluster], PluginCluster]:
    """Appends the selection of each list."""

    class Recorded(ClusterWrapper):
        def list(self, selection: ListOptions) -> RawList:
            lists.append(selection)
            return self.cluster.list(selection)

    return lambda cluster: cast("PluginCluster", Recorded(cluster))


def reading(read: list[ObjectRef], refused: str = "") -> Callable[[PluginCluster], PluginCluster]:
    """Each object that is read by its name is noted; those named `refused` may not be read."""

    class Reading(ClusterWrapper):
        def get(self, target: ObjectRef) -> Json:
            read.append(target)
            if target.name == refused:
                raise Forbidden(f'"ann" may not get {target.kind} (kubectl auth can-i …)', 403)
            return self.cluster.get(target)

    return lambda cluster: cast("PluginCluster", Reading(cluster))


def hidden(*kinds: str) -> Callable[[PluginCluster], PluginCluster]:
    """The user may not get objects of these kinds."""

    class Veil(ClusterWrapper):
        def get(self, target: ObjectRef) -> Json:
            if target.kind in kinds:
                raise Forbidden(f'"ann" may not get {target.kind} (kubectl auth can-i …)', 403)
            return self.cluster.get(target)

    return lambda cluster: cast("PluginCluster", Veil(cluster))


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
            return self.cluster.patch(target, body, dry_run=dry_run)

    return lambda cluster: cast("PluginCluster", Overtaken(cluster))


def followed(action: Callable[[], object]) -> Callable[[PluginCluster], PluginCluster]:
    """Another client acts right after each patch."""

    class Followed(ClusterWrapper):
        def patch(
            self, target: ObjectRef, body: Mapping[str, Any], *, dry_run: bool = False
        ) -> Json:
            patched = self.cluster.patch(target, body, dry_run=dry_run)
            action()
            return patched

    return lambda cluster: cast("PluginCluster", Followed(cluster))


def late_deletions(cluster: PluginCluster) -> PluginCluster:
    """Another client deletes each object just before."""

    class Late(ClusterWrapper):
        def delete(self, target: ObjectRef, **given: Any) -> None:  # noqa: ANN401 - preconditions
            self.cluster.delete(target, **given)
            self.cluster.delete(target, **given)

    return cast("PluginCluster", Late(cluster))


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
            return self.cluster.create(target, manifest, dry_run=dry_run)

    return lambda cluster: cast("PluginCluster", Refusing(cluster))


def warning_of(created: list[ObjectRef]) -> Callable[[PluginCluster], PluginCluster]:
    """The API server warns of each object that it is asked to create; these are noted."""

    class Warned(ClusterWrapper):
        def create(
            self, target: ObjectRef, manifest: Mapping[str, Any], *, dry_run: bool = False
        ) -> Json:
            created.append(target)
            return self.cluster.create(target, manifest, dry_run=dry_run)

        def without_warnings(self) -> PluginCluster:
            return self.cluster

    return lambda cluster: cast("PluginCluster", Warned(cluster))
