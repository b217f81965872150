"""Signs that a terminal may not know, and text that must not steer it."""

from typing import Final

_ASCII: Final = str.maketrans(
    {"→": "->", "…": "..."} | dict(zip("×–█░·├└│─▁▂▃▄▅▆▇", "x-#:.|`|-_.-=+*%", strict=True))
)
_CONTROL: Final = str.maketrans(
    {code: f"^{chr(code ^ 64)}" for code in (*range(32), 127)}
    | {code: f"^[{chr(code - 64)}" for code in range(128, 160)}
    | {ord(blank): " " for blank in "\t\n\r"}
)


def ascii_only(text: str) -> str:
    """The same with signs that every terminal has; what is left of others is a question mark."""
    return text.translate(_ASCII).encode("ascii", "replace").decode()


def harmless(text: str) -> str:
    """On one line, and without control characters: text of the cluster is anybody's."""
    return text if text.isprintable() else text.translate(_CONTROL)
