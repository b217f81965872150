"""Pods of training jobs: by the Job that owns them, and by the training job that they name."""

from collections.abc import Iterator, Mapping, Sequence

from edl import contract
from edl.kube.cache.object_groups import ObjectGroups
from edl.kube.cluster import Delta
from edl.kube.decode.job_facts import JobFacts
from edl.kube.decode.object_facts import PodFacts
from edl.model import JobKey


class JobPods:
    """Groups of pods. Pods may be seen before their Job, and after it is gone."""

    def __init__(self) -> None:
        self.owned: ObjectGroups[str, PodFacts] = ObjectGroups(_owner)
        """By the uid of their Job, labelled or not."""
        self.bare: ObjectGroups[JobKey, PodFacts] = ObjectGroups(_bare_job)
        """Labelled pods without a Job."""
        self.provisional: ObjectGroups[str, PodFacts] = ObjectGroups(_provisional_owner)
        self._labelled: ObjectGroups[JobKey, PodFacts] = ObjectGroups(_named_job)
        """By the training job that their label names, whatever owns them."""

    def apply(self, change: Delta[PodFacts]) -> tuple[JobKey, ...]:
        """Returns the training jobs to which labels assign the pod, whatever owns it."""
        self.owned.apply(change)
        self.provisional.apply(change)
        return self._labelled.apply(change) + self.bare.apply(change)

    def named_by(self, uid: str) -> set[JobKey]:
        """The training jobs to which labels assign the pods of a Job."""
        return {
            key
            for pod in self.owned.of(uid).values()
            for key in (*_named_job(pod), *_bare_job(pod))
        }

    def previous(
        self, key: JobKey, jobs: Sequence[JobFacts], labelled: Mapping[str, JobKey]
    ) -> Iterator[PodFacts]:
        """Pods of deleted Jobs of a training job, which are terminating, or will be at once.

        A pod without owner, or of a Job of another name, counts only while it terminates.
        `jobs`: the Jobs of the training job; `labelled`: the uids of all labelled Jobs.
        """
        remaining, names = {job.uid for job in jobs}, {key.name, *(job.name for job in jobs)}
        for pod in self._labelled.of(key).values():
            deleted = pod.leaving or (pod.job and pod.job not in labelled)
            if not (deleted and pod.holds_room and pod.job not in remaining):
                continue
            labels = dict(pod.labels)
            names.add(f"{key.name}-{labels.get(contract.ROLE, '')}")
            if pod.leaving or labels.get(contract.JOB_NAME_LABEL, "") in names:
                yield pod


def _owner(pod: PodFacts) -> tuple[str, ...]:
    return (pod.job,) if pod.job else ()


def _provisional_owner(pod: PodFacts) -> tuple[str, ...]:
    return (pod.job,) if pod.provisional else ()


def _named_job(pod: PodFacts) -> tuple[JobKey, ...]:
    """The training job that the label of a pod of ours names, if any."""
    for label, text in pod.labels if pod.pod else ():
        if label == contract.JOB:
            return (JobKey(pod.namespace, text),) if text else ()
    return ()


def _bare_job(pod: PodFacts) -> tuple[JobKey, ...]:
    return (JobKey(pod.namespace, pod.bare.spec.job),) if pod.bare else ()
