"""Kinds of devices as resources: each is one dimension of what nodes have and pods ask for.

A kind is a DeviceClass, or a class with selectors and tolerations of requests. The name of a class
as a resource is the one that Kubernetes gives it (`deviceclass.resource.kubernetes.io/NAME`,
KEP-5004). A device counts in every kind that it matches.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice, zip_longest
from typing import Final

import msgspec

from edl.kube.dra.dra_facts import DeviceClassFacts, DeviceKind, RequestedDevices
from edl.quantities import DEVICE_CLASS

MOST: Final = 64
"""Kinds besides the classes: requests of any more are counted by their class alone."""
LONGEST: Final = 1000
"""Characters of the selectors of one request; with more, its class alone is counted, too."""


class DeviceKinds(msgspec.Struct, frozen=True):
    """What DeviceClasses and requests distinguish. Equal values count devices the same way."""

    classes: tuple[DeviceClassFacts, ...] = ()
    """Sorted by name."""
    asked: tuple[DeviceKind, ...] = ()
    """With selectors or tolerations of their own."""

    @classmethod
    def of(
        cls,
        classes: Iterable[DeviceClassFacts],
        requested: Iterable[tuple[str, RequestedDevices]],
    ) -> "DeviceKinds":
        """`requested`: by namespace. Namespaces have their kinds counted in turn."""
        asked: defaultdict[str, set[DeviceKind]] = defaultdict(set)
        for namespace, one in requested:
            wanted = (wanted.kind for wants in one.requests for wanted in wants)
            asked[namespace].update(filter(_countable, wanted))
        ordered = tuple(islice(_in_turn(asked), MOST))
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


def length(kind: DeviceKind) -> int:
    """Characters of its selectors, and one more for the rest of it."""
    return 1 + sum(map(len, kind.selectors))


def resource(kind: DeviceKind) -> str:
    """The name of a kind as a resource. A digest stands for what a request asks for besides.

    A request counts in kinds of other namespaces as well, whose texts its users must not see.
    """
    if not (kind.selectors or kind.tolerations):
        return DEVICE_CLASS + kind.device_class
    digest = hashlib.blake2s(msgspec.json.encode(kind), digest_size=8).hexdigest()
    return f"{DEVICE_CLASS}{kind.device_class}[{digest}]"


def _countable(kind: DeviceKind) -> bool:
    return bool(kind.selectors or kind.tolerations) and length(kind) <= LONGEST


def _in_turn(asked: Mapping[str, Iterable[DeviceKind]]) -> Iterator[DeviceKind]:
    """The first kind of each namespace, then the second of each, …; each kind once."""
    columns = (sorted(asked[namespace], key=_order) for namespace in sorted(asked))
    rows = zip_longest(*columns)
    yield from dict.fromkeys(kind for row in rows for kind in row if kind)


def _order(kind: DeviceKind) -> tuple[object, ...]:
    tolerations = tuple((one.key, one.operator, one.value, one.effect) for one in kind.tolerations)
    return kind.device_class, kind.selectors, tolerations
