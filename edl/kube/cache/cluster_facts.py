"""The facts of every kind as one value, from which a state of the cluster is built."""

from collections.abc import Sequence

import msgspec

from edl.kube.cluster import ObjectKey
from edl.kube.decode.job_facts import JobFacts
from edl.kube.decode.namespace_quotas import LimitRangeFacts, QuotaFacts
from edl.kube.decode.object_facts import (
    NamespaceFacts,
    OwnedObjectRef,
    PodFacts,
    PriorityClassFacts,
)
from edl.kube.decode.runtime_classes import RuntimeClassFacts
from edl.kube.dra.device_index import DeviceChanges
from edl.kube.provisioning.node_pool_facts import NodePoolFacts
from edl.kube.provisioning.request_facts import CapacityRequestFacts
from edl.model import Node, Teams


class ClusterFacts(msgspec.Struct, frozen=True):
    """The facts of every object at one moment, in any order. Nodes come without their pods."""

    nodes: Sequence[Node] = ()
    pods: Sequence[PodFacts] = ()
    jobs: Sequence[JobFacts] = ()
    priorities: Sequence[PriorityClassFacts] = ()
    namespaces: Sequence[NamespaceFacts] = ()
    quotas: Sequence[QuotaFacts] = ()
    ranges: Sequence[LimitRangeFacts] = ()
    runtimes: Sequence[RuntimeClassFacts] | None = None
    """None if RuntimeClasses may not be read."""
    claims: Sequence[ObjectKey] | None = None
    """PersistentVolumeClaims that pods can be placed with; None if they may not be read."""
    devices: DeviceChanges | None = None
    """All objects of dynamic resource allocation, as additions; None if they may not be read, or if
    the API server does not serve them."""
    autoscaled: bool = False
    """Whether the API server serves kinds of a node autoscaler."""
    requests: Sequence[CapacityRequestFacts] | None = None
    """ProvisioningRequests; None if the API server does not serve them, or if they may not be
    read."""
    node_pools: Sequence[NodePoolFacts] = ()
    """Karpenter's NodePools: it removes the nodes of these, and no others."""
    owned_objects: Sequence[OwnedObjectRef] = ()
    """Every Service, and our other objects around training jobs."""
    teams: Teams = Teams()
    """The teams of the last valid document; empty if none are configured."""
