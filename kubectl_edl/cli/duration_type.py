"""`--timeout` of every command: `60` and `60s` are the same, `5m`, `2h30m`."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Final, NoReturn

import click

if TYPE_CHECKING:
    from collections.abc import Callable

_LONGEST: Final = timedelta(days=365)
"""Later than the calendar's end nothing can be waited for."""
_NONE: Final = ("0", "0s")


class Length(click.ParamType["timedelta"]):
    """A time to wait; 0 is to look once."""

    name = "DURATION"

    def convert(
        self, value: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> timedelta:
        if value in _NONE:
            return timedelta()
        return _read(value, partial(self.fail, param=param, ctx=ctx))


class LengthText(click.ParamType[str]):
    """The same as the contract spells it in an annotation; it knows no bare number and no 0."""

    name = "DURATION"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        _read(value, partial(self.fail, param=param, ctx=ctx))
        return _with_unit(value)


def _with_unit(text: str) -> str:
    return f"{text}s" if text.isascii() and text.isdecimal() else text


def _read(text: str, fail: Callable[[str], NoReturn]) -> timedelta:
    from edl.spec import manifest_reader  # noqa: PLC0415 (not before anything was asked of the cluster)

    length = manifest_reader.duration(_with_unit(text))
    if length is None:
        fail(f"{text}: no length of time, such as 30s, 5m or 2h30m")
    if length > _LONGEST:
        fail(f"{text}: longer than {_LONGEST.days}d")
    return length
