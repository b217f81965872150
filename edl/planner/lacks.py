"""What a training job lacks: room, nodes, or a budget's leave. Each is a `Cause`."""

from typing import ClassVar

import msgspec
from msgspec.structs import replace

from edl import messages
from edl.feasibility.eligibility import NAME_FIELD
from edl.model import Budget, JobKey, Role
from edl.model.reasons import NoEligibleNode, Scarce
from edl.planner.situation import Situation, node_for
from edl.resources import CPU, Resources, amount_text


class Room(msgspec.Struct, frozen=True):
    """Some of the pods that one role asks for fit on no node that it may use.

    `free` is, of each resource it asks for, the most that is free on any one of these nodes and
    promised to nobody. On `node` least is missing: `missing`, for one pod.
    """

    kind: ClassVar[str] = "Room"
    role: str
    wanted: int
    fitting: int
    requests: Resources
    nodes: int
    free: Resources
    node: str
    missing: Resources

    @property
    def pods(self) -> int:
        """How many find no place."""
        return self.wanted - self.fitting

    @property
    def short(self) -> Resources:
        """What no node has enough of, as one pod asks for it; empty if none has all at once."""
        scarce = {name: need for name, need in self.requests if need > self.free.get(name)}
        return Resources.of(scarce)

    @property
    def says(self) -> str:
        if self.wanted == 1:
            return f"no room for one {self.role} ({self.requests}): {self._most}"
        some = f"{self.pods} of {self.wanted}" if self.fitting else str(self.wanted)
        return f"no room for {some} {self.role} ({self.requests} each): {self._most}"

    @property
    def _most(self) -> str:
        """How much there is where there is most."""
        places = _places(self.nodes)
        if not self.short:
            return f"none of {places} has all of it free at once"
        most = Resources.of({name: self.free.get(name) for name, _ in self.short})
        if most:
            return f"at most {most} free on one of {places}"
        names = " and ".join("CPU" if name == CPU else name for name, _ in self.short)
        return f"no {names} free on {places}"

    @property
    def remedy(self) -> str:
        if self.pods == 1:
            return f"{self.missing} more free on {self.node}"
        return f"room for {self.pods} more pods of {self.requests}, on nodes like {self.node}"

    def mended(self, situation: Situation, key: JobKey) -> Situation:
        like = situation.node(self.node)
        role = _role(situation, key, self.role)
        if like is None or self.pods == 1 or (role and _is_pinned(role)):
            more = self.missing + self.requests * (self.pods - 1)
            return situation.with_more(self.node, more)
        return situation.with_nodes(like, self.requests, self.pods)


class TooLarge(msgspec.Struct, frozen=True):
    """A pod asks for more than any node that it may use has, even empty.

    `largest` is, of each resource it asks for, the most that any one of these nodes has.
    """

    kind: ClassVar[str] = "TooLarge"
    role: str
    pods: int
    requests: Resources
    nodes: int
    largest: Resources
    node: str

    @property
    def says(self) -> str:
        scarce = Resources.of(
            {name: need for name, need in self.requests if need > self.largest.get(name)}
        )
        if not scarce:
            return f"one {self.role} asks for {self.requests}, and no node has all of it at once"
        has = Resources.of({name: self.largest.get(name) for name, _ in scarce})
        if not has:
            return f"one {self.role} asks for {scarce}, and no node that it may use has any"
        where = "the only node" if self.nodes == 1 else f"the largest of the {self.nodes} nodes"
        return f"one {self.role} asks for {scarce}, {where} that it may use has {has}"

    @property
    def remedy(self) -> str:
        nodes = "a node" if self.pods == 1 else f"{self.pods} nodes"
        each = "" if self.pods == 1 else " each"
        return f"smaller pods, or {nodes} with {self.requests}{each}"

    def mended(self, situation: Situation, key: JobKey) -> Situation:
        like, role = situation.node(self.node), _role(situation, key, self.role)
        if like is None or (role and _is_pinned(role)):
            return situation.with_more(self.node, self.requests * self.pods)
        return situation.with_nodes(like, self.requests, self.pods)


