"""Changes a cluster's state for what-if: more nodes, or other bounds of a job."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from edl.forecast.remaining_work import left
from edl.frameworks import resizing
from edl.messages.scarcity_messages import listed
from edl.model import ClusterState, Node, Role, TrainingJob
from edl.model.nodes import HOSTNAME
from edl.planner.decision_limits import Limits
from edl.quantities import CPU, MEMORY, PODS, Resources, amount_text
from edl.similar_names import did_you_mean
from edl.simulator import Scenario, from_state
from kubectl_edl.cli.command_errors import Missing, Misused, Refused
from kubectl_edl.cli.param_types import repeated
from kubectl_edl.simulate.scenario.field_reader import amount

_COMMON: Final = (CPU, MEMORY, "ephemeral-storage")
"""Resources that every node has."""
_MAX_PODS: Final = 110
"""The kubelet's default."""
_SHOWN: Final = 63
"""The most characters of a resource's name in a message."""
_SET: Final = re.compile(r"job/((?P<namespace>[^/.]+)/)?(?P<name>.+)\.(?P<field>\w+)=(?P<value>.+)")
_SET_FORM: Final = "job/NAME.max=40, job/NAMESPACE/NAME.min=2, .priority=10, .replicas=8"


def with_nodes(state: ClusterState, count: int, like: str, flags: str = "") -> ClusterState:
    """Add `count` empty nodes: like a named node, with given amounts, or like the most common kind.

    Raises Missing, Misused or Refused if `like` is invalid; `flags` are for the suggested command.
    """
    pattern = _pattern(state, like, flags)
    taken = {node.name for node in state.nodes}
    fresh = (name for name in map("what-if-{}".format, range(count + len(taken))))
    names = [name for name in fresh if name not in taken][:count]
    added = tuple(
        replace(pattern, name=name, labels={**(pattern.labels or {}), HOSTNAME: name})
        for name in names
    )
    return replace(state, nodes=(*state.nodes, *added))


def _pattern(state: ClusterState, like: str, flags: str) -> Node:
    if "=" in like:
        return _node_of(like, state)
    example = next((node for node in state.nodes if node.name == like), None)
    if like and example is None:
        raise Missing(f'no node "{like}"; all of them: kubectl get nodes{flags}')
    usable = [node for node in state.nodes if node.schedulable]
    if not (example or usable):
        raise Refused("the cluster has no node to add more of: --like cpu=16,memory=64Gi")
    if example is None:
        most, _ = Counter(_kind(node) for node in usable).most_common(1)[0]
        example = next(node for node in usable if _kind(node) == most)
    return replace(example.restored, used=Resources(), releasing=Resources())


def _kind(node: Node) -> tuple[object, ...]:
    return node.allocatable, node.taints


def _node_of(text: str, state: ClusterState) -> Node:
    """A node of `cpu=16,memory=64Gi,nvidia.com/gpu=4`; other amounts are the largest node's."""
    amounts = _amounts(text)
    _check_names(text, amounts, state)
    try:
        capacity = sum((amount(*pair) for pair in amounts.items()), Resources())
    except ValueError as error:
        raise Misused(f"--like {text}: {error}; such as cpu=16,memory=64Gi") from error
    usual = {PODS: _MAX_PODS} if PODS not in amounts else {}
    capacity += Resources.of({**usual, **_largest(amounts, state)})
    return Node("what-if", capacity, Resources(), Resources(), labels={})


def added_kind(state: ClusterState, count: int) -> str:
    """The hint which nodes are added where `--like` names none."""
    pattern = _pattern(state, "", "")
    nodes = "the added node is" if count == 1 else f"the {count} added nodes are"
    kinds = {_kind(node) for node in state.nodes if node.schedulable}
    others = "" if len(kinds) == 1 else f", the most common of {len(kinds)} kinds"
    return f"hint: {nodes} like {pattern.name}, with its labels{others}; --like NODE chooses others"


def hints(state: ClusterState, like: str) -> list[str]:
    """Hints on amounts taken from the largest node, and on unknown resources."""
    amounts = _amounts(like) if "=" in like else {}
    names = _resource_names(state)
    remarks = [
        "; ".join(filter(None, (_unknown(name), _meant(name, names))))
        for name in amounts
        if name not in names
    ]
    if largest := _largest(amounts, state) if amounts else {}:
        amounts_text = ", ".join(amount_text(name, amount) for name, amount in largest.items())
        remarks.append(f"and, as the largest node, {amounts_text}")
    return [f"hint: --like {like}: {remark}" for remark in remarks]


def _amounts(like: str) -> dict[str, str]:
    pairs = [part.partition("=") for part in like.split(",")]
    if name := repeated(name.strip() for name, *_ in pairs):
        raise Misused(f"--like {like}: {name} is given more than once: keep one amount")
    return {name.strip(): value.strip() for name, _, value in pairs}


