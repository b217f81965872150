"""The settings of a reconciler, as text that it publishes for clients."""

import json
import re
import reprlib
from collections.abc import Callable, Mapping
from datetime import timedelta
from enum import StrEnum
from typing import Any, Final, NamedTuple

import msgspec
from msgspec.structs import asdict, replace

from edl.planner.decision_limits import Limits, ProvisionerSettings
from edl.planner.policies import POLICIES, Policy, weighted

_WAITS: Final = ("patience", "idle")
"""Published names of the policy's durations that a reconciler may set."""
LONGEST: Final = 3650 * 24 * 3600
"""In seconds, ten years: adding it to a date stays within what datetime represents."""
_MOST: Final = 2**53
"""Numbers stay below this, so that a float represents every integer exactly."""
_IGNORED: Final = "ignoredNamespaces"
_PROVISIONING: Final = "provisioning"
_USUAL: Final = {
    **{name: value for name, value in asdict(Limits()).items() if name != _PROVISIONING},
    **asdict(ProvisionerSettings()),
}
"""Default value of each published limit, by name."""


class Settings(msgspec.Struct, frozen=True):
    """A policy by name, with its weights and durations, and the limits.

    `waits` are durations of the policy by published name; `weights` are by priority
    (`policies.weighted`). `unknown` names settings of a newer reconciler that this version does
    not know.
    """

    policy: str = next(iter(POLICIES))
    limits: Limits = Limits()
    weights: tuple[tuple[int, float], ...] = ()
    waits: tuple[tuple[str, timedelta], ...] = ()
    unknown: tuple[str, ...] = ()
    ignored_namespaces: tuple[str, ...] = ()
    """Further namespaces in which nothing is managed."""

    def policy_to_apply(self) -> Policy:
        """The named policy, adjusted. Raises ValueError for an unknown name or a wrong weight."""
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
        """As users see it: `policy fair, load ceiling 97 %`."""
        share = f"load ceiling {self.limits.load_ceiling * 100:g} %"
        preempts = ", preempting" if self.limits.preempt else ""
        weighs = ", weighted by priority" if self.weights else ""
        return f"policy {self.policy}{weighs}, {share}{preempts}"


def render(settings: Settings) -> str:
    """The settings as JSON for `read`, with durations in seconds."""
    found: dict[str, object] = {"policy": settings.policy}
    if settings.weights:
        found["weights"] = {str(priority): weight for priority, weight in settings.weights}
    if settings.ignored_namespaces:
        found[_IGNORED] = list(settings.ignored_namespaces)
    found |= {name: wait.total_seconds() for name, wait in settings.waits}
    own = asdict(settings.limits)
    own |= asdict(own.pop(_PROVISIONING))
    limits = {
        name: value.total_seconds() if isinstance(value, timedelta) else value
        for name, value in own.items()
    }
    return json.dumps(found | {"limits": limits}, separators=(",", ":"))


_LONGEST_NAME: Final = 63


class _Kind(NamedTuple):
    """How a setting is validated, described in errors, and converted from JSON."""

    accepts: Callable[[Any], object]
    expected: str
    convert: Callable[[Any], Any] = lambda value: value


def _is_number(value: object) -> bool:
    """Whether it is a finite number; bool, a subclass of int, does not count."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) < _MOST


_OBJECT: Final = _Kind(lambda value: isinstance(value, Mapping), "an object")
_NAME: Final = _Kind(lambda value: isinstance(value, str) and len(value) <= _LONGEST_NAME, "a name")
_NAMES: Final = _Kind(
    lambda value: isinstance(value, list) and all(map(_NAME.accepts, value)), "names", tuple
)
_PRIORITY: Final = _Kind(re.compile(r"-?[0-9]{1,10}").fullmatch, "a PriorityClass's value", int)
_WEIGHT: Final = _Kind(lambda value: _is_number(value) and value > 0, "a number above 0")
_SECONDS: Final = _Kind(
    lambda value: _is_number(value) and 0 <= value <= LONGEST,
    f"a number of seconds from 0 to {LONGEST}",
    lambda value: timedelta(seconds=value),
)
_KINDS: Final[Mapping[type, _Kind]] = {
    timedelta: _SECONDS,
    str: _Kind(lambda value: isinstance(value, str), "a text"),
    bool: _Kind(lambda value: isinstance(value, bool), "true or false"),
    int: _Kind(lambda value: _is_number(value) and value == int(value), "a whole number", int),
    float: _Kind(_is_number, "a number"),
}
"""How a limit is read, by the type of its default value."""


def read(text: str) -> Settings:
    """The settings in text of `render`, perhaps of another version; missing ones have defaults.

    Raises ValueError, with the field's name, for malformed JSON, an unknown policy or an invalid
    value: any client that may write the Lease can write this text.
    """
    given = _read("settings", _decoded(text), _OBJECT)
    limits = _read("limits", given.get("limits", {}), _OBJECT)
    weights = _read("weights", given.get("weights", {}), _OBJECT)
    unknown = (
        given.keys() - {"policy", "limits", "weights", _IGNORED, *_WAITS}
        | limits.keys() - _USUAL.keys()
    )
    settings = Settings(
        policy=_read("policy", given.get("policy", Settings().policy), _NAME),
        limits=_limits(limits),
        weights=tuple(
            (_read("weights", priority, _PRIORITY), _read(f"weights.{priority}", weight, _WEIGHT))
            for priority, weight in weights.items()
        ),
        waits=tuple((name, _read(name, given[name], _SECONDS)) for name in _WAITS if name in given),
        unknown=tuple(sorted(unknown)),
        ignored_namespaces=_read(_IGNORED, given.get(_IGNORED, []), _NAMES),
    )
    settings.policy_to_apply()
    return settings


def _decoded(text: str) -> object:
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("settings: nested too deeply") from None
    except json.JSONDecodeError:
        raise
    except ValueError as error:  # int() refuses a number of 5,000 digits
        raise ValueError(f"settings: {error}") from None


def _limits(given: Mapping[str, Any]) -> Limits:
    """The limits from one flat object, which contains the provisioner's settings as well."""
    said = {
        name: _read(name, given[name], _kind(_USUAL[name]))
        for name in sorted(_USUAL.keys() & given.keys())
    }
    names = ProvisionerSettings.__struct_fields__
    provisioning = {name: said.pop(name) for name in names if name in said}
    return Limits(provisioning=ProvisionerSettings(**provisioning), **said)


def _kind(usual: object) -> _Kind:
    if isinstance(usual, StrEnum):
        words = tuple(type(usual))
        return _Kind(lambda value: value in words, f"one of {', '.join(words)}", type(usual))
    return _KINDS[type(usual)]


def _read(name: str, value: object, kind: _Kind) -> Any:  # noqa: ANN401 - of the kind's type
    """The converted value. Raises ValueError with the value shortened to fit on one line."""
    if not kind.accepts(value):
        raise ValueError(f"{name}: {reprlib.repr(value)}; {kind.expected}")
    return kind.convert(value)
