"""The cluster as the planner sees it: frozen values, no identity beyond their fields.

Amounts are `Resources` (integers, see edl/resources.py); times are timezone-aware UTC datetimes.
"""

from edl.model.budgets import Budget, Charge
from edl.model.claims import Caveat, CaveatCode, ClaimRef, DeviceTemplate
from edl.model.devices import Device, Held, Share
from edl.model.jobs import Clearing, Ending, Refusal, Resizing, Role, Scaling, TrainingJob
from edl.model.names import JobKey, Owner, Target
from edl.model.phases import Phase
from edl.model.places import Assignment, Node, Shape, Taint, Toleration
from edl.model.pods import Leaving, Pod, PodPhase
from edl.model.reasons import Code, Reason, Restart
from edl.model.rules import Neighbours, Port, Rules, Spread, Term
from edl.model.selectors import Labels, Requirement, Selector, Selectors
from edl.model.state import ClusterState, Demand
from edl.model.topology import Domain, Topology

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
