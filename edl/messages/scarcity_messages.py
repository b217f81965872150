"""Messages about nodes, and about the resources or devices that they lack."""

from collections.abc import Mapping, Sequence
from typing import Final

from edl import contract
from edl.model.causes.scarcity import (
    Lack,
    NodePoolLimit,
    NodeRule,
    NoEligibleNode,
    ResourceNeed,
    Scarce,
    Shortage,
    UnplacedMinimum,
)
from edl.model.nodes import NODES, Domain, SplitDomains
from edl.model.selectors import Requirement
from edl.quantities import (
    CPU,
    DEVICE_CLASS,
    Resources,
    devices_text,
    number_text,
    shown_amounts,
)

NAMED: Final = 3
"""This many names are listed; the rest are counted."""
_INSUFFICIENT: Final[Mapping[Scarce, str]] = {
    Scarce.NODES: "nodes",
    Scarce.RULES: "nodes that satisfy its pod (anti-)affinity or topology spread rules",
    Scarce.PORTS: "nodes with free ports for the requested pod ports",
    Scarce.DEVICES: "GPUs with a large enough free share",
}

_SHARED: Final = " (for a share of a GPU, on nodes with KubeShare)"
_APART: Final = " (whole GPUs stay off KubeShare's nodes)"


def listed(names: Sequence[object], separator: str = ", ", most: int = NAMED) -> str:
    """`a, b, c and 2 more`."""
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return separator.join(map(str, names[:most])) + rest


def resource(name: str) -> str:
    """A resource's name as users read it."""
    return "CPU" if name == CPU else scarce(name)


def too_little(name: str) -> str:
    """`too little CPU`."""
    return "too few nodes" if name == NODES else f"too little {resource(name)}"


def may_add(limit: NodePoolLimit) -> str:
    """`NodePools may add 8 more CPU: needs 12`."""
    name = limit.resource
    more = f"{number_text(name, limit.add)} more {resource(name)}"
    return f"NodePools may add {more}: needs {number_text(name, limit.needs)}"


def scarce(name: str) -> str:
    """A resource's name in kube-scheduler's words; DeviceClasses have words of our own."""
    return devices_text(name) if name.startswith(DEVICE_CLASS) else name


def node_rule(about: NoEligibleNode) -> str:
    """Which rule excludes every node."""
    wanted = ", ".join(f"{key}={value}" if value else key for key, value in about.selector)
    labels = ", ".join(key for key, _ in about.selector)
    domain = listed(about.names)
    kubeshare = _SHARED if contract.SHARED_GPU_NODE in dict(about.selector) else ""
    node = "no node that is large enough" if about.large_nodes else "no node"
    nodes = "large enough nodes" if about.large_nodes else "nodes that it selects"
    taints = f"{'taints' if len(about.taints) > 1 else 'taint'} {listed(about.taints)}"
    beside = f"its node selector {wanted} and " if wanted else "its "
    return {
        NodeRule.UNSCHEDULABLE: f"{node} is schedulable",
        NodeRule.NODE_NAME: f"no node is named {listed(about.names)}",
        NodeRule.NODE_SELECTOR: f"{node} matches its node selector {wanted}{kubeshare}",
        NodeRule.NODE_AFFINITY: f"{node} matches {beside}node affinity{_affinity(about.affinity)}",
        NodeRule.TOPOLOGY: f"no node that it may use has the label {labels} of its topology",
        NodeRule.TOPOLOGY_SPREAD: f"no node that it may use has the label {labels} of its topology "
        "spread",
        NodeRule.POD_AFFINITY: f"no pod with {wanted}, which its pod affinity requires, runs in "
        f"the {domain} of a node that it may use",
        NodeRule.POD_ANTI_AFFINITY: f"pod anti-affinity to {wanted} excludes it from the {domain} "
        "of every node that it may use",
        NodeRule.TAINTS: f"it does not tolerate the {taints} of the {nodes}",
        NodeRule.OTHERS_UNSCHEDULABLE: f"{node} that it may use is schedulable",
    }[about.rule]


def _affinity(terms: Sequence[Sequence[Requirement]]) -> str:
    """` disk In ssd or gpu Exists`; empty if nothing is known of them."""
    if not terms:
        return ""
    named = {(need.key, need.operator) for term in terms for need in term}
    apart = (contract.SHARED_GPU_NODE, "NotIn") in named
    alternatives = [" and ".join(map(_requirement, term[:NAMED])) for term in terms]
    return f" {listed(alternatives, ' or ')}{_APART if apart else ''}"


def _requirement(rule: Requirement) -> str:
    values = f"[{listed(rule.values)}]" if len(rule.values) > 1 else "".join(rule.values)
    return " ".join(filter(None, (rule.key, rule.operator, values)))


def needs(entries: Sequence[ResourceNeed]) -> str:
    """`4 x 2 CPU (worker), 1 x 1 CPU (chief)`."""
    return ", ".join(f"{need.pods} x {need.requests} ({need.role})" for need in entries)


def insufficient(lack: Lack) -> str:
    """What is insufficient, with resources in kube-scheduler's words."""
    if lack.scarce is Scarce.RESOURCE:
        names = [name for name, _ in shown_amounts(lack.short)] or [lack.resource]
        return f"Insufficient {' and '.join(map(scarce, names))}"
    return f"Insufficient {_INSUFFICIENT[lack.scarce]}"


def required(domains: Sequence[Domain]) -> str:
    """` in one domain of LABEL`; empty if no topology is required."""
    parts = (f"{one.label} for {one.role}" if one.role else one.label for one in domains)
    return f" in one domain of {', one of '.join(parts)}" if domains else ""


def kept_to(domains: Sequence[Domain]) -> str:
    """` in LABEL=VALUE`; empty if no topology is required."""
    return f" in {', '.join(map(str, domains))}" if domains else ""


def best(domains: Sequence[Domain]) -> str:
    """` in LABEL=VALUE (best domain)`; empty if no topology is required."""
    return f"{kept_to(domains)} (best domain)" if domains else ""


def spread_over(about: SplitDomains) -> str:
    """Where the pods of a violated topology are."""
    noun = "domain" if len(about.domains) == 1 else "domains"
    within = [f"in {noun} {listed(about.domains, ' and ')}"] if about.domains else []
    return " and ".join([*within, *(["on nodes without a domain"] if about.outside else [])])


def unplaced(about: UnplacedMinimum) -> str:
    """What pods of a minimum lack, where, and how long they wait for it."""
    lacks = about.lacks
    why = insufficient(lacks.lack) if isinstance(lacks, Shortage) else node_rule(lacks)
    where = f"{why}{kept_to(about.domains)} for pods of its minimum: needs {needs(lacks.needs)}"
    if about.seconds is None:
        return where
    return f"{where}; it goes back to the queue once one has waited {about.seconds:g} s"


def placeable(about: UnplacedMinimum) -> str:
    """How many of several pods fit; empty if none does, or if rules exclude some of them."""
    if not isinstance(about.lacks, Shortage):
        return ""
    pods, fitting = sum(need.pods for need in about.lacks.needs), about.lacks.fitting
    return f"{fitting} of {pods} pods fit" if 0 < fitting < pods else ""


def lacking(requests: Resources, most: Resources) -> Resources:
    """The part of a pod's requests that no node has enough of; empty if each fits somewhere."""
    return Resources.of({name: need for name, need in requests if need > most.get(name)})


def amounts_of(amounts: Resources, names: Resources) -> Resources:
    """The amounts of the resources that `names` has, too."""
    return Resources.of({name: amounts.get(name) for name, _ in names})
