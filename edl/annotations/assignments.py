"""The nodes that a plan has for a role's replicas, as text on its Job: `0:node-a*2,node-b`.

So the next decision knows what the plan assigned, after a crash as well. Pods that have a node
carry it themselves.
"""

from itertools import groupby
from typing import Final

from edl.model import Assignment

LONGEST: Final = 64 * 1024
"""Most characters; a longer assignment is not kept, and the next plan assigns nodes again."""
_MOST: Final = 100_000
"""Replicas; an annotation can be edited."""
_DIGITS: Final = 9


def text(assigned: Assignment) -> str:
    """The annotation that keeps it; empty where there is nothing to keep, or too much to keep."""
    runs = ((node, len(list(found))) for node, found in groupby(assigned.nodes))
    parts = (f"{node}*{count}" if count > 1 else node for node, count in runs)
    found = f"{assigned.first}:{','.join(parts)}" if assigned.nodes else ""
    return found if len(found) <= LONGEST else ""


def read(annotation: str) -> Assignment:
    """Empty if it is missing or invalid."""
    first, _, rest = annotation.partition(":")
    if len(annotation) > LONGEST or not _is_number(first) or not rest:
        return Assignment()
    nodes: list[str] = []
    for part in rest.split(","):
        node, _, count = part.partition("*")
        pods = int(count) if _is_number(count) else not count
        if not node or not 0 < pods <= _MOST - len(nodes):
            return Assignment()
        nodes += [node] * pods
    return Assignment(int(first), tuple(nodes))


def _is_number(text: str) -> bool:
    return len(text) <= _DIGITS and text.isascii() and text.isdigit()
