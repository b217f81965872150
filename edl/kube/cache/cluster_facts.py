"""What the stores keep of every kind, as one value: what a state of the cluster is made from."""

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
from edl.kube.dra.device_index import DeviceNews
from edl.kube.provisioning.request_facts import CapacityRequestFacts
from edl.model import Node, Teams


class ClusterFacts(msgspec.Struct, frozen=True):
    """The facts of every object, at one moment, in any order. Nodes are without their pods."""

    nodes: Sequence[Node] = ()
    pods: Sequence[PodFacts] = ()
    jobs: Sequence[JobFacts] = ()
    priorities: Sequence[PriorityClassFacts] = ()
    namespaces: Sequence[NamespaceFacts] = ()
    quotas: Sequence[QuotaFacts] = ()
    ranges: Sequence[LimitRangeFacts] = ()
    runtimes: Sequence[RuntimeClassFacts] | None = None
    """None where they may not be read."""
    claims: Sequence[ObjectKey] | None = None
    """PersistentVolumeClaims that pods can be placed with; None where they may not be read."""
    devices: DeviceNews | None = None
    """Objects of dynamic resource allocation, all as news; None if they may not be read, or do not
    exist."""
    autoscaled: bool = False
    """Whether an autoscaler of nodes is known by what the API server serves for it."""
    requests: Sequence[CapacityRequestFacts] | None = None
    """ProvisioningRequests; None where the API server serves none, or they may not be read."""
    pooled: bool = False
    """Whether there are NodePools: Karpenter then removes the nodes of these, and no others."""
    tags: Sequence[OwnedObjectRef] = ()
    """Every Service, and our other objects around training jobs."""
    teams: Teams = Teams()
    """The teams of the last document that could be read; empty where none are configured."""
