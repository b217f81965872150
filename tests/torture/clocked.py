"""`python -m tests.torture.clocked MODULE ARGS`: a program whose wall clock libfaketime sets.

libfaketime 0.9.10 refuses the clock_nanosleep() of a time.sleep() when it leaves monotonic time
alone (EINVAL); a wait for an event that never comes sleeps as long, by another call.
"""

import runpy
import sys
import time
from threading import Event


def _sleep(seconds: float) -> None:
    Event().wait(seconds)


if __name__ == "__main__":
    time.sleep = _sleep  # type: ignore[assignment]
    sys.argv = sys.argv[1:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
