"""Moves comments in ruamel.yaml's documents along with the values that they precede.

ruamel.yaml attaches the text between two values to the last scalar before it. When that scalar is
removed, or a value is inserted after it, the text must move to stay above the value that it
precedes.
"""

import re
from typing import Any, Final, TypeAlias

import yaml
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import CommentMark
from ruamel.yaml.scalarstring import FoldedScalarString, LiteralScalarString
from ruamel.yaml.tokens import CommentToken

from edl.parsing.strict_yaml import LOADER

_BLOCKS: Final = (LiteralScalarString, FoldedScalarString)
_COMMENT: Final = re.compile(r"#[^\r\n]*")
_BLOCK_STYLES: Final = ("|", ">")
_BEFORE: Final = 1
"""The slot in which ruamel.yaml keeps the comment before a key or an item."""

CommentedNode: TypeAlias = CommentedMap | CommentedSeq


def comments(text: str) -> tuple[str, ...]:
    """All comments of a text, each from its `#`; a `#` inside a value does not count.

    Raises YAMLError.
    """
    texts: list[str] = []
    end = 0
    for token in yaml.scan(text, Loader=LOADER):
        texts += _COMMENT.findall(text, end, token.start_mark.index)
        end = max(end, token.end_mark.index)
        if getattr(token, "style", None) in _BLOCK_STYLES:  # a block's header may have one
            header = text.find("\n", token.start_mark.index)
            texts += _COMMENT.findall(text, token.start_mark.index, header)
    return tuple(comment.rstrip() for comment in texts)


def taken_trailing(node: CommentedNode, key: Any) -> str:  # noqa: ANN401 - a key or an index
    """Removes and returns the comment lines between a value and the next one.

    Each line ends with a newline.
    """
    trailing = ""
    while _is_block(inner := node[key]):
        trailing = _taken_end(inner) + trailing
        node, key = inner, _last(inner)
    slots = node.ca.items.get(key)
    token = slots[_after(node)] if slots else None
    if not isinstance(token, CommentToken):
        return trailing
    if isinstance(inner, _BLOCKS):
        beside, below = "", " " * token.column + token.value
    else:
        beside, _, below = token.value.partition("\n")
    if below:
        token.value = f"{beside}\n"
        if not beside:
            slots[_after(node)] = None
    taken: str = below + trailing
    return taken


def given_trailing(node: CommentedNode, key: Any, lines: str) -> None:  # noqa: ANN401 - a key or an index
    """Appends comment lines below a value, after those that are there."""
    if not lines:
        return
    while _is_block(inner := node[key]):
        node, key = inner, _last(inner)
    slots = node.ca.items.setdefault(key, [None, None, None, None])
    token = slots[_after(node)]
    if isinstance(token, CommentToken):
        token.value += lines
    else:
        # The last line of a block scalar has its newline already.
        begin = "" if isinstance(inner, _BLOCKS) else "\n"
        slots[_after(node)] = CommentToken(begin + lines, CommentMark(0), None)


def put_before(node: CommentedNode, key: Any, lines: str) -> None:  # noqa: ANN401 - a key or an index
    """Puts comment lines above a value."""
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
    """Removes and returns the comments that ruamel.yaml attaches to the end of a map or list."""
    text = "".join(" " * token.column + token.value for token in node.ca.end)
    node.ca.end = []
    return text
