"""What an update may change after creation, and what only the reconciler may change."""

from typing import Final

from edl import contract
from edl.contract.manifest_parts import (
    annotated,
    annotations,
    is_paused,
    labels,
    metadata,
    template,
    with_metadata,
    with_spec,
)
from edl.errors import Denied, Finding, findings_of, refuse
from edl.frameworks import is_ranked
from edl.inject import namespace_limits, owned_annotations, pauses, peer_counts
from edl.inject.pods import gpus, scheduling_gates
from edl.inject.pods.pod_failure_policy import is_our_limit
from edl.inject.updates.suspend_warnings import stays_suspended, suspended
from edl.model import Code
from edl.parsing.namespace_policy import NamespacePolicy
from edl.parsing.parser import parse
from edl.parsing.yaml_values import whole
from edl.spec import index_rules
from edl.spec.job_spec import RETRIES, JobSpec
from edl.writes import Json

WRITTEN_OUT: Final = (contract.JOB, contract.ROLE, contract.MIN, contract.MAX)
"""Labels that the webhook fills in: a user's file need not contain them."""
SIZES: Final = ("parallelism", "completions")
_OUTCOME: Final = (contract.REASON, contract.MESSAGE)


def restore(new: Json, old: Json, user: str = "") -> tuple[Json, tuple[str, ...]]:
    """`new` with all fields restored that users may not change, and a warning for each."""
    if contract.PAUSED_BY in annotations(old) and not is_paused(new):
        new, old = pauses.without_pauser(new), pauses.without_pauser(old)
    written_out = {name: labels(old)[name] for name in WRITTEN_OUT if name in labels(old)}
    labelled = with_metadata(new, labels={**written_out, **labels(new)})
    restored = owned_annotations.with_owned_of(labelled, _without_removed(new, old))
    pods, before = template(new), template(old)
    if pods:
        pods = gpus.placed_again(owned_annotations.with_owned_of(pods, before), before)
        pods = scheduling_gates.with_ours(pods, before)
    spec = (new.get("spec") or {}) | ({"template": pods} if pods else {})
    if pauses.is_paused_by(new, old, user):
        restored = annotated(restored, {contract.PAUSED_BY: user})
    warnings = [*owned_annotations.forgery_warnings(new, restored | {"spec": spec})]
    old_spec = old.get("spec") or {}
    sizes = {name: old_spec[name] for name in SIZES if name in old_spec}
    if spec.get("suspend") and not old_spec.get("suspend"):
        restored = pauses.paused(restored, user)
        warnings.append(suspended(old, name_of(old)))
    elif old_spec.get("suspend") and not spec.get("suspend"):
        warnings.append(stays_suspended(new, old, name_of(old)))
    suspend = {"suspend": bool(old_spec.get("suspend"))}
    return restored | {"spec": spec | sizes | suspend | _left_out(spec, old)}, tuple(warnings)


def _without_removed(new: Json, old: Json) -> Json:
    """`old` without the annotations of ours that an edit may remove, and has removed.

    Those are what admission added to pods of the last run, and the message of a reverted scale-up
    together with its request. A file that replaces the Job need not have either.
    """
    given, before = annotations(new), annotations(old)
    if contract.INJECTED_MAX not in given:
        return old
    reverted = before.get(contract.REASON) == Code.SCALE_FAILED and contract.REASON not in given
    removed = {contract.ADDED_REQUESTS} - given.keys() | ({*_OUTCOME} if reverted else set())
    if not removed & before.keys():
        return old
    after = {name: text for name, text in before.items() if name not in removed}
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


def name_of(manifest: Json) -> str:
    """The name of the training job to which this Job belongs."""
    return labels(manifest).get(contract.JOB) or metadata(manifest).get("name", "")


def check(new: Json, old: Json, policy: NamespacePolicy) -> None:
    """Raises Denied for labels that no longer parse, and for bounds beyond what the pods allow.

    Nor may a Job grow above its namespace's limits. A finding that the old object has already is
    not an error: otherwise it could no longer be edited.
    """
    try:
        spec = parse(new)
    except Denied as denied:
        before = findings_of(parse, old)
        refuse([finding for finding in denied.findings if finding not in before])
        return
    most = whole(annotations(old).get(contract.INJECTED_MAX, ""))
    if most is not None and spec.scaling.max > most and is_ranked(old):
        path = f"metadata.labels[{contract.MAX}]"
        allowed = f"at most {most}: its pods were completed for that many; recreate it for more"
        raise Denied([Finding(path, f"{spec.scaling.max}", allowed)])
    refuse([*_too_low(new, old, spec), *namespace_limits.outgrown(new, old, spec, policy)])


def _too_low(new: Json, old: Json, spec: JobSpec) -> list[Finding]:
    """Findings for a lowered min that is too small for the Job's pods or its index rules."""
    if labels(new).get(contract.MIN) == labels(old).get(contract.MIN):
        return []
    findings = peer_counts.findings(
        old, spec, "recreate the Job, with a smaller {} if its file has one"
    )
    return findings or index_rules.findings(new, spec)
