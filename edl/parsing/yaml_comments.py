"""Comments of ruamel.yaml's documents, moved to where they belong.

ruamel.yaml keeps what stands between two values with the last scalar before it; where one of both
is taken out or a third one comes between, that text has to go with the value that it precedes.
"""

import re
from typing import Any, Final, TypeAlias

import yaml
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import CommentMark
from ruamel.yaml.scalarstring import FoldedScalarString, LiteralScalarString
from ruamel.yaml.tokens import CommentToken

_BLOCKS: Final = (LiteralScalarString, FoldedScalarString)
_COMMENT: Final = re.compile(r"#[^\r\n]*")
_SCANNER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_BLOCK_STYLES: Final = ("|", ">")
_BEFORE: Final = 1
"""Where ruamel.yaml keeps what stands before a key or an item."""

CommentedNode: TypeAlias = CommentedMap | CommentedSeq


def comments(text: str) -> tuple[str, ...]:
    """All of a text, each from its `#`; what stands in values is none. Raises YAMLError."""
    found: list[str] = []
    end = 0
    for token in yaml.scan(text, Loader=_SCANNER):
        found += _COMMENT.findall(text, end, token.start_mark.index)
        end = max(end, token.end_mark.index)
        if getattr(token, "style", None) in _BLOCK_STYLES:  # its header may have one
            header = text.find("\n", token.start_mark.index)
            found += _COMMENT.findall(text, token.start_mark.index, header)
    return tuple(comment.rstrip() for comment in found)


def taken_trailing(node: CommentedNode, key: Any) -> str:  # noqa: ANN401 - a key or an index
    """The lines below a value, up to the next one, which the document loses; each ends."""
    found = ""
    while _is_block(inner := node[key]):
        found = _taken_end(inner) + found
        node, key = inner, _last(inner)
    slots = node.ca.items.get(key)
    token = slots[_after(node)] if slots else None
    if not isinstance(token, CommentToken):
        return found
    if isinstance(inner, _BLOCKS):
        beside, below = "", " " * token.column + token.value
    else:
        beside, _, below = token.value.partition("\n")
    if below:
        token.value = f"{beside}\n"
        if not beside:
            slots[_after(node)] = None
    taken: str = below + found
    return taken


def given_trailing(node: CommentedNode, key: Any, lines: str) -> None:  # noqa: ANN401 - a key or an index
    """Below the value, after all that stands there."""
    if not lines:
        return
    while _is_block(inner := node[key]):
        node, key = inner, _last(inner)
    slots = node.ca.items.setdefault(key, [None, None, None, None])
    token = slots[_after(node)]
    if isinstance(token, CommentToken):
        token.value += lines
    else:
        # A block of lines has ended its last one already.
        begin = "" if isinstance(inner, _BLOCKS) else "\n"
        slots[_after(node)] = CommentToken(begin + lines, CommentMark(0), None)


def put_before(node: CommentedNode, key: Any, lines: str) -> None:  # noqa: ANN401 - a key or an index
    """Above the first value."""
    if not lines:
        return
    column = len(lines) - len(lines.lstrip(" "))
    slots = node.ca.items.setdefault(key, [None, None, None, None])
    slots[_BEFORE] = [
        CommentToken(lines.lstrip(" "), CommentMark(column), None),
        *(slots[_BEFORE] or ()),
    ]


def _is_block(value: object) -> bool:
    return isinstance(value, CommentedNode) and bool(value) and not value.fa.flow_style()


def _last(node: CommentedNode) -> Any:  # noqa: ANN401 - a key or an index
    return list(node)[-1] if isinstance(node, CommentedMap) else len(node) - 1


def _after(node: CommentedNode) -> int:
    return 2 if isinstance(node, CommentedMap) else 0


def _taken_end(node: CommentedNode) -> str:
    """What ruamel.yaml keeps at the end of a map or list itself."""
    found = "".join(" " * token.column + token.value for token in node.ca.end)
    node.ca.end = []
    return found
