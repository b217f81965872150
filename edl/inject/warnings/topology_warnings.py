"""Warnings about topologies without effect, as the plan does not place the pods."""

from typing import Final

from edl import contract
from edl.contract.manifest_parts import annotations
from edl.inject.pods import scheduling_gates
from edl.spec.job_spec import JobSpec
from edl.writes import Json

_NAMES: Final = (contract.REQUIRED_TOPOLOGY, contract.PREFERRED_TOPOLOGY)


def warnings(done: Json, spec: JobSpec) -> tuple[str, ...]:
    """Warnings for a new object, as stored, whose pods are not placed by the plan."""
    if not spec.scheduling.topology or scheduling_gates.places(done):
        return ()
    if spec.rank is not None:
        why = "no plan places bare pods"
    elif ((done["spec"].get("template") or {}).get("spec") or {}).get("nodeName"):
        why = "spec.template.spec.nodeName names their node"
    else:
        why = "KubeShare's scheduler binds them"
    names = [name for name in _NAMES if name in annotations(done)]
    return (f"{_do_nothing(names)} for these pods: {why}",)


def late(new: Json, old: Json) -> tuple[str, ...]:
    """Warnings for an update that sets a topology on a Job whose pods have no placement gate."""
    before, after = annotations(old), annotations(new)
    names = [name for name in _NAMES if name in after and after[name] != before.get(name)]
    if not names or scheduling_gates.places(new):
        return ()
    way_out = "its pod template was made without it; delete the Job and create it again"
    return (f"{_do_nothing(names)} on this Job: {way_out}",)


def _do_nothing(names: list[str]) -> str:
    return f"{' and '.join(names)} {'does' if len(names) == 1 else 'do'} nothing"
