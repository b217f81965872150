"""Defaults of a namespace for its Jobs: framework, bounds, priority. The user's settings win.

A default never makes a valid Job invalid: one that does not fit is left out, with a warning.
"""

from collections.abc import Mapping
from typing import Any, Final

from edl import contract
from edl.contract.manifest_parts import (
    annotated,
    annotations,
    has_our_prefix,
    labels,
    metadata,
    template,
    with_metadata,
    with_spec,
)
from edl.errors import Denied, Finding, findings_of, refuse
from edl.frameworks import FRAMEWORKS
from edl.inject import other_controllers, owned_annotations, peer_counts
from edl.inject.warnings import unknown_keys
from edl.model.object_refs import CRON_JOB_TYPE
from edl.parsing.manifest_reader import ManifestReader
from edl.parsing.namespace_policy import NamespacePolicy
from edl.parsing.parser import parse
from edl.spec.job_spec import JobSpec
from edl.writes import Json

_MAKES_OURS: Final = CRON_JOB_TYPE
"""The one controller whose Jobs may be adopted: others size and suspend their Jobs themselves."""


def adopts(manifest: Json, policy: NamespacePolicy) -> bool:
    """Whether to manage an object that has no `edl.dev/framework`."""
    if not policy.adopts or manifest.get("kind") != "Job":
        return False
    return not (
        labels(manifest).get(contract.INJECTION) == contract.DISABLED
        or contract.KUEUE_QUEUE in labels(manifest)
        or other_controllers.manager(manifest)
        or _is_made_by_a_controller(manifest)
        or any(hook in annotations(manifest) for hook in contract.HOOKS)
    )


def reaches_webhook(manifest: Json, policy: NamespacePolicy) -> bool:
    """Whether the API server sends a new Job or bare pod to the webhook, which completes it.

    As the selectors in `manifests/base/admission.yaml`: by its own labels, not by those of its pod
    template, and by the label of its namespace.
    """
    return unknown_keys.trains(manifest) or adopts(manifest, policy)


def _is_made_by_a_controller(manifest: Json) -> bool:
    owners = metadata(manifest).get("ownerReferences") or []
    return any(
        owner.get("controller") and (owner.get("apiVersion"), owner.get("kind")) != _MAKES_OURS
        for owner in owners
    )


def has_own_keys(manifest: Json) -> bool:
    """Whether the object carries any label or annotation of ours."""
    written = (*labels(manifest), *annotations(manifest))
    return any(has_our_prefix(name) for name in written)


def adopted(manifest: Json, policy: NamespacePolicy) -> Json:
    """The manifest with the namespace's framework. Raises Denied if the framework does not fit."""
    labelled = _labelled(manifest, {contract.FRAMEWORK: policy.framework})
    spec = parse(owned_annotations.without_owned(labelled))
    sized = labelled if _has_any_bound(manifest) else _with_own_size(manifest, labelled, spec)
    bounded, _ = with_defaults(owned_annotations.without_owned(sized), policy)
    refuse(() if has_own_keys(manifest) else _peer_findings(bounded))
    return sized


def _with_own_size(manifest: Json, labelled: Json, spec: JobSpec) -> Json:
    """The labelled Job with the size of its file: a migration must not run twice, nor lose a shard.

    Work items stay at most `parallelism` at a time, because their order or a rate limit may depend
    on it; a default min may still lower that. Only a work queue and the peers of a training may get
    more pods. Raises Denied if its pods cannot be peers.
    """
    form = ManifestReader(manifest)
    if form.completions is None:
        return _with_fixed_size(labelled, 1) if form.parallelism == 1 else labelled
    if spec.indexed and form.completions > 1 and not has_own_keys(manifest):
        _deny_static_shards(form.job)
    if spec.indexed or form.completions == 1:
        return _with_fixed_size(labelled, form.completions)
    return _labelled(labelled, {contract.MAX: str(form.parallelism)})


