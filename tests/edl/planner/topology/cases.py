"""A situation: nodes as a tree of domains, what a training job asks, and where its pods are to be.

Situations are those of Kueue's public tests of topology-aware scheduling (kubernetes-sigs/kueue,
commit ff69552: the tests of pkg/cache/scheduler and test/integration/singlecluster/tas), told in
our terms. Where the answer differs on purpose, `differs` says why and `kueue` has Kueue's.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from edl.model import ClusterState, Node, Role, Topology, TrainingJob
from edl.model.causes.scarcity import Shortage
from edl.planner.plan import Plan
from edl.quantities import Resources
from tests.edl.planner.plans import plan_for
from tests.edl.planner.states import at, busy, cluster, job, node, pod, role, room, shape

HOST: Final = "host"
WAITS: Final = ()
"""The answer where no pod gets a node."""
ANYWHERE: Final = ("host",)
"""The answer where all pods start, and it does not matter on which hosts."""


class Ask(NamedTuple):
    """One role: `count` pods of so much each, or as many as `on` names the hosts of.

    A host in `on` after "-" was lost: a gated pod comes in the place of the one that ran there.
    """

    role: str
    count: int  # type: ignore[assignment]
    cpu: float = 1
    gpu: int = 0
    memory: str = "0"
    most: int = 0
    """It may grow to so many."""
    on: str = ""
    rules: Mapping[str, Any] = {}
    """Other fields of its shape."""


class Case(NamedTuple):
    """`tree`: a line for each domain, `block/rack: host=CPU[/GPUs[/pods]] …`.

    A domain's name is its path with dashes. `required` and `preferred` are the values of the
    annotations, with short names of levels. An answer is a tuple of lines, each a level (of one
    role: ROLE@LEVEL) and pods by domain: `rack b1-r1:2 b1-r2|b1-r3:1`; a number without a name is
    that many pods in a domain that is not said, `#2` is a number of domains, and a level alone says
    nothing of them.
    """

    name: str
    tree: str
    asks: tuple[Ask, ...]
    expect: tuple[str, ...] = WAITS
    required: str = ""
    preferred: str = ""
    nearest: str = ""
    """The domain that comes nearest where none fits, and how many of the pods fit into it."""
    differs: str = ""
    kueue: tuple[str, ...] = WAITS
    """Kueue's answer, where it differs."""
    taken: str = ""
    """What pods of others hold: `host=CPU[/GPUs[/pods]] …`."""
    nodes: Mapping[str, Mapping[str, Any]] = {}
    """Other fields of nodes by their names; `labels` are added."""
    levels: tuple[str, ...] = ("block", "rack")


def state(case: Case) -> ClusterState:
    nodes = [_with_fields(case, found) for found in _nodes(case)]
    return cluster(*nodes, training(case))


def training(case: Case) -> TrainingJob:
    """Its training job. Every role is gated, as the webhook does where a topology is asked for."""
    return job("mnist", *(_role(ask, _topology(case)) for ask in case.asks))


def placed(case: Case, state: ClusterState, plan: Plan) -> dict[str, list[str]]:
    """The hosts of each role's pods by rank once the plan is done, empty if it is not started."""
    (found,) = state.jobs
    starts = {name: list(on) for one in plan.admissions for name, on in one.nodes}
    gone = {name for name, fields in case.nodes.items() if fields.get("cordoned")}
    hosts = {}
    for part in found.roles:
        ranks = {one.index: one.node for one in part.status.pods if one.node not in (*gone, "")}
        names = {one.name: one.index for one in part.status.pods}
        for placement in plan.node_assignments:
            if placement.role == part.name:
                ranks |= {names[name]: on for name, on in placement.nodes}
        for resize in plan.resizes:
            if resize.role == part.name:
                ranks |= {resize.before + more: on for more, on in enumerate(resize.nodes)}
        hosts[part.name] = starts.get(part.name) or [ranks[index] for index in sorted(ranks)]
    return hosts


def decided(case: Case) -> dict[str, list[str]]:
    found = state(case)
    return placed(case, found, plan_for(found))


