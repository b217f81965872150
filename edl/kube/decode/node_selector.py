"""A `NodeSelector` (core/v1) as the alternatives of a `Shape`'s affinity."""

from collections.abc import Mapping
from typing import Any, Final

from edl.model import Node, Requirement

NODE_NAME: Final = "metadata.name"
"""Nodes carry their name under this label too, for affinities that match fields."""
_NO_NODE: Final = (Requirement(NODE_NAME, "In", ()),)


def terms(selector: Mapping[str, Any]) -> tuple[tuple[Requirement, ...], ...]:
    """The terms of a selector: any one suffices, each is a conjunction.

    A term without requirements matches no node (core/v1 NodeSelectorTerm).
    """
    parsed = [_term(term) for term in selector.get("nodeSelectorTerms") or ()]
    return tuple(term for term in parsed if term) or (_NO_NODE,)


def both(
    left: tuple[tuple[Requirement, ...], ...], right: tuple[tuple[Requirement, ...], ...]
) -> tuple[tuple[Requirement, ...], ...]:
    """The terms that select the nodes that both select; an empty tuple selects all."""
    if not (left and right):
        return left or right
    return tuple((*first, *second) for first in left for second in right)


def selects(alternatives: tuple[tuple[Requirement, ...], ...], node: Node) -> bool:
    """Whether a node is selected; an empty tuple selects all."""
    labels = node.labels or {}
    return not alternatives or any(
        all(need.holds(labels.get(need.key)) for need in term) for term in alternatives
    )


def _term(term: Mapping[str, Any]) -> tuple[Requirement, ...]:
    entries = [*(term.get("matchExpressions") or ()), *(term.get("matchFields") or ())]
    return tuple(
        Requirement(entry["key"], entry["operator"], tuple(entry.get("values") or ()))
        for entry in entries
    )
