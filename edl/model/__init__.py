"""The cluster as the planner sees it: frozen values, no identity beyond their fields.

Amounts are `Resources` (integers, see edl/quantities.py); times are timezone-aware UTC datetimes.
"""

from edl.model.cluster_state import ClusterState, Demand
from edl.model.jobs import Clearing, Ending, Refusal, Resizing, Role, Scaling, TrainingJob
from edl.model.nodes import Assignment, Node, Shape, Taint, Toleration
from edl.model.object_refs import JobKey, Owner, Target
from edl.model.phase import Phase
from edl.model.pod_constraints import Neighbours, Port, Rules, Spread, Term
from edl.model.pods import Leaving, Pod, PodPhase
from edl.model.quotas import Budget, Charge
from edl.model.reason_codes import Code, Reason, Restart
from edl.model.resource_claims import Caveat, CaveatCode, ClaimRef, DeviceTemplate
from edl.model.selectors import Labels, Requirement, Selector, Selectors
from edl.model.shared_gpus import Device, Held, Share
from edl.model.topology_domains import Domain, Topology

__all__ = [
    "Assignment",
    "Budget",
    "Caveat",
    "CaveatCode",
    "Charge",
    "ClaimRef",
    "Clearing",
    "ClusterState",
    "Code",
    "Demand",
    "Device",
    "DeviceTemplate",
    "Domain",
    "Ending",
    "Held",
    "JobKey",
    "Labels",
    "Leaving",
    "Neighbours",
    "Node",
    "Owner",
    "Phase",
    "Pod",
    "PodPhase",
    "Port",
    "Reason",
    "Refusal",
    "Requirement",
    "Resizing",
    "Restart",
    "Role",
    "Rules",
    "Scaling",
    "Selector",
    "Selectors",
    "Shape",
    "Share",
    "Spread",
    "Taint",
    "Target",
    "Term",
    "Toleration",
    "Topology",
    "TrainingJob",
]
