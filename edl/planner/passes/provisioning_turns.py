"""Which queued gangs request nodes, as at most `provisioning_parallelism` jobs do at a time.

A gang keeps its turn until it starts or its nodes have not come in time. Whether nodes can come for
a gang is known only then, so gangs for which none can come must not take every turn:

- Gangs whose earlier request failed take at most half of the turns, rounded up, while others wait,
  and these at most half while failed ones wait. The turn between goes to the one that waits longer.
- In each half a higher priority comes first, then the namespace with fewer turns, then the queue's
  order; failed ones in the order in which their back-offs ended, so that each gets its turn.
- No gang takes another one's turn, as nodes may have come for that. Only a job that runs does, for
  pods on cordoned nodes: from the lowest priority, and there from the gang that asked last.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import msgspec

from edl import reasons
from edl.annotations.failed_attempts import NODES
from edl.job_state import last_changes
from edl.job_state.phases import unready_minimum
from edl.model import JobKey, ProvisionalPod, Reason, TrainingJob
from edl.model.failures import FailedAttempt
from edl.planner.gangs.gang import Gang
from edl.planner.gangs.topology_placement import AttainedCapacity
from edl.planner.snapshot.cluster_snapshot import Snapshot


class GangRequest(msgspec.Struct, frozen=True, eq=False):
    """A gang that requests nodes, or waits for its turn to do so."""

    gang: Gang
    reason: Reason
    """Why it does not fit on the present nodes."""
    attained: Callable[[], AttainedCapacity]
    """What it may get of idle nodes and extras."""
    reserves: bool = True
    """Whether it reserves its quota, and capacity of existing nodes."""

    @property
    def key(self) -> JobKey:
        return self.gang.job.key

    @property
    def priority(self) -> int:
        return self.gang.job.priority

    @property
    def asked_before(self) -> bool:
        """Whether an earlier plan requested nodes for it."""
        return self.gang.job.provisioning.has_requests

    @property
    def failed(self) -> bool:
        """Whether nodes that it requested did not come in time."""
        return self.gang.job.provisioning.failure is not None

    @property
    def why_waiting(self) -> Reason:
        """Why it waits without a turn: for others, and for what it lacks on the present nodes."""
        return reasons.waits_for_turn(self.reason)

    @property
    def due(self) -> datetime:
        """Since when it may request nodes."""
        failure = self.gang.job.provisioning.failure
        if failure is None:
            return self.gang.job.queued_at
        return failure.at + NODES.after(failure.attempts)


@dataclass(slots=True)
class ProvisioningTurns:
    """The turns of one plan; `most`: those that jobs which run leave."""

    most: int
    served: list[GangRequest]
    """Gangs that request nodes: first those that did before."""
    withdrawn: list[GangRequest] = field(init=False)
    """Those of them that lose their turns."""

    def __post_init__(self) -> None:
        most = max(self.most, 0)
        self.served.sort(key=_order_of_loss)
        self.served, self.withdrawn = self.served[:most], self.served[most:]

    def share(self, requests: Sequence[GangRequest], grant: Callable[[GangRequest], bool]) -> None:
        """Hand out the free turns; `requests`: in queue order. `grant`: False if it needs none."""
        turns = Counter(request.key.namespace for request in self.served)
        fresh = _in_order((request for request in requests if not request.failed), turns)[::-1]
        in_time = sorted((one for one in requests if one.failed), key=lambda one: one.due)
        failed = _in_order(in_time, turns)[::-1]
        half, failures = (self.most + 1) // 2, Counter(one.failed for one in self.served)
        while len(self.served) < self.most and (fresh or failed):
            if not (fresh and failed):
                again = bool(failed)
            elif max(failures.values(), default=0) >= half:
                again = failures[True] < half
            else:
                again = failed[-1].due < fresh[-1].due
            request = (failed if again else fresh).pop()
            if grant(request):
                failures[again] += 1
                self.served.append(request)


def _order_of_loss(request: GangRequest) -> tuple[int, datetime, JobKey]:
    """The last one loses its turn first: of the lowest priority, the latest one."""
    return -request.priority, request.gang.job.provisioning.since or request.due, request.key


def _in_order(requests: Iterable[GangRequest], turns: Counter[str]) -> list[GangRequest]:
    """By priority, then by how many turns their namespace has before; else in the given order."""

    def ranked() -> Iterator[tuple[int, int, int, GangRequest]]:
        before = Counter(turns)
        for place, request in enumerate(sorted(requests, key=lambda request: -request.priority)):
            yield -request.priority, before[request.key.namespace], place, request
            before[request.key.namespace] += 1

    return [request for *_, request in sorted(ranked())]


def gave_way(snapshot: Snapshot, job: TrainingJob) -> bool:
    """Whether the job was stopped for one that is not ready yet; at most for the gang limit.

    kube-scheduler might bind its provisional pods to the nodes that it left.
    """
    stopped = (role.status.suspended_at for role in job.live)
    since, limit = max(filter(None, stopped), default=None), snapshot.limits.gang_limit
    if since is None or snapshot.clock.now - since >= limit:
        return False
    keys = [last_changes.preempted_for(role) for role in job.live]
    askers = [snapshot.referenced_jobs.get(key) for key in keys if key]
    waits = any(
        role.status.suspended or unready_minimum(role)
        for asker in askers
        for role in (asker.live if asker else ())
    )
    return waits and not snapshot.clock.elapsed_or_recheck(since, limit)


def holds_turn(snapshot: Snapshot, job: TrainingJob) -> bool:
    """Whether the job runs, and nodes requested for one of its roles may come in time."""
    if job.suspended or not job.provisioning.pods:
        return False
    by_role: defaultdict[str, list[ProvisionalPod]] = defaultdict(list)
    for pod in job.provisioning.pods:
        by_role[pod.role].append(pod)
    return not all(is_missing_late(snapshot, pods) for pods in by_role.values())


def is_missing_late(snapshot: Snapshot, asked: Iterable[ProvisionalPod]) -> bool:
    """Whether the nodes that a started role lacks have not come in time."""
    since = min((pod.created_at for pod in asked if not pod.gone), default=None)
    wait = snapshot.limits.provisioning.provisioning_timeout
    return snapshot.clock.elapsed_or_recheck(since, wait)


def recent_failure(snapshot: Snapshot, job: TrainingJob) -> FailedAttempt | None:
    """The failure after which it may not request again yet; None if it may.

    A failure more than a minute in the future is ignored: a wrong clock wrote it.
    """
    failure = job.provisioning.failure
    if failure is None or failure.at > snapshot.clock.now + timedelta(minutes=1):
        return None
    pause = NODES.after(failure.attempts)
    return None if snapshot.clock.elapsed_or_recheck(failure.at, pause) else failure
