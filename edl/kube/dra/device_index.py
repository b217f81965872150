"""Everything known of devices, updated by changes: by node, and by what pods request."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeVar

import msgspec

from edl.kube.cluster import Delta, ObjectKey
from edl.kube.decode.object_facts import PodFacts
from edl.kube.dra.claim_resolution import DeviceView, resolve
from edl.kube.dra.device_inventory import DeviceInventory, PodClaims
from edl.kube.dra.device_kinds import DeviceKinds
from edl.kube.dra.dra_facts import (
    DeviceClassFacts,
    RequestedDevices,
    ResourceClaimFacts,
    ResourceSliceFacts,
)
from edl.kube.tally import Tally
from edl.model import Node, Shape
from edl.quantities import DEVICE_CLASS

_SEVERAL: Final = 2
_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class DeviceChanges(msgspec.Struct, frozen=True):
    """Changes since the last update."""

    slices: Sequence[Delta[ResourceSliceFacts]] = ()
    classes: Sequence[Delta[DeviceClassFacts]] = ()
    claims: Sequence[Delta[ResourceClaimFacts]] = ()
    templates: Sequence[Delta[RequestedDevices]] = ()

    def __bool__(self) -> bool:
        return any((self.slices, self.classes, self.claims, self.templates))


class DeviceIndex:
    """The inventory of nodes' devices, and the view that resolves claims."""

    def __init__(self) -> None:
        self.inventory = DeviceInventory(self._wanted)
        self._native: Tally[str] = Tally()
        """The number of nodes that offer an extended resource themselves, for example by a device
        plugin."""
        self._classes: dict[str, DeviceClassFacts] = {}
        self._templates: dict[ObjectKey, RequestedDevices] = {}
        self._named: dict[ObjectKey, ResourceClaimFacts] = {}
        self._view: DeviceView | None = None
        self._extended: Mapping[str, str] = {}
        """DeviceClasses by the extended resource names that stand for them."""

    def apply_node(self, change: Delta[Node]) -> None:
        """Updates the number of nodes that offer each extended resource by themselves."""
        for node, sign in change.signed():
            for name, _ in node.allocatable.items:
                if "/" in name:
                    self._native.add(name, sign)

    def apply_pod(self, change: Delta[PodFacts]) -> None:
        """Updates a pod, which holds the devices of its claims until it ends or terminates."""
        for pod in (change.before, change.after):
            if pod and _may_have_devices(pod):
                after = change.after
                there = after and not (after.ended or after.leaving)
                held = PodClaims(after.node, after.shape) if after and there else None
                self.inventory.set_pod(change.key, held)
                return

    def _wanted(self, shape: Shape) -> Iterator[tuple[str, int]]:
        """The devices that a pod requests, without those of named claims, which pods may share."""
        counts = Counter(dict(resolve(shape, self._view, _SEVERAL).shape.counted.items))
        for name, device_class in self._extended.items():
            counts[DEVICE_CLASS + device_class] += shape.requests.get(name)
        yield from counts.items()

    def apply(self, changes: DeviceChanges) -> set[ObjectKey] | None:
        """Applies changes; returns claims and templates that may resolve differently.

        None stands for all of them. Each step needs those before it: classes and requests say which
        kinds of devices count, devices of slices are grouped by kind, claims mark the nodes of the
        devices that they hold, and the view is of all of these.
        """
        touched = self._note(changes)
        regroups = bool(changes.slices or changes.classes or touched)
        if changes.classes or touched:
            self.inventory.set_kinds(DeviceKinds.of(self._classes.values(), self._requested()))
        for change in changes.slices:
            self.inventory.apply_slice(change)
        if regroups:
            self.inventory.settle()
        for claim in changes.claims:
            self.inventory.apply_claim(claim)
        before = self._view
        self._extended = self.inventory.groups.kinds.extended()
        names = self._other_names()
        if before is None or names != before.names or regroups:
            self._view = self._seen(names)
            if self._view != before:
                self.inventory.mark_expecting_nodes()
        if before is None or self._view is None or before.common != self._view.common:
            return None
        return touched

    @property
    def view(self) -> DeviceView | None:
        """None before the first update."""
        return self._view

    def _note(self, changes: DeviceChanges) -> set[ObjectKey]:
        """Stores changes; returns the changed templates, and claims that pods name."""
        for change in changes.classes:
            _put(self._classes, change.key.name, change.after)
        for template in changes.templates:
            _put(self._templates, template.key, template.after)
        named = [one for one in changes.claims if _is_named(one.before) or _is_named(one.after)]
        for claim in named:
            _put(self._named, claim.key, claim.after if _is_named(claim.after) else None)
        return {change.key for change in changes.templates} | {change.key for change in named}

    def _requested(self) -> Iterator[tuple[str, RequestedDevices]]:
        """(namespace, request) of each template and named claim."""
        yield from ((name.namespace, request) for name, request in self._templates.items())
        yield from ((name.namespace, claim.requested) for name, claim in self._named.items())

    def _compares(self) -> bool:
        """Whether a request depends on how many devices a node has."""
        wanted = (wants for _, devices in self._requested() for wants in devices.requests)
        return any(len(wants) > 1 or not wants[0].count for wants in wanted)

    def _other_names(self) -> Mapping[str, str]:
        """Extended resources that no node offers itself, by the resource of their DeviceClass."""
        return {
            DEVICE_CLASS + device_class: name
            for name, device_class in self._extended.items()
            if not self._native[name]
        }

    def _seen(self, names: Mapping[str, str]) -> DeviceView:
        return DeviceView(
            names=names,
            templates=dict(self._templates),
            claims=dict(self._named),
            kinds=self.inventory.groups.kinds,
            within=_within(self.inventory.groups.signatures),
            largest=self.inventory.largest() if self._compares() else {},
            unknown=frozenset(self.inventory.groups.unknown),
        )


def _is_named(claim: ResourceClaimFacts | None) -> bool:
    return claim is not None and not claim.owner


def _may_have_devices(pod: PodFacts) -> bool:
    """Whether the pod names claims, or requests an extended resource that may become a claim."""
    if pod.shape.claims:
        return True
    for name, _ in pod.shape.requests.items:  # noqa: SIM110 - a generator for each pod is slow
        if "/" in name:
            return True
    return False


def _put(values: dict[_Key, _Value], key: _Key, value: _Value | None) -> None:
    """Sets the value of a key; None removes the key."""
    if value is None:
        values.pop(key, None)
    else:
        values[key] = value


def _within(signatures: Iterable[tuple[str, ...]]) -> Mapping[str, tuple[str, ...]]:
    """For each resource, the others in which every device of it counts too."""
    shared: dict[str, set[str]] = {}
    for names in signatures:
        for name in names:
            shared[name] = shared[name] & set(names) if name in shared else set(names)
    return {name: tuple(sorted(names - {name})) for name, names in sorted(shared.items())}
