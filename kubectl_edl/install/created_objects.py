"""What a running installation makes itself, beside what is installed: an uninstallation takes it.

All else that the reconciler makes is owned by a Job and goes with it, but for Events, which end.
"""

import json
from collections.abc import Iterator
from typing import Final

from certs.secrets import AUTHORITY_SECRET, SECRET
from edl import contract
from edl.kube.cluster import ListOptions, PluginCluster, find
from edl.model import ObjectRef
from edl.visibility.namespace_queue import CONFIG_MAP
from edl.visibility.queue_writes import SELECTOR

IN_ITS_NAMESPACE: Final = (
    ("Lease", contract.RECONCILER_LEASE),
    ("ConfigMap", contract.TEAMS_APPLIED_CONFIG_MAP),
    ("Secret", AUTHORITY_SECRET),
    ("Secret", SECRET),
)
"""By kind and name. The Secrets are installed, and made again without a label where they lack."""
AMONG_USERS: Final = (
    ListOptions("ConfigMap", labels=SELECTOR, name=CONFIG_MAP),
    ListOptions(
        "Pod",
        labels=f"{contract.PROVISIONAL},app.kubernetes.io/managed-by={contract.MANAGED_BY}",
    ),
)
"""In any namespace: queues that are of no use without the reconciler, and provisional pods, for
which an autoscaler would keep nodes."""


def created(cluster: PluginCluster) -> Iterator[ObjectRef]:
    """Those that are there. Raises ClusterError."""
    for kind, name in IN_ITS_NAMESPACE:
        target = ObjectRef(kind, cluster.system_namespace, name)
        if find(cluster, target) is not None:
            yield target
    for options in AMONG_USERS:
        for item in cluster.list(options).items:
            metadata = json.loads(item)["metadata"]
            yield ObjectRef(options.kind, metadata["namespace"], metadata["name"])
