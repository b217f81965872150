"""MPIJob v1alpha1: one template for all, and a number of GPUs or other units, or of replicas.

What the operator made of it: kubeflow/mpi-operator, mpi_job_controller of that version.
"""

from typing import Final

from edl import contract
from edl.convert.parts import pod_templates
from edl.convert.parts.replica_specs import Replica
from edl.convert.tracked_object import Fields
from edl.writes import Json

_UNITS: Final = ("processingUnits", "gpus")
_UNITS_A_NODE: Final = ("processingUnitsPerNode", "gpusPerNode")
_USUAL_A_NODE: Final = 8
"""As the operator's own manifest said it: `--gpus-per-node 8`."""
_MASTER: Final = "node-role.kubernetes.io/master"


def read(spec: Fields) -> tuple[Replica, ...]:
    """The launcher and the workers, with what the operator added to the template of each."""
    policy, template = pod_templates.restart_of(spec, pod_templates.read(spec))
    size, units = _workers(spec)
    launcher = pod_templates.with_first(
        template, lambda one: pod_templates.without(one, "resources")
    )
    if spec.flag("launcherOnMaster"):
        launcher = _on_master(launcher)
    worker = pod_templates.with_first(template, lambda one: _waiting(one, units))
    return (
        Replica("launcher", 1, launcher, "Never" if policy == "Never" else "OnFailure", spec),
        Replica("worker", size, worker, "OnFailure", spec),
    )


def _workers(spec: Fields) -> tuple[int, dict[str, int]]:
    """How many, and the units of each; the operator wants them to come out even."""
    resource = spec.text("processingResourceType") or contract.GPU_RESOURCE
    units, a_node = _first(spec, _UNITS), _first(spec, _UNITS_A_NODE)
    replicas = spec.whole("replicas", least=1)
    if units is None:
        return replicas or 1, {}
    if replicas is not None:
        spec.wrong("replicas", "stands beside a number of processing units", "keep one of them")
    if a_node is None:
        a_node = _USUAL_A_NODE
        what = f"{_USUAL_A_NODE} a node, as the operator's manifest said"
        spec.note("", what, "write processingUnitsPerNode for another number")
    if units < a_node:
        return 1, {resource: units}
    if units % a_node:
        spec.wrong("", f"{units} units are not a multiple of {a_node} a node", "choose a multiple")
    return units // a_node, {resource: a_node}


def _first(spec: Fields, names: tuple[str, str]) -> int | None:
    new, old = (spec.whole(name, least=1) for name in names)
    if new is not None and old is not None:
        spec.wrong(names[1], f"stands beside {names[0]}", "keep one of them")
    return old if new is None else new


def _waiting(container: Json, units: dict[str, int]) -> Json:
    """The template's command is the launcher's. Units that the template says itself win."""
    bare = pod_templates.without(pod_templates.without(container, "command"), "args")
    resources = container.get("resources") or {}
    limits = {**units, **(resources.get("limits") or {})}
    return bare | ({"resources": resources | {"limits": limits}} if limits else {})


def _on_master(template: Json) -> Json:
    spec = template["spec"]
    term = {"matchExpressions": [{"key": _MASTER, "operator": "Exists"}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    return template | {
        "spec": spec
        | {
            "tolerations": [{"key": _MASTER, "effect": "NoSchedule"}],
            "affinity": {"nodeAffinity": required},
        }
    }
