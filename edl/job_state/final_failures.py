"""Failures after which a training job never completes, although none of its Jobs has failed.

The Job controller knows one Job and its present pods. The training job fails as a whole.
"""

from collections.abc import Iterator
from datetime import timedelta
from itertools import chain
from typing import Final

from edl.frameworks import interdependent, needs_minimum
from edl.job_state.lost_peers import failed_early, formed_at, group
from edl.messages.code_texts import FAILED_RANK, SPENT_RETRIES
from edl.model import EndCondition, Role, TrainingJob

_SAVING: Final = timedelta(hours=1)
"""The other ranks may have ended their training, and save the model."""


def final_failure(job: TrainingJob) -> EndCondition | None:
    """Why the training job never completes; None if it may. It may be due later (`since`)."""
    # Fast path: most training jobs have none of these.
    if not any(role.record.earlier_restarts or role.status.failed_indexes for role in job.roles):
        return None
    if not any(role.spec.is_leader and not role.status.suspended for role in job.live):
        return None
    return next(chain(_spent_retries(job), _failed_ranks(job)), None)


def lasting_restarts(job: TrainingJob, role: Role) -> int:
    """How often its training containers were restarted, without those that failed early.

    A restart of the whole job may be due to a failure of the start alone, and provoke another one.
    """
    formed = formed_at(group(job), job.started_at)
    pods = (pod for pod in role.status.pods if not failed_early(pod, formed))
    return sum(pod.containers.runs.restarts for pod in pods)


def _spent_retries(job: TrainingJob) -> Iterator[EndCondition]:
    """Roles whose training containers failed as often as the user's `backoffLimit` allows.

    The Job controller forgets those of pods that a restart of the whole job has ended
    (docs/kubernetes.md 33).
    """
    for role in interdependent(job):
        limit, past = role.spec.backoff_limit, role.record.earlier_restarts
        if past and not role.spec.retries and past + lasting_restarts(job, role) >= max(limit, 1):
            text = SPENT_RETRIES.format(role.name, limit)
            yield EndCondition(job.queued_at, "BackoffLimitExceeded", text)


def _failed_ranks(job: TrainingJob) -> Iterator[EndCondition]:
    """Ranks that failed for good and that the others need; torchrun needs its minimum alone."""
    needed = job.live if needs_minimum(job) else interdependent(job)
    for role in needed:
        spec = role.spec
        failed = [index for index in role.status.failed_indexes if index < spec.max]
        least = spec.min if needs_minimum(job) else spec.max
        if failed and spec.max - len(failed) < least and role.reported_at:
            text = FAILED_RANK.format(role.name, min(failed))
            yield EndCondition(role.reported_at + _SAVING, "FailedIndexes", text)
