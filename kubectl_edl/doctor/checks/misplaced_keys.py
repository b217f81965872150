"""Finds labels and annotations of ours that have no effect: misspelt, or on the wrong object."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from edl import contract
from edl.contract.manifest_parts import job_template, made_job
from edl.errors import Denied, Forbidden
from edl.inject import namespace_defaults
from edl.inject.manifest_schema import is_labelled
from edl.inject.updates import immutable_names, released_jobs, update_policy
from edl.inject.warnings import topology_warnings, unknown_keys
from edl.kube.cluster import ListOptions
from edl.messages.scarcity_messages import listed
from edl.parsing import namespace_policy
from edl.parsing.namespace_policy import NamespacePolicy
from edl.writes import Json
from kubectl_edl.cli.suggested_commands import FixCommand, adopt_cron_job
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
_MAX_CRON_JOBS: Final = 500
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
    manifests = _listed(context, "CronJob")
    others = FixCommand(f"kubectl get cronjobs {context.where}")
    policies = _policies(context) if manifests else {}
    jobs = [_CronJob(manifest, _policy(policies, manifest)) for manifest in manifests]
    yield from first([result for each in jobs for result in _on_cron_job(each)], others)
    yield from first(list(_refused(context, [job for job in jobs if job.completed])), others)


def paused_by_controllers(context: CheckContext) -> CheckResults:
    """Jobs that no user paused, but another controller that suspends Jobs."""
    results = [
        warning(
            f"{job.key} is paused: {job.paused_by} suspended it, and may do so again",
            FixCommand(
                "remove suspend: true from the manifest that it applies, or exclude namespace "
                f"{job.key.namespace} from that controller, then: "
                f"kubectl edl resume {job.key.name} -n {job.key.namespace}"
            ),
        )
        for job in context.survey.jobs
        if job.paused_by
    ]
    yield from first(results, FixCommand(f"kubectl edl status {context.where}"))


def namespaces(context: CheckContext) -> CheckResults:
    """Invalid namespace settings that were stored while no webhook reviewed them."""
    results = [
        warning(
            f"namespace {manifest['metadata']['name']} {finding}",
            FixCommand(f"kubectl edit namespace {manifest['metadata']['name']}"),
        )
        for manifest in context.cluster.list(_NAMESPACES).manifests()
        for finding in namespace_policy.problems(manifest)
    ]
    yield from first(results, FixCommand("kubectl get namespaces -o yaml"))


def ignored(context: CheckContext) -> CheckResults:
    """Labelled Jobs in namespaces that kubectl-edl ignores: their labels have no effect."""
    names = {"kube-system", context.system_namespace, *context.settings.ignored_namespaces}
    jobs: defaultdict[str, list[str]] = defaultdict(list)
    for manifest in _listed(context, "Job", contract.FRAMEWORK):
        if manifest["metadata"]["namespace"] in names and not has_ended(manifest):
            jobs[manifest["metadata"]["namespace"]].append(manifest["metadata"]["name"])
    results = [
        warning(
            f"webhook and reconciler ignore namespace {namespace}: {listed(sorted(job_names))} "
            f"{'is an ordinary Job' if len(job_names) == 1 else 'are ordinary Jobs'}",
            f"remove the label {contract.FRAMEWORK}, or use another namespace",
        )
        for namespace, job_names in sorted(jobs.items())
    ]
    yield from first(results, FixCommand(f"kubectl get jobs -A -l {contract.FRAMEWORK}"))


def _misplaced(context: CheckContext, kind: str, labels: str) -> Iterator[CheckResult]:
    for manifest in _listed(context, kind, labels):
        warnings = unknown_keys.on_stored(manifest)
        if warnings and not has_ended(manifest) and not controller_of(manifest):
            yield _key_warning(kind, manifest, warnings, _remedy(manifest))


def _remedy(manifest: Json) -> str:
    if released_jobs.is_released(manifest):
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


class _CronJob(NamedTuple):
    """A stored CronJob, and the settings of its namespace."""

    manifest: Json
    policy: NamespacePolicy

    @property
    def job(self) -> Json | None:
        """A Job as it creates it; None without a template."""
        return made_job(self.manifest) if job_template(self.manifest) else None

    @property
    def completed(self) -> bool:
        """Whether the webhook completes its Jobs."""
        job = self.job
        return job is not None and namespace_defaults.reaches_webhook(job, self.policy)


def _on_cron_job(cron_job: _CronJob) -> Iterator[CheckResult]:
    manifest, job = cron_job.manifest, cron_job.job
    metadata = manifest["metadata"]
    move = adopt_cron_job(metadata["namespace"], metadata["name"])
    if misplaced := unknown_keys.on_cron_job(manifest):
        yield _key_warning("CronJob", manifest, (misplaced,), move)
    if job is None:
        return
    if in_pods := namespace_defaults.warnings_of_pod_labels(job, cron_job.policy):
        yield _key_warning("CronJob", manifest, in_pods, move)
    told = unknown_keys.warnings if cron_job.completed else unknown_keys.unheeded
    if warnings := told(job):
        remedy = FixCommand(
            "correct spec.jobTemplate.metadata of its manifest, then: kubectl apply -f FILE"
        )
        yield _key_warning("CronJob", manifest, warnings, remedy)


def _refused(context: CheckContext, cron_jobs: Sequence[_CronJob]) -> Iterator[CheckResult]:
    """CronJobs whose Jobs the webhook refuses, by its own function."""
    for manifest, policy in cron_jobs[:_MAX_CRON_JOBS]:
        name, namespace = manifest["metadata"]["name"], manifest["metadata"]["namespace"]
        edit = FixCommand(f"kubectl edit cronjob {name} -n {namespace}")
        for finding in refused_jobs(manifest, f"CronJob {namespace}/{name}", policy):
            yield warning(f"{finding}: each of its Jobs is refused", edit)
    if len(cron_jobs) > _MAX_CRON_JOBS:
        yield warning(
            f"the Jobs of {len(cron_jobs) - _MAX_CRON_JOBS} further CronJobs are not checked",
            FixCommand(
                f"kubectl get cronjobs {context.where} -o yaml "
                "| kubectl edl inject -f - > /dev/null"
            ),
        )


def _policies(context: CheckContext) -> Mapping[str, NamespacePolicy]:
    """The settings of the namespaces, as far as the user may read them."""
    with suppress(Forbidden):
        manifests = context.cluster.list(_NAMESPACES).manifests()
        return {one["metadata"]["name"]: namespace_policy.read(one) for one in manifests}
    return {}


def _policy(policies: Mapping[str, NamespacePolicy], manifest: Json) -> NamespacePolicy:
    namespace = manifest["metadata"]["namespace"]
    return policies.get(namespace, NamespacePolicy(namespace))


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
