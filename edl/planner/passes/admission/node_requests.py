"""Queued gangs that do not fit on existing nodes request nodes from an autoscaler.

Once the nodes have joined, the gang is started there. A `ProvisionalRoom` makes the request and
holds the capacity meanwhile: by provisional pods, or by a ProvisioningRequest.

Replacements of minimum pods on cordoned nodes are requested too, always by provisional pods; and
what started jobs lack of a raised minimum.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

import numpy as np

from edl import reasons
from edl.annotations.failed_attempts import NODES
from edl.contract import Provision
from edl.feasibility.horizon import IDLE
from edl.job_state import last_changes
from edl.job_state.phases import unready_minimum
from edl.model import Reason, Role, Shape, TrainingJob
from edl.model.causes.scarcity import NodePoolLimit
from edl.model.failures import FailedAttempt
from edl.planner.decision_limits import Provisioner
from edl.planner.gangs.gang import Gang
from edl.planner.gangs.topology_placement import AttainedCapacity
from edl.planner.pass_results import PassResults
from edl.planner.passes.admission.pool_headroom import PoolHeadroom, needed
from edl.planner.passes.admission.provisional_room import (
    MAX_PODS,
    ProvisionalRoom,
    RequestedRoom,
    allowed_pods,
    has_room_for,
    is_unlent,
)
from edl.planner.plan import is_never
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.role_allocation import RoleAllocation
from edl.quantities import DEVICE_CLASS


@dataclass(slots=True)
class NodeRequests:
    """The requests for nodes of one plan; none are made without an autoscaler."""

    snapshot: Snapshot
    results: PassResults
    _left: int = field(init=False)
    """How many more gangs may request nodes (`provisioning_parallelism`)."""
    provisioner: ProvisionalRoom = field(init=False)
    _requesting: list[Gang] = field(default_factory=list)
    _headroom: PoolHeadroom = field(init=False)
    _above_limits: dict[Hashable, NodePoolLimit] = field(default_factory=dict)
    """Gangs that exceed the limits of NodePools, by what they need and why they do not fit."""

    def __post_init__(self) -> None:
        limits = self.snapshot.limits
        self._left = limits.provisioning.provisioning_parallelism
        by_request = limits.provisioning.provisioner is Provisioner.REQUEST
        self.provisioner = (RequestedRoom if by_request else ProvisionalRoom)(self.snapshot)
        self._headroom = PoolHeadroom(self.snapshot.state.node_pools)

    def keep(self, gang: Gang) -> None:
        """Keep a gang's existing request, unless a later step replaces it, and its capacity."""
        asked = gang.job.provisioning.has_requests and self.may_request(gang)
        if asked and not self._is_late(gang):
            self._record(gang, self.provisioner.reserve_bound(gang))

    def keep_provisioned(self, gang: Gang) -> None:
        """Keep only the part of a gang's request for which there are nodes."""
        if gang.job.key in self.results.requests:
            self._record(gang, self.provisioner.provisioned(gang))

    def _record(self, gang: Gang, pods: Mapping[str, int]) -> None:
        self.results.requests[gang.job.key] = dict(sorted(pods.items()))

    def drop(self, gang: Gang) -> None:
        self.results.requests.pop(gang.job.key, None)

    def is_patient(self, gang: Gang) -> bool:
        """Whether a gang's start waits, within the deadline, for nodes beyond its minimum."""
        awaited = self.provisioner.is_awaited(gang)
        return awaited and self.may_request(gang) and not self._is_late(gang)

    def lacks_quota(self, gang: Gang) -> bool:
        """Whether a quota refuses its start; what teams do not lend refuses none on added nodes."""
        request = gang.quota_request
        if is_unlent(request):
            return not self.provisioner.holds_all(gang)
        return not request.allows(IDLE)

    def request(
        self, gang: Gang, reason: Reason, attained: Callable[[], AttainedCapacity]
    ) -> Reason:
        """Request nodes for a gang that does not fit, if it may; returns why it waits.

        `reason`: why it does not fit. `attained`: what it may get of idle nodes and extras.
        """
        why_waiting = self._request(gang, reason, attained)
        if gang.job.key in self.results.requests:
            self._requesting.append(gang)
            self.provisioner.claim(gang)
            gang.quota_request.reserve(IDLE)
        return why_waiting

    def request_all(self, gang: Gang, reason: Reason) -> Reason:
        """`request` for a gang that teams keep from existing nodes: it reserves nothing there."""
        return self._request(gang, reason, self._nothing)

    def _request(
        self, gang: Gang, reason: Reason, attained: Callable[[], AttainedCapacity]
    ) -> Reason:
        job = gang.job
        self.drop(gang)
        if not self.may_request(gang) or self._gave_way(job):
            return reason
        if failure := self._recent_failure(job):
            return reasons.not_provisioned(failure.message)
        if self._is_late(gang):
            self.results.unprovisioned.append(job.key)
            return reasons.not_provisioned(job.provisioning.message)
        if limit := self._pool_limit(gang, reason, attained):
            return reasons.above_pool_limits(limit)
        if not self._takes_turn(job):
            return reasons.QUEUE_ORDER if is_never(reason) else reason
        pods = self.provisioner.wanted(gang, attained)
        names = (role.name for role in gang.roles)
        asked = {name: count for name, count in zip(names, pods, strict=True) if count}
        self._record(gang, asked)
        waiting = sum(asked.values()) - len(job.provisioning.bound)
        return reasons.waits_for_nodes(waiting, job.provisioning.message, reason)

    def _nothing(self) -> AttainedCapacity:
        return AttainedCapacity(np.zeros_like(self.snapshot.capacity.idle), None)

    def _pool_limit(
        self, gang: Gang, reason: Reason, attained: Callable[[], AttainedCapacity]
    ) -> NodePoolLimit | None:
        """The limit of NodePools that a gang's first request would exceed, if it has a turn.

        Not of a later one: nodes that were created for the gang count in the usage of their pools.
        """
        if gang.job.provisioning.has_requests or self._left <= 0:
            return None
        if not self._headroom.exceeded(gang.requests):
            return None  # fast path: it would fit even if it got no capacity of existing nodes
        key = (gang.signature, reason)
        limit = self._above_limits.get(key)
        if limit is None and (limit := self._headroom.exceeded(needed(gang, attained().room))):
            self._above_limits[key] = limit
        return limit

    def reserve(self) -> None:
        """Keep growth off idle capacity to which kube-scheduler may bind provisional pods."""
        for gang in self._requesting:
            self.provisioner.reserve(gang, self.results.requests.get(gang.job.key, {}))

    def request_missing(self, allocation: RoleAllocation, pods: int, *, begins: bool) -> bool:
        """Request capacity for `pods` pods of a started role.

        They leave cordoned nodes, or the role lacks them of its minimum.

        There is one provisional pod per pod; those that are bound hold their capacity. After the
        timeout unbound ones stay, but no longer count in `provisioning_parallelism`. `begins`: the
        first request may be made. Returns whether nodes are requested and may come in time.
        """
        job, role = allocation.job, allocation.role
        asked = [pod for pod in job.provisioning.pods if pod.role == role.name and not pod.gone]
        if not (self.may_request_missing(allocation) and (asked or begins)):
            return False
        since = min((pod.created_at for pod in asked), default=None)
        wait = self.snapshot.limits.provisioning.provisioning_timeout
        late = self.snapshot.clock.elapsed_or_recheck(since, wait)
        if not (late or self._takes_turn(job)):
            return False
        # Its quota counts the pods of its size, not those that it has requested.
        most = allowed_pods(allocation.quota_request, min(pods, MAX_PODS))
        held = [pod for pod in asked if has_room_for(self.snapshot, pod)]
        self.snapshot.reserve_provisional(held)
        if most:
            self.results.requests.setdefault(job.key, {})[role.name] = most
        if waiting := max(most - len(held), 0):
            why = reasons.waits_for_nodes(waiting, job.provisioning.message)
            self.results.let_wait(job.key, why)
        return most > 0 and not (late and waiting)

    def has_request(self, allocation: RoleAllocation) -> bool:
        """Whether this plan requests nodes for pods of a role already."""
        asked = self.results.requests.get(allocation.job.key, {})
        return allocation.role.name in asked

    def may_request_missing(self, allocation: RoleAllocation) -> bool:
        """Whether an autoscaler may add nodes for pods of a started role."""
        by_pods = self.snapshot.limits.provisioning.provisioner is Provisioner.PODS
        job = allocation.job
        return by_pods and not job.topology.required and self._may_request(job, (allocation.role,))

    def _takes_turn(self, job: TrainingJob) -> bool:
        """Whether a job may request nodes: within the parallelism, or if it has a request."""
        if self._left <= 0 and not job.provisioning.has_requests:
            return False
        self._left -= 1
        return True

    def _gave_way(self, job: TrainingJob) -> bool:
        """Whether the job was stopped for one that is not ready yet; at most for the gang limit.

        kube-scheduler might bind its provisional pods to the nodes that it left.
        """
        stopped = (role.status.suspended_at for role in job.live)
        since, limit = max(filter(None, stopped), default=None), self.snapshot.limits.gang_limit
        if since is None or self.snapshot.clock.now - since >= limit:
            return False
        keys = [last_changes.preempted_for(role) for role in job.live]
        askers = [self.snapshot.referenced_jobs.get(key) for key in keys if key]
        waits = any(
            role.status.suspended or unready_minimum(role)
            for asker in askers
            for role in (asker.live if asker else ())
        )
        return waits and not self.snapshot.clock.elapsed_or_recheck(since, limit)

    def may_request(self, gang: Gang) -> bool:
        """Whether an autoscaler may add nodes for a gang, all of whose job is suspended."""
        return gang.job.suspended and self._may_request(gang.job, gang.roles)

    def may_request_all(self, gang: Gang) -> bool:
        """Whether nodes for all of its pods may be requested, whatever existing nodes have.

        The autoscaler counts their idle capacity for a ProvisioningRequest.
        """
        by_pods = self.snapshot.limits.provisioning.provisioner is Provisioner.PODS
        return by_pods and self.may_request(gang)

    def _may_request(self, job: TrainingJob, roles: Iterable[Role]) -> bool:
        return (
            self.snapshot.takes_requests
            and job.provisioning.provision is not Provision.NEVER
            and all(is_provisionable(role.template.shape) for role in roles)
        )

    def _is_late(self, gang: Gang) -> bool:
        """Whether the deadline of a gang's requested nodes has passed."""
        return self.snapshot.clock.elapsed_or_recheck(self.provisioner.deadline(gang), timedelta())

    def _recent_failure(self, job: TrainingJob) -> FailedAttempt | None:
        """The failure after which it may not request again yet; None if it may.

        A failure more than a minute in the future is ignored: a wrong clock wrote it.
        """
        failure = job.provisioning.failure
        if failure is None or failure.at > self.snapshot.clock.now + timedelta(minutes=1):
            return None
        pause = NODES.after(failure.attempts)
        return None if self.snapshot.clock.elapsed_or_recheck(failure.at, pause) else failure


def is_provisionable(shape: Shape) -> bool:
    """Whether a provisional pod of this shape makes an autoscaler add a suitable node.

    Not with device claims or GPU shares: these resources appear only after the node has joined.
    """
    named = (name for name, _ in shape.requests)
    return not (shape.share or shape.claims or any(name.startswith(DEVICE_CLASS) for name in named))
