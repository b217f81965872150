"""Changes values in a YAML text; the rest stays as it is written, including comments.

Scalars are strings here, as written: the reader of the document interprets them. The caller must
parse the result and compare: an alias may share a value of which only one copy should change.
"""

import io
import math
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

import yaml
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import ScalarNode
from ruamel.yaml.resolver import VersionedResolver
from ruamel.yaml.scalarstring import (
    DoubleQuotedScalarString,
    LiteralScalarString,
    SingleQuotedScalarString,
)
from ruamel.yaml.tag import Tag

from edl.parsing.yaml_comments import comments, given_trailing, put_before, taken_trailing
from edl.parsing.yaml_values import scalar_type

_NULL: Final = Tag(suffix="tag:yaml.org,2002:null")
_TEXT: Final = Tag(suffix="tag:yaml.org,2002:str")
_REST: Final = r"[ ]*(?:#[^\n]*)?\n(?:[ ]*(?:#[^\n]*)?\n)*"
"""Comments that may follow a key on its line and on the lines below it."""
_LIST: Final = re.compile(rf"^( *)[^\s#-][^\n]*:{_REST}( *)- ", re.MULTILINE)
_MAP: Final = re.compile(rf"^( *)[^\s#-][^\n]*:{_REST}( +)[^\s#-]", re.MULTILINE)

EditError: Final = (
    YAMLError, ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError
)  # fmt: skip
"""What `edited` raises if the text cannot be changed in place."""
MISREAD: Final = "a comment makes the place of the new values ambiguous"


class _AsWritten(VersionedResolver):
    """Resolves plain scalars to strings, and an empty value to null."""

    def resolve(self, kind: type, value: Any, implicit: Any) -> Tag:  # noqa: ANN401 - ruamel's
        if kind is ScalarNode and implicit[0]:
            return _TEXT if value else _NULL
        tag: Tag = super().resolve(kind, value, implicit)
        return tag


