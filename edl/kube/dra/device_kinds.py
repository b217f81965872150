"""Kinds of devices, each of which is a resource that nodes offer and pods request.

A kind is a DeviceClass, or a class with the selectors and tolerations of a request. The resource of
a class has the name that Kubernetes gives it (`deviceclass.resource.kubernetes.io/NAME`, KEP-5004).
A device counts in every kind that it matches.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice, zip_longest
from typing import Final

import msgspec
from msgspec.structs import astuple

from edl.kube.dra.dra_facts import DeviceClassFacts, DeviceKind, RequestedDevices
from edl.quantities import DEVICE_CLASS

MAX_KINDS: Final = 64
"""Kinds besides the classes; requests of any further kind are counted by their class alone."""
LONGEST_SELECTORS: Final = 1000
"""Characters of the selectors of one request; a longer one is counted by its class alone."""


class DeviceKinds(msgspec.Struct, frozen=True):
    """The kinds that DeviceClasses and requests distinguish. Equal values count devices alike."""

    classes: tuple[DeviceClassFacts, ...] = ()
    """Sorted by name."""
    asked: tuple[DeviceKind, ...] = ()
    """Kinds with selectors or tolerations of requests."""

    @classmethod
    def of(
        cls, classes: Iterable[DeviceClassFacts], requested: Iterable[tuple[str, RequestedDevices]]
    ) -> "DeviceKinds":
        """`requested` are (namespace, request) pairs.

        Namespaces take turns to have kinds counted.
        """
        asked: defaultdict[str, set[DeviceKind]] = defaultdict(set)
        for namespace, devices in requested:
            wanted = (wanted.kind for wants in devices.requests for wanted in wants)
            asked[namespace].update(filter(_countable, wanted))
        ordered = tuple(islice(_in_turn(asked), MAX_KINDS))
        return cls(tuple(sorted(classes, key=lambda entry: entry.name)), ordered)

    def resource(self, kind: DeviceKind) -> str:
        """The resource of a kind; that of its class if the kind itself is not counted."""
        return resource(kind if kind in self.asked else DeviceKind(kind.device_class))

    def extended(self) -> Mapping[str, str]:
        """DeviceClasses by extended resource name.

        The newest of several wins, then the first by name.
        """
        classes: dict[str, DeviceClassFacts] = {}
        for entry in sorted(self.classes, key=lambda entry: entry.name, reverse=True):
            last = classes.get(entry.extended)
            if entry.extended and (last is None or entry.created_at >= last.created_at):
                classes[entry.extended] = entry
        return {name: entry.name for name, entry in classes.items()}


def length(kind: DeviceKind) -> int:
    """Characters of the kind's selectors, plus one for its other parts."""
    return 1 + sum(map(len, kind.selectors))


def resource(kind: DeviceKind) -> str:
    """The name of a kind as a resource; a digest stands for selectors and tolerations.

    A request also counts in kinds of other namespaces, whose selectors its users must not see.
    """
    if not (kind.selectors or kind.tolerations):
        return DEVICE_CLASS + kind.device_class
    digest = hashlib.blake2s(msgspec.json.encode(kind), digest_size=8).hexdigest()
    return f"{DEVICE_CLASS}{kind.device_class}[{digest}]"


def _countable(kind: DeviceKind) -> bool:
    return bool(kind.selectors or kind.tolerations) and length(kind) <= LONGEST_SELECTORS


def _in_turn(asked: Mapping[str, Iterable[DeviceKind]]) -> Iterator[DeviceKind]:
    """The first kind of each namespace, then the second of each, …; each kind once."""
    columns = (sorted(asked[namespace], key=_order) for namespace in sorted(asked))
    rows = zip_longest(*columns)
    yield from dict.fromkeys(kind for row in rows for kind in row if kind)


def _order(kind: DeviceKind) -> tuple[object, ...]:
    tolerations = tuple(
        tuple(-1 if value is None else value for value in astuple(toleration))
        for toleration in kind.tolerations
    )
    return kind.device_class, kind.selectors, tolerations
