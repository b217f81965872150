"""Draws text on a terminal's alternate screen, replacing the previous text."""

import re
from typing import Final

from kubectl_edl.output.color import FAINT, painted
from kubectl_edl.output.safe_text import ascii_only
from kubectl_edl.output.table import Layout, cut_to, display_width

_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
_RESET = "\x1b[0m"


ENTER: Final = "\x1b[?1049h\x1b[?25l"
"""The alternate screen keeps the scrollback free of intermediate output; the cursor is hidden."""
LEAVE: Final = "\x1b[?25h\x1b[?1049l"
_HOME: Final = "\x1b[H"
_REST_OF_LINE: Final = "\x1b[K"
_REST: Final = "\x1b[J"


def over(picture: str) -> str:
    """Text that overwrites the screen in place, without clearing it first, which would flicker."""
    lines = picture.replace("\n", f"{_REST_OF_LINE}\n")
    return f"{_HOME}{lines}{_REST}"


def fitted(text: str, layout: Layout) -> str:
    """Cut text to the terminal's size, so that nothing scrolls and displaces the next output.

    No line wraps, and the last line stays free.
    """
    lines = text.splitlines()
    if layout.height is not None and len(lines) >= layout.height:
        shown = max(layout.height - 2, 0)
        more = f"… {len(lines) - shown} more lines"
        more = more if layout.unicode else ascii_only(more)
        lines = [*lines[:shown], painted(more, FAINT if layout.coloured else "")]
    width = layout.width
    return "".join(f"{line if width is None else cut(line, width)}\n" for line in lines)


def cut(line: str, width: int) -> str:
    """The first `width` columns of a line; escape sequences have no width."""
    if display_width(_ESCAPE.sub("", line)) <= width:
        return line
    result, left = "", width
    for part in re.split(f"({_ESCAPE.pattern})", line):
        escape = _ESCAPE.fullmatch(part)
        shown = part if escape else cut_to(part, left)
        result += shown
        if not escape:
            left = left - display_width(shown) if shown == part else 0
    return result if result.endswith(_RESET) or "\x1b" not in result else result + _RESET
