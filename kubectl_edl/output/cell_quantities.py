"""Amounts in cells: one figure and one unit."""

from typing import Final

from edl.quantities import SHARED_GPU, Resources

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
    """One decimal at most, and none where there is nothing to say."""
    return f"{number:.1f}".removesuffix(".0")


def percent(part: int, whole: int) -> str:
    """`75%`; nothing of nothing."""
    return f"{part / whole:.0%}" if whole else ""


def fine_percent(part: float) -> str:
    """`12.5%` of a part of 1, in three digits."""
    return f"{100 * part:.3g}%"


def gpus(resources: Resources) -> int:
    """Whole GPUs of all makers and shares together, in thousandths, as pods ask for them."""
    whole = sum(amount for name, amount in resources if name.endswith(_GPU))
    return whole * _CORE + resources.get(SHARED_GPU)


def offered_gpus(allocatable: Resources) -> int:
    """The same of a node: whose GPUs are shared counts each once."""
    return allocatable.get(SHARED_GPU) or gpus(allocatable)
