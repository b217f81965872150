"""Documents for other programs, as JSON and YAML."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from kubectl_edl.output.safe_text import harmless_json


def json_text(document: Mapping[str, object]) -> str:
    """JSON, indented as kubectl does, with a final newline."""
    return harmless_json(json.dumps(document, indent=4, ensure_ascii=False)) + "\n"


def json_stream(documents: Sequence[Mapping[str, object]]) -> str:
    """One document as it is, several as a List, as kubectl prints them; empty for none."""
    if len(documents) == 1:
        return json_text(documents[0])
    several = {"apiVersion": "v1", "kind": "List", "items": list(documents)}
    return json_text(several) if documents else ""


def yaml_text(document: Mapping[str, object]) -> str:
    """YAML with keys in the document's order."""
    from kubectl_edl.output.yaml_writer import dump

    return dump(document)


def yaml_stream(documents: Sequence[Mapping[str, object]]) -> str:
    """YAML documents, one after another."""
    from kubectl_edl.output.yaml_writer import dump, joined

    return joined(map(dump, documents))


STREAMS: Final[Mapping[str, Callable[[Sequence[Mapping[str, object]]], str]]] = {
    "json": json_stream,
    "yaml": yaml_stream,
}
"""Functions by the value of `-o`."""
