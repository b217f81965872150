"""Jobs with one `edl.dev/job` that disagree, or of which a new one would get no pods."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from edl import contract, reasons
from edl.kube.decode.job_facts import JobFacts
from edl.messages.scarcity_messages import listed
from edl.model import Code, ConflictingJob, JobKey
from edl.spec.job_spec import JobSpec

_EITHER_TOPOLOGY: Final = f"{contract.REQUIRED_TOPOLOGY} or {contract.PREFERRED_TOPOLOGY}"


def conflicting_jobs(
    key: JobKey,
    jobs: Sequence[JobFacts],
    refusal: Callable[[JobFacts], str] = lambda _job: "",
) -> tuple[ConflictingJob, ...]:
    """The Jobs to leave out: they never started, and conflict with some that have.

    Before any Job has started, none is left out. A Job that fills a missing role joins the others,
    the first of several; but not while its pods would be refused, so that the others go on.
    `refusal`: why they would be refused, or "".
    """
    there = [job for job in jobs if not job.leaving]
    whole = [job for job in there if job.has_started]
    if len(whole) in (0, len(there)):
        return ()
    causes = list[tuple[JobFacts, _Conflict]]()
    new = (job for job in there if not job.has_started)
    for job in sorted(new, key=lambda job: (job.created_at, job.name)):
        if cause := _conflict(key, job, whole) or _refused(refusal(job)):
            causes.append((job, cause))
        else:
            whole.append(job)
    left_out = (_left_out(key, job, cause, whole) for job, cause in causes)
    return tuple(sorted(left_out, key=lambda job: not job.fills))  # only the first are shown


class _Conflict(NamedTuple):
    """The cause, and the value that the Job would have to share: `edl.dev/port as mnist-ps`."""

    cause: str
    shared: str = ""
    remedied: bool = False
    """Whether the cause contains its remedy."""


def _refused(why: str) -> _Conflict | None:
    return _Conflict(why, remedied=True) if why else None


def _left_out(
    key: JobKey, job: JobFacts, conflict: _Conflict, others: Sequence[JobFacts]
) -> ConflictingJob:
    fills = _filled(key, job, others)
    other = "" if fills else f", or recreate it with another {contract.JOB}"
    remedy = f"; delete {job.name}{other}"
    if fills:
        remedy = f"; recreate it with the same {conflict.shared}"
    if all(job.has_ended for job in others):
        remedy = f"; {key.name} has ended: delete its Jobs and apply {job.name} again{other}"
    if conflict.remedied:
        remedy = ""
    text = f"Job {job.name} is left out of {key.name}: {conflict.cause}{remedy}"
    reason = reasons.quoted(Code.JOB_CONFLICT, text)
    left_out_key = JobKey(key.namespace, f"{key.name}/{job.name}")
    return ConflictingJob(left_out_key, job.name, job.uid, reason, job.role, fills)


def _filled(key: JobKey, job: JobFacts, others: Sequence[JobFacts]) -> str:
    """The role that these lack and this Job has, by its name if its labels are invalid."""
    specs = [other.spec for other in others if other.spec]
    roles = specs[0].role_names if specs else ()
    lacking = (role for role in roles if role not in {spec.role for spec in specs})
    if job.spec:
        return job.spec.role if job.spec.role in lacking else ""
    return next((role for role in lacking if job.name == f"{key.name}-{role}"), "")


def _conflict(key: JobKey, job: JobFacts, others: Sequence[JobFacts]) -> _Conflict | None:
    """Why a Job that never started does not join these; None if it does."""
    if job.problem or job.spec is None:
        return _Conflict(job.problem, remedied=True)
    for other in (facts.spec for facts in others if facts.spec):
        if other.role == job.spec.role and other.framework == job.spec.framework:
            return _Conflict(f"Job {other.name} is the {other.role} of {key.name}")
        for name, value in _SAME.items():
            ours, theirs = value(job.spec), value(other)
            optional = name == _EITHER_TOPOLOGY and not (ours and theirs)
            if ours != theirs and not optional:
                on = f"{ours or 'none'} on {job.name}, {theirs or 'none'} on {other.name}"
                return _Conflict(f"they disagree on {name}: {on}", f"{name} as {other.name}")
    return None


def disagreements(jobs: Sequence[JobFacts], specs: Sequence[JobSpec]) -> Iterator[str]:
    """The problems of Jobs of which no role can be planned."""
    same, again = "write the same on each", "recreate them with the same"
    yield from _differing(contract.FRAMEWORK, specs, again)
    names = [spec.role for spec in specs]
    if several := sorted({name for name in names if names.count(name) > 1}):
        for name in several:
            same_role = [job.name for job in jobs if job.spec and job.spec.role == name]
            yield f"several Jobs are its {name}: {', '.join(same_role)}; delete all but one"
        return
    if problems := [*_differing(contract.ROLES, specs, again)]:
        yield from problems
        return
    near = [spec for spec in specs if spec.scheduling.topology]
    yield from _differing(_EITHER_TOPOLOGY, near, f"{same} that has one")


def never_meet(specs: Sequence[JobSpec]) -> Iterator[str]:
    """Differences between Jobs by which their pods would never find each other."""
    for name in (contract.MODE, contract.PORT):
        yield from _differing(name, specs, "recreate them with the same")


def _differing(key: str, specs: Sequence[JobSpec], remedy: str) -> Iterator[str]:
    """The problem of Jobs with different values of one key, with each value and its Jobs."""
    jobs: defaultdict[str, list[str]] = defaultdict(list)
    for spec in specs:
        jobs[_SAME[key](spec)].append(spec.name)
    if len(jobs) > 1:
        values = [f"{text or 'none'} on {listed(names)}" for text, names in sorted(jobs.items())]
        yield f"its Jobs disagree on {key}: {listed(values, '; ')}: {remedy}"


def _roles_text(spec: JobSpec) -> str:
    """The roles as in `edl.dev/roles`: `chief=1,worker=1..4`."""
    return ",".join(bounds.entry for bounds in spec.all_roles)


def _topology_text(spec: JobSpec) -> str:
    """The topology as in the annotations: `rack`, `worker=rack`."""
    topology = spec.scheduling.topology
    required = (f"{role}={label}" if role else label for role, label in topology.required)
    return ",".join((*required, *topology.preferred))


_SAME: Final[dict[str, Callable[[JobSpec], str]]] = {
    contract.FRAMEWORK: lambda spec: spec.framework,
    contract.ROLES: _roles_text,
    contract.MODE: lambda spec: spec.mode,
    contract.PORT: lambda spec: str(spec.port),
    _EITHER_TOPOLOGY: _topology_text,
}
"""What all Jobs of a training job have in common, and its text."""
