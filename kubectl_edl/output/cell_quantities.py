"""Amounts for table cells, sentences and documents: one number and one unit."""

from collections.abc import Iterable
from typing import Final

from edl.kube.decode.gpu_sharing import UNCOUNTED
from edl.quantities import CPU, SHARED_GPU, Resources

_UNITS: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi")
_STEP: Final = 1024
_CORE: Final = 1000
_GPU: Final = "/gpu"


def cores(millis: int) -> str:
    """`250m`, `1.5`, `12`."""
    return f"{millis}m" if 0 < abs(millis) < _CORE else decimal(millis / _CORE)


def memory(amount: int) -> str:
    """`512Mi`, `1.5Gi`."""
    size, unit = float(amount), 0
    while abs(size) >= _STEP and unit < len(_UNITS) - 1:
        size, unit = size / _STEP, unit + 1
    return f"{decimal(size)}{_UNITS[unit]}"


def decimal(number: float) -> str:
    """At most one decimal, and none if it is 0."""
    return f"{number:.1f}".removesuffix(".0")


def quantities(resources: Iterable[tuple[str, int]]) -> dict[str, str]:
    """Amounts as Kubernetes writes them: millicores of CPU, whole units otherwise."""
    return {name: f"{amount}m" if name == CPU else str(amount) for name, amount in resources}


def quantity(name: str, amount: int) -> str:
    """One amount; zero is `0`."""
    return quantities(((name, amount),))[name] if amount else "0"


def counted(number: int, noun: str) -> str:
    """`1 pod`, `3 pods`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def bounds_text(low: int, high: int) -> str:
    """`2`, or `1..12` for an elastic role, in the format of `edl.dev/roles`."""
    return str(high) if low == high else f"{low}..{high}"


def thousandths(amount: int) -> str:
    """`2`, `0.5`, of GPUs."""
    return decimal(amount / _CORE)


def percent(part: int, whole: int) -> str:
    """`75%`; empty if the whole is 0."""
    return f"{part / whole:.0%}" if whole else ""


def fine_percent(part: float) -> str:
    """`12.5%` of a fraction of 1, with three digits."""
    return f"{100 * part:.3g}%"


def cpus(resources: Resources) -> int:
    """CPU in thousandths, as pods request it."""
    return resources.get(CPU)


def gpus(resources: Resources) -> int:
    """GPUs of all vendors and GPU shares together, in thousandths, as pods request them."""
    whole = sum(amount for name, amount in resources if name.endswith(_GPU))
    return whole * _CORE + resources.get(SHARED_GPU)


def offered_gpus(allocatable: Resources) -> int:
    """The same for a node, on which each shared GPU counts once; 0 if their number is unknown."""
    shared = allocatable.get(SHARED_GPU)
    return 0 if shared == UNCOUNTED else shared or gpus(allocatable)
