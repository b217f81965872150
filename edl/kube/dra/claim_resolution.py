"""Resolves the ResourceClaims of a pod to resources, and to the nodes that can use its devices."""

from collections import Counter as Tally
from collections.abc import Mapping
from functools import cached_property
from heapq import nsmallest
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from edl.kube.cluster import ObjectKey
from edl.kube.decode.node_selector import both
from edl.kube.dra.device_kinds import DeviceKinds
from edl.kube.dra.dra_facts import DeviceCount, DeviceKind, RequestedDevices, ResourceClaimFacts
from edl.model import Caveat, CaveatCode, ClaimRef, DeviceTemplate, Shape
from edl.quantities import DEVICE_CLASS, Resources

if TYPE_CHECKING:
    from edl.kube.dra.dra_facts import Affinity

MAX_CAVEATS: Final = 32
"""Caveats, and problems, of one shape: a template may have thousands of selectors."""


class ResolvedShape(msgspec.Struct, frozen=True):
    """A shape whose requests contain the devices of its claims.

    With `problems` no node can run its pods, whatever capacity is free.
    """

    shape: Shape
    problems: tuple[str, ...] = ()
    caveats: tuple[Caveat, ...] = ()


class _Resolved(NamedTuple):
    """What the pods of one template request."""

    amounts: Tally[str]
    implied: Tally[str]
    problems: list[str]
    caveats: list[Caveat]