def _largest(amounts: Mapping[str, str], state: ClusterState) -> dict[str, int]:
    """The largest amount on any node of each common resource that is not in `amounts`."""
    most = {
        name: max((node.allocatable.get(name) for node in state.nodes), default=0)
        for name in _COMMON
        if name not in amounts
    }
    return {name: amount for name, amount in most.items() if amount}


def _check_names(text: str, amounts: Iterable[str], state: ClusterState) -> None:
    """Raise Misused for a name without a domain that no node has and no pod requests."""
    names = _resource_names(state)
    for name in amounts:
        if not name:
            raise Misused(f"--like {text}: an amount of nothing; such as cpu=16,memory=64Gi")
        if name not in names and "/" not in name:
            allowed = f"must be one of {', '.join(names)}, or have a domain, as in nvidia.com/gpu"
            raise Misused(f"--like {text}: {_unknown(name)}; {_meant(name, names) or allowed}")


def _resource_names(state: ClusterState) -> list[str]:
    """Resources that a node has or a pod requests, sorted."""
    shapes = [role.template.shape for job in state.jobs for role in job.roles]
    shapes += [demand.shape for demand in state.demands]
    listed = [node.allocatable for node in state.nodes] + [shape.requests for shape in shapes]
    return sorted({*_COMMON, PODS, *(name for amounts in listed for name, _ in amounts.items)})


def _unknown(name: str) -> str:
    return f'no node has "{name[:_SHOWN]}" and no pod asks for it'


def _meant(name: str, names: Sequence[str]) -> str:
    same = [other for other in names if other.rpartition("/")[2] == name]
    return f"did you mean {' or '.join(same)}?" if same else did_you_mean(name, names)


def with_setting(state: ClusterState, setting: str, namespace: str) -> ClusterState:
    """Apply `job/NAME.max=40`. Raises Misused, Refused, or Missing if there is no such job."""
    match = _SET.fullmatch(setting)
    if match is None or match["field"] not in _FIELDS:
        raise Misused(f"--set {setting}: not understood; {_SET_FORM}")
    if not re.fullmatch(r"-?[0-9]{1,9}", match["value"]):
        raise Misused(f'--set {setting}: "{match["value"]}" is not a whole number')
    key = (match["namespace"] or namespace, match["name"])
    current = next((job for job in state.jobs if tuple(job.key) == key), None)
    if current is None:
        raise Missing(f'no training job "{key[1]}" in namespace {key[0]}; {_others(state, key)}')
    changed = _FIELDS[match["field"]](current, int(match["value"]))
    _check(changed, setting)
    return replace(state, jobs=tuple(changed if job is current else job for job in state.jobs))


def _others(state: ClusterState, key: tuple[str, str]) -> str:
    """The jobs of this name in other namespaces as `--set` takes them, else those of this one."""
    keys = sorted(job.key for job in state.jobs)
    named = [f"job/{other}" for other in keys if other.name == key[1]]
    there = ", ".join(other.name for other in keys if other.namespace == key[0])
    return f"it is in: {listed(named)}" if named else f"there: {there or 'none'}"


def _check(job: TrainingJob, setting: str) -> None:
    for role in job.roles:
        if not 1 <= role.spec.min <= role.spec.max:
            what = f"{role.name} would be {role.spec.min}..{role.spec.max}"
            raise Refused(f"--set {setting}: {what}; 1 ≤ min ≤ max")


def _resized(job: TrainingJob, change: Callable[[Role], Role]) -> TrainingJob:
    """Change the roles with min < max, or else the leader roles."""
    how = resizing(job)
    elastic = {role.name for role in job.roles if role.spec.min < role.spec.max}
    chosen = elastic or {role.name for role in job.roles if role.spec.is_leader}

    def changed(role: Role) -> Role:
        resized = change(role)
        elastic = resized.spec.min < resized.spec.max
        return resized.changed(resizing=how) if elastic else resized

    roles = tuple(changed(role) if role.name in chosen else role for role in job.roles)
    return replace(job, roles=roles)


_FIELDS: Final[Mapping[str, Callable[[TrainingJob, int], TrainingJob]]] = {
    "max": lambda job, value: _resized(job, lambda role: role.changed(max=value)),
    "min": lambda job, value: _resized(job, lambda role: role.changed(min=value)),
    "priority": lambda job, value: replace(job, priority=value),
    "replicas": lambda job, value: _resized(job, lambda role: role.changed(replicas=value)),
}


def scenario_of(state: ClusterState, limits: Limits) -> Scenario:
    """The cluster from now on; the remaining work of jobs is that of start estimates."""
    return from_state(state, limits, lambda job: left(job, state.observed_at).work)
