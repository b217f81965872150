"""All that is known of devices, followed change by change: by node, and by what pods ask for."""

from collections import Counter as Tally
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

import msgspec
from msgspec.structs import replace

from edl.kube.dra.facts import ClaimFacts, ClassFacts, SliceFacts, TemplateFacts, name_of
from edl.kube.dra.inventory import Inventory, Offer
from edl.kube.dra.kinds import Kinds
from edl.kube.dra.resolution import DeviceView
from edl.kube.facts import PodFacts
from edl.kube.store import Change, Name
from edl.model import Node
from edl.resources import Resources

if TYPE_CHECKING:
    from edl.kube.dra.facts import Requested

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class DeviceObjects(msgspec.Struct, frozen=True):
    """The facts of every object of `resource.k8s.io`, in any order."""

    slices: Sequence[SliceFacts] = ()
    classes: Sequence[ClassFacts] = ()
    claims: Sequence[ClaimFacts] = ()
    templates: Sequence[TemplateFacts] = ()


class DeviceNews(msgspec.Struct, frozen=True):
    """What differs since the last time."""

    slices: Sequence[Change[SliceFacts]] = ()
    classes: Sequence[Change[ClassFacts]] = ()
    claims: Sequence[Change[ClaimFacts]] = ()
    templates: Sequence[Change[TemplateFacts]] = ()

    def __bool__(self) -> bool:
        return any((self.slices, self.classes, self.claims, self.templates))


class Devices:
    """The inventory of nodes, and the view by which claims are resolved."""

    def __init__(self) -> None:
        self.inventory = Inventory()
        self._classes: dict[str, ClassFacts] = {}
        self._templates: dict[Name, Requested] = {}
        self._named: dict[Name, ClaimFacts] = {}
        self._view: DeviceView | None = None
        self._known: frozenset[str] = frozenset()

    @classmethod
    def of(cls, objects: DeviceObjects, pods: Iterable[PodFacts]) -> "Devices":
        found = cls()
        for pod in pods:
            found.pod(Change(Name(pod.namespace, pod.name), None, pod))
        found.take(
            DeviceNews(
                [Change(Name("", one.name), None, one) for one in objects.slices],
                [Change(Name("", one.name), None, one) for one in objects.classes],
                [Change(name_of(one), None, one) for one in objects.claims],
                [Change(name_of(one), None, one) for one in objects.templates],
            )
        )
        return found

    def pod(self, change: Change[PodFacts]) -> None:
        """Pods hold on to the devices of their claims until they end or terminate."""
        for pod in (change.before, change.after):
            if pod and _may_have_devices(pod):
                after = change.after
                there = after is not None and not (after.ended or after.leaving)
                self.inventory.pod(change.name, there=there)
                return

    def take(self, news: DeviceNews) -> set[Name] | None:
        """The claims and templates that may mean something else now; None for every pod's."""
        for one in news.classes:
            _put(self._classes, one.name.name, one.after)
        for template in news.templates:
            requested = template.after.requested if template.after else None
            _put(self._templates, template.name, requested)
        for claim in news.claims:
            named = claim.after if claim.after and not claim.after.owner else None
            _put(self._named, claim.name, named)
        if news.classes or news.templates or news.claims:
            self.inventory.use(self._kinds())
        for found in news.slices:
            self.inventory.slice(found)
        for claim in news.claims:
            self.inventory.claim(claim)
        before, self._view = self._view, self._seen(news)
        if before is None or before.common != self._view.common:
            return None
        return {one.name for one in news.templates} | {one.name for one in news.claims}

    @property
    def view(self) -> DeviceView | None:
        """None before anything was taken."""
        return self._view

    def _kinds(self) -> Kinds:
        waiting = (one.requested for one in self._named.values() if not one.allocated)
        return Kinds.of(self._classes.values(), chain(self._templates.values(), waiting))

    def _seen(self, news: DeviceNews) -> DeviceView:
        last = self._view
        if last and not (news.slices or news.classes):
            kinds = self._kinds()
            if kinds == last.kinds:
                return replace(last, templates=dict(self._templates), claims=dict(self._named))
        return DeviceView(
            templates=dict(self._templates),
            claims=dict(self._named),
            kinds=self._kinds(),
            within=_within(self.inventory.signatures),
            largest=self.inventory.largest(),
            unknown=self.inventory.unknown,
        )


def _may_have_devices(pod: PodFacts) -> bool:
    """Of claims that it names, or of one that kube-scheduler makes for an extended resource."""
    return bool(pod.shape.claims) or any("/" in name for name, _ in pod.shape.requests.items)


def _put(found: dict[_Key, _Value], key: _Key, value: _Value | None) -> None:
    """`value` under its key; None is no value."""
    if value is None:
        found.pop(key, None)
    else:
        found[key] = value


def _within(signatures: Tally[tuple[str, ...]]) -> Mapping[str, tuple[str, ...]]:
    """By resource the others that each of its devices counts in."""
    found: dict[str, set[str]] = {}
    for names in signatures:
        for name in names:
            found[name] = found[name] & set(names) if name in found else set(names)
    return {name: tuple(sorted(names - {name})) for name, names in sorted(found.items())}


def with_devices(node: Node, offer: Offer) -> Node:
    """The node with its devices as resources, but those that its kubelet counts itself.

    kube-scheduler allocates no device for an extended resource that a device plugin offers there.
    """
    names = [name for name in offer.has if not node.allocatable.get(name)]
    if not names:
        return node

    def filled(amounts: Resources, devices: Mapping[str, int]) -> Resources:
        return Resources.of(dict(amounts.items) | {name: devices.get(name, 0) for name in names})

    return replace(
        node,
        allocatable=filled(node.allocatable, offer.has),
        used=filled(node.used, offer.used),
        leaving=filled(node.leaving, offer.leaving),
    )
