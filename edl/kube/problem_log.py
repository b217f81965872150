"""Problems of what is tried again: each is logged once, until it works again."""

import logging
from collections import deque
from typing import Final

_MAX_PROBLEMS: Final = 8
"""Problems that are remembered: those of an outage take turns."""


class ProblemLog:
    """The problems of one activity since it last worked."""

    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self._logged = deque[str](maxlen=_MAX_PROBLEMS)

    def report(self, message: str, *values: object, bug: Exception | None = None) -> None:
        """Logs a warning, or an error with the traceback of a `bug`, once for each text."""
        text = message % values
        if text not in self._logged:
            self._logged.append(text)
            level = logging.WARNING if bug is None else logging.ERROR
            self._log.log(level, "%s", text, exc_info=bug)

    def clear(self) -> bool:
        """Ends the problems, as the activity works; returns whether there were any."""
        had = bool(self._logged)
        self._logged.clear()
        return had