def edited(text: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """The text of `before`, changed to say `after`. Both are the document's content as JSON.

    Raises one of EditError, also if the result does not read as `after`.
    """
    if "\r\n" in text:
        return edited(text.replace("\r\n", "\n"), before, after).replace("\n", "\r\n")
    writer = _writer(text)
    root = writer.load(text)
    _change_map(root, before, after)
    stream = io.StringIO()
    writer.dump(root, stream)
    new = stream.getvalue()
    if not _reads_as(root, new):
        raise ValueError(MISREAD)
    return new


def lost_comments(before: str, after: str) -> tuple[str, ...]:
    """Comments that the first text contains and the second does not.

    Comments are lost with a deleted value, and inside a flow mapping that spans several lines.
    """
    try:
        lost = Counter(comments(before)) - Counter(comments(after))
    except yaml.YAMLError:  # JSON with tabs, which has none
        return ()
    return tuple(lost.elements())


def _reads_as(root: CommentedMap, text: str) -> bool:
    try:
        return bool(_writer(text).load(text) == root)
    except YAMLError:
        return False


def _writer(text: str) -> YAML:
    """A writer with the indents of the text's first list and first mapping."""
    writer = YAML()
    writer.Resolver = _AsWritten
    writer.preserve_quotes = True
    writer.width = 2**31
    writer.brace_single_entry_mapping_in_flow_sequence = True
    offset = len(match[2]) - len(match[1]) if (match := _LIST.search(text)) else 0
    step = len(match[2]) - len(match[1]) if (match := _MAP.search(text)) else 2
    offset, step = (offset if 0 <= offset <= 8 else 0), (step if 2 <= step <= 8 else 2)  # noqa: PLR2004 - blanks
    writer.indent(mapping=step, sequence=offset + 2, offset=offset)
    return writer


def _change_map(node: CommentedMap, before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
    for key in [key for key in before if key not in after]:
        _delete(node, key)
    last: str | None = None
    for key, value in after.items():
        if key not in before:
            _insert(node, 0 if last is None else list(node).index(last) + 1, key, value)
        elif before[key] != value:
            _change(node, key, before[key], value)
        last = key if key in node else last


def _change(node: CommentedMap | CommentedSeq, key: Any, before: Any, after: Any) -> None:  # noqa: ANN401 - JSON
    trailing = taken_trailing(node, key) if key in node or isinstance(key, int) else ""
    inner = node.get(key) if isinstance(node, CommentedMap) else node[key]
    if after in ({}, []):
        node[key] = _node(after)
    elif isinstance(inner, CommentedMap) and isinstance(before, dict) and isinstance(after, dict):
        _change_map(inner, before, after)
    elif isinstance(inner, CommentedSeq) and isinstance(before, list) and isinstance(after, list):
        _change_list(inner, before, after)
    else:
        node[key] = None  # A string assigned in its place would inherit the quotes of the old one.
        node[key] = _node(after)
    given_trailing(node, key, trailing)


def _change_list(node: CommentedSeq, before: list[Any], after: list[Any]) -> None:
    """Matches items by their names, else by their whole content.

    Items without names are matched by position if their number is unchanged. Raises ValueError if
    the order changed.
    """
    old, new = list(map(_identity, before)), list(map(_identity, after))
    unnamed = len(before) == len(after) and not any(map(_name, (*before, *after)))
    if unnamed or len(set(old)) < len(old) or len(set(new)) < len(new):
        old, new = list(map(str, range(len(old)))), list(map(str, range(len(new))))
    for index in reversed(range(len(old))):
        if old[index] not in new:
            _delete(node, index)
    common = [item for item in old if item in new]
    if common != [item for item in new if item in common]:
        raise ValueError("the items have another order")
    for index, item in enumerate(new):
        if item not in common:
            _insert(node, index, index, after[index])
        elif (was := before[old.index(item)]) != after[index]:
            _change(node, index, was, after[index])


def _name(item: object) -> object:
    return item.get("name") if isinstance(item, dict) else None


def _identity(item: object) -> str:
    return f"name {name}" if (name := _name(item)) else repr(item)


def _delete(node: CommentedMap | CommentedSeq, key: Any) -> None:  # noqa: ANN401 - a key or an index
    """The comment lines below the deleted value move to its neighbour."""
    keys = list(node) if isinstance(node, CommentedMap) else list(range(len(node)))
    index, trailing = keys.index(key), taken_trailing(node, key)
    del node[key]
    if index:
        given_trailing(node, keys[index - 1], trailing)
    elif node:
        put_before(node, keys[1] if isinstance(node, CommentedMap) else 0, trailing)


def _insert(node: CommentedMap | CommentedSeq, index: int, key: Any, value: Any) -> None:  # noqa: ANN401 - JSON
    """The comment lines below the predecessor stay above the successor."""
    keys = list(node) if isinstance(node, CommentedMap) else list(range(len(node)))
    trailing = taken_trailing(node, keys[index - 1]) if index else ""
    if isinstance(node, CommentedMap):
        node.insert(index, key, _node(value))
    else:
        node.insert(index, _node(value))
    given_trailing(node, key, trailing)


def _node(value: Any) -> Any:  # noqa: ANN401 - JSON
    if isinstance(value, dict):
        mapping = CommentedMap()
        mapping.fa.set_block_style() if value else mapping.fa.set_flow_style()
        for key, inner in value.items():
            mapping[_scalar(key)] = _node(inner)
        return mapping
    if isinstance(value, list):
        items = CommentedSeq(map(_node, value))
        items.fa.set_block_style() if value else items.fa.set_flow_style()
        return items
    return _scalar(value)


def _scalar(value: object) -> object:
    if value is None:
        return None
    if not isinstance(value, str):
        return yaml.safe_dump(value).removesuffix("\n").removesuffix("\n...")
    if "\n" in value:
        return LiteralScalarString(value)
    plain = yaml.safe_dump(value, width=math.inf, allow_unicode=True)
    if plain.startswith('"') or scalar_type(value) != "str":  # as `output.yaml_writer`
        return DoubleQuotedScalarString(value)
    if plain.startswith("'"):
        return SingleQuotedScalarString(value)
    return value
