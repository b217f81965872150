"""Devices by node: offered by ResourceSlices, and held by allocated ResourceClaims.

As in Kubernetes, a pod's devices are those of its claims, whatever its template requests.
"""

from collections import Counter as Tally
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from edl.kube.cluster import Delta, ObjectKey
from edl.kube.decode.node_selector import selects
from edl.kube.dra.device_groups import DeviceGroups
from edl.kube.dra.device_kinds import DeviceKinds
from edl.kube.dra.device_partitions import Partition
from edl.kube.dra.dra_facts import (
    DeviceId,
    ResourceClaimFacts,
    ResourceSliceFacts,
    holders_of,
    name_of,
)
from edl.kube.dra.node_devices import DeviceTally, NodeDevices
from edl.kube.dra.pool_devices import PoolDevice, pool_devices
from edl.model import Node, Shape

if TYPE_CHECKING:
    from decimal import Decimal

    from edl.kube.dra.device_partitions import CounterName

_Pool = tuple[str, str]
"""(driver, name)."""


class PodClaims(NamedTuple):
    """A pod with claims; `node` is empty until the pod is bound."""

    node: str
    shape: Shape


class DeviceInventory:
    """Updated by changes. Slices are decoded again when more attributes distinguish devices.

    `wanted` returns the devices that a pod of a shape requests, by resource.
    """

    def __init__(self, wanted: Callable[[Shape], Iterable[tuple[str, int]]]) -> None:
        self.wanted = wanted
        self.groups = DeviceGroups()
        self._slices: defaultdict[_Pool, dict[str, ResourceSliceFacts]] = defaultdict(dict)
        self._pools: dict[_Pool, dict[DeviceId, PoolDevice]] = {}
        self._local: defaultdict[str, dict[DeviceId, PoolDevice]] = defaultdict(dict)
        """By node."""
        self._wide: dict[DeviceId, PoolDevice] = {}
        """Devices that several nodes can use: each of these nodes is offered all of them."""
        self._counters: dict[CounterName, Decimal] = {}
        """Counters of the pools whose devices are partitions of others."""
        self._claims: dict[ObjectKey, ResourceClaimFacts] = {}
        """The allocated claims."""
        self._held: defaultdict[DeviceId, set[ObjectKey]] = defaultdict(set)
        self._claims_of: defaultdict[ObjectKey, set[ObjectKey]] = defaultdict(set)
        """Claims by the pod that they are reserved for, or were created for."""
        self._pods: dict[ObjectKey, PodClaims] = {}
        """Pods with claims that have neither ended nor terminate."""
        self._coming: defaultdict[str, dict[ObjectKey, PodClaims]] = defaultdict(dict)
        """By node, bound pods whose own claims must be allocated, but no watch has delivered that
        yet."""
        self._stale: set[str] | None = set()

    # -- changes ------------------------------------------------------------------------------

    def set_kinds(self, kinds: DeviceKinds) -> None:
        """Sets the kinds to count. Call `settle` afterwards, and after `apply_slice`."""
        if self.groups.set_kinds(kinds):
            self._read_again()

    def settle(self) -> None:
        while self.groups.too_various():
            self._read_again()
        if self.groups.settle():
            self._stale = None

    def apply_slice(self, change: Delta[ResourceSliceFacts]) -> None:
        for facts, here in ((change.before, False), (change.after, True)):
            if facts is None:
                continue
            pool = (facts.driver, facts.pool)
            if here:
                self._slices[pool][facts.name] = facts
            else:
                self._slices[pool].pop(facts.name, None)
        for pool in {(one.driver, one.pool) for one in (change.before, change.after) if one}:
            self._read(pool)

    def apply_claim(self, change: Delta[ResourceClaimFacts]) -> None:
        if change.before and change.before.allocated:
            self._release(change.before)
        if change.after and change.after.allocated:
            self._hold(change.after)

    def set_pod(self, name: ObjectKey, held: PodClaims | None) -> None:
        """Updates a pod that holds devices; None once it has ended, terminates or is gone."""
        before = self._pods.pop(name, None)
        if before:
            self._expect(name, before, comes=False)
        if held:
            self._pods[name] = held
            self._expect(name, held, comes=not self._is_covered(name))
        if (before and before.node) != (held and held.node):
            for claim in self._claims_of.get(name, ()):
                self._touch(self._claims[claim].devices)

    def mark_expecting_nodes(self) -> None:
        """Marks nodes whose bound pods have claims that may now resolve differently."""
        for node, pods in self._coming.items():
            if any(held.shape.claims for held in pods.values()):
                self._mark_node(node)

    def _is_covered(self, pod: ObjectKey) -> bool:
        """Whether a claim that was created for the pod is allocated."""
        return any(self._claims[claim].owner for claim in self._claims_of.get(pod, ()))

    def _expect(self, pod: ObjectKey, held: PodClaims, *, comes: bool) -> None:
        """Records whether a bound pod waits for news of its claims' allocation."""
        if not held.node:
            return
        waiting = self._coming[held.node]
        if comes != (pod in waiting):
            waiting.pop(pod, None)
            waiting.update({pod: held} if comes else {})
            self._mark_node(held.node)
        if not waiting:
            del self._coming[held.node]

    def take_stale(self) -> set[str] | None:
        """The nodes whose devices changed since the last call; None for all of them."""
        nodes, self._stale = self._stale, set()
        return nodes

    # -- queries ------------------------------------------------------------------------------

    def on(self, node: Node) -> NodeDevices:
        tally = DeviceTally()
        for device, entry in self._usable(node):
            claims = map(self._claims.__getitem__, self._held.get(device, ()))
            holders = [claim for claim in claims if not self._is_asked_for(claim)]
            leaves = bool(holders) and all(map(self._leaves, holders))
            pod = self._owner_on(node.name, holders[0]) if len(holders) == 1 else None
            part = Partition(entry.group.resources, entry.takes, bool(holders), leaves)
            tally.add(part, pod)
        coming = self._coming.get(node.name, _NO_CLAIMS).values()
        return tally.total(self._counters, (self.wanted(held.shape) for held in coming))

    def largest(self) -> Mapping[str, int]:
        """The most devices that one node has, by resource. Nodes share the devices of `_wide`."""
        most: dict[str, int] = {}
        for devices in (*self._local.values(), self._wide):
            counts = Tally(name for one in devices.values() for name in one.group.resources)
            for name, count in counts.items():
                most[name] = max(most.get(name, 0), count)
        return most

    def _usable(self, node: Node) -> Iterator[tuple[DeviceId, PoolDevice]]:
        yield from self._local.get(node.name, _NONE).items()
        for device, entry in self._wide.items():
            if selects(entry.nodes, node):
                yield device, entry

    # -- slices -------------------------------------------------------------------------------

    def _read_again(self) -> None:
        self.groups.clear()
        for table in (self._pools, self._local, self._wide):
            table.clear()
        self._stale = None
        for pool in list(self._slices):
            self._read(pool)

    def _read(self, pool: _Pool) -> None:
        """Reads a pool's devices again: of its newest generation, once all its slices exist."""
        for device, entry in self._pools.pop(pool, _NONE).items():
            self._forget(device, entry)
        slices = self._slices[pool].values()
        newest = max((facts.generation for facts in slices), default=0)
        current = [facts for facts in slices if facts.generation == newest]
        if not current:
            del self._slices[pool]
        elif len(current) == current[0].slices:
            for facts in current:
                self._counters.update(facts.counters)
            self._pools[pool] = dict(pool_devices(current, self.groups))
            for device, entry in self._pools[pool].items():
                self._know(device, entry)

    def _know(self, device: DeviceId, entry: PoolDevice) -> None:
        if entry.node:
            self._local[entry.node][device] = entry
        else:
            self._wide[device] = entry
        self._mark(entry)

    def _forget(self, device: DeviceId, entry: PoolDevice) -> None:
        self.groups.drop(entry.group)
        for counter, _ in entry.takes:
            self._counters.pop(counter, None)
        if entry.node:
            del self._local[entry.node][device]
            if not self._local[entry.node]:
                del self._local[entry.node]
        else:
            del self._wide[device]
        self._mark(entry)

    def _mark(self, entry: PoolDevice) -> None:
        if not entry.node:
            self._stale = None
        else:
            self._mark_node(entry.node)

    def _mark_node(self, node: str) -> None:
        if self._stale is not None:
            self._stale.add(node)

    # -- claims -------------------------------------------------------------------------------

    def _hold(self, claim: ResourceClaimFacts) -> None:
        name = name_of(claim)
        self._claims[name] = claim
        for device in claim.devices:
            self._held[device].add(name)
        for pod in holders_of(claim):
            self._claims_of[pod].add(name)
            self._look_at(pod)
        self._touch(claim.devices)

    def _release(self, claim: ResourceClaimFacts) -> None:
        name = name_of(claim)
        for device in claim.devices:
            self._held[device].discard(name)
            if not self._held[device]:
                del self._held[device]
        for pod in holders_of(claim):
            self._claims_of[pod].discard(name)
            if not self._claims_of[pod]:
                del self._claims_of[pod]
            self._look_at(pod)
        del self._claims[name]
        self._touch(claim.devices)

    def _look_at(self, pod: ObjectKey) -> None:
        if held := self._pods.get(pod):
            self._expect(pod, held, comes=not self._is_covered(pod))

    def _touch(self, devices: Iterable[DeviceId]) -> None:
        for device in devices:
            if entry := self._pools.get((device.driver, device.pool), _NONE).get(device):
                self._mark(entry)

    def _is_asked_for(self, claim: ResourceClaimFacts) -> bool:
        """Whether the pod of the claim is unbound, and so requests these devices itself."""
        pods = (self._pods.get(pod) for pod in holders_of(claim)) if claim.owner else ()
        return any(pod and not pod.node for pod in pods)

    def _owner_on(self, node: str, claim: ResourceClaimFacts) -> ObjectKey | None:
        """The pod that the claim was created for, if it runs on this node."""
        pod = ObjectKey(claim.namespace, claim.owner)
        return pod if pod in self._pods and self._pods[pod].node == node else None

    def _leaves(self, claim: ResourceClaimFacts) -> bool:
        """Whether its pods have ended or are ending: the claim will be released."""
        return claim.leaving or not any(pod in self._pods for pod in holders_of(claim))


_NONE: Final[dict[DeviceId, PoolDevice]] = {}
_NO_CLAIMS: Final[dict[ObjectKey, PodClaims]] = {}
