"""Queued gangs that fit on no existing nodes ask an autoscaler for nodes.

When an autoscaler has made them the gang is started there. How it is asked, and what holds the
room meanwhile, is up to a `NodeProvisioner`: provisional pods, or a ProvisioningRequest.

Pods of a minimum on cordoned nodes ask as well, by provisional pods alone.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from edl import reasons
from edl.annotations.attempt_backoff import NODES
from edl.contract import Provision
from edl.feasibility.horizon import IDLE
from edl.model import ProvisionalPod, Reason, Role, Shape, TrainingJob
from edl.planner.decision_limits import Provisioner
from edl.planner.packing.node_capacity import Ints
from edl.planner.passes.admission.gang import Gang
from edl.planner.passes.admission.node_provisioner import NodeProvisioner
from edl.planner.passes.admission.provisional_room import MOST_PODS, ProvisionalRoom, allowed_pods
from edl.planner.snapshot.cluster_snapshot import Snapshot
from edl.planner.snapshot.decisions import Decisions
from edl.planner.snapshot.role_allocation import NO_NODE, RoleAllocation
from edl.quantities import DEVICE_CLASS


@dataclass(slots=True)
class NodeRequests:
    """Provisioning requests of one plan's queued gangs. Does nothing without an autoscaler."""

    snapshot: Snapshot
    decisions: Decisions
    _left: int = field(init=False)
    """How many gangs more may begin to ask."""
    provisioner: NodeProvisioner = field(init=False)
    _asking: list[Gang] = field(default_factory=list)

    def __post_init__(self) -> None:
        limits = self.snapshot.limits
        self._left = limits.provisioning_parallelism
        by_request = limits.asks.provisioner is Provisioner.REQUEST
        self.provisioner = (NodeProvisioner if by_request else ProvisionalRoom)(self.snapshot)

    def hold(self, found: Gang) -> None:
        """What it has asked for stays, as long as nothing else is decided; its room is taken."""
        if not found.job.provisioning.asks or not self.may_ask(found) or self._is_late(found):
            return
        self._keep(found, self.provisioner.hold(found))

    def keep_held(self, found: Gang) -> None:
        """What has nodes stays; it asks for no more."""
        if found.job.key in self.decisions.requests:
            self._keep(found, self.provisioner.held(found))

    def _keep(self, found: Gang, pods: Mapping[str, int]) -> None:
        self.decisions.requests[found.job.key] = dict(sorted(pods.items()))

    def drop(self, found: Gang) -> None:
        self.decisions.requests.pop(found.job.key, None)

    def is_patient(self, found: Gang) -> bool:
        """Whether more pods than its minimum are to have nodes first, and may still get them."""
        awaited = self.provisioner.is_awaited(found)
        return awaited and self.may_ask(found) and not self._is_late(found)

    def ask(
        self, found: Gang, reason: Reason, reach: Callable[[], Ints]
    ) -> tuple[Reason, datetime | None]:
        """Why it waits, and until when where time ends that, with what it asks for.

        `reason`: why it does not fit. `reach`: the room on `soon`, with what extras hold that
        yield to it, and with what its own provisional pods hold.
        """
        job = found.job
        self.drop(found)
        if not self.may_ask(found):
            return reason, None
        if until := self._rests_until(job):
            failure = job.provisioning.failure
            return reasons.not_provisioned(failure.message if failure else ""), until
        if self._is_late(found):
            self.decisions.unprovisioned.append(job.key)
            return reasons.not_provisioned(job.provisioning.said), None
        if not self._takes_turn(job):
            return reason, None
        pods = self.provisioner.wanted(found, reach)
        names = (role.name for role in found.roles)
        asked = {name: count for name, count in zip(names, pods, strict=True) if count}
        self._keep(found, asked)
        self._asking.append(found)
        self.provisioner.claim(found)
        found.quota_request.reserve(IDLE)
        waiting = sum(asked.values()) - len(job.provisioning.held)
        until = self.provisioner.deadline(found)
        return reasons.waits_for_nodes(waiting, job.provisioning.said), until

    def reserve(self) -> None:
        """kube-scheduler binds provisional pods where there is idle room: it is not for growth."""
        for found in self._asking:
            self.provisioner.reserve(found, self.decisions.requests.get(found.job.key, {}))

    def ask_for_replacements(self, one: RoleAllocation, pods: int, *, begins: bool) -> None:
        """Room for pods of a started role that leave cordoned nodes, by a provisional pod for each.

        Those that have a node hold its room. Those that have none after the time-out stay, and
        keep no gang from asking. `begins`: it may ask where it has not.
        """
        job, by_pods = one.job, self.snapshot.limits.asks.provisioner is Provisioner.PODS
        asked = [pod for pod in job.provisioning.pods if pod.role == one.role.name and not pod.gone]
        may = by_pods and not job.topology.required and self._may_ask(job, (one.role,))
        if not (may and (asked or begins)):
            return
        since = min((pod.created_at for pod in asked), default=None)
        late = self.snapshot.has_passed(since, self.snapshot.limits.provisioning_timeout)
        if not (late or self._takes_turn(job)):
            return
        more = min(pods, MOST_PODS) - len(asked)
        more = min(more, allowed_pods(one.quota_request, more))
        held = [pod for pod in asked if pod.node and self._has_room(pod)]
        self.snapshot.free_provisional(held, -1)
        if count := len(asked) + more:
            self.decisions.requests.setdefault(job.key, {})[one.role.name] = count
        if waiting := max(count - len(held), 0):
            self.decisions.hold(job.key, reasons.waits_for_nodes(waiting, job.provisioning.said))

    def _has_room(self, pod: ProvisionalPod) -> bool:
        node = self.snapshot.capacity.index.get(pod.node, NO_NODE)
        amounts = self.snapshot.capacity.amounts(pod.requests)
        return node != NO_NODE and self.snapshot.capacity.fits(node, amounts, IDLE)

    def _takes_turn(self, job: TrainingJob) -> bool:
        """Whether one more job may ask; one that has asked goes on."""
        if self._left <= 0 and not job.provisioning.asks:
            return False
        self._left -= 1
        return True

    def may_ask(self, found: Gang) -> bool:
        """Whether nodes may be made for it."""
        return found.job.suspended and self._may_ask(found.job, found.roles)

    def _may_ask(self, job: TrainingJob, roles: Iterable[Role]) -> bool:
        return (
            self.snapshot.takes_requests
            and job.provisioning.wish is not Provision.NEVER
            and all(is_provisionable(role.template.shape) for role in roles)
        )

    def _is_late(self, found: Gang) -> bool:
        """Whether the nodes that it asked for should be there by now."""
        return self.snapshot.has_passed(self.provisioner.deadline(found), timedelta())

    def _rests_until(self, job: TrainingJob) -> datetime | None:
        """Until when nothing is asked for, after nodes that did not come.

        A time that lies still further ahead was written by a clock that is wrong.
        """
        failure = job.provisioning.failure
        if failure is None or failure.at > self.snapshot.observed_at + timedelta(minutes=1):
            return None
        pause = NODES.pause(failure)
        return None if self.snapshot.has_passed(failure.at, pause) else failure.at + pause


def is_provisionable(shape: Shape) -> bool:
    """Whether a pod without more than these requests asks for the same node.

    Devices of a DeviceClass and shares of GPUs are there only once their node is.
    """
    named = (name for name, _ in shape.requests)
    return not (shape.share or shape.claims or any(name.startswith(DEVICE_CLASS) for name in named))
