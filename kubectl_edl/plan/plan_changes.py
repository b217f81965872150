"""The changes of a plan, per role, for display."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from edl.domain_counts import DomainCounts, NodeLabels, counted, labels_of
from edl.messages import message, messages
from edl.model import ClusterState, Code, JobKey, Reason, Topology, TrainingJob
from edl.model.causes.reason_subjects import Minimum, Other, PendingPods
from edl.planner.plan import Admission, Plan, Resize, Suspension
from kubectl_edl.job_views.role_history import ReplicasChange
from kubectl_edl.job_views.training_job_view import job_names

_PREEMPTED: Final = frozenset({Code.PREEMPTED, Code.GUARANTEE_RECLAIMED})


class PlannedAction(StrEnum):
    START = "Start"
    SCALE_UP = "ScaleUp"
    SCALE_DOWN = "ScaleDown"
    RESTART = "Restart"
    SUSPEND = "Suspend"
    EVICT = "Evict"
    """Pods are deleted, and recreated on another node."""


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """One change of one job; `pods` are those to be moved."""

    job: JobKey
    action: PlannedAction
    sizes: tuple[ReplicasChange, ...]
    reason: Reason
    message: str
    pods: tuple[str, ...] = ()
    domains: tuple[DomainCounts, ...] = ()
    """Topology domains of the pods that get nodes, if their job requests a topology."""
    job_names: str = ""
    """The training job's Jobs, as `-o name` prints them."""

    @property
    def preempted(self) -> bool:
        """Whether the whole job is stopped for others."""
        return self.action is PlannedAction.SUSPEND and self.reason.code in _PREEMPTED

    @property
    def yields_to(self) -> JobKey | None:
        """The training job that gets its capacity, if there is one."""
        about = self.reason.about
        return about.job if isinstance(about, Other | Minimum) and about.job != self.job else None

    @property
    def pending_pod(self) -> str:
        """A pending pod of another owner that gets its capacity; "" if there is none."""
        about = self.reason.about
        return about.example if isinstance(about, PendingPods) else ""

    @property
    def text(self) -> str:
        """`chief=1,worker=4` for a start, `worker=4→6` for a resize, `worker-3,…` for pods."""
        if self.pods:
            return ",".join(self.pods)
        return ",".join(
            f"{role}={after}" if self.action is PlannedAction.START else f"{role}={before}→{after}"
            for role, before, after in self.sizes
        )


def moves(state: ClusterState, plan: Plan) -> tuple[PlannedChange, ...]:
    """Every change of a plan: suspensions, resizes, starts, evictions."""
    jobs = {job.key: job for job in state.jobs}
    labels = labels_of(state.nodes)
    changes = (
        *(_suspension(jobs[stop.job], stop) for stop in plan.suspensions),
        *(_resize(resize, jobs[resize.job].topology, labels) for resize in plan.resizes),
        *(_admission(start, jobs[start.job].topology, labels) for start in plan.admissions),
        *(
            PlannedChange(
                drain.job, PlannedAction.EVICT, (), drain.reason, message(drain.reason), drain.pods
            )
            for drain in plan.drains
        ),
    )
    return tuple(replace(change, job_names=job_names(jobs[change.job])) for change in changes)


def victims(changes: Iterable[PlannedChange]) -> Mapping[JobKey, Sequence[JobKey]]:
    """By training job, those that are stopped for it."""
    stopped: dict[JobKey, list[JobKey]] = {}
    for change in changes:
        if change.preempted and change.yields_to:
            stopped.setdefault(change.yields_to, []).append(change.job)
    return stopped


def _suspension(job: TrainingJob, stop: Suspension) -> PlannedChange:
    running = [role for role in job.live if not role.status.suspended]
    sizes = tuple(ReplicasChange(role.name, role.status.size, 0) for role in running)
    return PlannedChange(stop.job, PlannedAction.SUSPEND, sizes, stop.reason, message(stop.reason))


def _resize(resize: Resize, topology: Topology, labels: NodeLabels) -> PlannedChange:
    scaled = PlannedAction.SCALE_UP if resize.after > resize.before else PlannedAction.SCALE_DOWN
    action = PlannedAction.RESTART if resize.restart else scaled
    sizes = (ReplicasChange(resize.role, resize.before, resize.after),)
    domains = counted(topology, {resize.role: resize.nodes}, labels) if resize.nodes else ()
    return PlannedChange(
        resize.job, action, sizes, resize.reason, message(resize.reason), domains=domains
    )


def _admission(start: Admission, topology: Topology, labels: NodeLabels) -> PlannedChange:
    sizes = tuple(ReplicasChange(role, 0, size) for role, size in start.sizes)
    text = messages((start.reason, *start.grown))
    domains = counted(topology, dict(start.nodes), labels)
    return PlannedChange(start.job, PlannedAction.START, sizes, start.reason, text, domains=domains)


def short(state: ClusterState) -> Mapping[JobKey, str]:
    """A message for each job below its manual size: `worker has the manual size 28, 9 short`."""
    lacking: dict[JobKey, list[str]] = {}
    for job in state.jobs:
        for role in job.live:
            lacks = (role.request.replicas or 0) - role.status.size
            if lacks > 0 and not role.status.suspended:
                text = f"{role.name} has the manual size {role.request.replicas}, {lacks} short"
                lacking.setdefault(job.key, []).append(text)
    return {key: ", ".join(texts) for key, texts in lacking.items()}
