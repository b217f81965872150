"""Random values: `{choices: [1, 2]}`, `{between: [1, 8]}`, `{exponential: 10m}`.

They are replaced by drawn values in the document, which is then read as if those had been
written.
"""

from collections.abc import Callable, Mapping
from random import Random
from typing import Final

from edl.durations import parse_duration
from kubectl_edl.simulate.scenario.field_reader import SHOWN, TIME, Field, as_number

Pick = Callable[[str, object], object]
"""A function from the kind of distribution and its argument to a value."""


def drawn(value: object, pick: Pick) -> object:
    """The value with every distribution in it replaced by a drawn value."""
    if isinstance(value, list):
        return [drawn(item, pick) for item in value]
    if not isinstance(value, Mapping):
        return value
    way = _way(value)
    if way:
        return pick(way, value[way])
    return {name: drawn(item, pick) for name, item in value.items()}


def at_random(random: Random) -> Pick:
    """Draws a choice, a uniform value between two numbers or times, or an exponential time."""
    return lambda way, argument: _WAYS[way](random, argument)


def each(number: int) -> Pick:
    """Takes the choice of that number, or the last, so that every choice can be checked."""

    def pick(_: str, argument: object) -> object:
        choices = argument if isinstance(argument, list) else [argument]
        return choices[min(number, len(choices) - 1)] if choices else None

    return pick


def check(field: Field) -> int:
    """Report invalid distributions in this value; returns the largest number of choices in it."""
    way = _way(field.value)
    if not way:
        parts = [part for _, part in field.parts()]
        parts += field.items() if isinstance(field.value, list) else []
        return max(map(check, parts), default=1)
    argument = field[way]
    choices = argument.value if isinstance(argument.value, list) else []
    if way == "choices" and not choices:
        argument.report("nothing to choose from", "a list of values")
    elif way == "between" and (len(choices) != _ENDS or None in map(_amount, choices)):
        argument.report("not two ends", f"[least, most], each a number or a time ({TIME})")
    elif way == "exponential" and not _amount(argument.value):
        argument.report(f'"{str(argument.value)[:SHOWN]}"', f"the mean: {TIME}")
    return len(choices) or 1


_ENDS: Final = 2


def _way(value: object) -> str:
    """The kind of distribution; empty for a plain value."""
    if isinstance(value, Mapping) and len(value) == 1:
        (name,) = value
        return name if name in _WAYS else ""
    return ""


def _choice(random: Random, argument: object) -> object:
    return random.choice(argument) if isinstance(argument, list) and argument else None


def _between(random: Random, argument: object) -> object:
    ends = argument if isinstance(argument, list) else []
    if len(ends) != _ENDS or None in map(_amount, ends):
        return None
    if all(isinstance(end, int) for end in ends):
        return random.randint(min(ends), max(ends))
    low, high = sorted(_amount(end) or 0.0 for end in ends)
    return round(random.uniform(low, high), 3)


def _exponential(random: Random, argument: object) -> object:
    mean = _amount(argument)
    return max(round(random.expovariate(1 / mean), 3), 1.0) if mean else None


def _amount(value: object) -> float | None:
    """A number, or a time in seconds."""
    if (number := as_number(value)) is not None:
        return number
    length = parse_duration(value) if isinstance(value, str) else None
    return length.total_seconds() if length else None


_WAYS: Final[Mapping[str, Callable[[Random, object], object]]] = {
    "choices": _choice,
    "between": _between,
    "exponential": _exponential,
}
WAYS: Final = tuple(_WAYS)
