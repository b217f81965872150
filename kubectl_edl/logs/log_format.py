"""Log lines with a prefix for their source, and one colour per role."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from kubectl_edl.logs.log_targets import LogTarget

_COLOURS: Final = (36, 32, 35, 33, 34)
"""ANSI: cyan, green, magenta, yellow, blue."""


@dataclass(frozen=True, slots=True)
class Style:
    """How a line is printed; `colours` by role, empty for none."""

    prefix: bool = True
    timestamps: bool = False
    colours: Mapping[str, int] = field(default_factory=dict)


def colours(roles: Iterable[str]) -> Mapping[str, int]:
    """A colour for each role, in their order; the first comes again when there are no more."""
    return {role: _COLOURS[at % len(_COLOURS)] for at, role in enumerate(roles)}


def time_of(line: str) -> str:
    """The RFC 3339 time that a line of the API begins with."""
    return line.partition(" ")[0]


def shown(line: str, source: LogTarget, style: Style) -> str:
    """`[worker-3] step 1`, from a line that begins with its time."""
    text = line if style.timestamps else line.partition(" ")[2]
    if not style.prefix:
        return text
    mark = f"[{source.label}]"
    if source.role in style.colours:
        mark = f"\x1b[{style.colours[source.role]}m{mark}\x1b[0m"
    return f"{mark} {text}"
