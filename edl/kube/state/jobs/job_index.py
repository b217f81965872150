"""Training jobs with their Jobs and pods, recomputed only if something has changed."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import TypeAlias, TypeVar

from edl.kube.cache.object_groups import ObjectGroups
from edl.kube.cache.sorted_map import SortedMap
from edl.kube.cluster import Delta, ObjectKey
from edl.kube.decode import runtime_classes
from edl.kube.decode.job_facts import JobFacts
from edl.kube.decode.namespace_quotas import NO_RULES
from edl.kube.decode.object_facts import OwnedObjectRef, PodFacts
from edl.kube.dra.claim_resolution import DeviceView
from edl.kube.provisioning.request_facts import CapacityRequestFacts
from edl.kube.state.jobs.bare_training_jobs import bare_training_job
from edl.kube.state.jobs.job_conflicts import conflicting_jobs
from edl.kube.state.jobs.job_pods import JobPods
from edl.kube.state.jobs.pending_demands import PendingDemands
from edl.kube.state.jobs.training_job_inputs import ClusterScope, TrainingJobInputs, refusals
from edl.kube.state.jobs.training_jobs import (
    ANY_DEVICE,
    ANY_VOLUME,
    TemplateInput,
    deleted,
    gather,
    jobs_of,
    staying,
    template_inputs,
)
from edl.model import ConflictingJob, JobKey, TrainingJob

_Facts = TypeVar("_Facts")
_Choice: TypeAlias = Callable[[Sequence[JobFacts]], list[JobFacts]]
"""The Jobs that form a training job, of all that name it."""


class JobIndex:
    """The objects of each training job. Pods may be seen before their Job, and after it is gone."""

    def __init__(self) -> None:
        self._scope = ClusterScope.of((), ())
        self._depending: ObjectGroups[TemplateInput, JobFacts] = ObjectGroups(template_inputs)
        """Jobs by each input of their pod templates."""
        self._devices: DeviceView | None = None
        self._jobs: ObjectGroups[JobKey, JobFacts] = ObjectGroups(lambda job: (job.key,))
        self._ours: dict[str, JobKey] = {}
        """By the uid of each labelled Job."""
        self._pods = JobPods()
        self._owned_objects: dict[JobKey, list[OwnedObjectRef]] = {}
        self._requests: ObjectGroups[str, CapacityRequestFacts] = ObjectGroups(
            lambda facts: (facts.job,) if facts.request else ()
        )
        """Our ProvisioningRequests, by the uid of their Job."""
        self.pending = PendingDemands()
        """Other owners' pending pods."""
        self._stale: set[JobKey] = set()
        self._made: SortedMap[JobKey, TrainingJob] = SortedMap()
        self._made_unplanned: SortedMap[JobKey, TrainingJob] = SortedMap()

    def apply_job(self, change: Delta[JobFacts]) -> None:
        self._depending.apply(change)
        self._jobs.apply(change)
        before, after = change.before, change.after
        if before:
            del self._ours[before.uid]
        if after:
            self._ours[after.uid] = after.key
        self._stale.update(facts.key for facts in (before, after) if facts)
        moves = not (before and after and before.key == after.key)
        for uid in {facts.uid for facts in (before, after) if facts}:
            self._ask_again(uid)
            if moves:  # its pods are, or were, previous pods of the training job that they name
                self._stale |= self._pods.named_by(uid)

    def _ask_again(self, uid: str) -> None:
        """Update the demands of a Job's pods: pending pods of labelled Jobs do not count."""
        for pod in self.pods_of(uid):
            if pod.asking and uid in self._ours:
                self.pending.drop(pod)
            elif pod.asking:
                self.pending.add(pod)

    def apply_pod(self, change: Delta[PodFacts]) -> None:
        self._stale.update(self._pods.apply(change))
        before, after = change.before, change.after
        for pod in (before, after):
            if pod and pod.job in self._ours:
                self._stale.add(self._ours[pod.job])
        if before and before.asking:
            self.pending.drop(before)
        if after and after.asking and after.job not in self._ours:
            self.pending.add(after)

    def apply_request(self, change: Delta[CapacityRequestFacts]) -> None:
        self._requests.apply(change)
        for facts in (change.before, change.after):
            if facts and facts.job in self._ours:
                self._stale.add(self._ours[facts.job])

    def apply_claims(self, changes: Sequence[Delta[ObjectKey]], *, read: bool) -> None:
        everything = self.pending.apply_claims(changes, read=read)
        touched = (("PersistentVolumeClaim", change.key) for change in changes)
        self._touch_dependants([ANY_VOLUME] if everything else touched)

    def _touch_dependants(self, changed: Iterable[TemplateInput]) -> None:
        for template_input in changed:
            self._stale.update(job.key for job in self._depending.of(template_input).values())

    def apply_owned_object(self, change: Delta[OwnedObjectRef]) -> None:
        before, after = change.before, change.after
        if before:
            for key in jobs_of(before):
                self._owned_objects[key].remove(before)
                if not self._owned_objects[key]:
                    del self._owned_objects[key]
                self._stale.add(key)
        if after:
            for key in jobs_of(after):
                self._owned_objects.setdefault(key, []).append(after)
                self._stale.add(key)

    def set_scope(self, scope: ClusterScope) -> None:
        """Set facts that many jobs depend on; jobs that may depend on a change are recomputed."""
        before, self._scope = self._scope, scope
        everywhere = _for_all(before) != _for_all(scope)
        changed = before.kubexec ^ scope.kubexec
        changed |= {name for name, _ in before.rules.items() ^ scope.rules.items()}
        for key in chain(self._jobs, self._pods.bare) if everywhere or changed else ():
            if everywhere or key.namespace in changed:
                self._stale.add(key)

    def set_devices(self, view: DeviceView | None, changed: set[ObjectKey] | None) -> None:
        """Set the devices. `changed`: claims and templates with a new meaning; None: any."""
        self._devices = view
        self.pending.set_devices(view)
        touched = (("ResourceClaim", key) for key in changed or ())
        self._touch_dependants([ANY_DEVICE] if changed is None else touched)

    def renew(self) -> list[Delta[TrainingJob]]:
        """Recompute the training jobs whose objects have changed; returns those that differ."""
        changes = []
        for key in sorted(self._stale):
            before = self._made.get(key)
            if self._made.put(key, self._gathered(key, staying)):
                changes.append(Delta(ObjectKey(*key), before, self._made.get(key)))
            self._made_unplanned.put(key, self._gathered_unplanned(key))
        self._stale.clear()
        return changes

    def _gathered(self, key: JobKey, chosen: _Choice) -> TrainingJob | None:
        """The training job of a key; None if none of its Jobs is chosen."""
        jobs = sorted(self._jobs.of(key).values(), key=lambda job: job.name)
        conflicting: tuple[ConflictingJob, ...] = ()
        try:
            conflicting = conflicting_jobs(key, jobs, partial(self._refusal, key))
            left_out = {conflict.uid for conflict in conflicting}
            jobs = chosen([job for job in jobs if job.uid not in left_out])
            return gather(key, self._inputs(key, jobs, conflicting)) if jobs else None
        except Exception as error:  # noqa: BLE001 - one job must not hide all others
            first = min(jobs, key=lambda job: job.created_at)
            what = f"it cannot be read: {type(error).__name__}: {error}"
            problem = self._scope.rules.get(key.namespace, NO_RULES).problem([what])
            return TrainingJob(
                key,
                first.framework,
                (),
                first.created_at,
                problem=problem,
                conflicting=conflicting,
            )

    def _refusal(self, key: JobKey, job: JobFacts) -> str:
        """Why the pods of this Job would be refused, or none would ever fit; "" if neither."""
        return next(refusals(self._inputs(key, [job], ())), "")

    def _inputs(
        self, key: JobKey, jobs: Sequence[JobFacts], conflicting: tuple[ConflictingJob, ...]
    ) -> TrainingJobInputs:
        scope = self._scope
        return TrainingJobInputs(
            jobs=jobs,
            pods=[_within(key, self._pods.owned.of(job.uid)) for job in jobs],
            owned_objects=self._owned_objects.get(key, ()),
            kubexec=key.namespace in scope.kubexec,
            priorities=[scope.priority(job) for job in jobs],
            classes=[runtime_classes.named(job.runtime, scope.runtimes) for job in jobs],
            missing_claims=self.pending.missing(claim for job in jobs for claim in job.claims),
            rules=scope.rules.get(key.namespace, NO_RULES),
            devices=self._devices,
            previous_pods=[*self._pods.previous(key, jobs, self._ours)],
            requests=[one for job in jobs for one in _within(key, self._requests.of(job.uid))],
            conflicting=conflicting,
        )

    def _gathered_unplanned(self, key: JobKey) -> TrainingJob | None:
        """The training job of deleted Jobs or of bare pods; None if others are planned instead."""
        if key in self._jobs:
            return None if self._made.get(key) else self._gathered(key, deleted)
        pods = self._pods.bare.of(key)
        if not pods:
            return None
        owned_objects = self._owned_objects.get(key, ())
        return bare_training_job(key, pods.values(), owned_objects, self._scope)

    def jobs(self) -> tuple[TrainingJob, ...]:
        """Sorted by key; an unchanged job is the same object as before."""
        return self._made.values()

    def pods_of(self, uid: str) -> Iterable[PodFacts]:
        """The pods of a Job, labelled or not."""
        return self._pods.owned.of(uid).values()

    def unowned_pods(self) -> Iterator[PodFacts]:
        """Provisional pods that no Job of a training job owns."""
        return self._without_job(self._pods.provisional)

    def unowned_requests(self) -> Iterator[CapacityRequestFacts]:
        """ProvisioningRequests that no Job of a training job owns."""
        return self._without_job(self._requests)

    def _without_job(self, groups: ObjectGroups[str, _Facts]) -> Iterator[_Facts]:
        """The objects of Jobs that are not known, not labelled, or left out."""
        unowned = (group for uid, group in groups.items() if not self._is_planned(uid))
        return chain.from_iterable(group.values() for group in unowned)

    def _is_planned(self, uid: str) -> bool:
        """Whether a Job is one of a training job, and not left out of it."""
        key = self._ours.get(uid)
        job = self._made.get(key) if key else None
        return key is not None and not (job and uid in {one.uid for one in job.conflicting})

    def unplanned_jobs(self) -> tuple[TrainingJob, ...]:
        return self._made_unplanned.values()

    @property
    def owners(self) -> Mapping[str, JobKey]:
        """Training jobs by the uids of their Jobs."""
        return self._ours


def _within(key: JobKey, owned: Mapping[ObjectKey, _Facts]) -> list[_Facts]:
    """The objects in the job's own namespace: objects elsewhere could carry any owner's uid."""
    return [facts for name, facts in owned.items() if name.namespace == key.namespace]


def _for_all(scope: ClusterScope) -> tuple[object, ...]:
    """The facts that may affect jobs of every namespace."""
    return scope.priorities, scope.default, scope.runtimes
