"""Steps that have not ended: their jobs get no others, and keep the capacity that they claim."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import chain

from msgspec.structs import replace

from edl.model import ClusterState, JobKey, ObjectRef, Pod, Role, TrainingJob
from edl.patches.patched_values import patched_pod, patched_role, started_at
from edl.planner.round_memory import RoundMemory
from edl.writes import Patch, Step


class WritesInFlight(RoundMemory):
    """The steps that a round did not wait for, until their outcomes are known."""

    def __init__(self) -> None:
        self._steps: dict[JobKey, list[Step]] = {}
        self._uids: dict[JobKey, str | None] = {}
        """The uids of these jobs when their steps were begun."""

    def __contains__(self, job: object) -> bool:
        return job in self._steps

    def __bool__(self) -> bool:
        return bool(self._steps)

    def were_begun_for(self, job: JobKey, uid: str | None) -> bool:
        """False if the steps of this job were begun for a former job of its name."""
        return self._uids.get(job, uid) == uid

    def replace_by(self, running: Sequence[Step], uids: Mapping[JobKey, str]) -> None:
        """Remember these steps, and no others; `uids` are those of the jobs of the last state."""
        steps = defaultdict[JobKey, list[Step]](list)
        for step in running:
            steps[step.job].append(step)
        self._steps = dict(steps)
        self._uids = {job: self._uids.get(job, uids.get(job)) for job in steps}

    def recall(self, state: ClusterState) -> ClusterState:
        """The state as if the writes had succeeded that take capacity: starts, growth and nodes.

        Else a plan would give the capacity to others before they succeed. What a write frees is not
        free before. Pods are awaited from the end of the write on, so each state is as of a write
        that has just succeeded.
        """
        if not self._steps:
            return state
        now = state.observed_at
        jobs = (_with_claims(job, self._steps.get(job.key, ()), now) for job in state.jobs)
        return replace(state, jobs=tuple(jobs))


def _with_claims(job: TrainingJob, steps: Iterable[Step], now: datetime) -> TrainingJob:
    patches = defaultdict[ObjectRef, list[Patch]](list)
    for write in (write for step in steps for write in step.writes):
        if isinstance(write, Patch) and not write.dry_run:
            patches[write.target].append(write)
    if not patches:
        return job
    roles = tuple(_with_claim(role, job.key.namespace, patches, now) for role in job.roles)
    if roles == job.roles:
        return job
    starts = any(map(started_at, chain.from_iterable(patches.values())))
    return replace(job, roles=roles, started_at=now if starts else job.started_at)


def _with_claim(
    role: Role, namespace: str, patches: Mapping[ObjectRef, Sequence[Patch]], now: datetime
) -> Role:
    """The role after its patches, unless the Job has changed in what they rely on."""
    pods = (
        (pod, patches.get(ObjectRef("Pod", namespace, pod.name), ())) for pod in role.status.pods
    )
    role = role.changed(pods=tuple(_placed(pod, of_pod, now) for pod, of_pod in pods))
    after = role
    for patch in patches.get(ObjectRef("Job", namespace, role.job), ()):
        if patch.fingerprint == role.fingerprint:
            after = patched_role(after, patch)
    grows = role.status.suspended or after.status.size > role.status.size
    return after.changed(resized_at=now) if grows and not after.status.suspended else role


def _placed(pod: Pod, patches: Iterable[Patch], now: datetime) -> Pod:
    """The pod with the node that a patch gives to it, if it is unchanged."""
    for patch in patches:
        if pod.version == patch.version and "schedulingGates" in patch.body.get("spec", {}):
            pod = patched_pod(pod, patch)
            pod = replace(pod, planned=replace(pod.planned, placed_at=now))
    return pod
