"""Options of the decisions: the policy, its settings, and the limits of all policies."""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any, Final

import click

from edl.durations import duration_text
from edl.kube.duration_range import DurationRange
from edl.kube.option_group import Decorator, collect_options
from edl.planner.published_settings import (
    LONGEST,
    MAX_WEIGHT,
    OPTIONS,
    Setting,
    Settings,
    filled,
    in_json,
)

_WEIGHT: Final = re.compile(r"(?P<priority>-?[0-9]{1,10})=(?P<weight>[0-9.]{1,24}(e-[0-9]{1,3})?)")
_METAVARS: Final = {"provisioning_parameters": "NAME=VALUE,…", "queueing_schedulers": "NAME,…"}


def _weights(
    _context: click.Context, _param: click.Parameter, texts: Sequence[str]
) -> Mapping[str, float]:
    return dict(map(_weight, texts))


def _weight(text: str) -> tuple[str, float]:
    """A weight, also in the chart's notation: 1000=0.3333333333333333, 1000=1e-07."""
    with suppress(ValueError):
        match = _WEIGHT.fullmatch(text)
        if match and 0 < (weight := float(match["weight"])) <= MAX_WEIGHT:
            return match["priority"], weight
    allowed = f"a PriorityClass's value and a number above 0, at most {MAX_WEIGHT:.0f}"
    raise click.BadParameter(f'"{text}"; {allowed}, such as 1000=2')


def _option(setting: Setting) -> Decorator:
    name = f"--{setting.name.replace('_', '-')}"
    if setting.name == "priority_weight":
        return click.option(
            name,
            multiple=True,
            metavar="PRIORITY=WEIGHT",
            callback=_weights,
            help=setting.description,
        )
    if setting.kind is bool:
        name = f"{name}/--no-{name[2:]}"
    return click.option(
        name,
        type=_type(setting),
        default=_shown_default(setting),
        metavar=_METAVARS.get(setting.name),
        callback=_reader(setting),
        help=setting.description,
    )


def _type(setting: Setting) -> click.ParamType[Any] | None:
    if setting.choices:
        return click.Choice([str(choice) for choice in setting.choices])
    if setting.is_duration:
        return DurationRange(LONGEST)
    if setting.kind is float:
        return click.FloatRange(0, setting.bounds.le, min_open=True)
    if setting.kind is int:
        return click.IntRange(setting.bounds.ge, setting.bounds.le)  # type: ignore[arg-type]
    return None


def _shown_default(setting: Setting) -> Any:  # noqa: ANN401 - click's own
    """The default as users type it; None if there is none to show."""
    if isinstance(setting.default, timedelta):
        return duration_text(setting.default)
    return None if setting.default == "" else in_json(setting.default)


def _reader(setting: Setting) -> Callable[..., Any]:
    def read(_context: click.Context, _param: click.Parameter, given: object) -> object:
        try:
            return None if given is None else setting.read(given)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None

    return read


def _settings(**values: object) -> Settings:
    return filled(Settings(), values)


planning_options: Final = collect_options(
    _settings, "planning", list(map(_option, OPTIONS)), [one.name for one in OPTIONS]
)
"""Declares them; the command gets `planning`, the Settings."""
