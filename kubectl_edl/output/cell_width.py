"""How many columns of a terminal a text takes: wide letters take two, combining marks none."""

from functools import lru_cache
from unicodedata import category, east_asian_width


def columns(text: str) -> int:
    """Columns of a text without control sequences."""
    return len(text) if text.isascii() else sum(map(_of_letter, text))


def cut_to(text: str, most: int) -> str:
    """The longest beginning that takes `most` columns at most."""
    if text.isascii():
        return text[: max(most, 0)]
    left = most
    for place, letter in enumerate(text):
        left -= _of_letter(letter)
        if left < 0:
            return text[:place]
    return text


def padded(text: str, least: int) -> str:
    """With blanks behind it, so that it takes `least` columns at least."""
    return text + " " * (least - columns(text))


@lru_cache(maxsize=1024)
def _of_letter(letter: str) -> int:
    if category(letter) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if east_asian_width(letter) in ("W", "F") else 1
