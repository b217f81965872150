"""Whatever users of one namespace ask for: bounded work, and devices of others count as before."""

from collections.abc import Iterator
from decimal import Decimal

import msgspec
import pytest

from edl.kube.cluster import Delta, ObjectKey
from edl.kube.dra import dra_facts
from edl.kube.dra.claim_resolution import MAX_CAVEATS, resolve
from edl.kube.dra.device_groups import MAX_GROUPING_WORK, MAX_VALUES, DeviceGroups
from edl.kube.dra.device_index import DeviceChanges, DeviceIndex
from edl.kube.dra.device_kinds import LONGEST_SELECTORS, MAX_KINDS, DeviceKinds, length, resource
from edl.kube.dra.device_partitions import CounterName, Partition, count
from edl.kube.dra.dra_facts import DeviceKind
from edl.kube.dra.dra_schemas import DeviceAttribute, DeviceObject
from edl.model import ClaimRef, Shape
from edl.quantities import Resources
from edl.writes import Json
from tests import devices
from tests.devices import DRIVER, asking, gpus, resource_slice, template

A100 = f'device.attributes["{DRIVER}"].model == "a100"'
H100 = f'device.attributes["{DRIVER}"].model == "h100"'


def serial(number: int) -> str:
    return f'device.attributes["{DRIVER}"].serial == "{number}"'


def of(*selectors: str) -> DeviceKind:
    return DeviceKind(DRIVER, selectors)


class Followed:
    """One DeviceClass, nodes with eight devices each, and what templates ask for."""

    def __init__(self, nodes: int = 2) -> None:
        self.index = DeviceIndex()
        self.index.apply(DeviceChanges([self._slice(number) for number in range(nodes)]))
        self.add_class(DRIVER, f'device.driver == "{DRIVER}"')

    def add_class(self, name: str, *selectors: str) -> None:
        body = devices.device_class(name, *selectors)
        found = dra_facts.device_class(msgspec.json.encode(body))
        self.index.apply(DeviceChanges(classes=[Delta(ObjectKey("", name), None, found)]))

    def _slice(self, node: int) -> Delta[dra_facts.ResourceSliceFacts]:
        found = gpus(8)
        for number, device in enumerate(found):
            device["attributes"] |= devices.attributes(serial=str(8 * node + number))
        body = resource_slice(f"n{node}", found)
        facts = dra_facts.resource_slice(msgspec.json.encode(body))
        return Delta(ObjectKey("", facts.name), None, facts)

    def ask(self, *bodies: Json) -> None:
        found = [
            (body["metadata"], dra_facts.template(msgspec.json.encode(body))) for body in bodies
        ]
        named = [(ObjectKey(of["namespace"], of["name"]), one) for of, one in found]
        self.index.apply(DeviceChanges(templates=[Delta(key, None, one) for key, one in named]))

    @property
    def counted(self) -> set[DeviceKind]:
        return set(self.index.inventory.groups.kinds.asked)

    def most(self, kind: DeviceKind) -> int:
        return self.index.inventory.largest().get(resource(kind), 0)


def test_the_name_of_a_device_kind_hides_its_selectors() -> None:
    """It counts in requests of other namespaces, and is written on their Jobs."""
    told = resource(of(f'"secret" != device.driver || "{"x" * 9000}" == ""'))
    assert "secret" not in told
    assert len(told) < 100


def test_kinds_of_one_namespace_leave_those_of_others_counted() -> None:
    cluster = Followed()
    many = [
        devices.first_available(*(asking(1, serial(8 * n + i)) for i in range(8)))
        for n in range(16)
    ]
    cluster.ask(template("many", *many, namespace="a"), template("one", asking(1, A100)))
    assert of(A100) in cluster.counted
    assert len(cluster.counted) == MAX_KINDS


