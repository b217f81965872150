"""What an update may change after creation, and what only the reconciler may change."""

from collections.abc import Mapping
from typing import Final

from edl import contract
from edl.contract import registry
from edl.contract.manifest_parts import (
    annotated,
    annotations,
    has_our_prefix,
    is_paused,
    labels,
    metadata,
    namespace_option,
    template,
    with_metadata,
    with_spec,
)
from edl.errors import Denied, Finding, findings_of, refuse
from edl.frameworks import FRAMEWORKS, is_ranked
from edl.inject import namespace_limits, peer_counts
from edl.inject.pods import gpus, rule_growth, scheduling_gates
from edl.inject.pods.pod_failure_policy import is_our_limit
from edl.inject.warnings.suspend_warnings import stays_suspended, suspended
from edl.model import Code
from edl.parsing.namespace_policy import NamespacePolicy
from edl.parsing.parser import parse
from edl.parsing.yaml_values import whole
from edl.spec import index_rules
from edl.spec.job_spec import RETRIES, JobSpec
from edl.writes import Json

WRITTEN_OUT: Final = (contract.JOB, contract.ROLE, contract.MIN, contract.MAX)
"""Labels that the webhook fills in: a user's file need not contain them."""


_DEFAULTED: Final = "; Kueue adds it in a namespace with a LocalQueue named default"
_CONTROLLER: Final = "system:serviceaccount:"
_SIZES: Final = ("parallelism", "completions")
_OUTCOME: Final = (contract.REASON, contract.MESSAGE)


def manager(manifest: Json) -> str:
    """The controller in `spec.managedBy`; empty for the Job controller."""
    owner: str = (manifest.get("spec") or {}).get("managedBy") or ""
    return "" if owner == contract.JOB_CONTROLLER else owner


def other_queues(manifest: Json) -> list[Finding]:
    """Findings for a labelled Job that another controller runs or queues, or that opts out."""
    findings = []
    if owner := manager(manifest):
        what = f'this Job belongs to "{owner}"'
        findings.append(Finding("spec.managedBy", what, f"remove it, or {contract.FRAMEWORK}"))
    if contract.KUEUE_QUEUE in labels(manifest):
        path = f"metadata.labels[{contract.KUEUE_QUEUE}]"
        added = _DEFAULTED if labels(manifest)[contract.KUEUE_QUEUE] == "default" else ""
        ways = f"remove it, or {contract.FRAMEWORK}: a Job has exactly one queue{added}"
        what = "this Job waits in a Kueue queue, and both would suspend and start it"
        findings.append(Finding(path, what, ways))
    if labels(manifest).get(contract.INJECTION, contract.ENABLED) != contract.ENABLED:
        path = f"metadata.labels[{contract.INJECTION}]"
        what = f'"{labels(manifest)[contract.INJECTION]}" beside {contract.FRAMEWORK}'
        findings.append(Finding(path, what, "remove one of them"))
    return findings


def without_ours(manifest: Json) -> Json:
    """The manifest without annotations that only we may write, on the object and its template."""
    clean, pods = _without_owned(manifest), template(manifest)
    return with_spec(clean, template=_without_owned(pods)) if pods else clean


def _without_owned(part: Json) -> Json:
    before = annotations(part)
    after = {name: text for name, text in before.items() if not _is_owned_annotation(name)}
    return part if len(after) == len(before) else with_metadata(part, annotations=after)


def forgery_warnings(given: Json, stored: Json) -> tuple[str, ...]:
    """A warning for each annotation of ours whose given value is not stored."""
    pairs = (
        (annotations(given), annotations(stored)),
        (annotations(template(given)), annotations(template(stored))),
    )
    names = sorted(
        name
        for before, after in pairs
        for name in registry.OWNED_ANNOTATIONS & before.keys()
        if after.get(name) != before[name]
    )
    return tuple(f"{name} is written only by kubectl-edl: your value was dropped" for name in names)


def paused(manifest: Json, user: str = "") -> Json:
    """The manifest with the user's `suspend: true` recorded as `edl.dev/paused`.

    A controller is named, because no user paused the job, and it may suspend the Job again.
    """
    names_it = user.startswith(_CONTROLLER) and not is_paused(manifest)
    by = {contract.PAUSED_BY: user} if names_it else {}
    return annotated(manifest, {contract.PAUSED: contract.TRUE, **by})


