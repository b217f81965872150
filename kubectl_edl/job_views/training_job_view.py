"""Training jobs for display: the figures of the tables, and the documents of `-o json`."""

from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec.structs import replace

from edl.job_state.phases import ENDED, phase
from edl.messages import message
from edl.model import Code, Phase, Pod, PodPhase, Reason, Role, TrainingJob
from edl.spec.allowed_sizes import start_pods
from kubectl_edl.cli.context import Scope
from kubectl_edl.job_views.job_reasons import Why, why, why_of, why_of_role
from kubectl_edl.output.cell_quantities import bounds_text

if TYPE_CHECKING:
    from edl.planner.plan import Plan
    from kubectl_edl.output.documents.shared_documents import CooldownDocument
    from kubectl_edl.output.documents.training_job_documents import (
        PodDocument,
        RoleDocument,
        TrainingJobDocument,
    )

_ANY: Final = Scope()
NO_REPLICAS: Final = "0/?"
"""Replicas and bounds of a role whose Job does not exist."""


class RoleView(msgspec.Struct, frozen=True):
    """One role; `size` is its current number of replicas, 0 while suspended and after its end.

    Near their end work items have fewer replicas than `parallelism`: one for each remaining item.
    """

    role: Role
    size: int
    running: int
    pending: int
    """Requested pods that do not run; while queued or restarting, those that it starts with."""

    @property
    def bounds(self) -> str:
        """`2`, or `1..12` for an elastic role."""
        return bounds_text(self.role.spec.min, self.role.spec.max)

    @property
    def text(self) -> str:
        """`worker=4/1..12`: the current size, and min..max."""
        return f"{self.role.name}={self.size}/{self.bounds}"


class JobView(msgspec.Struct, frozen=True, dict=True):
    job: TrainingJob
    phase: Phase
    roles: tuple[RoleView, ...]
    scope: Scope = _ANY
    """The cluster, for options of suggested commands."""
    unplaced: Reason | None = None
    """What pods of its minimum lack, if a plan was made; it replaces a reason of the same code."""
    without_nodes: Reason | None = None
    """Why nodes for its raised minimum do not come, if a plan was made and requests some."""

    def planned(self, plan: "Plan") -> "JobView":
        """The view, with what pods of its minimum lack by this plan."""
        key = self.job.key
        return replace(self, unplaced=plan.unplaced(key), without_nodes=plan.without_nodes(key))

    @property
    def argument(self) -> str:
        """The job, for `kubectl edl`: `mnist -n team --context prod --system-namespace edl`."""
        return f"{self.job.key.name}{self.scope.within(self.job.key.namespace).job_flags}"

    @property
    def namespace_option(self) -> str:
        """The job's namespace, for kubectl: `-n team --context prod`."""
        return self.scope.within(self.job.key.namespace).flags.strip()

    @property
    def name(self) -> str:
        """The names of its Jobs, one per line."""
        return job_names(self.job)

    @property
    def sizes(self) -> str:
        """All roles in one cell without spaces: `chief=1/1,worker=4/1..12,ps=0/?`.

        A role whose Job does not exist has no replicas and unknown bounds.
        """
        missing = (f"{name}={NO_REPLICAS}" for name in self.job.missing)
        return ",".join((*(role.text for role in self.roles), *missing))

    @property
    def pending(self) -> int:
        return sum(role.pending for role in self.roles)

    @property
    def pausing(self) -> bool:
        """Whether a pause is requested, and a Job is not suspended yet."""
        return self.job.paused and not all(role.status.suspended for role in self.job.live)

    @property
    def requested(self) -> str:
        """What its user has requested, and the reconciler has not done yet; or empty."""
        return "a pause, not carried out yet" if self.pausing else ""

    @property
    def nodes(self) -> tuple[str, ...]:
        """The names of the nodes of its pods, sorted."""
        pods = (pod for role in self.roles for pod in role.role.status.pods if not pod.ended)
        return tuple(sorted({pod.node for pod in pods if pod.node}))

    @cached_property
    def why(self) -> Why:
        recorded = why(self.job)
        planned = self.unplaced
        if recorded.reason is Code.BELOW_MIN and self.without_nodes:
            text = f"{recorded.message}: {message(self.without_nodes)}"
            return recorded._replace(message=text)
        return why_of(planned) if planned and planned.code is recorded.reason else recorded


def view(job: TrainingJob, scope: Scope = _ANY) -> JobView:
    now = phase(job)
    roles = tuple(_role(role, now) for role in job.roles)
    return JobView(job, now, roles, scope)


def document(shown: JobView, cooldown: "CooldownDocument | None") -> "TrainingJobDocument":
    job = shown.job
    return {
        "metadata": {
            "name": job.key.name,
            "namespace": job.key.namespace,
            "creationTimestamp": time_text(job.queued_at),
        },
        "framework": job.framework,
        "phase": shown.phase.value,
        **shown.why.document,
        "pendingReplicas": shown.pending,
        "priority": job.priority,
        "paused": job.paused,
        "cooldown": cooldown,
        "startTime": time_text(job.started_at),
        "missingRoles": list(job.missing),
        "conflictingJobs": [conflict.name for conflict in job.conflicting],
        "roles": [_role_document(job, role) for role in shown.roles],
    }


def job_names(job: TrainingJob) -> str:
    """Its Jobs as `-o name` prints them and kubectl accepts them, one per line."""
    return "\n".join(f"job.batch/{role.job}" for role in job.roles)


def time_text(moment: datetime | None) -> str | None:
    """RFC 3339 in UTC, to the second, as Kubernetes writes times."""
    return None if moment is None else moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def pod_status(pod: Pod) -> str:
    """A pod's status, in the words of `kubectl get pods`."""
    if pod.terminating:
        return "Terminating"
    if pod.gated:
        return "SchedulingGated"
    if pod.phase is PodPhase.RUNNING and not pod.ready:
        return "NotReady"
    return pod.phase.value


def _role(role: Role, now: Phase) -> RoleView:
    gone = role.status.suspended or role.status.ending is not None
    items = role.status.remaining
    asked = role.status.size if items is None else min(role.status.size, items)
    size = 0 if gone else asked
    alive = [pod for pod in role.status.pods if not pod.terminating]
    running = sum(pod.phase is PodPhase.RUNNING for pod in alive)
    ended = sum(pod.phase is PodPhase.SUCCEEDED for pod in alive)
    waits = now in (Phase.QUEUED, Phase.SCALING) and role.status.ending is None
    wanted = size - ended if items is None else size
    lacking = start_pods(role) if waits and role.status.suspended else wanted
    return RoleView(role, size, running, max(0, 0 if now in ENDED else lacking - running))


def _role_document(job: TrainingJob, shown: RoleView) -> "RoleDocument":
    role = shown.role
    return {
        "name": role.name,
        "jobName": role.job,
        "replicas": shown.size,
        "minReplicas": role.spec.min,
        "maxReplicas": role.spec.max,
        "manualReplicas": role.request.replicas,
        "runningReplicas": shown.running,
        "pendingReplicas": shown.pending,
        "resizePolicy": role.spec.resizing.value,
        "result": role.status.ending.value if role.status.ending else None,
        "lastScaleTime": time_text(role.record.resized_at),
        **why_of_role(job, role).document,
        "pods": [_pod_document(pod) for pod in role.status.pods],
    }


def _pod_document(pod: Pod) -> "PodDocument":
    return {
        "name": pod.name,
        "completionIndex": pod.index if pod.index >= 0 else None,
        "nodeName": pod.node or None,
        "status": pod_status(pod),
        "creationTimestamp": time_text(pod.created_at),
    }
