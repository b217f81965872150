"""Manifests as YAML text."""

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import yaml

from edl.parsing.yaml_values import scalar_type


class _Readable(yaml.SafeDumper):
    """Writes multi-line texts as blocks, and no aliases."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 - PyYAML's signature
        return True


_OTHER_LINE_ENDS: Final = re.compile("[\\x85\\u2028\\u2029]")
"""YAML's other line breaks, which would be read back as different whitespace: quoted."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    """Quotes "1" and "true" as kubectl does, and as examples are written."""
    style = "|" if "\n" in text else '"' if scalar_type(text) != "str" else None
    if _OTHER_LINE_ENDS.search(text):
        style = '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _list(dumper: yaml.SafeDumper, items: list[Any]) -> yaml.SequenceNode:
    flat = bool(items) and all(isinstance(item, int) for item in items)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", items, flow_style=flat or None)


_Readable.add_representer(str, _text)
_Readable.add_representer(list, _list)


def dump(manifest: Mapping[str, object]) -> str:
    """One YAML document with keys in their order."""
    text: str = yaml.dump(
        manifest, Dumper=_Readable, sort_keys=False, allow_unicode=True, width=math.inf
    )
    return text


def joined(parts: Iterable[str]) -> str:
    """One stream of several documents."""
    return "---\n".join(parts)
