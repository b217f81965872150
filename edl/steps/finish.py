"""After the leader role has ended, the others end as `edl.dev/clean-up` says."""

from datetime import datetime

from edl import messages, reasons
from edl.annotations import job_history
from edl.annotations.job_history import HistoryEntry, Operation
from edl.contract import CleanUp
from edl.model import JobEnd, ObjectRef, Reason, Role, TrainingJob
from edl.steps import preconditioned_patches
from edl.writes import Action, Delete, Json, Patch, Step


def finish(job: TrainingJob, ending: JobEnd, now: datetime) -> Step:
    """0/0 completes an Indexed Job at once and ends its pods (docs/kubernetes.md 10)."""
    if job.clean_up is CleanUp.NONE:
        return Step(job.key, _times_to_live(job))
    why = reasons.ended(job.key, ending)
    # A Job that is 0/0 already only waits for its controller.
    others = [
        role
        for role in job.live
        if role.spec.indexed and role.status.size and not role.status.deadline_passed
    ]
    writes = [
        preconditioned_patches.job(
            job.key, role, _end(role), preconditioned_patches.changed(why) | _told(role, why, now)
        )
        for role in others
    ]
    notes = tuple(preconditioned_patches.note(job.key, role, Action.ENDED, why) for role in others)
    last = () if job.live else _times_to_live(job)
    return Step(job.key, (*writes, *_deletions(job), *last), notes)


def _told(role: Role, why: Reason, now: datetime) -> dict[str, str]:
    entry = HistoryEntry(now, Operation.ENDED, role.status.size, 0, why.code, messages.message(why))
    return job_history.annotation(role, [entry])


def _end(role: Role) -> Json:
    """A deciding role still lives only when another one has failed: it fails with it.

    So does one of which the API server refuses 0/0; our own successPolicy counts on an index, too.
    """
    if role.spec.is_leader or role.status.keeps_completions:
        return {"activeDeadlineSeconds": 0, "suspend": False}
    return preconditioned_patches.size(role, 0)


def _times_to_live(job: TrainingJob) -> tuple[Patch, ...]:
    """The users' `ttlSecondsAfterFinished` of these Jobs applies from now on.

    The deciding one goes last: without it nothing says that the others have ended for good.
    """
    held = (role for role in job.roles if role.status.ending and role.spec.held_ttl is not None)
    return tuple(
        preconditioned_patches.job(
            job.key, role, {"ttlSecondsAfterFinished": role.spec.held_ttl}, {}
        )
        for role in sorted(held, key=lambda role: role.spec.is_leader)
    )


def _deletions(job: TrainingJob) -> tuple[Delete, ...]:
    """`All` also removes the pods that have ended; their logs go with them."""
    if job.clean_up is not CleanUp.ALL or job.live:
        return ()
    return tuple(
        Delete(ObjectRef("Pod", job.key.namespace, pod.name), pod.version)
        for role in job.roles
        for pod in role.status.pods
        if not pod.terminating
    )


def freed(job: TrainingJob) -> tuple[Patch, ...]:
    """Not suspended any more they are finished at once, without a pod (docs/kubernetes.md 23)."""
    return tuple(
        preconditioned_patches.job(job.key, role, {"suspend": False}, {})
        for role in job.roles
        if role.status.end_unrecorded
    )
