"""Interaction at the terminal: confirmations, and progress while the user waits."""

from collections.abc import Callable
from datetime import timedelta
from typing import Final, TypeVar

from kubectl_edl.cli.command_errors import Refused
from kubectl_edl.cli.context import CliContext
from kubectl_edl.output.safe_text import harmless_lines

_PAUSE: Final = timedelta(seconds=0.2)
_Missing = TypeVar("_Missing")


def confirmed(world: CliContext, question: str) -> bool:
    """Raises Refused where no terminal can answer."""
    if not world.stdin.isatty():
        raise Refused(f"{question} No terminal can answer: add --yes")
    world.err.write(f"{harmless_lines(question)} [y/N] ")
    world.err.flush()
    return world.stdin.readline().strip().lower() in ("y", "yes")


def waited(world: CliContext, missing: Callable[[], _Missing], timeout: timedelta) -> _Missing:
    """Poll `missing` until it finds nothing or the time is up; returns its last result."""
    until = world.now() + timeout
    found = missing()
    for _ in range(round(timeout / _PAUSE)):
        if not found or world.now() >= until:
            break
        world.sleep(_PAUSE.total_seconds())
        found = missing()
    return found


PATIENCE: Final = timedelta(seconds=5)
"""So long an estimate may take; in a large cluster with many jobs it may not be ready by then."""


def patient(world: CliContext) -> Callable[[], bool]:
    """Whether the user has waited long enough."""
    begun = world.now()
    return lambda: world.now() - begun > PATIENCE
