"""The node affinity of a gated pod as text, and its restriction to the assigned node."""

import json
from typing import Final

from edl.writes import Json

ANYWHERE: Final = "[]"
_NODE: Final = "nodeAffinity"
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_TERMS: Final = "nodeSelectorTerms"


def kept(affinity: Json | None) -> str:
    """The alternatives of the required node affinity, none where every node will do."""
    required = ((affinity or {}).get(_NODE) or {}).get(_REQUIRED) or {}
    return json.dumps(required.get(_TERMS) or [], separators=(",", ":"))


def narrowed(text: str, node: str) -> Json:
    """The merge patch of an `affinity`, of which this is kept, that leaves its pod this node only.

    The API server lets each alternative ask for more, and none come or go (KEP-3838). One that asks
    for nothing matches no node, and may not ask for anything.
    """
    found = [_on(term, node) if term else term for term in json.loads(text)]
    return {_NODE: {_REQUIRED: {_TERMS: found or [_on({}, node)]}}}


def widened(affinity: Json, node: str) -> Json:
    """An `affinity` as it was before it was narrowed to this node; one that was not is the same."""
    own = affinity.get(_NODE) or {}
    terms = (own.get(_REQUIRED) or {}).get(_TERMS) or []
    last = _on({}, node)["matchFields"]
    asking = [term for term in terms if term]
    if not asking or any((term.get("matchFields") or [])[-1:] != last for term in asking):
        return affinity
    found = [_before(term) if term else term for term in terms]
    rest = {name: part for name, part in own.items() if name != _REQUIRED}
    required = {} if found == [{}] else {_REQUIRED: {_TERMS: found}}
    kept = {name: part for name, part in affinity.items() if name != _NODE}
    both = rest | required
    return {_NODE: both} | kept if both else kept


def _before(term: Json) -> Json:
    """An alternative without the last of its fields."""
    fields = term["matchFields"][:-1]
    kept = {name: part for name, part in term.items() if name != "matchFields"}
    return kept | {"matchFields": fields} if fields else kept


def _on(term: Json, node: str) -> Json:
    """An alternative on this node only, by its name: a label may say something else."""
    name = {"key": "metadata.name", "operator": "In", "values": [node]}
    return term | {"matchFields": [*(term.get("matchFields") or []), name]}
