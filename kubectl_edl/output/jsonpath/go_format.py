"""Go's formats: quoted literals, and values as templates print them."""

import json
import re
import sys
from typing import Final

_ESCAPE: Final = re.compile(
    r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{3})|(.))", re.DOTALL
)
_LETTERS: Final = dict(zip("abfnrtv", "\a\b\f\n\r\t\v", strict=True))
"""Any other escaped letter stands for itself."""
HTML: Final = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})
_SURROGATES: Final = range(0xD800, 0xE000)
_LONGEST_WHOLE: Final = 1e21


def unquoted(text: str) -> str:
    r"""The text of a literal in single or double quotes.

    Raises ValueError for an escape such as `\ud800`, which is not a character.
    """
    return _ESCAPE.sub(_letter, text[1:-1])


def _letter(match: re.Match[str]) -> str:
    *numbers, octal, letter = match.groups()
    for digits in numbers:
        if digits:
            code = int(digits, 16)
            if code in _SURROGATES or code > sys.maxunicode:
                raise ValueError(f"{match[0]} is not a character")
            return chr(code)
    return chr(int(octal, 8)) if octal else _LETTERS.get(letter, letter)


def json_line(value: object) -> str:
    """JSON as Go's encoding/json writes it: sorted keys, no blanks, safe in HTML."""
    text = json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    return text.translate(HTML)


def plain(value: object) -> str:
    """A value as a template prints it: objects, lists and null as JSON."""
    return json_line(value) if isinstance(value, dict | list | None) else go_text(value)


def go_text(value: object) -> str:
    """Go's `%v`, used by custom columns: `map[a:1 b:2]`, `[x y]`, `true`, `<nil>`."""
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < _LONGEST_WHOLE:
        return str(int(value))
    if isinstance(value, dict):
        pairs = (f"{key}:{go_text(value[key])}" for key in sorted(value))
        return f"map[{' '.join(pairs)}]"
    if isinstance(value, list):
        return f"[{' '.join(map(go_text, value))}]"
    return str(value)
