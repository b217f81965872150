"""Copies of stored Jobs: their pod templates have what was completed for the original."""

from edl import contract
from edl.contract.manifest_parts import annotations, labels, metadata, template
from edl.errors import Finding
from edl.inject.pods import mutate_pod
from edl.spec.job_spec import JobSpec
from edl.writes import Json


def findings(given: Json) -> list[Finding]:
    """A finding for a copy under another name: its pods would join those of the original."""
    original = _completed_for(given)
    if original in ("", labels(given).get(contract.JOB) or metadata(given).get("name")):
        return []
    what = f"this is a copy of {original}: its pod template has what was completed for {original}"
    return [Finding("spec.template", what, f"apply the original file of {original} with this name")]


def _completed_for(given: Json) -> str:
    """The training job for which the webhook completed the template; empty if it did not.

    Without the label, which a copy must not have, the preference for nodes of its pods tells it.
    """
    if contract.INJECTED_MAX not in annotations(given):
        return ""
    pods = template(given)
    return labels(pods).get(contract.JOB) or mutate_pod.near_which(pods.get("spec") or {})


def warnings(given: Json, spec: JobSpec) -> tuple[str, ...]:
    """A warning for a copy of a stored Job that would join the original's training job."""
    joined = labels(given).get(contract.JOB, spec.name)
    # A reason is the reconciler's; the webhook's own annotations may come from its first pass.
    copied = contract.REASON in annotations(given) and len(spec.all_roles) == 1
    if not copied or joined == spec.name:
        return ()
    warning = (
        f"{contract.JOB}: {joined} puts this copy into {joined}, which leaves it out if started, "
        "else both wait; apply the original's file instead, without this label"
    )
    return (warning,)