def domains(case: Case, hosts: Mapping[str, Sequence[str]], where: str) -> list[str]:
    """The domain of each pod in the order of ranks; `where` is LEVEL or ROLE@LEVEL."""
    part, _, level = where.rpartition("@")
    labels = {found.name: found.labels or {} for found in _nodes(case)}
    names = [name for each, on in hosts.items() if part in ("", each) for name in on]
    return [labels[name].get(key(level), "") for name in names]


def agrees(expected: str, found: Sequence[str]) -> bool:
    """Whether these pods lie as one line of an answer says."""
    tokens, counts = expected.split(), Counter(found)
    if not tokens:
        return True
    if len(tokens) == 1 and tokens[0].startswith("#"):
        return len(counts) == int(tokens[0][1:])
    return _matches([_token(token) for token in tokens], counts)


def is_consecutive(found: Sequence[str]) -> bool:
    """Whether no domain comes a second time after another one: neighbours in rank are together."""
    runs = [name for name, _ in groupby(found)]
    return len(runs) == len({*runs})


def key(level: str) -> str:
    """The node label of a level."""
    return "kubernetes.io/hostname" if level == HOST else f"example.com/{level}"


def nearest(plan: Plan) -> str:
    """The domains that a training job waits for, and how many of its pods fit: `b1-r2:3`."""
    (found,) = plan.waiting
    blocker = found.reason.about
    if not (isinstance(blocker, Shortage) and blocker.domains):
        return ""
    return f"{'|'.join(domain.value for domain in blocker.domains)}:{blocker.fitting}"


def _token(token: str) -> tuple[frozenset[str], int]:
    names, _, count = token.rpartition(":")
    return frozenset(filter(None, names.split("|"))), int(count)


def _matches(tokens: list[tuple[frozenset[str], int]], counts: Mapping[str, int]) -> bool:
    """Whether each domain can be given a token of its own."""
    if not tokens:
        return not counts
    (names, count), *rest = tokens
    fitting = [one for one in counts if counts[one] == count and (not names or one in names)]
    return any(
        _matches(rest, {name: pods for name, pods in counts.items() if name != one})
        for one in fitting
    )


def _topology(case: Case) -> Topology:
    required = (part.rpartition("=") for part in case.required.split(",") if part)
    preferred = (part for part in case.preferred.split(",") if part)
    return Topology(
        tuple(sorted((name, key(level)) for name, _, level in required)),
        tuple(map(key, preferred)),
    )


def _role(ask: Ask, topology: Topology) -> Role:
    on = [name.lstrip("-") for name in ask.on.split()]
    lost = [name.startswith("-") for name in ask.on.split()]
    gate: dict[str, Any] = {"gates": ("edl.dev/placement",), "created_at": at(-1)}
    pods = tuple(
        pod(index, **gate) if lost[index] else pod(index, name) for index, name in enumerate(on)
    )
    running: dict[str, Any] = {"topology": topology}
    if pods:
        running |= {"size": len(pods), "suspended": False, "pods": pods}
    asked = shape(ask.cpu, ask.memory, ask.gpu, **ask.rules)
    most = max(ask.count, ask.most)
    return role(ask.role, ask.count, most, shape=asked, gated=True, **running)


def _nodes(case: Case) -> Iterator[Node]:
    for quota in filter(None, map(str.strip, case.tree.splitlines())):
        path, _, hosts = quota.partition(":")
        names = path.split("/") if path else []
        labels = {
            key(level): "-".join(names[: depth + 1])
            for depth, level in enumerate(case.levels[: len(names)])
        }
        for name, amount in _amounts(hosts):
            yield replace(node(name, labels={**labels, key(HOST): name}), allocatable=amount)


def _with_fields(case: Case, found: Node) -> Node:
    taken = dict(_amounts(case.taken, memory="0", pods=1))
    fields = dict(case.nodes.get(found.name, {}))
    labels = {**(found.labels or {}), **fields.pop("labels", {})}
    kept = {name: value for name, value in labels.items() if value is not None}
    changed = replace(found, labels=kept, **fields)
    return busy(changed, taken[found.name]) if found.name in taken else changed


def _amounts(hosts: str, memory: str = "64Gi", pods: int = 110) -> Iterator[tuple[str, Resources]]:
    for host in hosts.split():
        name, _, amount = host.partition("=")
        cpu, gpu, most = (*amount.split("/"), "", "")[:3]
        yield name, room(float(cpu), memory, int(gpu or 0), int(most or pods))