class NoNode(msgspec.Struct, frozen=True):
    """No node at all is one that this role may use. `rule`: what keeps it off."""

    kind: ClassVar[str] = "NoNode"
    role: str
    pods: int
    requests: Resources
    rule: NoEligibleNode

    @property
    def says(self) -> str:
        return f"{messages.node_rule(self.rule)}: {self.role} may use none of the nodes"

    @property
    def remedy(self) -> str:
        return f"a node that {self.role} may use, with {self.requests} free for each pod"

    def mended(self, situation: Situation, key: JobKey) -> Situation:
        role = _role(situation, key, self.role)
        if role is None:
            return situation
        return situation.with_nodes(node_for(role.shape, "node"), self.requests, self.pods)


class Kept(msgspec.Struct, frozen=True):
    """Nodes have room, but `rule` keeps the role's pods off all `nodes` that it may use."""

    kind: ClassVar[str] = "Kept"
    role: str
    pods: int
    requests: Resources
    nodes: int
    rule: Scarce
    node: str

    @property
    def says(self) -> str:
        places = _places(self.nodes)
        return f"no room: {messages.SCARCE[self.rule]} keep one more {self.role} off {places}"

    @property
    def remedy(self) -> str:
        noun = "one more node" if self.pods == 1 else f"{self.pods} more nodes"
        each = "" if self.pods == 1 else " on each"
        return f"{noun} like {self.node}, with {self.requests} free{each} and nobody there yet"

    def mended(self, situation: Situation, key: JobKey) -> Situation:  # noqa: ARG002 (a Cause's shape)
        like = situation.node(self.node)
        return situation.with_nodes(like, self.requests, self.pods) if like else situation


class LoadCeiling(msgspec.Struct, frozen=True):
    """Growth leaves some of a resource idle. `enough` is the share that would let it grow."""

    kind: ClassVar[str] = "LoadCeiling"
    role: str
    resource: str
    share: float
    idle: int
    kept: int
    needed: int
    enough: float

    @property
    def says(self) -> str:
        name = self.resource
        return (
            f"the load ceiling of {self.share * 100:g} % keeps {amount_text(name, self.kept)} idle:"
            f" {amount_text(name, self.idle)} are, and one more {self.role} asks for "
            f"{amount_text(name, self.needed)}"
        )

    @property
    def remedy(self) -> str:
        more = amount_text(self.resource, self.needed + self.kept - self.idle)
        return f"a load ceiling of {self.enough * 100:g} %, or {more} more idle in the cluster"

    def mended(self, situation: Situation, key: JobKey) -> Situation:  # noqa: ARG002 (a Cause's shape)
        enough = max(self.enough, situation.limits.load_ceiling)
        return situation.with_limits(replace(situation.limits, load_ceiling=enough))


class Spent(msgspec.Struct, frozen=True):
    """A budget of its namespace does not allow more. `lacks`: by how much it is too small."""

    kind: ClassVar[str] = "Budget"
    budget: Budget
    needed: int
    left: int
    lacks: int

    @property
    def says(self) -> str:
        budget = self.budget
        return f"{budget}: {budget.text(self.left)} left, needs {budget.text(self.needed)}"

    @property
    def remedy(self) -> str:
        budget = self.budget
        enough = budget.text(budget.hard + self.lacks)
        return f"{enough} {budget.resource} in {budget.source} of namespace {budget.namespace}"

    def mended(self, situation: Situation, key: JobKey) -> Situation:  # noqa: ARG002 (a Cause's shape)
        return situation.with_budget(self.budget, self.lacks)


def _is_pinned(role: Role) -> bool:
    """Whether it is kept to nodes by their names: no other would do."""
    return any(rule.key == NAME_FIELD for term in role.shape.affinity for rule in term)


def _places(nodes: int) -> str:
    return "the only node that it may use" if nodes == 1 else f"the {nodes} nodes that it may use"


def _role(situation: Situation, key: JobKey, name: str) -> Role | None:
    job = situation.job(key)
    return next((role for role in job.roles if role.name == name), None) if job else None
