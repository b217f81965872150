"""Pods of any owner that terminate or have no node, as several checks read them."""

from typing import Final

import msgspec

from edl import contract
from edl.kube.cluster import Cluster, ListOptions
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


def unsettled_pods(cluster: Cluster, namespace: str) -> tuple[UnsettledPod, ...]:
    """Decoded one by one, as there may be many pods. Raises Forbidden."""
    pods = map(_decoder.decode, cluster.list(ListOptions("Pod", namespace)).items)
    return tuple(pod for pod in pods if pod.metadata.deletion_timestamp or not pod.spec.node_name)