class DeviceView(msgspec.Struct, frozen=True, dict=True):
    """Everything on which the resolution of claims depends."""

    templates: Mapping[ObjectKey, RequestedDevices]
    claims: Mapping[ObjectKey, ResourceClaimFacts]
    """Claims that pods refer to by name."""
    kinds: DeviceKinds = DeviceKinds()
    within: Mapping[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    """For each resource, the others in which all of its devices count too."""
    largest: Mapping[str, int] = msgspec.field(default_factory=dict)
    """The most devices that one node has, by resource."""
    names: Mapping[str, str] = msgspec.field(default_factory=dict)
    """For a DeviceClass's resource, the extended resource by which its devices are counted
    instead."""
    unknown: frozenset[str] = frozenset()
    """Selectors that are not evaluated."""

    def with_template(self, namespace: str, template: DeviceTemplate) -> "DeviceView":
        """The view with this template added, unless one of this name exists."""
        name, wanted = (
            ObjectKey(namespace, template.name),
            DeviceCount(DeviceKind(template.device_class), template.count),
        )
        if name in self.templates:
            return self
        return replace(self, templates={**self.templates, name: RequestedDevices(((wanted,),))})

    @cached_property
    def resolved(self) -> dict[ObjectKey, _Resolved]:
        """Templates that this view has resolved: each is resolved once for all training jobs."""
        return {}

    @property
    def common(self) -> tuple[object, ...]:
        """The parts of the view that may concern every pod with devices."""
        return self.kinds, self.within, self.largest, self.names, self.unknown


def concerned(shape: Shape) -> bool:
    """Whether the shape's requests change when they are resolved."""
    if shape.claims:
        return True
    return any(name.startswith(DEVICE_CLASS) for name, _ in shape.requests.items)


def resolve(shape: Shape, view: DeviceView | None, pods: int) -> ResolvedShape:
    """The shape with its claims resolved; unchanged without a view.

    `pods` is the number of pods that may share the claims.
    """
    if view is None or not concerned(shape):
        return ResolvedShape(shape)
    resolution = _Resolution(view, pods)
    for ref in shape.claims:
        resolution.add(ref)
    amounts = {
        name: amount for name, amount in shape.requests.items if name.startswith(DEVICE_CLASS)
    }
    for name, amount in amounts.items():
        resolution.count(name, amount)
    rest = Resources.of(
        {name: amount for name, amount in shape.requests.items if name not in amounts}
    )
    both_ways = resolution.implied.keys() & resolution.amounts
    resolution.amounts.update({name: resolution.implied.pop(name) for name in both_ways})
    resolved = replace(
        shape,
        requests=rest + Resources.of(resolution.amounts),
        implied=Resources.of(resolution.implied),
        claims=(),
    )
    for nodes in resolution.nodes:
        resolved = replace(resolved, affinity=both(resolved.affinity, nodes))
    caveats = nsmallest(MAX_CAVEATS, set(resolution.caveats))
    return ResolvedShape(resolved, tuple(resolution.problems[:MAX_CAVEATS]), tuple(caveats))


class _Resolution:
    """Resolves the claims of one shape, one by one."""

    def __init__(self, view: DeviceView, pods: int) -> None:
        self._view = view
        self._pods = pods
        self.amounts: Tally[str] = Tally()
        self.implied: Tally[str] = Tally()
        """Amounts by other names of the same devices, and in other kinds in which all count."""
        self.nodes: list[Affinity] = []
        self.problems: list[str] = []
        self.caveats: list[Caveat] = []

    def add(self, ref: ClaimRef) -> None:
        name = ObjectKey(ref.namespace, ref.name)
        if ref.template:
            requested = self._view.templates.get(name)
            if requested is None:
                self.problems.append(_missing("ResourceClaimTemplate", ref.name))
            else:
                self._take(self._of_template(name, requested))
        else:
            self._claim(ref, self._view.claims.get(name))

    def _of_template(self, name: ObjectKey, requested: RequestedDevices) -> _Resolved:
        resolved = self._view.resolved
        if name not in resolved:
            inner = _Resolution(self._view, self._pods)
            inner._request(name.name, requested)
            resolved[name] = _Resolved(inner.amounts, inner.implied, inner.problems, inner.caveats)
        return resolved[name]

    def _take(self, resolved: _Resolved) -> None:
        self.amounts.update(resolved.amounts)
        self.implied.update(resolved.implied)
        self.problems += resolved.problems
        self.caveats += resolved.caveats

    def _claim(self, ref: ClaimRef, facts: ResourceClaimFacts | None) -> None:
        if facts is None:
            self.problems.append(_missing("ResourceClaim", ref.name))
        elif facts.leaving:
            self.problems.append(f'the ResourceClaim "{ref.name}" is being deleted')
        elif facts.allocated:
            self.nodes.append(facts.nodes)
        elif self._pods > 1:
            self.caveats.append(Caveat(CaveatCode.SHARED, ref.name))
        else:
            self._request(ref.name, facts.requested)

    def _request(self, claim: str, requested: RequestedDevices) -> None:
        if requested.constrained:
            self.caveats.append(Caveat(CaveatCode.CONSTRAINTS, claim))
        for wants in requested.requests:
            wanted = self._chosen(wants)
            if len(wants) > 1:
                self.caveats.append(Caveat(CaveatCode.FIRST_OF_SEVERAL, wanted.kind.device_class))
            self._want(wanted)

    def _chosen(self, wants: tuple[DeviceCount, ...]) -> DeviceCount:
        """The first alternative of which some node has enough devices, used ones included."""
        for wanted in wants:
            if self._view.largest.get(self._view.kinds.resource(wanted.kind), 0) >= max(
                wanted.count, 1
            ):
                return wanted
        return wants[0]

    def _want(self, wanted: DeviceCount) -> None:
        view, kind = self._view, wanted.kind
        classes = {entry.name: entry for entry in view.kinds.classes}
        if kind.device_class not in classes:
            self.problems.append(_missing("DeviceClass", kind.device_class))
            self.count(view.kinds.resource(kind), max(wanted.count, 1))
            return
        name, count = view.kinds.resource(kind), wanted.count
        if not count:
            self.caveats.append(Caveat(CaveatCode.ALL_DEVICES, kind.device_class))
            count = max(view.largest.get(name, 0), 1)
        counted = (*classes[kind.device_class].selectors, *kind.selectors)
        ignored = () if kind in view.kinds.asked else kind.selectors
        for expression in counted:
            if expression in view.unknown or expression in ignored:
                self.caveats.append(Caveat(CaveatCode.CLASS_ONLY, expression))
        self.count(name, count)

    def count(self, name: str, amount: int) -> None:
        """Counts devices under their resource; others in which all of them count are implied."""
        resource = self._view.names.get(name, name)
        self.amounts[resource] += amount
        for other in {name, *self._view.within.get(name, ())} - {resource}:
            self.implied[other] += amount


def _missing(kind: str, name: str) -> str:
    return f'{kind} "{name}" does not exist: create it, or recreate the Jobs with another'
