"""The node affinity of a gated pod: saved as text, and narrowed to the assigned node."""

import json
from typing import Final

from edl import contract
from edl.writes import Json

_NODE: Final = "nodeAffinity"
_TERMS: Final = "nodeSelectorTerms"


def terms_text(affinity: Json | None) -> str:
    """The terms of the required node affinity as JSON; `[]` if every node is eligible."""
    required = ((affinity or {}).get(_NODE) or {}).get(contract.REQUIRED_AFFINITY) or {}
    return json.dumps(required.get(_TERMS) or [], separators=(",", ":"))


def narrowed(text: str, node: str) -> Json:
    """The merge patch that narrows an affinity, saved as `text` by `terms_text`, to one node.

    While a pod is gated, the API server lets each term gain requirements, but lets no term be added
    or removed (KEP-3838). An empty term matches no node and must stay empty.
    """
    terms = [_on(term, node) if term else term for term in json.loads(text)]
    return {_NODE: {contract.REQUIRED_AFFINITY: {_TERMS: terms or [_on({}, node)]}}}


def widened(affinity: Json, node: str) -> Json:
    """The affinity before `narrowed` restricted it to this node; any other is unchanged."""
    section = affinity.get(_NODE) or {}
    terms = (section.get(contract.REQUIRED_AFFINITY) or {}).get(_TERMS) or []
    last = _on({}, node)["matchFields"]
    asking = [term for term in terms if term]
    if not asking or any((term.get("matchFields") or [])[-1:] != last for term in asking):
        return affinity
    restored = [_before(term) if term else term for term in terms]
    rest = {name: part for name, part in section.items() if name != contract.REQUIRED_AFFINITY}
    required = {} if restored == [{}] else {contract.REQUIRED_AFFINITY: {_TERMS: restored}}
    others = {name: part for name, part in affinity.items() if name != _NODE}
    both = rest | required
    return {_NODE: both} | others if both else others


def _before(term: Json) -> Json:
    """The term without its last matchFields entry."""
    fields = term["matchFields"][:-1]
    others = {name: part for name, part in term.items() if name != "matchFields"}
    return others | {"matchFields": fields} if fields else others


def _on(term: Json, node: str) -> Json:
    """The term restricted to this node by metadata.name: a hostname label may differ from it."""
    name = {"key": "metadata.name", "operator": "In", "values": [node]}
    return term | {"matchFields": [*(term.get("matchFields") or []), name]}
