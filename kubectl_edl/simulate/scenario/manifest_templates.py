"""Training jobs from ordinary manifests, injected as by the webhook, and copies with new names."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from io import StringIO
from itertools import count
from typing import Final

from msgspec.structs import replace

from edl import contract
from edl.contract.manifest_parts import labels
from edl.errors import refuse
from edl.kube.decode import job_facts
from edl.kube.decode.job_facts import JobFacts
from edl.kube.decode.object_facts import WITHOUT_CLASS
from edl.kube.decode.pod_shapes import ShapeInterner
from edl.kube.decode.runtime_classes import NO_CLASS
from edl.kube.state.jobs.training_job_inputs import TrainingJobInputs
from edl.kube.state.jobs.training_jobs import gather
from edl.messages import message
from edl.model import JobKey, TrainingJob
from edl.simulator import Training
from edl.writes import Json
from kubectl_edl.inject.injector import inject
from kubectl_edl.resources.manifest_sources import sources

_CREATED: Final = "2026-01-01T00:00:00Z"


@lru_cache(maxsize=64)
def template(path: str) -> TrainingJob:
    """The single training job of a file or folder, suspended.

    Raises Denied, Unreadable or Refused for errors in it, ValueError unless there is exactly one.
    """
    stream = inject(sources([path], StringIO()), "default", "kubectl-edl")
    refuse(stream.findings)
    shapes = ShapeInterner()
    facts = [job_facts.job(_stored(manifest), shapes) for manifest in _jobs(stream.values)]
    keys = {job.key for job in facts}
    if len(keys) != 1:
        names = ", ".join(sorted(key.name for key in keys)) or "none with edl.dev/framework"
        raise ValueError(f"{path} holds {names}; the Jobs of one training job")
    (key,) = keys
    return _gathered(key, facts)


def _gathered(key: JobKey, facts: list[JobFacts]) -> TrainingJob:
    job = gather(
        key,
        TrainingJobInputs(
            jobs=sorted(facts, key=lambda job: job.name),
            pods=[[] for _ in facts],
            owned_objects=(),
            kubexec=True,
            priorities=[WITHOUT_CLASS] * len(facts),
            classes=[NO_CLASS] * len(facts),
        ),
    )
    if job.problem or job.missing:
        what = message(job.problem) if job.problem else f"without its {', '.join(job.missing)}"
        raise ValueError(f"{key.name}: {what}; all roles")
    return job


def named(job: TrainingJob, name: str, priority: int) -> TrainingJob:
    """A copy of the job with another name and priority."""
    alone = len(job.roles) == 1
    roles = (
        role.changed(job=name if alone else f"{name}-{role.name}", uid=f"{name}-{role.name}")
        for role in job.roles
    )
    return replace(job, key=JobKey(job.key.namespace, name), roles=tuple(roles), priority=priority)


def _jobs(values: Iterable[object]) -> Iterator[Json]:
    for value in (item for item in values if isinstance(item, dict)):
        if value.get("kind") == "List":
            yield from _jobs(value.get("items") or ())
        if value.get("kind") == "Job" and contract.FRAMEWORK in labels(value):
            yield value


def _stored(manifest: Json) -> bytes:
    """The manifest with fields that the API server adds."""
    metadata = manifest["metadata"]
    name = metadata.get("name") or f"{metadata.get('generateName', 'job-')}x"
    added = {"uid": name, "resourceVersion": "1", "creationTimestamp": _CREATED, "name": name}
    return json.dumps(manifest | {"metadata": metadata | added}).encode()


_SHOWN: Final = 3
Trainings = tuple[Training, ...]


def with_unique_names(
    jobs: Sequence[Training], traced: Sequence[Training]
) -> tuple[Trainings, tuple[str, ...]]:
    """All jobs, and hints; a traced job whose name is taken is renamed NAME-2, NAME-3 and so on.

    The hint names the renamed jobs.
    """
    names = {training.key.name for training in jobs}
    taken = names | {training.key.name for training in traced}
    numbers: defaultdict[str, count[int]] = defaultdict(lambda: count(2))
    result, fresh = [*jobs], []
    for training in traced:
        name = training.key.name
        if name in names:
            another = (f"{name}-{number}" for number in numbers[name])
            name = next(free for free in another if free not in taken)
            fresh.append(name)
        names.add(name)
        taken.add(name)
        renamed = replace(training, job=named(training.job, name, training.job.priority))
        result.append(training if training.key.name == name else renamed)
    return tuple(result), _hints(fresh)


def _hints(fresh: Sequence[str]) -> tuple[str, ...]:
    if not fresh:
        return ()
    called = ", ".join(fresh[:_SHOWN]) + ", …" * (len(fresh) > _SHOWN)
    many = f"{len(fresh)} jobs of traces have names that are"
    what = "1 job of a trace has a name that is" if len(fresh) == 1 else many
    return (f"hint: {what} in use: renamed to {called}",)