def test_a_selector_that_is_too_long_is_counted_by_its_class_alone() -> None:
    cluster = Followed()
    long = of(" || ".join(serial(number) for number in range(LONGEST_SELECTORS // 20)))
    cluster.ask(template("long", asking(1, *long.selectors)), template("one", asking(1, A100)))
    assert cluster.counted == {of(A100)}
    assert cluster.index.inventory.groups.kinds.resource(long) == resource(of())


def test_what_names_serial_numbers_of_many_devices_is_counted_by_its_class_alone() -> None:
    cluster = Followed(nodes=4)
    cluster.ask(template("one", asking(1, A100)), template("other", asking(1, serial(7))))
    assert cluster.most(of(serial(7))) == 1
    larger = Followed(nodes=MAX_VALUES // 8 + 1)
    larger.ask(template("one", asking(1, A100)), template("other", asking(1, serial(7))))
    assert larger.counted == {of(A100)}
    assert larger.most(of(A100)) == 8
    larger.ask(template("other", asking(1, serial(8))), template("one", asking(1, H100)))
    assert larger.counted == {of(H100)}


def test_a_class_may_name_serial_numbers_also_after_requests_did() -> None:
    cluster = Followed(nodes=MAX_VALUES // 8 + 1)
    cluster.ask(template("other", asking(1, serial(7))))
    assert cluster.counted == set()
    cluster.add_class("spare", serial(7))
    assert cluster.most(DeviceKind("spare")) == 1


def test_an_attribute_is_named_by_a_word_not_by_a_part_of_one() -> None:
    """`id` is in every `gpu.nvidia.com`; it would tell every device from the others."""
    groups = DeviceGroups()
    groups.set_kinds(DeviceKinds(asked=(of('device.driver == "gpu.nvidia.com"'),)))
    alike = {
        groups.add(DRIVER, DeviceObject(f"gpu-{n}", {"id": DeviceAttribute(number=n)}))
        for n in range(2)
    }
    assert len(alike) == 1


def test_the_work_of_all_selectors_is_bounded_where_a_class_tells_all_devices_apart() -> None:
    named = dra_facts.DeviceClassFacts(DRIVER, selectors=(serial(7),))
    groups = DeviceGroups()
    wanted = tuple(of(f'"{"x" * 900}" == "" || {A100} || {serial(n)}') for n in range(MAX_KINDS))
    assert groups.set_kinds(DeviceKinds((named,), wanted)) is False
    for number in range(2 * MAX_VALUES):
        serials = {"serial": DeviceAttribute(text=str(number))}
        groups.add(DRIVER, DeviceObject(str(number), serials))
    assert not groups.too_various()
    groups.settle()
    work = 2 * MAX_VALUES * sum(map(length, groups.kinds.asked))
    assert 0 < work <= MAX_GROUPING_WORK


def test_a_selector_beyond_the_bound_leaves_others_counted() -> None:
    named = dra_facts.DeviceClassFacts(DRIVER, selectors=(serial(7),))
    groups = DeviceGroups()
    short = of(A100)
    groups.set_kinds(DeviceKinds((named,), (of(f'"{"x" * 900}" == "" || {A100}'), short)))
    for number in range(MAX_GROUPING_WORK // 500):
        serials = {"serial": DeviceAttribute(text=str(number))}
        groups.add(DRIVER, DeviceObject(str(number), serials))
    groups.settle()
    assert groups.kinds.asked == (short,)


def test_slices_are_read_again_only_where_a_selector_names_another_attribute() -> None:
    """An attribute once: a template that changes all the time costs no more than its evaluation."""
    groups = DeviceGroups()
    known = {name: DeviceAttribute(text="a") for name in ("model", "serial")}
    groups.set_kinds(DeviceKinds())
    groups.add(DRIVER, DeviceObject("gpu-0", known))
    rereads = [
        groups.set_kinds(DeviceKinds(asked=asked))
        for asked in ((of(A100),), (of(H100),), (of(serial(1)),), (), (of(serial(2)), of(A100)))
    ]
    assert rereads == [True, False, True, False, False]


class OnlyLookedUp(dict[CounterName, Decimal]):
    """Counters of a whole cluster, which must not be walked for one node."""

    def __iter__(self) -> Iterator[CounterName]:
        raise AssertionError

    keys = items = values = __iter__  # type: ignore[assignment]


def test_parts_of_devices_look_at_the_counters_of_their_own_device_only() -> None:
    counters = OnlyLookedUp({("d", "p", gpu, "slices"): Decimal(7) for gpu in "ab"})
    parts = [
        Partition(
            ("whole",) if takes == 7 else ("part",), ((("d", "p", gpu, "slices"), Decimal(takes)),)
        )
        for gpu in "ab"
        for name, takes in (("whole", 7), ("part", 1), ("part", 1))
    ]
    assert count(parts, counters).has == {"whole": 2, "part": 4}


def test_of_a_template_with_selectors_without_end_the_first_caveats_are_told() -> None:
    """Each training job keeps them; and the template is resolved once for all of these."""
    cluster = Followed()
    asks = [
        asking(1, *(f'"{ask}-{own}" == device.driver.other()' for own in range(32)))
        for ask in range(32)
    ]
    cluster.ask(template("many", *asks))
    assert cluster.index.view
    shape = Shape(Resources(), claims=(ClaimRef("web", "many", template=True),))
    first = resolve(shape, cluster.index.view, 9)
    assert len(first.caveats) == MAX_CAVEATS
    assert first == resolve(shape, cluster.index.view, 1)
    assert list(cluster.index.view.resolved) == [ObjectKey("web", "many")]


@pytest.mark.parametrize("digits", [19, 5000])
def test_a_number_beyond_64_bits_is_not_evaluated(digits: int) -> None:
    cluster = Followed()
    cluster.ask(
        template("one", asking(1, f'device.attributes["{DRIVER}"].index == {"9" * digits}'))
    )
    assert cluster.most(of()) == 8


def test_a_selector_may_ask_for_devices_that_several_claims_share() -> None:
    """KEP-5075: a field of the device itself, beside its attributes."""
    cluster = Followed()
    shared = devices.resource_slice(
        "n9", [gpu | {"allowMultipleAllocations": True} for gpu in gpus(3)]
    )
    found = dra_facts.resource_slice(msgspec.json.encode(shared))
    cluster.index.apply(DeviceChanges([Delta(ObjectKey("", found.name), None, found)]))
    asked = "device.allowMultipleAllocations == true", "!device.allowMultipleAllocations"
    cluster.ask(*(template(f"t{place}", asking(1, one)) for place, one in enumerate(asked)))
    assert [cluster.most(of(one)) for one in asked] == [3, 8]


def test_counters_of_a_pool_go_with_its_devices() -> None:
    """Nodes come and go, each with a pool of its own."""
    part = {"counterSet": "gpu", "counters": {"slices": {"value": "1"}}}
    (gpu,) = gpus(1)
    body = resource_slice(
        "n9",
        [gpu | {"consumesCounters": [part]}],
        sharedCounters=[{"name": "gpu", "counters": {"slices": {"value": "7"}}}],
    )
    found = dra_facts.resource_slice(msgspec.json.encode(body))
    cluster, name = Followed(), ObjectKey("", found.name)
    cluster.index.apply(DeviceChanges([Delta(name, None, found)]))
    assert cluster.index.inventory._counters  # noqa: SLF001 - nothing else shows them
    cluster.index.apply(DeviceChanges([Delta(name, found, None)]))
    assert not cluster.index.inventory._counters  # noqa: SLF001
