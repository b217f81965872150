"""Keeping a role's pods to nodes of the plan, by node affinity in its template; and undoing it.

The required node affinity is the one part of an `affinity` that is replaced: each alternative of
the user's own, on each node. What stood there is kept as text, so that it comes back exactly.
"""

import json
from collections.abc import Sequence
from typing import Final

from edl.writes import Json

NOTHING: Final = "null"
"""What is kept of a template without any affinity."""
_NODE: Final = "nodeAffinity"
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_TERMS: Final = "nodeSelectorTerms"


def kept(affinity: Json | None) -> str:
    """The text that brings back what pins replace in this affinity."""
    if affinity is None:
        return NOTHING
    part = {_NODE: affinity[_NODE]} if _NODE in affinity else {}
    return json.dumps(part, separators=(",", ":"))


def pinned(text: str, nodes: Sequence[str]) -> Json:
    """The merge patch of an affinity that keeps its pods to these nodes, by their names."""
    own = ((_read(text) or {}).get(_NODE) or {}).get(_REQUIRED) or {}
    # A term without anything matches no node: it must not match one now.
    terms = [term for term in own.get(_TERMS) or [] if term] or [{}]
    on = [_on(term, node) for node in nodes for term in terms]
    return {_NODE: {_REQUIRED: {_TERMS: on}}}


def _on(term: Json, node: str) -> Json:
    """Of a matchField, Kubernetes takes one value only: so a term a node."""
    name = {"key": "metadata.name", "operator": "In", "values": [node]}
    return term | {"matchFields": [*(term.get("matchFields") or []), name]}


def unpinned(text: str) -> Json | None:
    """The merge patch of an affinity that brings back what the text keeps."""
    own = _read(text)
    if own is None:
        return None
    node = own.get(_NODE)
    return {_NODE: None if node is None else {_REQUIRED: node.get(_REQUIRED)}}


def own(affinity: Json | None, text: str) -> Json | None:
    """The affinity as its user has it, of one that is pinned."""
    found = _read(text)
    if found is None:
        return None
    return {name: part for name, part in (affinity or {}).items() if name != _NODE} | found


def _read(text: str) -> Json | None:
    """What `kept` wrote. In any other text nothing is kept: an annotation can be edited."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    if found is None:
        return None
    is_ours = isinstance(found, dict) and isinstance(found.get(_NODE, ""), dict | None)
    return {_NODE: found[_NODE]} if is_ours else {}
