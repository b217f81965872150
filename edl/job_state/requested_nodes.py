"""Until when nodes that a training job requested from an autoscaler are awaited.

`limit` is the reconciler's `--provisioning-timeout`.
"""

from datetime import datetime, timedelta

from edl.model import Provisioning
from edl.model.pods import RequestState


def pods_due(asked: Provisioning, limit: timedelta) -> datetime | None:
    """When nodes for its provisional pods must have joined; None without such pods."""
    first = min((pod.created_at for pod in asked.pods), default=None)
    return first + limit if first else None


def request_due(asked: Provisioning, limit: timedelta) -> datetime | None:
    """When its ProvisioningRequest must have nodes; None without one.

    Once it is provisioned, nodes have the same time again to become ready.
    """
    request = asked.request
    times = {RequestState.FAILED: 0, RequestState.PENDING: 1, RequestState.PROVISIONED: 2}
    return request.created_at + times[request.state] * limit if request else None


def nodes_due(asked: Provisioning, limit: timedelta) -> datetime | None:
    """Either of them; None if no nodes are requested."""
    return request_due(asked, limit) or pods_due(asked, limit)
