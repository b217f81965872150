"""Training jobs with their Jobs and pods, recomputed only if something has changed."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Final, TypeVar

from edl import contract
from edl.kube.cache.sorted_map import SortedMap
from edl.kube.cluster import Delta, ObjectKey
from edl.kube.decode import runtime_classes
from edl.kube.decode.job_facts import JobFacts
from edl.kube.decode.namespace_quotas import NO_RULES
from edl.kube.decode.object_facts import OwnedObjectRef, PodFacts
from edl.kube.dra.claim_resolution import DeviceView
from edl.kube.provisioning.request_facts import CapacityRequestFacts
from edl.kube.state.bare_training_jobs import bare_training_job
from edl.kube.state.pending_demands import PendingDemands
from edl.kube.state.training_job_inputs import ClusterScope, TrainingJobInputs
from edl.kube.state.training_jobs import (
    ANY_DEVICE,
    ANY_VOLUME,
    TemplateInput,
    gather,
    jobs_of,
    staying,
    template_inputs,
)
from edl.model import Demand, JobKey, TrainingJob

_Key = TypeVar("_Key")
_Facts = TypeVar("_Facts")
_NOTHING: Final[Mapping[ObjectKey, PodFacts]] = {}


class JobIndex:
    """The objects of each training job. Pods may be seen before their Job, and after it is gone."""

    def __init__(self) -> None:
        self._scope = ClusterScope.of((), ())
        self._depending: dict[TemplateInput, dict[ObjectKey, JobFacts]] = {}
        """Jobs by each input of their pod templates."""
        self._devices: DeviceView | None = None
        self._jobs: dict[JobKey, dict[ObjectKey, JobFacts]] = {}
        self._ours: dict[str, JobKey] = {}
        """By the uid of each labelled Job."""
        self._pods: dict[str, dict[ObjectKey, PodFacts]] = {}
        """By the uid of their Job, labelled or not."""
        self._alone: dict[JobKey, dict[ObjectKey, PodFacts]] = {}
        """Labelled bare pods."""
        self._labelled: dict[JobKey, dict[ObjectKey, PodFacts]] = {}
        """Pods by the training job that their label names, whatever owns them."""
        self._owned_objects: dict[JobKey, list[OwnedObjectRef]] = {}
        self._provisional: dict[ObjectKey, PodFacts] = {}
        self._requests: dict[str, dict[ObjectKey, CapacityRequestFacts]] = {}
        """Our ProvisioningRequests, by the uid of their Job."""
        self._demands = PendingDemands()
        self._stale: set[JobKey] = set()
        self._made: SortedMap[JobKey, TrainingJob] = SortedMap()
        self._made_bare: SortedMap[JobKey, TrainingJob] = SortedMap()

    def job(self, change: Delta[JobFacts]) -> None:
        before, after = change.before, change.after
        if before:
            for one in template_inputs(before):
                _remove(self._depending, one, change.key)
            _remove(self._jobs, before.key, change.key)
            del self._ours[before.uid]
            self._stale.add(before.key)
        if after:
            for one in template_inputs(after):
                self._depending.setdefault(one, {})[change.key] = after
            self._jobs.setdefault(after.key, {})[change.key] = after
            self._ours[after.uid] = after.key
            self._stale.add(after.key)
        moves = not (before and after and before.key == after.key)
        for uid in {found.uid for found in (before, after) if found}:
            self._ask_again(uid)
            if moves:  # its pods are, or were, previous pods of the training job that they name
                self._stale.update(
                    filter(None, map(_named, self._pods.get(uid, _NOTHING).values()))
                )

    def _ask_again(self, uid: str) -> None:
        """Update the demands of a Job's pods: pending pods of labelled Jobs do not count."""
        for pod in self._pods.get(uid, _NOTHING).values():
            if pod.asking and uid in self._ours:
                self._demands.drop(pod)
            elif pod.asking:
                self._demands.add(pod)

    def pod(self, change: Delta[PodFacts]) -> None:
        if change.before:
            self._forget(change.key, change.before)
        if change.after:
            self._know(change.key, change.after)

    def _forget(self, name: ObjectKey, pod: PodFacts) -> None:
        if pod.job:
            _remove(self._pods, pod.job, name)
            self._touch(pod)
        if key := _named(pod):
            _remove(self._labelled, key, name)
            self._stale.add(key)
        if key := _alone(pod):
            _remove(self._alone, key, name)
            self._stale.add(key)
        if pod.provisional:
            del self._provisional[name]
        if pod.asking:
            self._demands.drop(pod)

    def _know(self, name: ObjectKey, pod: PodFacts) -> None:
        if pod.job:
            self._pods.setdefault(pod.job, {})[name] = pod
            self._touch(pod)
        if key := _named(pod):
            self._labelled.setdefault(key, {})[name] = pod
            self._stale.add(key)
        if key := _alone(pod):
            self._alone.setdefault(key, {})[name] = pod
            self._stale.add(key)
        if pod.provisional:
            self._provisional[name] = pod
        if pod.asking and pod.job not in self._ours:
            self._demands.add(pod)

    def _touch(self, pod: PodFacts) -> None:
        """The training job of the pod's Job has to be recomputed, if the Job is labelled."""
        if key := self._ours.get(pod.job):
            self._stale.add(key)

    def request(self, change: Delta[CapacityRequestFacts]) -> None:
        for found in (change.before, change.after):
            if found and found.job in self._ours:
                self._stale.add(self._ours[found.job])
        if change.before and change.before.request:
            _remove(self._requests, change.before.job, change.key)
        if change.after and change.after.request:
            self._requests.setdefault(change.after.job, {})[change.key] = change.after

    def claims(self, changes: Sequence[Delta[ObjectKey]], *, read: bool) -> None:
        everything = self._demands.claims(changes, read=read)
        touched = (("PersistentVolumeClaim", change.key) for change in changes)
        self._touch_dependants([ANY_VOLUME] if everything else touched)

    def _touch_dependants(self, changed: Iterable[TemplateInput]) -> None:
        for one in changed:
            self._stale.update(job.key for job in self._depending.get(one, {}).values())

    def owned_object(self, change: Delta[OwnedObjectRef]) -> None:
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

    def scope(self, found: ClusterScope) -> None:
        """Set facts that many jobs depend on; jobs that may depend on a change are recomputed."""
        before, self._scope = self._scope, found
        everywhere = _for_all(before) != _for_all(found)
        changed = before.kubexec ^ found.kubexec
        changed |= {name for name, _ in before.rules.items() ^ found.rules.items()}
        for key in chain(self._jobs, self._alone) if everywhere or changed else ():
            if everywhere or key.namespace in changed:
                self._stale.add(key)

    def devices(self, view: DeviceView | None, changed: set[ObjectKey] | None) -> None:
        """Set the devices. `changed`: claims and templates with a new meaning; None: any."""
        self._devices = view
        self._demands.devices(view)
        touched = (("ResourceClaim", key) for key in changed or ())
        self._touch_dependants([ANY_DEVICE] if changed is None else touched)

    def renew(self) -> list[Delta[TrainingJob]]:
        """Recompute the training jobs whose objects have changed; returns those that differ."""
        changes = []
        for key in sorted(self._stale):
            before = self._made.get(key)
            if self._made.put(key, self._gathered(key)):
                changes.append(Delta(ObjectKey(*key), before, self._made.get(key)))
            self._made_bare.put(key, self._gathered_bare(key))
        self._stale.clear()
        return changes

    def _gathered(self, key: JobKey) -> TrainingJob | None:
        """The training job of a key; None if no Job of it remains."""
        if key not in self._jobs:
            return None
        jobs = staying(sorted(self._jobs[key].values(), key=lambda job: job.name))
        if not jobs:
            return None
        scope = self._scope
        parts = TrainingJobInputs(
            jobs=jobs,
            pods=[_within(key, self._pods.get(job.uid, {})) for job in jobs],
            owned_objects=self._owned_objects.get(key, ()),
            kubexec=key.namespace in scope.kubexec,
            priorities=[scope.priority(job) for job in jobs],
            classes=[runtime_classes.named(job.runtime, scope.runtimes) for job in jobs],
            missing_claims=self._demands.missing(claim for job in jobs for claim in job.claims),
            rules=scope.rules.get(key.namespace, NO_RULES),
            devices=self._devices,
            previous_pods=[*self._previous_pods(key, jobs)],
            requests=[one for job in jobs for one in _within(key, self._requests.get(job.uid, {}))],
        )
        try:
            return gather(key, parts)
        except Exception as error:  # noqa: BLE001 - one job must not hide all others
            first = min(jobs, key=lambda job: job.created_at)
            what = f"it cannot be read: {type(error).__name__}: {error}"
            problem = parts.rules.problem(what)
            return TrainingJob(key, first.framework, (), first.created_at, problem=problem)

    def _previous_pods(self, key: JobKey, jobs: Sequence[JobFacts]) -> Iterator[PodFacts]:
        """Pods of deleted Jobs of a training job, which are terminating, or will be at once.

        A pod without owner stays until it terminates, as does one of a Job of another name.
        """
        kept, names = {job.uid for job in jobs}, {key.name, *(job.name for job in jobs)}
        for pod in self._labelled.get(key, _NOTHING).values():
            deleted = pod.leaving or (pod.job and pod.job not in self._ours)
            if not (deleted and pod.holds_room and pod.job not in kept):
                continue
            labels = dict(pod.labels)
            names.add(f"{key.name}-{labels.get(contract.ROLE, '')}")
            if pod.leaving or labels.get(contract.JOB_NAME_LABEL, "") in names:
                yield pod

    def _gathered_bare(self, key: JobKey) -> TrainingJob | None:
        """The training job of bare pods; None if Jobs form a training job of the same name."""
        alone = self._alone.get(key)
        if not alone or key in self._jobs:
            return None
        owned_objects = self._owned_objects.get(key, ())
        return bare_training_job(key, alone.values(), owned_objects, self._scope)

    def jobs(self) -> tuple[TrainingJob, ...]:
        """Sorted by key; an unchanged job is the same object as before."""
        return self._made.values()

    def pods_of(self, uid: str) -> Iterable[PodFacts]:
        """The pods of a Job, labelled or not."""
        return self._pods.get(uid, _NOTHING).values()

    def unowned(self) -> Iterator[PodFacts]:
        """Provisional pods that no known Job owns."""
        return (pod for pod in self._provisional.values() if pod.job not in self._ours)

    def unowned_requests(self) -> Iterator[CapacityRequestFacts]:
        """ProvisioningRequests that no known Job owns."""
        found = (item for item in self._requests.items() if item[0] not in self._ours)
        return chain.from_iterable(requests.values() for _, requests in found)

    def bare(self) -> tuple[TrainingJob, ...]:
        return self._made_bare.values()

    def demands(self, teams: Mapping[str, str] | None) -> tuple[Demand, ...]:
        """Other owners' pending pods. `teams` by namespace; None if none are configured."""
        self._demands.teams(teams)
        return self._demands.values()

    @property
    def owners(self) -> Mapping[str, JobKey]:
        """Training jobs by the uids of their Jobs."""
        return self._ours


def _named(pod: PodFacts) -> JobKey | None:
    """The training job that the label of a pod of ours names, or None."""
    for label, text in pod.labels if pod.pod else ():
        if label == contract.JOB:
            return JobKey(pod.namespace, text) if text else None
    return None


def _alone(pod: PodFacts) -> JobKey | None:
    """The training job of a bare pod, or None."""
    return JobKey(pod.namespace, pod.bare.spec.job) if pod.bare else None


def _within(key: JobKey, owned: Mapping[ObjectKey, _Facts]) -> list[_Facts]:
    """The objects in the job's own namespace: objects elsewhere could carry any owner's uid."""
    return [found for name, found in owned.items() if name.namespace == key.namespace]


def _for_all(scope: ClusterScope) -> tuple[object, ...]:
    """The facts that may affect jobs of every namespace."""
    return scope.priorities, scope.default, scope.runtimes


def _remove(groups: dict[_Key, dict[ObjectKey, _Facts]], key: _Key, name: ObjectKey) -> None:
    del groups[key][name]
    if not groups[key]:
        del groups[key]
