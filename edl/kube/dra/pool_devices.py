"""The devices that the ResourceSlices of a pool list."""

import logging
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from edl.kube.dra import device_partitions
from edl.kube.dra.device_groups import DeviceGroup, DeviceGroups
from edl.kube.dra.device_partitions import CounterAmounts
from edl.kube.dra.dra_facts import Affinity, DeviceId, ResourceSliceFacts, reach
from edl.kube.dra.dra_schemas import DeviceObject

_log: Final = logging.getLogger(__name__)
_devices: Final = msgspec.json.Decoder(list[DeviceObject] | None)


class PoolDevice(NamedTuple):
    """A device of one node; if `node` is empty, of all `nodes` that are selected."""

    node: str
    nodes: Affinity
    group: DeviceGroup
    takes: CounterAmounts = ()
    """The amounts that it takes of counters, if it is a partition of a device."""


def pool_devices(
    slices: Iterable[ResourceSliceFacts], groups: DeviceGroups
) -> Iterator[tuple[DeviceId, PoolDevice]]:
    """Each device with its group, in which `groups` counts it."""
    for facts in slices:
        for device in _listed(facts):
            node, nodes = facts.node or device.node_name, facts.nodes or ()
            if not node and facts.nodes is None:
                nodes = reach(device.node_selector, everywhere=device.all_nodes)
            takes = device_partitions.amounts(facts.driver, facts.pool, device.consumes_counters)
            pool_device = PoolDevice(node, nodes, groups.add(facts.driver, device), takes)
            yield DeviceId(facts.driver, facts.pool, device.name), pool_device


def _listed(facts: ResourceSliceFacts) -> Sequence[DeviceObject]:
    """The devices of a slice; none if they cannot be decoded, so that all others count."""
    try:
        return _devices.decode(facts.devices) or ()
    except msgspec.DecodeError as error:
        _log.warning("cannot decode devices of %s, ignoring them: %s", facts.driver, error)
        return ()
