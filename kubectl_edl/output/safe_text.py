"""Symbols that a terminal may lack, and text without its control sequences."""

import re
from collections.abc import Mapping
from typing import Final

_ASCII: Final = str.maketrans(
    {"→": "->", "…": "..."} | dict(zip("×–█░·├└│─▁▂▃▄▅▆▇", "x-#:.|`|-_.-=+*%", strict=True))
)
_CONTROL: Final = str.maketrans(
    {code: f"^{chr(code ^ 64)}" for code in (*range(32), 127)}
    | {code: f"^[{chr(code - 64)}" for code in range(128, 160)}
    | {ord(blank): " " for blank in "\t\n\r"}
    # Signs that turn the order of what follows, or begin another line.
    | dict.fromkeys((0x061C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A)), "?")
)
_IN_JSON: Final = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def ascii_only(text: str) -> str:
    """The same with signs that every terminal has; what is left of others is a question mark."""
    return text.translate(_ASCII).encode("ascii", "replace").decode()


def harmless(text: str) -> str:
    """On one line, and without control characters: text from the cluster is untrusted."""
    return text if text.isprintable() else text.translate(_CONTROL)


def labelled(lines: Mapping[str, str], width: int) -> str:
    """`Phase:    Queued`, a line for each text; an empty one has none, no text makes several."""
    return "".join(
        f"{f'{label}:'.ljust(width)}{harmless(text)}\n" for label, text in lines.items() if text
    )


def harmless_lines(text: str) -> str:
    """The same of each line, where tabs stay."""
    parts = re.split("([\n\t])", text)
    return "".join(part if part in "\n\t" else harmless(part) for part in parts)


def harmless_json(text: str) -> str:
    """The same document; JSON itself escapes only what is below a space."""
    return _IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
