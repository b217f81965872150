"""How a reconciler decides, as text that it publishes: who asks what it would do must know."""

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

import msgspec
from msgspec.structs import asdict, replace

from edl.planner.limits import Limits
from edl.planner.policies import POLICIES, Policy, weighted

_WAITS: Final = ("patience", "idle")
"""The policies' own numbers that a reconciler may set."""


class Settings(msgspec.Struct, frozen=True):
    """A policy by its name, with what was asked of it, and the limits.

    `waits` are fields of `Policy` by name; `weights` are by priority (`policies.weighted`).
    `unknown` names what the text says besides: whoever wrote it knows more than we do.
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
            patience=waits.get("patience", found.patience),
            idle=waits.get("idle", found.idle),
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
    limits = {name: _plain(value) for name, value in asdict(settings.limits).items()}
    return json.dumps(found | {"limits": limits}, separators=(",", ":"))


def read(text: str) -> Settings:
    """What `render` wrote, perhaps of another version: what it does not say has its default.

    Raises ValueError where that cannot be: no JSON, a policy or a value that nobody knows.
    """
    given = _mapping("settings", json.loads(text))
    limits = _mapping("limits", given.get("limits", {}))
    weights = _mapping("weights", given.get("weights", {}))
    known = set(Limits.__struct_fields__)
    settings = Settings(
        policy=str(given.get("policy", Settings().policy)),
        limits=Limits(
            **{name: _limit(name, limits[name]) for name in sorted(known & limits.keys())}
        ),
        weights=tuple((int(priority), float(weight)) for priority, weight in weights.items()),
        waits=tuple((name, _seconds(name, given[name])) for name in _WAITS if name in given),
        unknown=tuple(
            sorted(
                (given.keys() - {"policy", "limits", "weights", *_WAITS}) | (limits.keys() - known)
            )
        ),
    )
    settings.value()
    return settings


def _plain(value: object) -> object:
    return value.total_seconds() if isinstance(value, timedelta) else value


def _limit(name: str, value: object) -> Any:  # noqa: ANN401 (a field of Limits, of its own type)
    usual = getattr(Limits(), name)
    if isinstance(usual, timedelta):
        return _seconds(name, value)
    if type(usual) is bool and type(value) is not bool:
        raise ValueError(f"{name}: {value!r}; true or false")
    if type(usual) is not bool and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise ValueError(f"{name}: {value!r}; a number")
    return value


def _seconds(name: str, value: object) -> timedelta:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{name}: {value!r}; a number of seconds")  # noqa: TRY004 (a finding)
    return timedelta(seconds=value)


def _mapping(name: str, value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError(f"{name}: {value!r}; an object")  # noqa: TRY004 (a finding)
    return value
