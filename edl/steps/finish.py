"""Ends the other roles after the leader role has ended, as `edl.dev/clean-up` says."""

from datetime import datetime

from edl import messages, reasons
from edl.annotations import job_history
from edl.annotations.job_history import HistoryEntry, Operation
from edl.contract import CleanUp
from edl.model import EndCondition, JobEnd, ObjectRef, Reason, Role, TrainingJob
from edl.steps.preconditioned_patches import (
    job_event,
    job_patch,
    last_change_annotations,
    size_spec,
)
from edl.writes import Action, Delete, Json, Patch, Step


def finish(
    job: TrainingJob, ending: JobEnd, now: datetime, failure: EndCondition | None = None
) -> Step:
    """Scale the remaining roles to 0/0, which completes their Jobs (docs/kubernetes.md 10).

    `failure`: why the training job failed if none of its Jobs did.
    """
    last = () if job.live else _times_to_live(job)
    if job.clean_up is CleanUp.NONE and not failure:
        return Step(job.key, last)
    why = reasons.ended(job, ending, failure)
    # A Job that is 0/0 already needs no write: the Job controller completes it.
    others = [
        role
        for role in job.live
        if role.spec.indexed and role.status.size and not role.status.deadline_passed
        if role.spec.is_leader or job.clean_up is not CleanUp.NONE
    ]
    writes = [
        job_patch(
            job.key,
            role,
            _end(role),
            last_change_annotations(why) | _history(role, why, now),
        )
        for role in others
    ]
    events = tuple(job_event(job.key, role, Action.ENDED, why) for role in others)
    return Step(job.key, (*writes, *_deletions(job), *last), events)


def _history(role: Role, why: Reason, now: datetime) -> dict[str, str | None]:
    entry = HistoryEntry(now, Operation.ENDED, role.status.size, 0, why.code, messages.message(why))
    return job_history.annotation(role, [entry])


def _end(role: Role) -> Json:
    """The spec that ends a role: 0/0, or a deadline that has passed, which fails its Job.

    A leader role still runs only if the training job has failed, so it must fail too. The API
    server refuses 0/0 for Jobs with a successPolicy or maxFailedIndexes.
    """
    needs_an_index = role.status.has_success_policy or role.spec.failure_rules.indexes
    if role.spec.is_leader or needs_an_index:
        return {"activeDeadlineSeconds": 0, "suspend": False}
    return size_spec(role, 0)


def _times_to_live(job: TrainingJob) -> tuple[Patch, ...]:
    """Restores the users' `ttlSecondsAfterFinished`, which had been held back until now.

    The leader's Job comes last: it shows how the training job has ended.
    """
    held = (role for role in job.roles if role.status.ending and role.spec.held_ttl is not None)
    return tuple(
        job_patch(job.key, role, {"ttlSecondsAfterFinished": role.spec.held_ttl}, {})
        for role in sorted(held, key=lambda role: role.spec.is_leader)
    )


def _deletions(job: TrainingJob) -> tuple[Delete, ...]:
    """With clean-up `All`, deletes ended pods too, and thereby their logs."""
    if job.clean_up is not CleanUp.ALL or job.live:
        return ()
    return tuple(
        Delete(ObjectRef("Pod", job.key.namespace, pod.name), pod.version)
        for role in job.roles
        for pod in role.status.pods
        if not pod.terminating
    )


def resume_unrecorded_ends(job: TrainingJob) -> tuple[Patch, ...]:
    """Resumes Jobs whose end is not recorded yet: they finish at once (docs/kubernetes.md 23)."""
    return tuple(
        job_patch(job.key, role, {"suspend": False}, {})
        for role in job.roles
        if role.status.end_unrecorded
    )