def is_handed_back(new: Json, old: Json) -> bool:
    """Whether the update removes all labels and annotations of ours, to release the Job."""
    names = (*labels(new), *annotations(new))
    stays = any(has_our_prefix(name) for name in names)
    return contract.FRAMEWORK in labels(old) and not stays


def is_released(job: Json) -> bool:
    """Whether the Job was released: its immutable parts still show that we managed it.

    These are the pod template's labels (`edl.dev/job` is absent under generateName) and, for ranked
    pods, completionMode Indexed. A user's own labels on the template do not suffice.
    """
    pod_labels = labels(template(job))
    framework = FRAMEWORKS.get(pod_labels.get(contract.FRAMEWORK, ""))
    if framework is None or contract.FRAMEWORK in labels(job) or contract.ROLE not in pod_labels:
        return False
    named = contract.JOB in pod_labels or "generateName" in metadata(job)
    indexed = (job.get("spec") or {}).get("completionMode") == "Indexed"
    return named and (indexed or not framework.ranked)


def still_released(job: Json) -> tuple[Json, tuple[str, ...]]:
    """An update of a released Job that brings our labels back: the Job without them, and a warning.

    The API server copies the template's labels to a Job that is sent without labels (batch/v1,
    SetDefaults_Job). A file with our labels looks the same, so both are treated alike.
    """
    name = metadata(job).get("name", "")
    rest, notes = _some_label(job, labels(job)), _foreign(annotations(job))
    warning = (
        f"{name} was released and stays an ordinary Job, without names of "
        f"{contract.PREFIX}: kubectl edl release -f FILE removes them from its file, "
        f"kubectl edl adopt -f FILE … | kubectl replace --force{namespace_option(job)} -f - "
        "makes it elastic again"
    )
    return with_metadata(job, labels=rest, annotations=notes), (warning,)


def others_labels(job: Json) -> dict[str, str]:
    """The labels, except ours, that the API server would give to a Job without labels."""
    return _some_label(job, labels(template(job)))


def _some_label(job: Json, given: Mapping[str, str]) -> dict[str, str]:
    """The labels without ours. If none is left, one that prevents the API server's default."""
    usual = {contract.JOB_NAME_LABEL: metadata(job).get("name", "")}
    return _foreign(given) or usual


def _foreign(entries: Mapping[str, str]) -> dict[str, str]:
    return {name: text for name, text in entries.items() if not has_our_prefix(name)}


def adoption(job: Json) -> str:
    """The command for a Job that never was elastic; its options are left to the user."""
    name = metadata(job).get("name", "")
    return f"kubectl edl adopt {name}{namespace_option(job)} --recreate …"


def held(new: Json, old: Json, user: str = "") -> tuple[Json, tuple[str, ...]]:
    """`new` with all fields restored that users may not change, and a warning for each."""
    if contract.PAUSED_BY in annotations(old) and not is_paused(new):
        new, old = _resumed(new), _resumed(old)
    written_out = {name: labels(old)[name] for name in WRITTEN_OUT if name in labels(old)}
    labelled = with_metadata(new, labels={**written_out, **labels(new)})
    restored = _with_owned_of(labelled, _without_outcome(new, old))
    pods, before = template(new), template(old)
    if pods:
        pods = gpus.placed_again(_with_owned_of(pods, before), before)
        pods = scheduling_gates.with_ours(pods, before)
    spec = (new.get("spec") or {}) | ({"template": pods} if pods else {})
    if _is_paused_by(new, old, user):
        restored = annotated(restored, {contract.PAUSED_BY: user})
    warnings = [*forgery_warnings(new, restored | {"spec": spec})]
    old_spec = old.get("spec") or {}
    sizes = {name: old_spec[name] for name in _SIZES if name in old_spec}
    if spec.get("suspend") and not old_spec.get("suspend"):
        restored = paused(restored, user)
        warnings.append(suspended(old, name_of(old)))
    elif old_spec.get("suspend") and not spec.get("suspend"):
        warnings.append(stays_suspended(new, old, name_of(old)))
    suspend = {"suspend": bool(old_spec.get("suspend"))}
    return restored | {"spec": spec | sizes | suspend | _left_out(spec, old)}, tuple(warnings)


