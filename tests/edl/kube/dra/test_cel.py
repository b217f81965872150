"""Selectors are evaluated as kube-scheduler does it, or it is known that they are not."""

from decimal import Decimal

import pytest

from edl.kube.dra.cel import CelQuantity, selector

DEVICE = {
    "driver": "gpu.x",
    "attributes": {"gpu.x": {"model": "a100", "mig": False, "numa": 3}, "pci.x": {"root": "r0"}},
    "capacity": {"gpu.x": {"memory": CelQuantity(Decimal(40 * 2**30))}},
}


@pytest.mark.parametrize(
    "expression",
    [
        'device.driver == "gpu.x"',
        "device.driver == 'gpu.x'",
        'device.attributes["gpu.x"].model == "a100" && device.attributes["gpu.x"].numa == 3',
        '!device.attributes["gpu.x"].mig',
        'device.attributes["gpu.x"]["model"] != "h100"',
        'device.attributes["gpu.x"].model in ["h100", "a100"]',
        '"pci.x" in device.attributes && device.attributes["pci.x"].root == "r0"',
        'device.capacity["gpu.x"].memory == quantity("40960Mi")',
        'device.capacity["gpu.x"].memory.compareTo(quantity("40Gi")) >= 0',
        'device.capacity["gpu.x"].memory.isGreaterThan(quantity("39Gi"))',
        'device.driver == "other" || (device.attributes["gpu.x"].numa > 2)',
        'device.driver == "gpu.x" || device.attributes["none"].model == "a100"',
    ],
)
def test_a_device_matches(expression: str) -> None:
    assert selector(expression)(DEVICE) is True


@pytest.mark.parametrize(
    "expression",
    [
        'device.driver == "gpu.y"',
        'device.attributes["gpu.x"].mig',
        'device.attributes["gpu.x"].numa == "3"',
        'device.attributes["gpu.x"].missing == "a100"',
        'device.attributes["none"].model == "a100"',
        'device.capacity["gpu.x"].memory.isLessThan(quantity("40Gi"))',
        'device.capacity["gpu.x"].memory == quantity("forty")',
        'device.attributes["gpu.x"].model in []',
        # What is not evaluated decides nothing here.
        'device.driver == "gpu.y" && device.attributes["gpu.x"].model.matches("a.*")',
    ],
)
def test_a_device_does_not_match(expression: str) -> None:
    """An attribute that is missing is an error of CEL, and no match."""
    assert selector(expression)(DEVICE) is False


@pytest.mark.parametrize(
    "expression",
    [
        'device.attributes["gpu.x"].model.matches("a.*")',
        'device.driver == "gpu.x" && device.attributes["gpu.x"].model.startsWith("a")',
        'device.attributes["gpu.x"].numa + 1 == 4',
        'device.driver == "gpu.x" ? true : false',
        'device.driver == "gpu\\u002ex"',
        'semver("1.2.3").isLessThan(semver("2.0.0"))',
        "",
        "device.",
        "(" * 5000 + "true" + ")" * 5000,
        "device" + ".a" * 5000,
        "!" * 9000 + "true",
    ],
)
def test_what_is_not_evaluated_is_known_as_such(expression: str) -> None:
    assert selector(expression)(DEVICE) is None
