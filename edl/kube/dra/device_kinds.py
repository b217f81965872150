"""Kinds of devices as resources: each is one dimension of what nodes have and pods ask for.

A kind is a DeviceClass, or a class with selectors and tolerations of requests. The name of a class
as a resource is the one that Kubernetes gives it (`deviceclass.resource.kubernetes.io/NAME`,
KEP-5004). A device counts in every kind that it matches.
"""

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Final, NamedTuple, TypeVar

import msgspec

from edl.kube.dra.cel import UNKNOWN, Quantity, selector
from edl.kube.dra.dra_facts import DeviceClassFacts, DeviceKind, RequestedDevices
from edl.kube.dra.dra_schemas import DeviceAttribute, DeviceCapacity, DeviceObject
from edl.model import Taint
from edl.quantities import DEVICE_CLASS, quantity

MOST: Final = 64
"""Kinds besides the classes: requests of any more are counted by their class alone."""


class DeviceKinds(msgspec.Struct, frozen=True):
    """What DeviceClasses and requests distinguish. Equal values count devices the same way."""

    classes: tuple[DeviceClassFacts, ...] = ()
    """Sorted by name."""
    asked: tuple[DeviceKind, ...] = ()
    """With selectors or tolerations of their own."""

    @classmethod
    def of(
        cls, classes: Iterable[DeviceClassFacts], requested: Iterable[RequestedDevices]
    ) -> "DeviceKinds":
        kinds = {
            wanted.kind
            for one in requested
            for wants in one.requests
            for wanted in wants
            if wanted.kind.selectors or wanted.kind.tolerations
        }
        ordered = tuple(sorted(kinds, key=_order)[:MOST])
        return cls(tuple(sorted(classes, key=lambda found: found.name)), ordered)

    def resource(self, kind: DeviceKind) -> str:
        """The resource of a kind; that of its class where it is one too many."""
        return resource(kind if kind in self.asked else DeviceKind(kind.device_class))

    def extended(self) -> Mapping[str, str]:
        """DeviceClasses by extended resource name: of several the newest, then the first."""
        found: dict[str, DeviceClassFacts] = {}
        for one in sorted(self.classes, key=lambda one: one.name, reverse=True):
            last = found.get(one.extended)
            if one.extended and (last is None or one.created_at >= last.created_at):
                found[one.extended] = one
        return {name: one.name for name, one in found.items()}


_Value = TypeVar("_Value")


class _Traits(NamedTuple):
    """What decides in which kinds a device counts."""

    driver: str
    attributes: tuple[tuple[str, DeviceAttribute | None], ...]
    capacity: tuple[tuple[str, DeviceCapacity | None], ...]
    taints: tuple[Taint, ...]


class DeviceCounter:
    """Tells the resources in which a device counts."""

    def __init__(self, kinds: DeviceKinds) -> None:
        extended = {name: extended for extended, name in kinds.extended().items()}
        self._classes = {one.name: one.selectors for one in kinds.classes}
        plain = [DeviceKind(one.name) for one in kinds.classes]
        asked = [kind for kind in kinds.asked if kind.device_class in self._classes]
        self._kinds = [
            (kind, resource(kind), extended.get(kind.device_class, "") if one_of_class else "")
            for kinds, one_of_class in ((plain, True), (asked, False))
            for kind in kinds
        ]
        self._made: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._alike: dict[_Traits, tuple[str, ...]] = {}
        expressions = [one for name in self._classes.values() for one in name]
        self._text = "\n".join([*expressions, *(one for kind in asked for one in kind.selectors)])
        self._named: dict[str, bool] = {}
        self.unknown: set[str] = set()
        """Expressions of which it could not tell whether a device matches."""

    def resources(self, driver: str, device: DeviceObject) -> tuple[str, ...]:
        """One object for all devices that count in the same.

        Devices differ by serial numbers and the like, which no selector names.
        """
        traits = _Traits(
            driver,
            tuple(self._values(device.attributes or {})),
            tuple(self._values(device.capacity or {})),
            tuple(Taint(one.key, one.value, one.effect) for one in device.taints or ()),
        )
        if (known := self._alike.get(traits)) is not None:
            return known
        found = self._alike[traits] = self._counted(traits)
        return found

    def _values(self, found: Mapping[str, _Value]) -> Iterator[tuple[str, _Value | None]]:
        """With the values that expressions may name; a domain is known by any of its names."""
        for name, value in found.items():
            if name not in self._named:
                self._named[name] = name.rpartition("/")[2] in self._text
            if self._named[name]:
                yield name, value
            elif "/" in name:
                yield name.rpartition("/")[0] + "/", None

    def _counted(self, traits: "_Traits") -> tuple[str, ...]:
        said = _said(traits)
        taints = traits.taints
        found: list[str] = []
        for kind, name, extended in self._kinds:
            if not all(taint.tolerated(kind.tolerations) for taint in taints):
                continue
            if self._matches((*self._classes[kind.device_class], *kind.selectors), said):
                found.append(name)
                if extended:
                    found.append(extended)
        key = tuple(found)
        return self._made.setdefault(key, key)

    def _matches(self, expressions: tuple[str, ...], said: Mapping[str, object]) -> bool:
        verdicts = [selector(expression)(said) for expression in expressions]
        if False in verdicts:
            return False
        for expression, verdict in zip(expressions, verdicts, strict=True):
            if verdict is None:
                self.unknown.add(expression)
        return True


def resource(kind: DeviceKind) -> str:
    """The name of a kind as a resource, such as users read it."""
    besides = [
        *kind.selectors,
        *(f"tolerating {one.key or 'all taints'}" for one in kind.tolerations),
    ]
    return DEVICE_CLASS + kind.device_class + (f"[{', '.join(besides)}]" if besides else "")


def _order(kind: DeviceKind) -> tuple[object, ...]:
    tolerations = tuple((one.key, one.operator, one.value, one.effect) for one in kind.tolerations)
    return kind.device_class, kind.selectors, tolerations


def _said(traits: "_Traits") -> Mapping[str, object]:
    """A device as expressions see it: names without a domain are the driver's own."""
    driver = traits.driver
    attributes: dict[str, dict[str, object]] = {driver: {}}
    for name, value in traits.attributes:
        domain, own = _qualified(driver, name)
        named = attributes.setdefault(domain, {})
        if value is not None:
            named[own] = _value(value)
    capacity: dict[str, dict[str, object]] = {driver: {}}
    for name, amount in traits.capacity:
        domain, own = _qualified(driver, name)
        amounts = capacity.setdefault(domain, {})
        if amount is not None:
            amounts[own] = Quantity(_amount(amount.value))
    return {"driver": driver, "attributes": attributes, "capacity": capacity}


def _qualified(driver: str, name: str) -> tuple[str, str]:
    domain, slash, own = name.rpartition("/")
    return (domain, own) if slash else (driver, name)


def _value(found: DeviceAttribute) -> object:
    """A version is left unknown."""
    values = (found.text, found.number, found.flag)
    return next((value for value in values if value is not None), UNKNOWN)


def _amount(text: str) -> Decimal:
    try:
        return quantity(text)
    except ValueError:
        return Decimal(0)
