"""Admission without HTTP: takes a request, returns a verdict, or raises `Denied`."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Literal

import msgspec

from edl import contract, frameworks
from edl.contract.manifest_parts import (
    JOB_TEMPLATE,
    annotations,
    job_template,
    labels,
    made_job,
    metadata,
    pod_of,
    service_account,
)
from edl.errors import Denied, Finding, refuse
from edl.frameworks.base import ModeRight
from edl.inject import (
    copied_jobs,
    manifest_schema,
    namespace_defaults,
    namespace_limits,
    other_controllers,
    owned_annotations,
    pauses,
    peer_counts,
    ttl_after_finished,
    webhook_version_skew,
)
from edl.inject.mutate_job import complete
from edl.inject.pods import gpus, kubeshare, scheduling_gates
from edl.inject.updates import (
    immutable_names,
    released_jobs,
    restored_fields,
    update_policy,
)
from edl.inject.warnings import (
    bare_pod_warnings,
    creation_warnings,
    stale_env_warnings,
    topology_warnings,
    unknown_keys,
)
from edl.model.object_refs import JOB_TYPE
from edl.parsing import namespace_policy, team_config_map
from edl.parsing.namespace_policy import SILENT, NamespacePolicy
from edl.parsing.parser import parse
from edl.spec import index_rules
from edl.spec.job_spec import JobSpec
from edl.writes import Json


class AdmissionRequest(msgspec.Struct, frozen=True):
    """A request about a Job, a pod, a Namespace or the teams. `old` is None on CREATE."""

    operation: Literal["CREATE", "UPDATE"]
    manifest: Json
    old: Json | None
    user: str
    policy: NamespacePolicy = SILENT
    """Settings of the Job's or pod's namespace."""


class Context(msgspec.Struct, frozen=True):
    """Settings of the installation. `trusted` users may change sizes and write our annotations."""

    trusted: frozenset[str]
    image: str
    """Our own image, which has kubectl for launchers."""
    release: str = ""
    """A digest of this release's rules, which tells apart the objects of releases that serve side
    by side. Empty outside the webhook."""
    withheld: frozenset[ModeRight] = frozenset()
    """Rights that the reconciler of this installation does not have."""


class AdmissionVerdict(msgspec.Struct, frozen=True):
    """The manifest to store, and warnings for its user."""

    manifest: Json
    warnings: tuple[str, ...] = ()


def mutate(request: AdmissionRequest, context: Context) -> AdmissionVerdict:
    """Completes a new object, or restricts an update to what users may change. Raises Denied."""
    _check_shapes(request)
    if _is_made_from_template(request.manifest):
        return AdmissionVerdict(_tracked(request))
    if _is_unlabelled(request):
        return _unlabelled(request, context)
    if request.operation == "UPDATE" and request.old is not None:
        return _update(request, request.old, trusted=request.user in context.trusted)
    return _create(request.manifest, context, request.policy)


def validate(request: AdmissionRequest, context: Context) -> AdmissionVerdict:
    """Validates after all mutating webhooks. Raises Denied if one of them undid our changes."""
    _check_shapes(request)
    if request.manifest.get("kind") == "ConfigMap":
        teams = team_config_map.check(request.manifest)
        return AdmissionVerdict(request.manifest, team_config_map.overlaps(teams))
    _check(request, context)
    return AdmissionVerdict(request.manifest)


def _check(request: AdmissionRequest, context: Context) -> None:
    if request.manifest.get("kind") == "Namespace":
        namespace_policy.check(request.manifest, request.old)
        return
    if _is_unlabelled(request) or _is_made_from_template(request.manifest):
        return
    if request.operation == "UPDATE" and request.old is not None:
        handed_back = released_jobs.is_handed_back(request.manifest, request.old)
        if not handed_back and not _is_leaving(request.manifest):
            update_policy.check(request.manifest, request.old, request.policy)
        return
    if webhook_version_skew.completed_by(request.manifest) != context.release:
        webhook_version_skew.check(request.manifest)
        return
    manifest = _as_it_was_completed(request.manifest)
    # Another replica may have read slightly older namespace defaults: they are left out here.
    if _create(manifest, context, request.policy.without_defaults).manifest != manifest:
        what = "another webhook changed what kubectl-edl completed"
        raise Denied([Finding("spec", what, "exclude objects with the label edl.dev/framework")])


def advise(request: AdmissionRequest, context: Context) -> AdmissionVerdict:
    """Warnings for an object that does not train. It is never refused."""
    warnings: tuple[str, ...] = ()
    if request.manifest.get("kind") == "CronJob":
        return AdmissionVerdict(request.manifest, _of_cron_job(request, context))
    if not unknown_keys.trains(request.manifest):
        with suppress(Denied):
            _check_shapes(request)
            warnings = (
                unknown_keys.on_update(request.manifest, request.old)
                if request.old
                else unknown_keys.on_creation(request.manifest)
            )
    return AdmissionVerdict(request.manifest, warnings)


def _of_cron_job(request: AdmissionRequest, context: Context) -> tuple[str, ...]:
    """Warnings about a CronJob and its Jobs: only its controller sees what these are told."""
    warning = unknown_keys.on_cron_job(request.manifest)
    before = unknown_keys.on_cron_job(request.old or {})
    texts = (warning,) if warning and warning != before else ()
    made = job_template(request.manifest)
    if made is None or made == job_template(request.old or {}):
        return texts
    try:
        manifest_schema.check({**made, "kind": "Job"})
        job, policy = made_job(request.manifest), request.policy
        creation = AdmissionRequest("CREATE", job, None, request.user, policy)
        completed = namespace_defaults.reaches_webhook(job, policy)
        new = (mutate if completed else advise)(creation, context).warnings
    except Denied as denied:
        refusals = (f"its Jobs are refused: {JOB_TEMPLATE}.{one}" for one in denied.findings)
        return (*texts, *refusals)
    return (*texts, *(f"{JOB_TEMPLATE}: {text}" for text in new))


def _check_shapes(request: AdmissionRequest) -> None:
    manifest_schema.check(request.manifest)
    if request.old is not None:
        manifest_schema.check(request.old)


def _as_it_was_completed(manifest: Json) -> Json:
    """The manifest as `mutate` saw it: generateName becomes a name after the mutating webhooks."""
    if "generateName" not in metadata(manifest) or contract.JOB in labels(manifest):
        return manifest
    nameless = {field: value for field, value in metadata(manifest).items() if field != "name"}
    return manifest | {"metadata": nameless}


def _is_unlabelled(request: AdmissionRequest) -> bool:
    manifests = (request.manifest, request.old or {})
    return not any(contract.FRAMEWORK in labels(manifest) for manifest in manifests)


def _is_made_from_template(manifest: Json) -> bool:
    """Whether this is a pod of a Job, whose template was completed."""
    owners = metadata(manifest).get("ownerReferences") or []
    jobs = (owner for owner in owners if (owner.get("apiVersion"), owner.get("kind")) == JOB_TYPE)
    return manifest.get("kind") == "Pod" and any(jobs)


def _tracked(request: AdmissionRequest) -> Json:
    """A pod of a Job. On creation it may need changes for KubeShare, which binds it."""
    if request.operation != "CREATE" or _is_unlabelled(request):
        return request.manifest
    return kubeshare.with_tracking(request.manifest)


def _is_leaving(manifest: Json) -> bool:
    """Whether the object is being deleted: its finalizers must remain removable."""
    return bool(metadata(manifest).get("deletionTimestamp"))


def _unlabelled(request: AdmissionRequest, context: Context) -> AdmissionVerdict:
    """An object without our label: unchanged, or adopted if its namespace opted in."""
    manifest, policy = request.manifest, request.policy
    if request.operation != "CREATE" or not namespace_defaults.adopts(manifest, policy):
        return AdmissionVerdict(manifest)
    try:
        labelled = namespace_defaults.adopted(manifest, policy)
    except Denied as misfit:
        if not namespace_defaults.has_own_keys(manifest):
            left_alone = namespace_defaults.left_alone(manifest, misfit, policy)
            return AdmissionVerdict(manifest, left_alone)
        another = namespace_defaults.another_would_fit(manifest, misfit)
        origin = (namespace_defaults.origin(policy),) if another else ()
        raise Denied([*misfit.findings, *origin]) from None
    try:
        done = _create(labelled, context, policy)
    except Denied as denied:
        # Name the namespace default as the cause only if the Job has no edl.dev/ key of its own.
        has_own_keys = namespace_defaults.has_own_keys(manifest)
        origin = () if has_own_keys else (namespace_defaults.origin(policy),)
        raise Denied([*denied.findings, *origin]) from None
    raised = namespace_defaults.raised_max(manifest, done.manifest, policy)
    unheeded = unknown_keys.in_template(manifest)
    return AdmissionVerdict(done.manifest, (*done.warnings, *raised, *unheeded))


def _create(manifest: Json, context: Context, policy: NamespacePolicy) -> AdmissionVerdict:
    refuse(copied_jobs.findings(manifest))
    clean, warnings = namespace_defaults.with_defaults(
        owned_annotations.without_owned(ttl_after_finished.defer_ttl(manifest)), policy
    )
    queued, unreadable = other_controllers.findings(manifest), namespace_limits.unreadable(policy)
    try:
        spec = parse(clean)
    except Denied as denied:
        unknown = [Finding("metadata", text) for text in unknown_keys.warnings(manifest)]
        made = bare_pod_warnings.made_by(manifest)
        raise Denied([*queued, *denied.findings, *unknown, *made, *unreadable]) from None
    refuse(queued)
    if pauses.is_to_be_paused(manifest):
        clean = pauses.paused(clean)
    done = webhook_version_skew.marked(complete(clean, spec, context.image), context.release)
    findings = [
        *index_rules.findings(clean, spec),
        *peer_counts.findings(clean, spec),
        *gpus.findings(pod_of(clean).get("spec") or {}, spec.resources.gpu),
        *frameworks.withheld(spec, service_account(clean), context.withheld),
    ]
    refuse([*unreadable, *findings, *namespace_limits.exceeded(manifest, done, spec, policy)])
    of_manifest = owned_annotations.forgery_warnings(manifest, done)
    of_defaults = (*warnings, *kubeshare.warnings(clean, spec))
    of_spec = _spec_warnings(manifest, done, spec, policy)
    return AdmissionVerdict(done, (*of_manifest, *of_defaults, *of_spec))


def _spec_warnings(
    manifest: Json, done: Json, spec: JobSpec, policy: NamespacePolicy
) -> Iterator[str]:
    """What a user should know of a new manifest that was completed to `done`."""
    yield from copied_jobs.warnings(manifest, spec)
    yield from ttl_after_finished.warnings(manifest, done)
    yield from unknown_keys.warnings(manifest)
    yield from namespace_policy.withheld(spec, policy)
    # A completed Job has the mark, and its user was warned then; on a bare Pod it says nothing.
    if manifest.get("kind") == "Pod" or contract.INJECTED_MAX not in annotations(manifest):
        yield from creation_warnings.warnings(manifest, spec)
    yield from bare_pod_warnings.warnings(manifest, done, spec)
    yield from topology_warnings.warnings(done, spec)


def _update(request: AdmissionRequest, old: Json, *, trusted: bool) -> AdmissionVerdict:
    manifest = request.manifest
    if manifest.get("kind") == "Pod" or trusted or _is_leaving(manifest):
        return AdmissionVerdict(manifest)
    if released_jobs.is_handed_back(manifest, old):
        given_back = ttl_after_finished.restore_ttl(manifest, old)
        return AdmissionVerdict(scheduling_gates.give_back(given_back, old))
    if released_jobs.is_released(old):
        return AdmissionVerdict(*released_jobs.still_released(manifest))
    if contract.KUEUE_QUEUE not in labels(old):
        refuse(other_controllers.findings(manifest))
    immutable_names.check_identity(manifest, old)
    deferred = ttl_after_finished.defer_ttl(manifest, old)
    restored, warnings = update_policy.restore(deferred, old, request.user)
    update_policy.check(restored, old, request.policy)
    back = restored_fields.warnings(manifest, old)
    lost = unknown_keys.warnings(manifest, old)
    late = (*topology_warnings.late(restored, old), *stale_env_warnings.warnings(restored, old))
    return AdmissionVerdict(restored, (*warnings, *back, *lost, *late))
