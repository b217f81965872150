"""The settings by which a reconciler decides, as text that it publishes for clients."""

import json
import re
import reprlib
from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum
from typing import Any, Final

import msgspec
from msgspec.structs import asdict, replace

from edl.planner.decision_limits import Limits, ProvisionerSettings
from edl.planner.policies import POLICIES, Policy, weighted

_WAITS: Final = ("patience", "idle")
"""The policies' own numbers that a reconciler may set."""
LONGEST: Final = 3650 * 24 * 3600
"""Seconds, ten years: a moment so much later is still a date."""
_MOST: Final = 2**53
"""Numbers stay below it: every one has a float of its own."""
_ASKS: Final = "asks"
_USUAL: Final = {
    **{name: value for name, value in asdict(Limits()).items() if name != _ASKS},
    **asdict(ProvisionerSettings()),
}
"""Each limit that is published, and what it usually is."""
_PRIORITY: Final = re.compile(r"-?[0-9]{1,10}")
_LONGEST_NAME: Final = 63


class Settings(msgspec.Struct, frozen=True):
    """A policy by its name, with what was asked of it, and the limits.

    `waits` are fields of `Policy` by name; `weights` are by priority (`policies.weighted`).
    `unknown` names settings that this version does not know: a newer reconciler wrote them.
    """

    policy: str = next(iter(POLICIES))
    limits: Limits = Limits()
    weights: tuple[tuple[int, float], ...] = ()
    waits: tuple[tuple[str, timedelta], ...] = ()
    unknown: tuple[str, ...] = ()

    def value(self) -> Policy:
        """The policy that decides. Raises ValueError for an unknown name, or a wrong weight."""
        found = POLICIES.get(self.policy)
        if found is None:
            raise ValueError(f'policy: unknown "{self.policy}"; one of {", ".join(POLICIES)}')
        waits = dict(self.waits)
        timed = replace(
            found,
            reclaim_delay=waits.get("patience", found.reclaim_delay),
            quiet_period=waits.get("idle", found.quiet_period),
        )
        return weighted(timed, dict(self.weights))

    def __str__(self) -> str:
        """`policy fair, load ceiling 97 %`: what users know it by."""
        share = f"load ceiling {self.limits.load_ceiling * 100:g} %"
        preempts = ", preempting" if self.limits.preempt else ""
        weighs = ", weighted by priority" if self.weights else ""
        return f"policy {self.policy}{weighs}, {share}{preempts}"


def render(settings: Settings) -> str:
    """JSON, times in seconds; `read` takes it."""
    found: dict[str, object] = {"policy": settings.policy}
    if settings.weights:
        found["weights"] = {str(priority): weight for priority, weight in settings.weights}
    found |= {name: wait.total_seconds() for name, wait in settings.waits}
    own = asdict(settings.limits)
    own |= asdict(own.pop(_ASKS))
    limits = {name: _plain(value) for name, value in own.items()}
    return json.dumps(found | {"limits": limits}, separators=(",", ":"))


def read(text: str) -> Settings:
    """What `render` wrote, perhaps of another version: what it does not say has its default.

    Raises ValueError, with the field's name, where that cannot be: no JSON, a policy or a value
    that is not known. Any client that may write the Lease can write the text.
    """
    given = _mapping("settings", _decoded(text))
    limits = _mapping("limits", given.get("limits", {}))
    settings = Settings(
        policy=_name("policy", given.get("policy", Settings().policy)),
        limits=_limits(limits),
        weights=_weights(given.get("weights", {})),
        waits=tuple((name, _seconds(name, given[name])) for name in _WAITS if name in given),
        unknown=tuple(
            sorted(
                (given.keys() - {"policy", "limits", "weights", *_WAITS})
                | (limits.keys() - _USUAL.keys())
            )
        ),
    )
    settings.value()
    return settings


def _limits(given: Mapping[str, Any]) -> Limits:
    """The settings of the provisioner stand among the limits."""
    said = {name: _limit(name, given[name]) for name in sorted(_USUAL.keys() & given.keys())}
    names = ProvisionerSettings.__struct_fields__
    asks = {name: said.pop(name) for name in names if name in said}
    return Limits(asks=ProvisionerSettings(**asks), **said)


def _decoded(text: str) -> object:
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("settings: nested too deeply") from None
    except json.JSONDecodeError:
        raise
    except ValueError as error:  # int() refuses a number of 5,000 digits
        raise ValueError(f"settings: {error}") from None


def _plain(value: object) -> object:
    return value.total_seconds() if isinstance(value, timedelta) else value


def _limit(name: str, value: object) -> Any:  # noqa: ANN401 (a field of Limits, of its own type)
    usual = _USUAL[name]
    if isinstance(usual, timedelta):
        return _seconds(name, value)
    if isinstance(usual, StrEnum):
        return _word(name, value, type(usual))
    if isinstance(usual, str):
        return _text(name, value)
    if type(usual) is int:
        return _whole(name, value)
    if type(usual) is not bool:
        return _number(name, value, "a number")
    if type(value) is not bool:
        raise _wrong(name, value, "true or false")
    return value


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise _wrong(name, value, "a text")
    return value


def _word(name: str, value: object, words: type[StrEnum]) -> StrEnum:
    try:
        return words(_name(name, value))
    except ValueError:
        raise _wrong(name, value, f"one of {', '.join(words)}") from None


def _weights(value: object) -> tuple[tuple[int, float], ...]:
    found = []
    for priority, weight in _mapping("weights", value).items():
        if not _PRIORITY.fullmatch(priority):
            raise _wrong("weights", priority, "a PriorityClass's value")
        name, expected = f"weights.{priority}", "a number above 0"
        number = _number(name, weight, expected)
        if number <= 0:
            raise _wrong(name, weight, expected)
        found.append((int(priority), number))
    return tuple(found)


def _seconds(name: str, value: object) -> timedelta:
    expected = f"a number of seconds from 0 to {LONGEST}"
    seconds = _number(name, value, expected)
    if not 0 <= seconds <= LONGEST:
        raise _wrong(name, value, expected)
    return timedelta(seconds=seconds)


def _number(name: str, value: object, expected: str) -> float:
    """Finite, and no bool, which Python takes for a number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < _MOST:
        raise _wrong(name, value, expected)
    return value


def _whole(name: str, value: object) -> int:
    number = _number(name, value, "a whole number")
    if number != int(number):
        raise _wrong(name, value, "a whole number")
    return int(number)


def _name(field: str, value: object) -> str:
    if not isinstance(value, str) or len(value) > _LONGEST_NAME:
        raise _wrong(field, value, "a name")
    return value


def _mapping(name: str, value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise _wrong(name, value, "an object")
    return value


def _wrong(name: str, value: object, expected: str) -> ValueError:
    """With the value cut to what a line holds."""
    return ValueError(f"{name}: {reprlib.repr(value)}; {expected}")
