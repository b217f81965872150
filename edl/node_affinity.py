"""What a gated pod's users ask of nodes, as text, and how it is kept to one node besides."""

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


def _on(term: Json, node: str) -> Json:
    """An alternative on this node only, by its name: a label may say something else."""
    name = {"key": "metadata.name", "operator": "In", "values": [node]}
    return term | {"matchFields": [*(term.get("matchFields") or []), name]}
