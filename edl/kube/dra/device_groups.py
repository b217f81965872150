"""Groups of devices that no selector distinguishes, and the resources in which they count.

Users of any namespace write selectors, and a cluster may have a hundred thousand devices. So a
selector is evaluated once per group, and the work of all evaluations is bounded: kinds beyond that
bound are counted by their DeviceClass alone.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple, TypeVar

from edl.kube.dra.cel import UNKNOWN, CelDevice, CelQuantity, selector
from edl.kube.dra.device_kinds import DeviceKinds, length, resource
from edl.kube.dra.dra_facts import DeviceKind
from edl.kube.dra.dra_schemas import DeviceAttribute, DeviceCapacity, DeviceObject
from edl.model import Taint

MAX_VALUES: Final = 1000
"""Values of one attribute that may distinguish groups; a large cluster has more serial numbers."""
MAX_GROUPING_WORK: Final = 4_000_000
"""Groups of devices times characters of the requests' selectors: about 0.4 s of evaluation."""
_WORD: Final = re.compile(r"\w+")
_Value = TypeVar("_Value")


class _Traits(NamedTuple):
    """The properties that decide in which kinds a device counts."""

    driver: str
    attributes: tuple[tuple[str, DeviceAttribute | None], ...]
    capacity: tuple[tuple[str, DeviceCapacity | None], ...]
    taints: tuple[Taint, ...]
    shared: bool
    """Several claims may hold the device at once (KEP-5075)."""


class DeviceGroup:
    """Devices that are alike. `resources` change with the kinds; `devices` is their number."""

    __slots__ = ("devices", "resources", "traits")

    def __init__(self, traits: _Traits) -> None:
        self.traits = traits
        self.resources: tuple[str, ...] = ()
        self.devices = 0


class _Counted(NamedTuple):
    """A kind with parsed selectors. `extended` is the extended resource name of a DeviceClass."""

    kind: DeviceKind
    name: str
    extended: str
    selectors: tuple[tuple[str, Callable[[CelDevice], bool | None]], ...]


class DeviceGroups:
    """The groups of all devices. Attributes are only ever added to those that distinguish groups.

    `settle` must be called after devices were added or removed: new groups count nowhere before.
    """

    def __init__(self) -> None:
        self.kinds = DeviceKinds()
        """The kinds that are counted: all classes, and the requests' kinds within the bound of
        work."""
        self.unknown: set[str] = set()
        """Expressions that could not be evaluated for some device."""
        self._wanted = DeviceKinds()
        self._words: frozenset[str] = frozenset()
        """Words in all selectors of `_wanted`; the name of an attribute is one word."""
        self._class_words: frozenset[str] = frozenset()
        """Words in selectors of DeviceClasses. Administrators write them, so they may use any
        attribute."""
        self._named: dict[str, bool] = {}
        """For each attribute, whether it distinguishes groups."""
        self._various: set[str] = set()
        """Attributes with too many values."""
        self._values: defaultdict[str, set[object]] = defaultdict(set)
        self._groups: dict[_Traits, DeviceGroup] = {}
        self._new: list[DeviceGroup] = []
        self._counted: tuple[_Counted, ...] = ()

    def set_kinds(self, kinds: DeviceKinds) -> bool:
        """Sets the wanted kinds; returns whether devices must be read again for them.

        That is so if more attributes must distinguish groups than before.
        """
        if kinds == self._wanted:
            return False
        self._wanted = kinds
        self._class_words = _words(one for entry in kinds.classes for one in entry.selectors)
        self._words = self._class_words | _words(
            expression for kind in kinds.asked for expression in kind.selectors
        )
        self._various = {name for name in self._various if _bare(name) not in self._class_words}
        indistinct = (name for name, distinguishes in self._named.items() if not distinguishes)
        more = [name for name in indistinct if _bare(name) in self._words]
        for name in more:
            self._named[name] = name not in self._various
        return any(self._named[name] for name in more)

    def clear(self) -> None:
        """Removes all devices, which will be added again."""
        self._groups.clear()
        self._values.clear()
        self._new.clear()

    def add(self, driver: str, device: DeviceObject) -> DeviceGroup:
        """Adds a device to its group, and returns the group."""
        traits = _Traits(
            driver,
            tuple(self._traits_of(device.attributes or {})),
            tuple(self._traits_of(device.capacity or {})),
            tuple(device.taints or ()),
            device.allow_multiple_allocations,
        )
        group = self._groups.get(traits)
        if group is None:
            group = self._groups[traits] = DeviceGroup(traits)
            self._new.append(group)
            self._note(traits)
        group.devices += 1
        return group

    def _note(self, traits: _Traits) -> None:
        for name, value in (*traits.attributes, *traits.capacity):
            self._values[name].add(value)

    def drop(self, group: DeviceGroup) -> None:
        group.devices -= 1
        if not group.devices:
            del self._groups[group.traits]

    def too_various(self) -> bool:
        """Whether an attribute now has too many values: devices must then be read again."""
        if not any(self._is_various(name) for name in self._values):
            return False
        self._values.clear()  # some of these values may belong to removed devices
        for traits in self._groups:
            self._note(traits)
        names = [name for name in self._values if self._is_various(name)]
        self._named |= dict.fromkeys(names, False)
        self._various.update(names)
        return bool(names)

    def _is_various(self, name: str) -> bool:
        return len(self._values[name]) > MAX_VALUES and _bare(name) not in self._class_words

    def settle(self) -> bool:
        """Evaluates new groups, or all if the counted kinds changed; whether they did."""
        asked = tuple(self._affordable())
        kinds = DeviceKinds(self._wanted.classes, asked)
        differ = kinds != self.kinds
        if differ:
            self.kinds = kinds
            self._counted = tuple(_parsed(kinds))
            self.unknown.clear()
        signatures: dict[tuple[str, ...], tuple[str, ...]] = {}
        for group in self._groups.values() if differ else self._new:
            signature = tuple(self._resources(group.traits))
            group.resources = signatures.setdefault(signature, signature)
        self._new.clear()
        return differ

    @property
    def signatures(self) -> frozenset[tuple[str, ...]]:
        """The combinations of resources in which devices count."""
        return frozenset(group.resources for group in self._groups.values())

    def _affordable(self) -> Iterator[DeviceKind]:
        """The requests' kinds, in order, while the work of evaluation stays within its bound."""
        left = MAX_GROUPING_WORK // max(len(self._groups), 1)
        various = {_bare(name) for name in self._various}
        for kind in self._wanted.asked:
            if length(kind) <= left and various.isdisjoint(_words(kind.selectors)):
                left -= length(kind)
                yield kind

    def _traits_of(self, attributes: Mapping[str, _Value]) -> Iterator[tuple[str, _Value | None]]:
        """Attributes with the values that expressions may use.

        Of other attributes only the domain is kept.
        """
        for name, value in attributes.items():
            if name not in self._named:
                self._named[name] = name not in self._various and _bare(name) in self._words
            if self._named[name]:
                yield name, value
            elif "/" in name:
                yield name.rpartition("/")[0] + "/", None

    def _resources(self, traits: _Traits) -> Iterator[str]:
        device = _as_device(traits)
        for counted in self._counted:
            if not all(taint.tolerated(counted.kind.tolerations) for taint in traits.taints):
                continue
            if self._matches(counted, device):
                yield counted.name
                if counted.extended:
                    yield counted.extended

    def _matches(self, counted: _Counted, device: CelDevice) -> bool:
        verdicts = [(text, matches(device)) for text, matches in counted.selectors]
        if any(verdict is False for _, verdict in verdicts):
            return False
        self.unknown.update(text for text, verdict in verdicts if verdict is None)
        return True


