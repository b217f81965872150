"""A change that somebody else overtook is decided again from fresh state."""

from collections.abc import Callable
from typing import Final, TypeVar

from edl.errors import Conflict
from kubectl_edl.cli.command_errors import Refused

_ATTEMPTS: Final = 6
_PAUSE: Final = 0.05
_Result = TypeVar("_Result")


def with_fresh_state(change: Callable[[], _Result], sleep: Callable[[float], None]) -> _Result:
    """Run `change`, which reads, decides and writes, until nobody was faster."""
    for attempt in range(_ATTEMPTS):
        try:
            return change()
        except Conflict:
            sleep(_PAUSE * 2**attempt)
    raise Refused(f"the object changed {_ATTEMPTS} times while it was being written; try again")
