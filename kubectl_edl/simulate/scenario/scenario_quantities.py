"""Amounts of resources in scenarios and traces: none is below 0, and devices come as a whole."""

from decimal import Decimal
from typing import Final

from edl import contract
from edl.quantities import Resources, quantity

_SHARE: Final = f"; a share of a GPU is said by a job's manifest, with the label {contract.GPU}"


def amount(resource: str, value: object) -> Resources:
    """So much of one resource. Raises ValueError that says what is allowed."""
    found = Resources.parse({resource: value})
    if any(number < 0 for _, number in found):
        raise ValueError(f"{value} is below 0; allowed: 0 or more")
    if _device(resource) and _number(value) % 1:
        share = _SHARE * resource.endswith("gpu")
        raise ValueError(f"{value} is not a whole number; allowed: 0, 1, 2, …{share}")
    return found


def _device(resource: str) -> bool:
    """Kubernetes hands out what has a domain (`nvidia.com/gpu`) only as a whole."""
    return "/" in resource


def _number(value: object) -> Decimal:
    return quantity(str(value))
