"""The nodes that a plan assigned to a role's replicas, as text on its Job: `0:node-a*2,node-b`.

The next decision reads the assignment from there, even after a crash. Pods that are bound record
their node themselves.
"""

from itertools import groupby
from typing import Final

from edl.model import Assignment

LONGEST: Final = 64 * 1024
"""Characters; a longer assignment is not kept, and the next plan assigns nodes again."""
_MAX_REPLICAS: Final = 100_000
"""Replicas; an annotation can be edited by hand."""
_DIGITS: Final = 9


def text(assigned: Assignment) -> str:
    """The annotation's text; empty if there is no assignment, or if it is too long."""
    runs = ((node, len(list(run))) for node, run in groupby(assigned.nodes))
    parts = (f"{node}*{count}" if count > 1 else node for node, count in runs)
    joined = f"{assigned.first}:{','.join(parts)}" if assigned.nodes else ""
    return joined if len(joined) <= LONGEST else ""


def read(annotation: str) -> Assignment:
    """The assignment in an annotation; empty if it is missing or invalid."""
    first, _, rest = annotation.partition(":")
    if len(annotation) > LONGEST or not _is_number(first) or not rest:
        return Assignment()
    nodes: list[str] = []
    for part in rest.split(","):
        node, _, count = part.partition("*")
        pods = int(count) if _is_number(count) else not count
        if not node or not 0 < pods <= _MAX_REPLICAS - len(nodes):
            return Assignment()
        nodes += [node] * pods
    return Assignment(int(first), tuple(nodes))


def _is_number(text: str) -> bool:
    return len(text) <= _DIGITS and text.isascii() and text.isdigit()
