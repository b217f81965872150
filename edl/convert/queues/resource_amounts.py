"""Amounts and weights in queue documents, within the bounds that teams have."""

from decimal import ROUND_HALF_UP, Decimal
from typing import Any, Final

from edl.convert.tracked_object import Fields
from edl.parsing.team_fields import FRACTIONS, LARGEST, SHARES
from edl.quantities import CPU, Resources, quantity

_LONGEST: Final = 63
_A_QUANTITY: Final = "a quantity from 0 to 1Ei, such as 8, 500m or 64Gi"
_A_NUMBER: Final = "a number from 0, or -1 for no bound"
_SMALLEST_WEIGHT: Final = Decimal("0.001")
_LARGEST_WEIGHT: Final = 999_999


def amount(fields: Fields, name: str, resource: str) -> int | None:
    """A quantity in the units of `Resources`; None if it is absent or wrong (reported)."""
    value = fields.value(name)
    if value is None:
        return None
    exact = _exact(value)
    if exact is None or not 0 <= exact <= LARGEST:
        fields.wrong(name, _text(value), _A_QUANTITY)
        return None
    if resource not in FRACTIONS and exact != int(exact):
        fields.wrong(name, _text(value), f"a whole number of {resource}")
        return None
    unit = CPU if resource == SHARES else resource
    return Resources.parse({unit: str(value)}).get(unit)


def _exact(value: Any) -> Decimal | None:  # noqa: ANN401 - JSON
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    if isinstance(value, int) and abs(value) > LARGEST:
        return None
    text = str(value)
    if len(text) > _LONGEST:
        return None
    try:
        return quantity(text)
    except ValueError:
        return None


def number(fields: Fields, name: str) -> float | None:
    """A number from 0, or -1 for unlimited; None if it is absent or wrong (reported)."""
    value = fields.value(name)
    if value is None:
        return None
    real = isinstance(value, int | float) and not isinstance(value, bool)
    if not real or not (value == -1 or 0 <= value <= LARGEST):
        fields.wrong(name, _text(value), _A_NUMBER)
        return None
    return float(value)


def weight(fields: Fields, name: str) -> float | None:
    """A weight in the range of teams' weights; None if it is absent or wrong (reported)."""
    value = fields.value(name)
    if value is None:
        return None
    exact = _exact(value)
    if exact is None or exact < 0 or exact > _LARGEST_WEIGHT:
        fields.wrong(name, _text(value), "a number from 0 to 999999, such as 2 or 0.5")
        return None
    rounded = exact.quantize(_SMALLEST_WEIGHT, ROUND_HALF_UP)
    if not exact:
        fields.lose(name, "a weight of 0 has no counterpart", "limit the team to its guarantee")
        return None
    if rounded != exact:
        fields.note(name, f"{exact:f} is {max(rounded, _SMALLEST_WEIGHT):f}, as teams' weights are")
    return float(max(rounded, _SMALLEST_WEIGHT))


def _text(value: Any) -> str:  # noqa: ANN401 - JSON
    """A value for a message, shortened to one line."""
    if isinstance(value, dict | list):
        return "a list" if isinstance(value, list) else "an object"
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > LARGEST:
        return "a number beyond all quantities"
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