def _deny_static_shards(job: Mapping[str, Any]) -> None:
    """Raises Denied for static shards, which a training would restart or fail with each other."""
    if job.get("completionMode") == "Indexed" and job.get("backoffLimitPerIndex") is None:
        return
    what = f"{job['completions']} items that succeed or fail one by one, not ranks of a training"
    ranks = "those have completionMode Indexed, and no backoffLimitPerIndex"
    raise Denied([Finding("spec.completions", what, ranks)])


def _with_fixed_size(manifest: Json, size: int) -> Json:
    """A Job of `size` pods that each have to succeed, unless its user has set another policy."""
    bounded = _labelled(manifest, {contract.MIN: str(size), contract.MAX: str(size)})
    given = (manifest.get("spec") or {}).get("successPolicy")
    if size == 1 or given:
        return bounded
    return with_spec(bounded, successPolicy={"rules": [{"succeededCount": size}]})


def another_would_fit(manifest: Json, misfit: Denied) -> bool:
    """Whether some framework avoids one of the findings."""
    named = (_labelled(manifest, {contract.FRAMEWORK: name}) for name in FRAMEWORKS)
    others = [set(findings_of(parse, owned_annotations.without_owned(each))) for each in named]
    return not all(set(misfit.findings) <= findings for findings in others)


def origin(policy: NamespacePolicy) -> Finding:
    """A finding that names the source of a framework that the user did not set."""
    return Finding(
        f"metadata.labels[{contract.FRAMEWORK}]",
        f'"{policy.framework}" is {policy.setting(contract.DEFAULT_FRAMEWORK)}',
        f"name another, or opt out by {contract.INJECTION}: {contract.DISABLED}",
    )


def left_alone(manifest: Json, misfit: Denied, policy: NamespacePolicy) -> tuple[str, ...]:
    """Warnings for an object that stays unmanaged, each with its name: a file may hold several.

    The API server cuts each after 256 characters.
    """
    fields = metadata(manifest)
    name = fields.get("name") or f"{fields.get('generateName') or ''}*"
    what = (
        f"an ordinary Job, not elastic: it does not fit {policy.framework}, the default of "
        f"{policy}; {contract.INJECTION}: {contract.DISABLED} says that it need not"
    )
    return tuple(f"Job {name}: {text}" for text in (what, *misfit.findings))


def raised_max(manifest: Json, done: Json, policy: NamespacePolicy) -> tuple[str, ...]:
    """A warning if defaults let an unlabelled Job have more pods than its file asks for."""
    form = ManifestReader(done)
    low, high = (form.count(name, label=True) or 0 for name in (contract.MIN, contract.MAX))
    if _has_any_bound(manifest) or not low <= form.parallelism < high:
        return ()
    what = f"its max is {high} by a default of {policy}, above spec.parallelism {form.parallelism}"
    return (f'{what}: {contract.MAX}: "{form.parallelism}" keeps that',)


def warnings_of_pod_labels(job: Json, policy: NamespacePolicy) -> tuple[str, ...]:
    """What `edl.dev/framework` does that only the pod template of a new Job has.

    The Job is ordinary, or has the namespace's framework, or is left alone if that is another.
    """
    unheeded = unknown_keys.in_template(job)
    if not unheeded or not adopts(job, policy):
        return unheeded
    try:
        adopted(job, policy)
    except Denied as misfit:
        return () if has_own_keys(job) else left_alone(job, misfit, policy)
    return unheeded


def with_defaults(manifest: Json, policy: NamespacePolicy) -> tuple[Json, tuple[str, ...]]:
    """The manifest with the namespace's defaults for absent settings, and warnings for misfits."""
    if manifest.get("kind") != "Job":
        return manifest, ()
    classed, misfits = _with_gpu_class(manifest, policy)
    bounded, warnings = _with_bounds(
        _with_priority(_with_provision(classed, policy), policy), policy
    )
    return bounded, (*misfits, *warnings)


