"""Finds labels and annotations of ours that have no effect: misspelt, or on the wrong object."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final

from edl import contract
from edl.errors import Denied, Forbidden
from edl.inject import immutable_names, update_policy
from edl.inject.manifest_parts import job_template
from edl.inject.manifest_schema import is_labelled
from edl.inject.warnings import topology_warnings, unknown_keys
from edl.kube.cluster import ListOptions
from edl.parsing import namespace_policy
from edl.parsing.namespace_policy import NamespacePolicy
from edl.writes import Json
from kubectl_edl.cli.suggested_commands import FixCommand
from kubectl_edl.doctor.checks.check import (
    CheckContext,
    CheckResult,
    CheckResults,
    first,
    warning,
)
from kubectl_edl.inject.injector import refused_jobs
from kubectl_edl.resources.source_manifest import controller_of, has_ended

_NAMESPACES: Final = ListOptions("Namespace")
_MOST_CRON_JOBS: Final = 500
"""CronJobs whose Jobs are completed for a check, which takes milliseconds each."""
_PODS: Final = f"!{contract.JOB_NAME_LABEL}"
"""Excludes pods of Jobs, which have the labels of the Job's template."""


def unheeded(context: CheckContext) -> CheckResults:
    """Keys on Jobs and bare pods: the webhook's warnings reach only users who apply by hand."""
    for kind, plural, labels in (("Job", "jobs", ""), ("Pod", "pods", _PODS)):
        others = FixCommand(f"kubectl get {plural} {context.where} --show-labels")
        yield from first(list(_misplaced(context, kind, labels)), others)


def cron_jobs(context: CheckContext) -> CheckResults:
    """Keys on CronJobs and in their templates: the webhook's warnings reach only their users.

    Only Events say that the webhook refuses the Jobs of a CronJob.
    """
    found = _listed(context, "CronJob")
    others = FixCommand(f"kubectl get cronjobs {context.where}")
    yield from first([one for each in found for one in _on_cron_job(each)], others)
    yield from first(list(_refused(context, list(filter(_is_ours, found)))), others)


def namespaces(context: CheckContext) -> CheckResults:
    """Invalid namespace settings that were stored while no webhook reviewed them."""
    results = [
        warning(
            f"namespace {manifest['metadata']['name']} {finding}",
            FixCommand(f"kubectl edit namespace {manifest['metadata']['name']}"),
        )
        for manifest in context.connection.cluster.list(_NAMESPACES).manifests()
        for finding in namespace_policy.problems(manifest)
    ]
    yield from first(results, FixCommand("kubectl get namespaces -o yaml"))


def _misplaced(context: CheckContext, kind: str, labels: str) -> Iterator[CheckResult]:
    for manifest in _listed(context, kind, labels):
        warnings = unknown_keys.on_stored(manifest)
        if warnings and not has_ended(manifest) and not controller_of(manifest):
            yield _key_warning(kind, manifest, warnings, _remedy(manifest))


def _remedy(manifest: Json) -> str:
    if update_policy.is_released(manifest):
        return FixCommand(
            "remove them from its manifest: kubectl edl release -f FILE | kubectl apply -f -"
        )
    again = "apply" if _may_change(manifest) else "replace --force"
    return FixCommand(f"correct its manifest, then: kubectl {again} -f FILE")


def _may_change(manifest: Json) -> bool:
    """Whether the corrected object can be applied, or has to be recreated."""
    if not is_labelled(manifest):
        return False
    meant = unknown_keys.corrected(manifest)
    try:
        immutable_names.check_identity(meant, manifest)
        update_policy.check(meant, manifest, namespace_policy.SILENT)
    except Denied:
        return False
    return not topology_warnings.late(meant, manifest)


def _on_cron_job(manifest: Json) -> Iterator[CheckResult]:
    metadata, template = manifest["metadata"], manifest["spec"].get("jobTemplate") or {}
    if misplaced := unknown_keys.on_cron_job(manifest):
        move = FixCommand(
            f"kubectl get cronjob {metadata['name']} -n {metadata['namespace']} -o yaml "
            "| kubectl edl adopt -f - | kubectl apply -f -"
        )
        yield _key_warning("CronJob", manifest, (misplaced,), move)
    if warnings := unknown_keys.on_creation(template | {"kind": "Job"}):
        remedy = FixCommand(
            "correct spec.jobTemplate.metadata of its manifest, then: kubectl apply -f FILE"
        )
        yield _key_warning("CronJob", manifest, warnings, remedy)


def _is_ours(cron_job: Json) -> bool:
    """Whether its Jobs get `edl.dev/framework`, by themselves or by the labels of their pods."""
    job = job_template(cron_job) or {}
    return is_labelled(job) or is_labelled((job.get("spec") or {}).get("template"))


def _refused(context: CheckContext, cron_jobs: Sequence[Json]) -> Iterator[CheckResult]:
    """CronJobs whose Jobs the webhook refuses, by its own function."""
    policies = _policies(context) if cron_jobs else {}
    for manifest in cron_jobs[:_MOST_CRON_JOBS]:
        name, namespace = manifest["metadata"]["name"], manifest["metadata"]["namespace"]
        policy = policies.get(namespace, NamespacePolicy(namespace))
        edit = FixCommand(f"kubectl edit cronjob {name} -n {namespace}")
        for finding in refused_jobs(manifest, f"CronJob {namespace}/{name}", policy):
            yield warning(f"{finding}: each of its Jobs is refused", edit)
    if len(cron_jobs) > _MOST_CRON_JOBS:
        yield warning(
            f"the Jobs of {len(cron_jobs) - _MOST_CRON_JOBS} further CronJobs are not checked",
            FixCommand(
                f"kubectl get cronjobs {context.where} -o yaml "
                "| kubectl edl inject -f - > /dev/null"
            ),
        )


def _policies(context: CheckContext) -> Mapping[str, NamespacePolicy]:
    """The settings of the namespaces, as far as the user may read them."""
    with suppress(Forbidden):
        found = context.connection.cluster.list(_NAMESPACES).manifests()
        return {one["metadata"]["name"]: namespace_policy.read(one) for one in found}
    return {}


def _key_warning(kind: str, manifest: Json, warnings: Sequence[str], fix: str) -> CheckResult:
    metadata = manifest["metadata"]
    return warning(f"{kind} {metadata['namespace']}/{metadata['name']}: {'; '.join(warnings)}", fix)


def _listed(context: CheckContext, kind: str, labels: str = "") -> list[Json]:
    """Objects of all namespaces, else of the user's own; none if listing both is forbidden."""
    connection = context.connection
    for namespace in dict.fromkeys((connection.scope.namespace, connection.namespace)):
        with suppress(Forbidden):
            return connection.cluster.list(ListOptions(kind, namespace, labels)).manifests()
    return []
