"""Exponential back-off, as a pause in seconds or as a `timedelta`."""

from datetime import timedelta
from typing import Final, Generic, TypeVar

import msgspec

_DOUBLINGS: Final = 16
_Pause = TypeVar("_Pause", float, timedelta)


class Backoff(msgspec.Struct, Generic[_Pause], frozen=True):
    """The first pause, which doubles with each further failure, and the longest one."""

    first: _Pause
    longest: _Pause

    def after(self, failures: int) -> _Pause:
        """The pause after this number of consecutive failures."""
        return min(self.first * (1 << min(max(failures - 1, 0), _DOUBLINGS)), self.longest)
