"""ASCII replacements for symbols, and text without terminal control sequences."""

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
    # Characters that change the text direction or start a new line.
    | dict.fromkeys((0x061C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A)), "?")
)
_IN_JSON: Final = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def ascii_only(text: str) -> str:
    """The text in ASCII; characters without a replacement become question marks."""
    return text.translate(_ASCII).encode("ascii", "replace").decode()


def harmless(text: str) -> str:
    """Text on one line without control characters: text from the cluster is untrusted."""
    return text if text.isprintable() else text.translate(_CONTROL)


def labelled(lines: Mapping[str, str], width: int) -> str:
    """`Phase:    Queued`, one line per non-empty text; a text cannot produce further lines."""
    return "".join(
        f"{f'{label}:'.ljust(width)}{harmless(text)}\n" for label, text in lines.items() if text
    )


def harmless_line(text: str) -> str:
    """As `harmless`, but tabs are kept."""
    return "\t".join(map(harmless, text.split("\t")))


def harmless_lines(text: str) -> str:
    """As `harmless_line`, for each line of a text."""
    return "\n".join(map(harmless_line, text.split("\n")))


def harmless_json(text: str) -> str:
    """JSON with control characters escaped; JSON itself escapes only those below U+0020."""
    return _IN_JSON.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
