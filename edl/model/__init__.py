"""The cluster as the planner sees it: frozen values, no identity beyond their fields.

Amounts are `Resources` (integers, see edl/quantities.py); times are timezone-aware UTC datetimes.
"""

from edl.model.causes.reason_codes import Code, Reason, Restart
from edl.model.cluster_state import ClusterState, Demand
from edl.model.devices import (
    Caveat,
    CaveatCode,
    ClaimedDevices,
    ClaimRef,
    Device,
    DeviceTemplate,
    GpuUsage,
    Share,
)
from edl.model.failures import (
    ExitCodeRule,
    FailedAttempt,
    FailureRules,
    RefusedSize,
    RequestedSize,
    WriteRefusal,
)
from edl.model.jobs import ConflictingJob, Phase, TrainingJob, job_of
from edl.model.nodes import (
    Assignment,
    Domain,
    Node,
    NodePoolHeadroom,
    NodeStateTimes,
    Shape,
    Taint,
    Toleration,
    Topology,
)
from edl.model.object_refs import JobKey, ObjectRef, Owner
from edl.model.pod_constraints import (
    ForeignPods,
    HostPort,
    PodAffinityTerm,
    PodConstraints,
    TopologySpread,
)
from edl.model.pods import (
    CapacityRequest,
    Leaving,
    Pod,
    PodPhase,
    ProvisionalPod,
    Provisioning,
    RequestState,
)
from edl.model.quotas import Quota, QuotaCharge
from edl.model.role_specs import AddedRequests, PodTemplate, ResizePolicy, RoleSpec
from edl.model.roles import (
    Clearing,
    EndCondition,
    JobEnd,
    Role,
    RoleRecord,
    RoleRequest,
    RoleStatus,
    ScaleDeadline,
)
from edl.model.selectors import Labels, OwnedSelector, Requirement, Selector, Selectors
from edl.model.teams import DEFAULT_TEAM, NamespacePattern, Reclaim, Team, Teams
