"""Values of options: lengths of time (`60`, `60s`, `5m`, `2h30m`) and images."""

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
    from edl.parsing import manifest_reader  # noqa: PLC0415 (not before anything was asked of the cluster)

    length = manifest_reader.duration(_with_unit(text))
    if length is None:
        fail(f"{text}: no length of time, such as 30s, 5m or 2h30m")
    if length > _LONGEST:
        fail(f"{text}: longer than {_LONGEST.days}d")
    return length


EXAMPLE: Final = "registry.example/kubectl-edl:0.1.0"


def is_image(text: str) -> bool:
    """Whether it may be one; the registry knows the rest."""
    return bool(text) and not any(letter.isspace() for letter in text)


class Image(click.ParamType[str]):
    """The value of `--image` where there is one; an empty one would say nothing, unnoticed."""

    name = "IMAGE"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not is_image(value):
            self.fail(
                f'"{value}" is no image; one that the cluster can pull: {EXAMPLE}', param, ctx
            )
        return value
