"""Starting and suspending a training job."""

from collections.abc import Mapping
from datetime import datetime

from edl import contract, messages
from edl.annotations import added_requests, job_history
from edl.annotations.job_history import HistoryEntry, Operation
from edl.annotations.role_record import recorded
from edl.annotations.time_text import timestamp
from edl.frameworks import interdependent, mode_of
from edl.job_state import last_changes
from edl.job_state.final_failures import lasting_restarts
from edl.model import Code, FailedAttempt, Reason, ResizePolicy, Restart, Role, TrainingJob
from edl.planner.plan import Admission, Suspension
from edl.spec import addresses
from edl.steps.dependents import dependents_of, keys
from edl.steps.disruption_marks import marks_for_stop
from edl.steps.preconditioned_patches import (
    assigned_nodes_annotation,
    backoff_annotation,
    job_event,
    job_patch,
    last_change_annotations,
    size_spec,
)
from edl.steps.provisioning import capacity_requests
from edl.writes import Action, Json, Step


def start(job: TrainingJob, admission: Admission, now: datetime) -> Step:
    """One patch per Job: size, planned nodes, `suspend: false` (docs/kubernetes.md 4).

    Dependents come first, since pods fail without their ServiceAccount and its rights.
    """
    sizes, nodes, starting = dict(admission.sizes), dict(admission.nodes), _starting(job, admission)
    all_sizes = {role.name: sizes.get(role.name, role.status.size) for role in job.roles}
    members = member_annotations(job, all_sizes)
    consumed = capacity_requests.consumption(job)
    changes = {role.name: _template(members, consumed, role) for role in starting}
    why = {role.name: _why(admission, role) for role in starting}
    if any(changes[role.name] and not role.status.settled for role in starting):
        return Step(job.key, ())  # the API server refuses template changes until pods are gone
    writes = [
        job_patch(
            job.key,
            role,
            size_spec(role, sizes[role.name]) | {"suspend": False} | changes[role.name],
            _begun(role, now, job.provisioning.failure)
            | _consumed(role, consumed)
            | last_change_annotations(admission.reason, why[role.name])
            | assigned_nodes_annotation(role, 0, nodes.get(role.name, ()))
            | _history(job, role, sizes[role.name], (admission.reason, why[role.name]), now),
        )
        for role in starting
    ]
    events = tuple(
        job_event(
            job.key,
            role,
            Action.STARTED,
            admission.reason,
            f"{role.name} × {sizes[role.name]}: {why[role.name]}",
        )
        for role in starting
    )
    return Step(job.key, (*dependents_of(job), *keys(job), *writes), events, starts=True)


def _why(admission: Admission, role: Role) -> str:
    """The sentence on one role: growth beyond the minimum does not concern those of fixed size."""
    grown = () if role.spec.resizing is ResizePolicy.FIXED else admission.grown
    return messages.messages((admission.reason, *grown))


def _starting(job: TrainingJob, admission: Admission) -> list[Role]:
    """The roles to start, in order.

    Roles that restart to resize come first, since other roles' pods are given their size: if that
    write fails, none has started; if a later one fails, it is given the size that runs.
    """
    names = {name for name, _ in admission.sizes}
    starting = [role for role in job.live if role.name in names]
    return sorted(starting, key=lambda role: role.spec.resizing is not ResizePolicy.RESTART)


def _begun(role: Role, now: datetime, failure: FailedAttempt | None) -> dict[str, str | None]:
    delay = role.record.delayed_until
    return {
        contract.STARTED_AT: timestamp(now),
        **recorded(resized_at=now, failures_at_start=role.status.failures),
        **(recorded(refusals=None) if role.record.refusals is not None else {}),
        **({contract.PROVISIONING_FAILED: None} if failure else {}),
        **(recorded(delayed_until=None) if delay and delay <= now else {}),
    }


def _template(members: Mapping[str, str], consumed: Mapping[str, str], role: Role) -> Json:
    """The template's annotations of an ungated role; gated pods get theirs at placement.

    Those that name the ProvisioningRequest of an earlier start are removed.
    """
    if role.template.gated:
        return {}
    before = (contract.CONSUMES_REQUEST, contract.CONSUMES_CLASS) if role.record.consumed else ()
    annotations = {**members, **dict.fromkeys(before), **consumed}
    return {"template": {"metadata": {"annotations": annotations}}} if annotations else {}


def _consumed(role: Role, consumed: Mapping[str, str]) -> dict[str, str | None]:
    """Records on the Job the ProvisioningRequest that its template names now."""
    request = None if role.template.gated else consumed.get(contract.CONSUMES_REQUEST)
    return recorded(consumed=request or "") if request or role.record.consumed else {}


def _history(
    job: TrainingJob, role: Role, size: int, why: tuple[Reason, str], now: datetime
) -> dict[str, str | None]:
    again = Operation.RESTARTED if last_changes.stopped_to_resize(role) else Operation.RESUMED
    # `started_at` may be that of other roles, after a partial start: this role needs a history.
    operation = again if job.started_at and role.record.history else Operation.STARTED
    return job_history.annotation(
        role, [HistoryEntry(now, operation, size, size, why[0].code, why[1])]
    )


def member_annotations(job: TrainingJob, sizes: Mapping[str, int]) -> Mapping[str, str]:
    """Pod annotations that list all members at these sizes, for modes that need them."""
    mode = mode_of(job)
    if mode is None or mode.at_start is None:
        return {}
    return mode.at_start({role.name: _members(job, role, sizes[role.name]) for role in job.roles})


def _members(job: TrainingJob, role: Role, count: int) -> list[str]:
    return [
        f"{addresses.host(role.job, index, job.key.name, job.key.namespace)}:{role.spec.port}"
        for index in range(count)
    ]


def stop(job: TrainingJob, suspension: Suspension, now: datetime) -> Step:
    """Suspend every running Job; sizes are kept.

    The timeout of a scale-up in progress begins anew after the next start.
    """
    running = [] if job.keeps_running else [r for r in job.live if not r.status.suspended]
    marks = marks_for_stop(job.key, running, suspension.reason, now)
    writes = tuple(
        job_patch(
            job.key,
            role,
            {"suspend": True},
            last_change_annotations(suspension.reason)
            | ({contract.SCALING: None} if role.request.scaling else {})
            | backoff_annotation(role, now)
            | added_requests.annotation(role.template.added)
            | _stopped(job, role, suspension.reason, now),
        )
        for role in running
    )
    events = tuple(
        job_event(job.key, role, Action.SUSPENDED, suspension.reason) for role in running
    )
    sizes = tuple((role.name, 0) for role in running)
    return Step(job.key, (*marks, *writes), events, sizes=sizes)


def _stopped(job: TrainingJob, role: Role, reason: Reason, now: datetime) -> dict[str, str | None]:
    message = messages.message(reason)
    entry = HistoryEntry(
        now, Operation.SUSPENDED, role.status.size, role.status.size, reason.code, message
    )
    timed = reason.restart is Restart.STOPPED
    since = recorded(resized_at=now) if timed else {}
    return job_history.annotation(role, [entry]) | since | _ended_restarts(job, role, reason)


def _ended_restarts(job: TrainingJob, role: Role, reason: Reason) -> dict[str, str | None]:
    """Keeps the restarts of training containers that end with their pods, for a user's limit."""
    restarts = lasting_restarts(job, role) if role.template.restarts_in_place else 0
    caused = reason.code is Code.CONTAINER_RESTARTED and role in interdependent(job)
    if role.spec.retries or not (caused and restarts):
        return {}
    return recorded(earlier_restarts=role.record.earlier_restarts + restarts)
