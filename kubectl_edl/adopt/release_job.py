"""Removes kubectl-edl's labels, annotations and scheduling gates from manifests and Jobs."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from copy import deepcopy
from typing import Final

from edl import contract
from edl.contract.manifest_parts import has_our_prefix, labels
from edl.errors import Forbidden, NotFound
from edl.frameworks import FRAMEWORKS
from edl.inject import ttl_after_finished
from edl.inject.pods import scheduling_gates
from edl.inject.updates.released_jobs import others_labels
from edl.kube.cluster import ListOptions
from edl.model import ObjectRef
from edl.writes import Json, Patch
from kubectl_edl.cli.completion_candidates import plain, training_job_name
from kubectl_edl.cli.context import CliContext, ClusterConnection
from kubectl_edl.cli.interaction import print_changed
from kubectl_edl.cli.job_selection import each
from kubectl_edl.cli.options import WriteOptions
from kubectl_edl.client.cluster_view import Reads, read_survey
from kubectl_edl.client.job_lookup import left_out, training_job
from kubectl_edl.client.patcher import Patcher, with_fresh_state
from kubectl_edl.client.pending_pods import REMOVE_GATES, owning_jobs
from kubectl_edl.client.prefetched_lists import jobs_of
from kubectl_edl.install.job_restore import (
    cannot_start,
    own_fields,
    start_annotations,
    start_command,
    with_gates,
)
from kubectl_edl.resources.source_manifest import has_ended

_PLACES: Final = ("labels", "annotations")


def unlabelled(manifest: Json) -> Json:
    """A Job, CronJob or pod without our labels, annotations and scheduling gates."""
    return ttl_after_finished.restore_ttl(_ungated(without_labels(manifest)), manifest)


def without_labels(manifest: Json) -> Json:
    """A manifest of any kind without our labels and annotations, in its pod template as well."""
    changed: Json = deepcopy(manifest)
    for metadata in _metadata(changed):
        for place in _PLACES:
            before = _member(metadata, place)
            after = {name: text for name, text in before.items() if not has_our_prefix(name)}
            if not after and before:
                del metadata[place]
            elif after != before:
                metadata[place] = after
    return changed


def _ungated(part: Json) -> Json:
    """A pod, or an object with a pod template, without our scheduling gates."""
    spec = part.get("spec") or {}
    for field in ("jobTemplate", "template"):
        if spec.get(field):
            return part | {"spec": spec | {field: _ungated(spec[field])}}
    return scheduling_gates.without_ours(part)


def _member(part: Json, name: str) -> Json:
    """The object in a field; empty if the field has another type."""
    value = part.get(name)
    return value if isinstance(value, dict) else {}


def release_job(
    cli: CliContext, connection: ClusterConnection, name: str, writing: WriteOptions
) -> None:
    """Remove all that is ours from every Job of the training job, retrying on write conflicts.

    Released Jobs are reported even if others fail: a second release does not find them again.
    Raises Missing, Refused, ClusterError.
    """
    patcher = Patcher(connection.cluster, writing.dry_run)
    jobs = _jobs_of(name, connection, cli)
    pairs: list[tuple[Json, Json]] = []
    try:
        each(cli, jobs, lambda job: pairs.append(_released(job, cli, patcher)))
    finally:
        if pairs:
            before, released = [job for job, _ in pairs], [job for _, job in pairs]
            scope = connection.scope
            sentences = [f"{_outcome(job, scope.cluster_flags)}{patcher.remark}" for job in before]
            print_changed(cli, writing.output, sentences, released)
            budgets = _delete_budgets(connection, released, writing)
            cli.warn(*_hints(before, scope.flags), *budgets)


def _metadata(manifest: Json) -> Iterator[Json]:
    """The metadata of the object itself, of its jobTemplate, and of its pod template."""
    part = manifest
    for field in ("", "jobTemplate", "template"):
        if field:
            part = _member(_member(part, "spec"), field) or part
        if metadata := _member(part, "metadata"):
            yield metadata


def _jobs_of(name: str, connection: ClusterConnection, cli: CliContext) -> list[Json]:
    """The Jobs of a training job, by its name or a Job's; includes malformed Jobs.

    The name of a Job that is left out of its training job stands for it alone.
    """
    name = plain(name)
    listed = connection.cluster.list(jobs_of(connection)).manifests()
    if whole := [job for job in listed if training_job_name(job) == name]:
        return whole
    named = [job for job in listed if job["metadata"]["name"] == name]
    if not named:
        training_job(name, read_survey(connection, cli.now(), Reads.JOBS), connection)
        return []
    whole = [job for job in listed if training_job_name(job) == training_job_name(named[0])]
    return named if name in left_out(whole) else whole


def _released(job: Json, cli: CliContext, patcher: Patcher) -> tuple[Json, Json]:
    """A Job before and after. A conflict repeats this Job alone: no list has those released before.

    Raises NotFound if it was deleted meanwhile, also if another one has its name since.
    """
    listed = [job]

    def change() -> tuple[Json, Json]:
        current = listed.pop() if listed else patcher.cluster.get(ObjectRef.of("Job", job))
        if current["metadata"]["uid"] != job["metadata"]["uid"]:
            raise NotFound(f'Job "{job["metadata"]["name"]}" was deleted meanwhile')
        version = current["metadata"]["resourceVersion"]
        return current, patcher.patch(Patch(ObjectRef.of("Job", job), version, _removal(current)))

    return with_fresh_state(change, cli.sleep)


def _removal(job: Json) -> Json:
    """A merge patch that removes our labels and annotations by setting them to null."""
    metadata: Json = {
        place: {name: None for name in job["metadata"].get(place) or {} if has_our_prefix(name)}
        for place in _PLACES
    }
    if all(map(has_our_prefix, labels(job))):
        # An empty map would be filled again with the labels of the pods.
        metadata["labels"] |= others_labels(job)
    patch: Json = {"metadata": {place: names for place, names in metadata.items() if names}}
    spec = own_fields(job)
    return patch | ({"spec": spec} if spec else {})


def _outcome(job: Json, flags: str) -> str:
    name, spec, status = job["metadata"]["name"], job.get("spec") or {}, job.get("status") or {}
    if has_ended(job):
        return f"{name}: an ordinary Job again; it has ended"
    if spec.get("suspend") and (lacking := start_annotations(job)):
        return f"{name}: an ordinary Job again; it {cannot_start(lacking)}"
    if spec.get("suspend"):
        start = start_command(job, flags)
        return f"{name}: an ordinary Job again; it stays suspended until: {start}"
    if status.get("succeeded") and "completions" not in spec:
        active = status.get("active", 0)
        return (
            f"{name}: an ordinary Job again; its pods run on, and no pod is added ({active} active)"
        )
    return f"{name}: an ordinary Job again; it runs on, {spec.get('parallelism', 1)} at a time"


def _hints(jobs: list[Json], flags: str) -> Iterator[str]:
    """Hints about functions of kubectl-edl that the released Jobs lose."""
    gated = [job["metadata"]["name"] for job in with_gates(jobs)]
    if gated:
        patch = f"{REMOVE_GATES}{flags}"
        names = ", ".join(gated)
        yield f"hint: new pods of {names} stay gated until you remove their gates: {patch}"
    for job in jobs:
        job_labels = labels(job)
        framework = FRAMEWORKS.get(job_labels.get(contract.FRAMEWORK, ""))
        kind = framework.kinds.get(job_labels.get(contract.ROLE, "")) if framework else None
        if kind and kind.serves:
            name = job["metadata"]["name"]
            delete = f"kubectl delete job {name}{flags}"
            yield f"hint: nothing ends {name} when the training is done: {delete}"


def _delete_budgets(
    connection: ClusterConnection, released: Sequence[Json], writing: WriteOptions
) -> Iterator[str]:
    """Delete our PodDisruptionBudgets, which would block drains forever; other objects are kept."""
    if writing.dry_run != "none":
        return
    jobs = {job["metadata"]["name"] for job in released}
    namespace = released[0]["metadata"]["namespace"]
    managed = contract.MANAGED
    cluster = connection.cluster
    try:
        listing = cluster.list(ListOptions("PodDisruptionBudget", namespace, managed))
        for manifest in listing.manifests():
            if not jobs.isdisjoint(owning_jobs(manifest)):
                with suppress(NotFound):  # the reconciler or the garbage collector was faster
                    cluster.delete(ObjectRef.of("PodDisruptionBudget", manifest))
    except Forbidden as error:
        yield f"hint: its disruption budgets stay, and hold drains back: {error}"
