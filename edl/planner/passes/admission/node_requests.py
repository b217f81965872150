"""Queued gangs that do not fit on existing nodes request nodes from an autoscaler.

Once the nodes have joined, the gang is started there. A `ProvisionalRoom` makes the request and
holds the capacity meanwhile: by provisional pods, or by a ProvisioningRequest.

Replacements of minimum pods on cordoned nodes are requested too, always by provisional pods; and
what started jobs lack of a raised minimum.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

import numpy as np

from edl import reasons
from edl.contract import Provision
from edl.feasibility.eligibility import Ints
from edl.feasibility.horizon import IDLE
from edl.model import JobKey, Reason, Role, Shape, TrainingJob
from edl.planner.decision_limits import Provisioner
from edl.planner.gangs.gang import Gang
from edl.planner.gangs.topology_placement import AttainedCapacity
from edl.planner.pass_results import PassResults
from edl.planner.passes.admission.pool_headroom import RequestLimits, requested_pods
from edl.planner.passes.admission.provisional_room import (
    MAX_PODS,
    ProvisionalRoom,
    RequestedRoom,
    allowed_pods,
    has_room_for,
    is_unlent,
)
from edl.planner.passes.provisioning_turns import (
    GangRequest,
    ProvisioningTurns,
    gave_way,
    holds_turn,
    is_missing_late,
    recent_failure,
)
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.restarts.job_restart import lacking
from edl.planner.snapshot.role_allocation import RoleAllocation
from edl.quantities import DEVICE_CLASS


@dataclass(slots=True)
class NodeRequests:
    """The requests for nodes of one plan; none are made without an autoscaler."""

    snapshot: Snapshot
    results: PassResults
    _left: int = field(init=False)
    """How many more gangs may request nodes (`provisioning_parallelism`)."""
    _running: set[JobKey] = field(default_factory=set)
    """Jobs that run and request nodes."""
    _holding: set[JobKey] = field(init=False)
    """Jobs that run and whose requests exist and count."""
    _granted: dict[JobKey, GangRequest] = field(default_factory=dict)
    """Gangs with a turn: in queue order, until turns are shared."""
    _waiting: list[GangRequest] = field(default_factory=list)
    """Gangs without one, in queue order."""
    provisioner: ProvisionalRoom = field(init=False)
    _limits: RequestLimits = field(init=False)

    def __post_init__(self) -> None:
        limits, jobs = self.snapshot.limits.provisioning, self.snapshot.jobs
        asking = sum(job.suspended and job.provisioning.has_requests for job in jobs)
        self._holding = {job.key for job in jobs if holds_turn(self.snapshot, job)}
        self._left = limits.provisioning_parallelism - asking - len(self._holding)
        by_request = limits.provisioner is Provisioner.REQUEST
        self.provisioner = (RequestedRoom if by_request else ProvisionalRoom)(self.snapshot)
        self._limits = RequestLimits(self.snapshot)

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
        if is_unlent(gang.quota_request):
            return not self.provisioner.holds_all(gang)
        return not gang.quota_request.allows(IDLE)

    def request(
        self, gang: Gang, reason: Reason, attained: Callable[[], AttainedCapacity]
    ) -> Reason:
        """Request nodes for a gang that does not fit, if it may; returns why it waits.

        `reason`: why it does not fit. `attained`: what it may get of idle nodes and extras.
        """
        return self._request(GangRequest(gang, reason, attained))

    def request_all(self, gang: Gang, reason: Reason) -> Reason:
        """`request` for a gang that teams keep from existing nodes: it reserves nothing there."""
        return self._request(GangRequest(gang, reason, self._nothing, reserves=False))

    def _request(self, request: GangRequest) -> Reason:
        gang, reason, job = request.gang, request.reason, request.gang.job
        self.drop(gang)
        if not self.may_request(gang) or gave_way(self.snapshot, job):
            return reason
        if failure := recent_failure(self.snapshot, job):
            return reasons.not_provisioned(failure.message)
        if self._is_late(gang):
            self.results.unprovisioned.append(job.key)
            return reasons.not_provisioned(job.provisioning.message)
        if self._left > 0 and (limit := self._limits.exceeded(gang, reason, request.attained)):
            return reasons.above_pool_limits(limit)
        if not request.asked_before:
            if self._left <= 0:
                self._waiting.append(request)
                return request.why_waiting
            self._left -= 1
        return self._begin(request)

    def _begin(self, request: GangRequest) -> Reason:
        gang, job = request.gang, request.gang.job
        pods = self.provisioner.wanted(gang, request.attained)
        names = (role.name for role in gang.roles)
        asked = {name: count for name, count in zip(names, pods, strict=True) if count}
        self._record(gang, asked)
        self._granted[job.key] = request
        if request.reserves:
            self.provisioner.claim(gang)
            gang.quota_request.reserve(IDLE)
        waiting = sum(asked.values()) - len(job.provisioning.bound)
        return reasons.waits_for_nodes(waiting, job.provisioning.message, request.reason)

    def _end(self, request: GangRequest) -> None:
        """Undo `_begin`: the gang waits for its turn."""
        self.drop(request.gang)
        del self._granted[request.key]
        if request.reserves:
            request.gang.quota_request.release(IDLE)
        self.results.wait_reasons[request.key] = request.why_waiting

    def share_turns(self) -> None:
        """Hand out the turns anew that gangs got in queue order, if not all have one.

        Later gangs may have started meanwhile: what is requested now counts these.
        """
        granted, requests = self._granted, self.results.requests
        queued = {job.key for job in self.snapshot.jobs if job.key in requests and job.suspended}
        asking = queued.difference(granted, self.results.admitted) | self._running
        most = self.snapshot.limits.provisioning.provisioning_parallelism - len(asking)
        if not self._waiting and len(granted) <= most:
            return
        turns = ProvisioningTurns(most, [one for one in granted.values() if one.asked_before])
        begun = [one for one in granted.values() if not one.asked_before]
        for request in begun:
            self._end(request)
        turns.share([*begun, *self._waiting], self._begin_late)
        for request in turns.withdrawn:
            self._end(request)

    def _begin_late(self, request: GangRequest) -> bool:
        """Request nodes for a gang after the last claim; False if it no longer may."""
        gang = request.gang
        if gang.quota_request.exceeded(IDLE):
            return False
        if limit := self._limits.exceeded(gang, request.reason, request.attained):
            self.results.wait_reasons[request.key] = reasons.above_pool_limits(limit)
            return False
        self.results.wait_reasons[request.key] = self._begin(request)
        return True

    def _nothing(self) -> AttainedCapacity:
        return AttainedCapacity(np.zeros_like(self.snapshot.capacity.idle), None)

    def reserve(self) -> None:
        """Keep growth off idle capacity to which kube-scheduler may bind provisional pods."""
        for request in self._granted.values():
            if request.reserves:
                self.provisioner.reserve(request.gang, self.results.requests[request.key])

    def request_raise(
        self, roles: Sequence[RoleAllocation], room: Ints, *, begins: bool = True
    ) -> None:
        """Request capacity for what started roles of one job lack of their minimums.

        Nothing beyond the limits of NodePools: then what is requested already stays while nodes may
        be on their way for it. `room`: int64[resources, nodes] that these pods may use.
        """
        may = [role for role in roles if self.may_request_missing(role) and lacking(role)]
        pods = {role: lacking(role) for role in may if begins or requested_pods(role)}
        if limit := self._limits.exceeded_by_raise([*pods], room):
            self.results.let_wait(roles[0].job.key, reasons.above_pool_limits(limit))
            pods = self._limits.kept_in_raise([*pods])
        for role, count in pods.items():
            self.request_missing(role, count, begins=begins)

    def request_missing(
        self, allocation: RoleAllocation, pods: int, *, begins: bool, first: bool = False
    ) -> bool:
        """Request capacity for `pods` pods of a started role.

        They leave cordoned nodes, or the role lacks them of its minimum.

        There is one provisional pod per pod; those that are bound hold their capacity. After the
        timeout unbound ones stay, but no longer count in `provisioning_parallelism`. `begins`: the
        first request may be made; `first`: instead of a queued gang's request if no turn is left.
        Returns whether nodes are requested and may come in time.
        """
        job, role = allocation.job, allocation.role
        asked = requested_pods(allocation)
        if not (self.may_request_missing(allocation) and (asked or begins)):
            return False
        late = is_missing_late(self.snapshot, asked)
        if not (late or self._takes_turn(job, first=first)):
            return False
        # Its quota counts the pods of its size, not those that it has requested.
        most = allowed_pods(allocation.quota_request, min(pods, MAX_PODS))
        held = [pod for pod in asked if has_room_for(self.snapshot, pod)]
        self.snapshot.reserve_provisional(held)
        if most:
            self.results.requests.setdefault(job.key, {})[role.name] = most
        if waiting := max(most - len(held), 0):
            said = job.provisioning.message
            why = reasons.waits_for_nodes(waiting, said)
            self.results.let_wait(job.key, reasons.not_provisioned(said) if late else why)
        return most > 0 and not (late and waiting)

    def has_request(self, allocation: RoleAllocation) -> bool:
        """Whether this plan requests nodes for pods of a role already."""
        return allocation.role.name in self.results.requests.get(allocation.job.key, {})

    def may_request_missing(self, allocation: RoleAllocation) -> bool:
        """Whether an autoscaler may add nodes for pods of a started role."""
        by_pods = self.snapshot.limits.provisioning.provisioner is Provisioner.PODS
        job = allocation.job
        return by_pods and not job.topology.required and self._may_request(job, (allocation.role,))

    def _takes_turn(self, job: TrainingJob, *, first: bool) -> bool:
        """Whether a job that runs may request nodes; `first`: also if gangs have all turns."""
        taken = self._running | self._holding
        if job.key not in taken:
            most = self.snapshot.limits.provisioning.provisioning_parallelism
            if len(taken) >= most or (self._left <= 0 and not first):
                return False
            self._left -= 1
        self._running.add(job.key)
        return True

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


def is_provisionable(shape: Shape) -> bool:
    """Whether a provisional pod of this shape makes an autoscaler add a suitable node.

    Not with device claims or GPU shares: these resources appear only after the node has joined.
    """
    named = (name for name, _ in shape.requests)
    return not (shape.share or shape.claims or any(name.startswith(DEVICE_CLASS) for name in named))
