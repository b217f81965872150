"""What the environment says about who reads along."""

from collections.abc import Mapping
from typing import TextIO


def draws(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Whether it is a terminal on which a cursor moves."""
    return stream.isatty() and environ.get("TERM") != "dumb"


def knows_unicode(environ: Mapping[str, str]) -> bool:
    """As the locale says; LC_CTYPE may be Python's own word for the locale C (PEP 538)."""
    spoken = environ.get("LC_CTYPE", "")
    said = environ.get("LC_ALL") or (spoken != "C.UTF-8" and spoken) or environ.get("LANG", "")
    return "utf8" in said.lower().replace("-", "")
