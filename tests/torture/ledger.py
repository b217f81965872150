"""What happened, a line each, in order: faults, what users did, what was seen, what was broken."""

import json
import time
from pathlib import Path
from threading import Lock
from typing import Final

_LONGEST: Final = 6000
"""Characters of one fact."""


class Ledger:
    """A file of JSON lines. Thread-safe; `at` is seconds from the beginning."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = Lock()
        self._stream = path.open("w", buffering=1)
        self._begun = time.monotonic()

    def tell(self, what: str, **facts: object) -> None:
        line = {"at": round(self.now, 3), "what": what}
        line |= {name: str(fact)[:_LONGEST] for name, fact in facts.items()}
        with self._lock:
            self._stream.write(json.dumps(line, ensure_ascii=False) + "\n")

    @property
    def now(self) -> float:
        return time.monotonic() - self._begun

    def close(self) -> None:
        self._stream.close()
