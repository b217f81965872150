"""The cluster as the planner sees it: frozen values, no identity beyond their fields.

Amounts are `Resources` (integers, see edl/resources.py); times are timezone-aware UTC datetimes.
"""

from edl.model.jobs import Ending, Phase, Resizing, Role, Scaling, TrainingJob
from edl.model.names import JobKey, Owner, Target
from edl.model.places import Node, Requirement, Shape, Taint, Toleration
from edl.model.pods import Pod, PodPhase
from edl.model.state import ClusterState, Demand

__all__ = [
    "ClusterState",
    "Demand",
    "Ending",
    "JobKey",
    "Node",
    "Owner",
    "Phase",
    "Pod",
    "PodPhase",
    "Requirement",
    "Resizing",
    "Role",
    "Scaling",
    "Shape",
    "Taint",
    "Target",
    "Toleration",
    "TrainingJob",
]
