"""How much work a call is: bytecodes executed, the same on every machine and under any load."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def instructions(call: Callable[[], object]) -> int:
    """Bytecodes that the call executes, those of what it calls included; C code counts as one."""
    count = 0

    def trace(frame: FrameType, event: str, _argument: Any) -> Any:  # noqa: ANN401 - a trace function
        nonlocal count
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return count
