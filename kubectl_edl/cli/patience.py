"""How long a user waits for an answer that may take long."""

from collections.abc import Callable
from datetime import timedelta
from typing import Final

from kubectl_edl.cli.context import CliContext

PATIENCE: Final = timedelta(seconds=5)
"""So long an estimate may take; in a large cluster with many jobs it may not be ready by then."""


def patient(world: CliContext) -> Callable[[], bool]:
    """Whether the user has waited long enough."""
    begun = world.now()
    return lambda: world.now() - begun > PATIENCE