def _words(expressions: Iterable[str]) -> frozenset[str]:
    return frozenset(word for text in expressions for word in _WORD.findall(text))


def _bare(name: str) -> str:
    """The name of an attribute without its domain."""
    return name.rpartition("/")[2]


def _parsed(kinds: DeviceKinds) -> Iterator[_Counted]:
    extended = {name: other for other, name in kinds.extended().items()}
    classes = {entry.name: entry.selectors for entry in kinds.classes}
    for name, expressions in classes.items():
        kind = DeviceKind(name)
        parsed = tuple((text, selector(text)) for text in expressions)
        yield _Counted(kind, resource(kind), extended.get(name, ""), parsed)
    for kind in kinds.asked:
        if kind.device_class in classes:
            expressions = (*classes[kind.device_class], *kind.selectors)
            parsed = tuple((text, selector(text)) for text in expressions)
            yield _Counted(kind, resource(kind), "", parsed)


def _as_device(traits: _Traits) -> CelDevice:
    """A device as expressions see it: names without a domain are in the driver's."""
    driver = traits.driver
    attributes: dict[str, dict[str, object]] = {driver: {}}
    for name, value in traits.attributes:
        domain, short = _qualified(driver, name)
        named = attributes.setdefault(domain, {})
        if value is not None:
            named[short] = _value(value)
    capacity: dict[str, dict[str, object]] = {driver: {}}
    for name, amount in traits.capacity:
        domain, short = _qualified(driver, name)
        amounts = capacity.setdefault(domain, {})
        if amount is not None:
            amounts[short] = CelQuantity(amount.amount)
    return {
        "driver": driver,
        "attributes": attributes,
        "capacity": capacity,
        "allowMultipleAllocations": traits.shared,
    }


def _qualified(driver: str, name: str) -> tuple[str, str]:
    domain, slash, short = name.rpartition("/")
    return (domain, short) if slash else (driver, name)


def _value(attribute: DeviceAttribute) -> object:
    """The value of an attribute; UNKNOWN for a version."""
    values = (attribute.text, attribute.number, attribute.flag)
    return next((value for value in values if value is not None), UNKNOWN)