def _with_provision(manifest: Json, policy: NamespacePolicy) -> Json:
    notes = annotations(manifest)
    if not policy.default_provision or contract.PROVISION in notes:
        return manifest
    return annotated(manifest, {contract.PROVISION: policy.default_provision})


def _with_gpu_class(manifest: Json, policy: NamespacePolicy) -> tuple[Json, tuple[str, ...]]:
    """The manifest with the default DeviceClass, if it requests whole GPUs and names no class."""
    notes, device_class = annotations(manifest), policy.default_gpu_class
    spec = None if not device_class or contract.GPU_CLASS in notes else _readable(manifest)
    if spec is None or spec.resources.gpu is None or not spec.resources.gpu.whole:
        return manifest, ()
    classed = annotated(manifest, {contract.GPU_CLASS: device_class})
    try:
        parse(classed)
    except Denied as misfit:
        setting = f"{contract.DEFAULT_GPU_CLASS}: {device_class} of the namespace is not applied"
        return manifest, tuple(f"{setting}: {finding.problem}" for finding in misfit.findings)
    return classed, ()


def _with_priority(manifest: Json, policy: NamespacePolicy) -> Json:
    pod = template(manifest).get("spec") or {}
    if not policy.default_priority or pod.get("priorityClassName") or pod.get("priority"):
        return manifest
    classed = with_spec(template(manifest), priorityClassName=policy.default_priority)
    return with_spec(manifest, template=classed)


def _with_bounds(manifest: Json, policy: NamespacePolicy) -> tuple[Json, tuple[str, ...]]:
    if policy.default_min is None and policy.default_max is None:
        return manifest, ()
    spec = _readable(manifest)
    if spec is None or not _leaves_its_bounds(manifest, spec):
        return manifest, ()
    low, high = _bounds(manifest, spec, policy)
    bounded = _labelled(manifest, {contract.MIN: str(low), contract.MAX: str(high)})
    try:
        findings = _peer_findings(bounded)
    except Denied as denied:
        findings = list(denied.findings)
    if findings:
        return manifest, tuple(f"{low}..{high}, {policy}: {finding}" for finding in findings)
    return bounded, ()


def _peer_findings(manifest: Json) -> list[Finding]:
    """Findings for peers that a default would not give to pods that wait for them."""
    spec = parse(manifest)
    return [*peer_counts.findings(manifest, spec), *peer_counts.option_findings(manifest, spec)]


def _leaves_its_bounds(manifest: Json, spec: JobSpec) -> bool:
    names = labels(manifest)
    has_bounds = (
        contract.ROLES in annotations(manifest) or {contract.MIN, contract.MAX} <= names.keys()
    )
    return not has_bounds and FRAMEWORKS[spec.framework].kinds[spec.role].resizable


def _has_any_bound(manifest: Json) -> bool:
    bounds = {contract.MIN, contract.MAX} & labels(manifest).keys()
    return bool(bounds) or contract.ROLES in annotations(manifest)


def _bounds(manifest: Json, spec: JobSpec, policy: NamespacePolicy) -> tuple[int, int]:
    """Bounds that include those set on the Job, and that do not exceed its work items."""
    names = labels(manifest)
    high = spec.scaling.max
    if contract.MAX not in names:
        high = max(high, policy.default_max or 0, policy.default_min or 0)
        items = (manifest.get("spec") or {}).get("completions")
        if not spec.indexed:
            high = min(high, items or high)
    low = spec.scaling.min
    if contract.MIN not in names and policy.default_min is not None:
        low = min(policy.default_min, high)
    return low, high


def _readable(manifest: Json) -> JobSpec | None:
    try:
        return parse(manifest)
    except Denied:
        return None


def _labelled(manifest: Json, added: Mapping[str, str]) -> Json:
    return with_metadata(manifest, labels={**added, **labels(manifest)})
