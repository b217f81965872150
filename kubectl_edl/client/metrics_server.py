"""Current usage of pods and nodes from metrics-server; None where it is not installed."""

from collections.abc import Mapping
from typing import Final

from edl.errors import Forbidden, NotFound, Unreachable
from edl.kube.cluster import Cluster, ListOptions
from edl.quantities import Resources
from edl.writes import Json

_UNKNOWN: Final = "hint: usage is unknown"
Used = Mapping[tuple[str, str], Resources]
"""Usage by (namespace, name); nodes have no namespace."""


def used_by_pods(cluster: Cluster, namespace: str) -> tuple[Used | None, tuple[str, ...]]:
    return _used(cluster, ListOptions("PodMetrics", namespace))


def used_by_nodes(cluster: Cluster) -> tuple[Used | None, tuple[str, ...]]:
    return _used(cluster, ListOptions("NodeMetrics"))


def _used(cluster: Cluster, selection: ListOptions) -> tuple[Used | None, tuple[str, ...]]:
    """The usage; None and a hint if it is not available."""
    try:
        found = cluster.list(selection).manifests()
    except NotFound:
        return None, (f"{_UNKNOWN}: the cluster has no metrics-server (metrics.k8s.io)",)
    except (Forbidden, Unreachable) as error:
        return None, (f"{_UNKNOWN}: {error}",)
    return {_key(one): _usage(one) for one in found}, ()


def _key(one: Json) -> tuple[str, str]:
    metadata = one["metadata"]
    return metadata.get("namespace") or "", metadata["name"]


def _usage(one: Json) -> Resources:
    """A node's usage, or the sum of a pod's containers."""
    parts = [container.get("usage") for container in one.get("containers") or ()]
    return sum(map(Resources.parse, parts or [one.get("usage")]), Resources())
