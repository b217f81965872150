"""Opening the page in the user's browser, where there is one to see."""

import sys
import webbrowser
from collections.abc import Mapping


def can_show(environ: Mapping[str, str], platform: str = sys.platform) -> bool:
    """Not in a terminal: without a display, webbrowser would take lynx."""
    if platform in ("darwin", "win32") or environ.get("BROWSER"):
        return True
    return bool(environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"))


def show(url: str) -> bool:
    """Whether a browser was found."""
    return webbrowser.open(url)
