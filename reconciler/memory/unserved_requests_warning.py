"""Warns once if nodes are to be requested by ProvisioningRequests that are not served."""

import logging
from collections.abc import Callable
from typing import Final

from edl.kube.problem_log import ProblemLog
from edl.model import ClusterState
from edl.planner.decision_limits import Limits, Provisioner
from edl.planner.plan import Plan

_log: Final = logging.getLogger(__name__)
_MISSING: Final = (
    "--provisioner=%s: no nodes are requested, because the API server serves no "
    "autoscaling.x-k8s.io/v1 ProvisioningRequest that may be read here: start cluster-autoscaler "
    "with --enable-provisioning-requests and its CustomResourceDefinition, or choose "
    "--provisioner=%s"
)


def with_unserved_warning(
    decide: Callable[[ClusterState], Plan], limits: Limits
) -> Callable[[ClusterState], Plan]:
    """Warns once, and again after the API was served and disappeared."""
    problems = ProblemLog(_log)

    def decided(state: ClusterState) -> Plan:
        if state.takes_requests:
            problems.clear()
        else:
            problems.report(_MISSING, Provisioner.REQUEST, Provisioner.PODS)
        return decide(state)

    return decided if limits.provisioning.provisioner is Provisioner.REQUEST else decide
