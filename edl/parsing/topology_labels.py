"""Parses `edl.dev/required-topology` and `edl.dev/preferred-topology`."""

from typing import Final

from edl import contract
from edl.dns_names import is_label_key
from edl.model.nodes import MAX_TOPOLOGY_LABELS, Topology
from edl.parsing.manifest_reader import ManifestReader

_EXAMPLE: Final = "the key of a node label, such as topology.kubernetes.io/zone"


def read(form: ManifestReader, roles: frozenset[str]) -> Topology:
    """The topology that the annotations ask for; empty if they are absent.

    If they are invalid the form has findings. `roles` are the training job's.
    """
    required = [_required(form, part, roles) for part in _parts(form, contract.REQUIRED_TOPOLOGY)]
    named = [role for role, _ in required]
    if len(set(named)) < len(named):
        path = form.annotation_path(contract.REQUIRED_TOPOLOGY)
        form.found(path, "two labels for the same pods", "one label, and one for each ROLE=LABEL")
    preferred = _parts(form, contract.PREFERRED_TOPOLOGY)
    for label in preferred:
        _check(form, contract.PREFERRED_TOPOLOGY, label)
    return Topology(tuple(sorted(required)), tuple(dict.fromkeys(preferred)))


def _parts(form: ManifestReader, name: str) -> list[str]:
    text = form.annotations.get(name)
    parts = [] if text is None else [part.strip() for part in text.split(",", MAX_TOPOLOGY_LABELS)]
    if len(parts) > MAX_TOPOLOGY_LABELS:
        form.found(form.annotation_path(name), "too many labels", f"at most {MAX_TOPOLOGY_LABELS}")
        return []
    return parts


def _required(form: ManifestReader, part: str, roles: frozenset[str]) -> tuple[str, str]:
    role, equals, label = part.rpartition("=")
    if equals and role not in roles:
        names = ", ".join(sorted(roles))
        path = form.annotation_path(contract.REQUIRED_TOPOLOGY)
        form.found(path, f'it has no role "{role}"', f"one of {names}")
    _check(form, contract.REQUIRED_TOPOLOGY, label)
    return role, label


def _check(form: ManifestReader, name: str, label: str) -> None:
    if not is_label_key(label):
        form.found(form.annotation_path(name), f'"{label}" is not a label', _EXAMPLE)
