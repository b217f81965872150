"""The part of a pod template that admission depends on: equal parts have equal outcomes."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from edl import contract, device_templates


def admission_inputs(pod_spec: Mapping[str, Any]) -> bytes:
    """The part of a template's pod spec that admission depends on, as deterministic JSON."""
    inputs: dict[str, Any] = {
        name: pod_spec[name]
        for name in ("resources", "overhead", "priorityClassName", "activeDeadlineSeconds")
        if pod_spec.get(name) is not None
    }
    for group in ("containers", "initContainers"):
        inputs[group] = [
            {name: entry[name] for name in ("name", "resources", "restartPolicy") if name in entry}
            for entry in pod_spec.get(group) or ()
        ]
    inputs["gpus"] = device_templates.gpus(pod_spec)
    if _reaches_other_namespaces(pod_spec.get("affinity") or {}):
        inputs["crossNamespace"] = True
    return msgspec.json.encode(inputs, order="deterministic")


def _reaches_other_namespaces(affinity: Mapping[str, Any]) -> bool:
    return any(
        term.get("namespaces") or term.get("namespaceSelector") is not None
        for kind in ("podAffinity", "podAntiAffinity")
        for term in _terms(affinity.get(kind) or {})
    )


def _terms(affinity: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    required = affinity.get(contract.REQUIRED_AFFINITY) or ()
    preferred = affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
    return [*required, *(term.get("podAffinityTerm") or {} for term in preferred)]
