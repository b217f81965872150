"""The width of text on a terminal: wide characters take two columns, combining marks none."""

from functools import lru_cache
from unicodedata import category, east_asian_width


def columns(text: str) -> int:
    """Columns of a text without control sequences."""
    return len(text) if text.isascii() else sum(map(_of_letter, text))


def cut_to(text: str, most: int) -> str:
    """The longest prefix of at most `most` columns."""
    if text.isascii():
        return text[: max(most, 0)]
    left = most
    for place, letter in enumerate(text):
        left -= _of_letter(letter)
        if left < 0:
            return text[:place]
    return text


def padded(text: str, least: int) -> str:
    """The text, padded with blanks to at least `least` columns."""
    return text + " " * (least - columns(text))


@lru_cache(maxsize=1024)
def _of_letter(letter: str) -> int:
    if category(letter) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if east_asian_width(letter) in ("W", "F") else 1
