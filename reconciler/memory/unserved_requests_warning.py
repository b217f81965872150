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


class UnservedRequestsWarning:
    """Warns once, and again after the API was served and disappeared."""

    def __init__(self, limits: Limits) -> None:
        self._wanted = limits.provisioning.provisioner is Provisioner.REQUEST
        self._problems = ProblemLog(_log)

    def wrap_decide(self, decide: Callable[[ClusterState], Plan]) -> Callable[[ClusterState], Plan]:
        def decided(state: ClusterState) -> Plan:
            if self._wanted and not state.takes_requests:
                self._problems.report(_MISSING, Provisioner.REQUEST, Provisioner.PODS)
            else:
                self._problems.clear()
            return decide(state)

        return decided
