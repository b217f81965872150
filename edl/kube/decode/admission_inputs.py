"""The part of a pod template that admission depends on: equal parts have equal outcomes."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from edl import contract, device_templates


def admission_inputs(pod_spec: Mapping[str, Any]) -> bytes:
    """The part of a template's pod spec that admission depends on, as deterministic JSON."""
    found: dict[str, Any] = {
        name: pod_spec[name]
        for name in ("resources", "overhead", "priorityClassName", "activeDeadlineSeconds")
        if pod_spec.get(name) is not None
    }
    for group in ("containers", "initContainers"):
        found[group] = [
            {name: one[name] for name in ("name", "resources", "restartPolicy") if name in one}
            for one in pod_spec.get(group) or ()
        ]
    found["gpus"] = device_templates.gpus(pod_spec)
    if _reaches_other_namespaces(pod_spec.get("affinity") or {}):
        found["crossNamespace"] = True
    return msgspec.json.encode(found, order="deterministic")


def _reaches_other_namespaces(affinity: Mapping[str, Any]) -> bool:
    return any(
        term.get("namespaces") or term.get("namespaceSelector") is not None
        for kind in ("podAffinity", "podAntiAffinity")
        for term in _terms(affinity.get(kind) or {})
    )


def _terms(found: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    required = found.get(contract.REQUIRED_AFFINITY) or ()
    preferred = found.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
    return [*required, *(one.get("podAffinityTerm") or {} for one in preferred)]
