"""Colours by meaning. No information is conveyed by colour alone."""

from collections.abc import Mapping
from typing import Final

GOOD: Final = "32"
BUSY: Final = "36"
WAITS: Final = "33"
BAD: Final = "31"
FAINT: Final = "2"
PLAIN: Final = ""
_WORDS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("Running", "Succeeded", "Complete", "Ready", "ScaleSucceeded"), GOOD),
    **dict.fromkeys(("Starting", "Scaling", "Finishing"), BUSY),
    **dict.fromkeys(("Incomplete", "Queued", "Paused", "Suspended", "Cordoned"), WAITS),
    **dict.fromkeys(("Pending", "NotReady", "Terminating", "Missing"), WAITS),
    **dict.fromkeys(("SchedulingGated", "SchedulingDisabled"), WAITS),
    **dict.fromkeys(("Failed", "ScaleFailed", "Warning", "Unknown"), BAD),
}


def meaning(text: str) -> str:
    """The colour of a phase or status: that of its last word that has one (`1 Pending`)."""
    return next(
        (_WORDS[word] for word in reversed(text.replace(",", " ").split()) if word in _WORDS), PLAIN
    )


def painted(text: str, colour: str) -> str:
    return f"\x1b[{colour}m{text}\x1b[0m" if colour and text else text
