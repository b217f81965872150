"""Scheduling gates in the pod templates of Jobs; the reconciler opens them pod by pod."""

from collections.abc import Mapping
from typing import Final

from edl import contract
from edl.contract.manifest_parts import has_our_prefix, with_spec
from edl.frameworks import mode_of
from edl.inject.pods import kubeshare
from edl.spec.job_spec import JobSpec
from edl.writes import Json

FIELD: Final = "schedulingGates"


def with_gate(pod: Json, name: str) -> Json:
    gates, gate = pod.get(FIELD) or [], {"name": name}
    return pod if gate in gates else pod | {FIELD: [*gates, gate]}


def with_placement(pod: Json, spec: JobSpec, labels: Mapping[str, str]) -> Json:
    """The pod spec with the placement gate, if the plan assigns nodes to its pods.

    The plan does so for training jobs that start as a whole, for pods that share devices, and for
    pods with a topology. It does not place bare pods, pods with a nodeName, or pods that
    KubeShare's scheduler binds.
    """
    placed_by_others = spec.rank is not None or pod.get("nodeName") or kubeshare.binds(pod, labels)
    mode = mode_of(spec)
    together = mode is not None and mode.needs_placement(spec.role_names)
    placed = together or spec.scheduling.topology or kubeshare.is_share(labels)
    if placed_by_others or not placed:
        return pod
    return with_gate(pod, contract.PLACEMENT_GATE)


def with_ours(template: Json, old: Json) -> Json:
    """The pod template that a user changed, with our gates restored.

    While a Job is suspended its gates may change: without them its pods would be scheduled without
    a plan.
    """
    before, now = _names(old), _names(template)
    if all(name in now for name in before if has_our_prefix(name)):
        return template
    names = [name for name in before if name in now or has_our_prefix(name)]
    names += [name for name in now if name not in names]
    return with_spec(template, **{FIELD: [{"name": name} for name in names]})


def give_back(new: Json, old: Json) -> Json:
    """The released Job without our gates, which would never open, if its template is mutable."""
    spec, status = new.get("spec") or {}, old.get("status") or {}
    waits = spec.get("suspend") and (old.get("spec") or {}).get("suspend")
    template = without_ours(spec.get("template") or {})
    stays = not waits or status.get("startTime") or template == spec.get("template")
    return new if stays else with_spec(new, template=template)


def without_ours(template: Json) -> Json:
    """A pod template, or a bare pod, without our gates."""
    pod = template.get("spec") or {}
    gates = pod.get(FIELD) or []
    others = [gate for gate in gates if not has_our_prefix(gate.get("name", ""))]
    if len(others) == len(gates):
        return template
    rest = {field: value for field, value in pod.items() if field != FIELD}
    return template | {"spec": rest | ({FIELD: others} if others else {})}


def has_ours(job: Json) -> bool:
    """Whether the Job's pods have gates of ours."""
    return any(map(has_our_prefix, _names((job.get("spec") or {}).get("template") or {})))


def places(manifest: Json) -> bool:
    """Whether the pods of a Job, or a bare pod, wait for a node that the plan assigns."""
    spec = manifest.get("spec") or {}
    return contract.PLACEMENT_GATE in _names(spec.get("template") or {"spec": spec})


def _names(template: Json) -> list[str]:
    return [gate.get("name", "") for gate in (template.get("spec") or {}).get(FIELD) or ()]