def _is_paused_by(new: Json, old: Json, user: str) -> bool:
    """Whether this is the first pass's result for a controller: another webhook changed it since.

    A controller that writes the annotation itself states no more than what is true.
    """
    names_it = annotations(new).get(contract.PAUSED_BY) == user and user.startswith(_CONTROLLER)
    return names_it and is_paused(new) and not is_paused(old)


def _resumed(manifest: Json) -> Json:
    before = annotations(manifest)
    after = {name: text for name, text in before.items() if name != contract.PAUSED_BY}
    return with_metadata(manifest, annotations=after)


def _without_outcome(new: Json, old: Json) -> Json:
    """`old` without the message of a reverted scale-up, if an edit removed it with its request."""
    given, before = annotations(new), annotations(old)
    edited = contract.INJECTED_MAX in given and contract.REASON not in given
    if not edited or before.get(contract.REASON) != Code.SCALE_FAILED:
        return old
    after = {name: text for name, text in before.items() if name not in _OUTCOME}
    return with_metadata(old, annotations=after)


def _left_out(spec: Json, old: Json) -> Json:
    """The webhook's values of fields that a file leaves out, and that the API would default.

    kubectl removes such fields when server-side apply takes over from `kubectl apply`.
    """
    before = old.get("spec") or {}
    ranked = is_ranked(old) and before.get("completionMode") == "Indexed"
    replaced = contract.RESTART in annotations(old) and "podFailurePolicy" in before
    made = (
        ("backoffLimit", RETRIES, is_our_limit(old)),
        ("completionMode", "NonIndexed", ranked),
        ("podReplacementPolicy", "TerminatingOrFailed", replaced),
    )
    return _with_restart_policy(spec.get("template") or {}, old) | {
        name: before[name] for name, default, ours in made if ours and spec.get(name) == default
    }


def _with_restart_policy(pods: Json, old: Json) -> Json:
    """The template with the policy that `edl.dev/restart` gave it; Always is the API's default."""
    if contract.RESTART not in annotations(old):
        return {}
    if (pods.get("spec") or {}).get("restartPolicy") != "Always":
        return {}
    before = (template(old).get("spec") or {}).get("restartPolicy")
    return {"template": with_spec(pods, restartPolicy=before)}


def _with_owned_of(part: Json, old: Json) -> Json:
    mine = {
        name: text for name, text in annotations(part).items() if not _is_owned_annotation(name)
    }
    ours = {name: text for name, text in annotations(old).items() if _is_owned_annotation(name)}
    same = mine | ours == annotations(part)
    return part if same else with_metadata(part, annotations=mine | ours)


def _is_owned_annotation(name: str) -> bool:
    return name in registry.OWNED_ANNOTATIONS


def name_of(manifest: Json) -> str:
    """The name of the training job to which this Job belongs."""
    return labels(manifest).get(contract.JOB) or metadata(manifest).get("name", "")


def check(new: Json, old: Json, policy: NamespacePolicy) -> None:
    """Raises Denied for labels that no longer parse, and for bounds beyond what the pods allow.

    Nor may a Job grow above its namespace's limits. A finding that the old object has already is
    not an error: otherwise it could no longer be edited.
    """
    more_rules = rule_growth.findings(new, old)
    try:
        spec = parse(new)
    except Denied as denied:
        before = findings_of(parse, old)
        findings = [finding for finding in denied.findings if finding not in before]
        refuse([*findings, *more_rules])
        return
    most = whole(annotations(old).get(contract.INJECTED_MAX, ""))
    if most is not None and spec.scaling.max > most and is_ranked(old):
        path = f"metadata.labels[{contract.MAX}]"
        allowed = f"at most {most}: its pods were completed for that many; recreate it for more"
        raise Denied([Finding(path, f"{spec.scaling.max}", allowed)])
    refuse(
        [*more_rules, *_too_low(new, old, spec), *namespace_limits.outgrown(new, old, spec, policy)]
    )


def _too_low(new: Json, old: Json, spec: JobSpec) -> list[Finding]:
    """Findings for a lowered min that is too small for the Job's pods or its index rules."""
    if labels(new).get(contract.MIN) == labels(old).get(contract.MIN):
        return []
    findings = peer_counts.findings(
        old, spec, "recreate the Job, with a smaller {} if its file has one"
    )
    return findings or index_rules.findings(new, spec)
