"""What happens to training jobs after kubectl-edl is uninstalled."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from edl import contract
from edl.contract.manifest_parts import is_paused, labels
from edl.inject import ttl_after_finished
from edl.kube.cluster import ListOptions, PluginCluster, find
from edl.messages.scarcity_messages import listed
from edl.model import ObjectRef
from edl.writes import Json
from kubectl_edl.client.pending_pods import REMOVE_GATES
from kubectl_edl.install import job_restore
from kubectl_edl.install.components import PART_OF
from kubectl_edl.install.server_side_apply import name_of
from kubectl_edl.resources.source_manifest import has_ended

_SHOWN: Final = 5
_BEHIND: Final = "a pod behind them, now or later, is not scheduled until you remove its gate"
_UNLESS: Final = "unless the API server lets their templates change, "
_FIELDS: Final = {ttl_after_finished.FIELD: contract.TTL, "template": "its scheduling gates"}


def sentences(cluster: PluginCluster, flags: str) -> Iterator[str]:
    """Sentences for the user, before the confirmation; `flags` are for suggested commands."""
    elastic = elastic_jobs(cluster)
    jobs = [job for job in elastic if not has_ended(job)]
    queued = [job for job in jobs if job["spec"].get("suspend")]
    if not jobs:
        yield "No elastic Job is queued or running."
    if running := len(jobs) - len(queued):
        keep = "1 elastic Job keeps" if running == 1 else f"{running} elastic Jobs keep"
        yield f"{keep} running at the current size, no longer resized or ended."
    if queued:
        yield f"{len(queued)} suspended: no longer started. To start them by hand:"
        yield from (f"  {start}" for start in start_commands(queued[:_SHOWN], flags))
    if (more := len(queued) - _SHOWN) > 0:
        yield f"  and {more} more: kubectl edl uninstall --start-commands{flags}"
    # New pods of Jobs that have run would wait forever for the gates' removal.
    gated = list(job_restore.with_gates(jobs))
    stopped = [job for job in gated if job["spec"].get("suspend")]
    going = [job for job in gated if job not in stopped]
    for state, unless, group in (("", "", going), ("suspended ", _UNLESS, stopped)):
        if group:
            what = f"{len(group)} {state}with scheduling gates ({_names(group)})"
            yield f"{what}: {unless}{_BEHIND}: {REMOVE_GATES} -n NAMESPACE{flags}"
    # Their time to live starts only when all Jobs of the training job have ended.
    if held := list(job_restore.with_held_ttl(elastic)):
        what = f"{len(held)} with {contract.TTL} ({_names(held)})"
        yield f"{what}: each is deleted that long after its own end."


def start_commands(jobs: Iterable[Json], flags: str) -> Iterator[str]:
    """Commands that start the suspended Jobs, each at its minimum or above.

    A comment for a Job that would train without its addresses.
    """
    for job in filter(_may_start, jobs):
        remark = "  # paused" if is_paused(job) else ""
        if lacking := job_restore.start_annotations(job):
            yield f"# {_name(job)} {job_restore.cannot_start(lacking)}"
        else:
            yield job_restore.start_command(job, flags) + remark


def start_script(jobs: Iterable[Json], flags: str) -> Iterator[str]:
    """`start_commands` as a shell script, with a comment below each Job that keeps gates."""
    for job in filter(_may_start, jobs):
        yield from start_commands([job], flags)
        for gated in job_restore.with_gates([job]):
            yield f"# {_name(gated)} keeps scheduling gates: {_BEHIND}: {_remove_gates(job, flags)}"


def _remove_gates(job: Json, flags: str) -> str:
    return f"{REMOVE_GATES} -n {job['metadata']['namespace']}{flags}"


def _may_start(job: Json) -> bool:
    return bool(job["spec"].get("suspend")) and not has_ended(job)


def unrestored(job: Json, why: str, flags: str) -> str:
    """The sentence on a Job whose own fields could not be restored."""
    fields, original = job_restore.asked_fields(job), job_restore.own_fields(job)
    names = " and ".join(_FIELDS[field] for field in fields)
    sentences = [f"{_name(job)} keeps {names}: {why}"]
    if original:
        patch = job_restore.patch_command(job, original, flags, " --type=merge")
        sentences.append(f"By hand: {patch}")
    if fields.keys() - original.keys():
        sentences.append(f"{_BEHIND.capitalize()}: {_remove_gates(job, flags)}")
    return ". ".join(sentences)


def teams_stay(cluster: PluginCluster, flags: str) -> Iterator[str]:
    """The sentence on teams that a later installation would apply."""
    target = ObjectRef("ConfigMap", cluster.system_namespace, contract.TEAMS_CONFIG_MAP)
    if find(cluster, target) is not None:
        where = f"{target.name} -n {target.namespace}{flags}"
        yield (
            f"{name_of(target)} in namespace {target.namespace} stays, and a later installation "
            f"there applies its teams. To delete it: kubectl delete configmap {where}"
        )


def namespace_stays(cluster: PluginCluster, flags: str) -> Iterator[str]:
    """The command that deletes a namespace of our manifests, with users' objects of any kind."""
    target = ObjectRef("Namespace", "", cluster.system_namespace)
    namespace = find(cluster, target)
    if namespace and labels(namespace).get(PART_OF) == contract.MANAGED_BY:
        yield (
            f"{name_of(target)} stays, with what others have put into it. To delete it with "
            f"everything in it: kubectl delete namespace {target.name}{flags}"
        )


def _names(jobs: Sequence[Json]) -> str:
    return listed(list(map(_name, jobs)), most=_SHOWN)


def _name(job: Json) -> str:
    return f"{job['metadata']['namespace']}/{job['metadata']['name']}"


def elastic_jobs(cluster: PluginCluster) -> list[Json]:
    return cluster.list(ListOptions("Job", "", contract.FRAMEWORK)).manifests()
