"""Node pools: the nodes that Karpenter may create, and the manifests that define them."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any, Final

from sandbox.errors import SandboxError
from sandbox.objects.nodes import PREFIX, SIMULATED, quantity, taint

SIZES: Final = (1, 2, 4, 8, 16, 32, 48, 64, 96, 128, 192, 256)
CAPACITY_TYPES: Final = ("on-demand", "spot")
POLICIES: Final = ("WhenEmpty", "WhenEmptyOrUnderutilized", "Balanced")
DURATION: Final = re.compile(r"([0-9]+[smh])+")
_NEVER: Final = "Never"
_BUDGET: Final = re.compile(r"(100|[0-9]{1,2})%|[0-9]+")
_CLASS: Final = ("karpenter.kwok.sh", "KWOKNodeClass")


@dataclass(frozen=True, slots=True)
class NodePool:
    """The nodes that Karpenter may create from one pool: linux on amd64, 2 to 8 GiB per CPU.

    sizes: CPUs per node, of SIZES; the kubelet reserves 0.1 of them. cpu_limit: a quantity, for all
    nodes of the pool. node_delay: from the decision to the node's registration. consolidate_after:
    how long a node is kept after its pods changed, or "Never". empty_budget: how many empty nodes,
    or what part of all, may go at once; Karpenter's default is 10%. Raises SandboxError for invalid
    values.
    """

    name: str = "default"
    sizes: tuple[int, ...] = (8, 16, 32)
    cpu_limit: str = "1000"
    capacity_types: tuple[str, ...] = ("on-demand",)
    node_delay: str = "0s"
    consolidation: str = "WhenEmptyOrUnderutilized"
    consolidate_after: str = "30s"
    empty_budget: str = "10%"
    tainted: bool = False

    def __post_init__(self) -> None:
        if not PREFIX.fullmatch(self.name):
            raise SandboxError(f"node pool {self.name!r}: use small letters, digits and dashes")
        _among("sizes", self.sizes, SIZES)
        _among("capacity types", self.capacity_types, CAPACITY_TYPES)
        _among("consolidation", (self.consolidation,), POLICIES)
        quantity("cpu_limit", self.cpu_limit, "100 or 500m")
        _duration("node_delay", self.node_delay)
        if not _BUDGET.fullmatch(self.empty_budget):
            raise SandboxError(f"empty_budget: {self.empty_budget!r}: write it like 10% or 3")
        if self.consolidate_after != _NEVER:
            _duration("consolidate_after", self.consolidate_after)


SETTINGS: Final = tuple(each.name.replace("_", "-") for each in fields(NodePool))[:-1]
"""Names on the command line, without `tainted`, which the sandbox sets."""


def parsed(settings: Iterable[str]) -> NodePool:
    """The pool of settings such as `sizes=8,16`. Raises SandboxError."""
    values: dict[str, Any] = {}
    for setting in settings:
        key, _, value = setting.partition("=")
        if key not in SETTINGS or not value:
            raise SandboxError(f"{setting!r}: write KEY=VALUE, KEY one of {', '.join(SETTINGS)}")
        values[key.replace("-", "_")] = value
    try:
        if "sizes" in values:
            values["sizes"] = tuple(map(int, values["sizes"].split(",")))
    except ValueError:
        raise SandboxError(f"sizes: {values['sizes']!r}: write CPUs like 8,16") from None
    if "capacity_types" in values:
        values["capacity_types"] = tuple(values["capacity_types"].split(","))
    return NodePool(**values)


def manifests(pool: NodePool) -> list[dict[str, Any]]:
    """The NodePool, and the KWOKNodeClass of the same name that it refers to."""
    group, kind = _CLASS
    node_class = {
        "apiVersion": f"{group}/v1alpha1",
        "kind": kind,
        "metadata": {"name": pool.name},
        "spec": {"nodeRegistrationDelay": pool.node_delay},
    }
    template = {
        "requirements": _requirements(pool),
        "nodeClassRef": {"group": group, "kind": kind, "name": pool.name},
        "expireAfter": _NEVER,
        **({"taints": [taint()]} if pool.tainted else {}),
    }
    disruption = {
        "consolidationPolicy": pool.consolidation,
        "consolidateAfter": pool.consolidate_after,
        "budgets": [
            {"nodes": pool.empty_budget, "reasons": ["Empty"]},
            {"nodes": "10%", "reasons": ["Underutilized", "Drifted"]},
        ],
    }
    node_pool = {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": pool.name},
        "spec": {
            "template": {"metadata": {"labels": {SIMULATED: "true"}}, "spec": template},
            "disruption": disruption,
            "limits": {"cpu": pool.cpu_limit},
        },
    }
    return [node_class, node_pool]


def _requirements(pool: NodePool) -> list[dict[str, Any]]:
    values = {
        "kubernetes.io/os": ("linux",),
        "kubernetes.io/arch": ("amd64",),
        "karpenter.sh/capacity-type": pool.capacity_types,
        "karpenter.kwok.sh/instance-cpu": tuple(map(str, pool.sizes)),
    }
    return [
        {"key": key, "operator": "In", "values": list(allowed)} for key, allowed in values.items()
    ]


def _among(what: str, named: tuple[object, ...], allowed: tuple[object, ...]) -> None:
    unknown = [str(each) for each in named if each not in allowed]
    if unknown or not named:
        raise SandboxError(
            f"{what}: {', '.join(unknown) or 'none'}: choose of {', '.join(map(str, allowed))}"
        )


def _duration(what: str, text: str) -> None:
    if not DURATION.fullmatch(text):
        raise SandboxError(f"{what}: {text!r} is not a duration: write it like 20s or 1m30s")
