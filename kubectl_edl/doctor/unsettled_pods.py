"""Pods of any owner that terminate or have no node, as several checks read them."""

from collections.abc import Iterator
from typing import Final

import msgspec

from edl import contract
from edl.kube.cluster import Cluster, ListOptions, PluginCluster, RawList
from edl.kube.cluster_decorator import PluginClusterDecorator
from edl.kube.decode.schemas import ObjectPart, PodMetadata, PodStatus, SchedulingGate


class _PodSpec(ObjectPart, frozen=True):
    scheduler_name: str = contract.DEFAULT_SCHEDULER
    node_name: str = ""
    scheduling_gates: list[SchedulingGate] | None = None


class UnsettledPod(ObjectPart, frozen=True):
    metadata: PodMetadata
    spec: _PodSpec
    status: PodStatus = PodStatus()


_decoder: Final = msgspec.json.Decoder(UnsettledPod)


class PodNotingCluster(PluginClusterDecorator):
    """Keeps the unsettled pods of a list of all pods, which is read for the survey anyway."""

    def __init__(self, cluster: PluginCluster) -> None:
        super().__init__(cluster)
        self.unsettled: tuple[UnsettledPod, ...] | None = None
        """None if all pods were not listed."""

    def list(self, selection: ListOptions) -> RawList:
        listing = super().list(selection)
        if selection == ListOptions("Pod"):
            self.unsettled = tuple(_unsettled(listing))
        return listing


def unsettled_pods(cluster: Cluster, namespace: str) -> tuple[UnsettledPod, ...]:
    return tuple(_unsettled(cluster.list(ListOptions("Pod", namespace))))


def _unsettled(listing: RawList) -> Iterator[UnsettledPod]:
    """Decoded one by one, as there may be many pods."""
    for pod in map(_decoder.decode, listing.items):
        if pod.metadata.deletion_timestamp or not pod.spec.node_name:
            yield pod
