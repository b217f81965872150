"""Device selectors: the part of CEL that compares a device's attributes with constants.

Its syntax is so close to Python's that Python's parser reads it. Anything else in an expression,
such as `matches` or a macro, evaluates to `UNKNOWN`. As `false && UNKNOWN` is false, devices of
other drivers are still excluded.
"""

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache, partial
from operator import eq, ge, gt, le, lt, ne
from typing import Any, Final, NamedTuple, TypeAlias

from edl.quantities import quantity


class _Mark:
    """A marker for the absence of a value."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


UNKNOWN: Final = _Mark("UNKNOWN")
_ERROR: Final = _Mark("ERROR")
"""CEL's error value: an absent attribute, or a comparison of different types."""

CelDevice: TypeAlias = Mapping[str, Any]
"""`driver`, `allowMultipleAllocations`, and `attributes` and `capacity` by domain and name."""
_Read: TypeAlias = Callable[[CelDevice], Any]

_TOKEN: Final = re.compile(
    r"\s*(?:(?P<number>[0-9]{1,18}(?![.0-9A-Za-z_]))|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<text>\"(?:[^\"\\\n])*\"|'(?:[^'\\\n])*')"
    r"|(?P<sign>&&|\|\||[=!<>]=|[][()!<>.,]))"
)
_DEEPEST: Final = 32
"""The deepest nesting of parentheses and calls that is parsed."""
_LONGEST: Final = 400
"""Tokens per expression: each may be a call within a call."""
_ORDERS: Final[Mapping[type[ast.cmpop], Callable[[Any, Any], bool]]] = {
    ast.Eq: eq, ast.NotEq: ne, ast.Lt: lt, ast.LtE: le, ast.Gt: gt, ast.GtE: ge
}  # fmt: skip
_SIGNS: Final = {"&&": "and", "||": "or", "!": "~"}
_OPENING, _CLOSING = ("(", "["), (")", "]")
_WORDS: Final = {"true": True, "false": False}


class _Unreadable(Exception):
    """The expression is beyond the grammar that this parser reads."""


class CelQuantity(NamedTuple):
    """A resource quantity. It never equals a number."""

    amount: Decimal


@lru_cache(maxsize=1024)
def selector(expression: str) -> Callable[[CelDevice], bool | None]:
    """A function that tells whether a device matches; it returns None if that is unknown."""
    try:
        tree = ast.parse(" ".join(_python(expression)), mode="eval")
        return partial(_verdict, _reader(tree.body))
    except (_Unreadable, SyntaxError):
        return lambda _device: None


def _verdict(read: _Read, device: CelDevice) -> bool | None:
    value = read(device)
    return None if value is UNKNOWN else value is True


def _python(expression: str) -> Iterator[str]:
    """The tokens in Python's syntax, whose operators bind as CEL's do: `~` stands for `!`.

    Names get a prefix, because some are words of Python.
    """
    depth, before = 0, ("", "")
    for number, (kind, text) in enumerate(_tokens(expression)):
        depth += (text in _OPENING) - (text in _CLOSING)
        if number >= _LONGEST or depth > _DEEPEST:
            raise _Unreadable
        if (kind == before[0] == "text") or (before[1], text) == (")", "("):
            raise _Unreadable  # Python would join two texts, and call what is in parentheses
        before = kind, text
        if kind == "name" and text != "in":
            yield f"_{text}"
        else:
            yield str(int(text)) if kind == "number" else _SIGNS.get(text, text)


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    start, text = 0, text.rstrip()
    while start < len(text):
        match = _TOKEN.match(text, start)
        if match is None or match.lastgroup is None:
            raise _Unreadable
        yield match.lastgroup, match[match.lastgroup]
        start = match.end()


def _reader(node: ast.expr) -> _Read:
    """The function of a syntax tree; other forms than these are beyond the grammar."""
    if (made := _FORMS.get(type(node))) is None:
        raise _Unreadable
    return made(node)


def _readers(nodes: Iterable[ast.expr]) -> list[_Read]:
    return [_reader(node) for node in nodes]


def _negation(node: ast.UnaryOp) -> _Read:
    negations, operand = 1, node.operand
    while isinstance(operand, ast.UnaryOp):
        negations, operand = negations + 1, operand.operand
    return partial(_negated, _reader(operand)) if negations % 2 else _reader(operand)


def _comparison(node: ast.Compare) -> _Read:
    (operator, *more), right = node.ops, node.comparators[0]
    if more:
        raise _Unreadable
    return partial(_compared, _reader(node.left), type(operator), _reader(right))


def _call(node: ast.Call) -> _Read:
    arguments = _readers(node.args)
    match node.func:
        case ast.Attribute(value, name):
            return partial(_method, _reader(value), name[1:], arguments)
        case ast.Name(name) if name[1:] not in _WORDS:
            return partial(_quantity, arguments) if name == "_quantity" else _unknown
    raise _Unreadable


def _name(node: ast.Name) -> _Read:
    if node.id == "_device":
        return _device
    return _constant(_WORDS[node.id[1:]]) if node.id[1:] in _WORDS else _unknown


_FORMS: Final[Mapping[type[ast.expr], Callable[[Any], _Read]]] = {
    ast.Constant: lambda node: _constant(node.value),
    ast.Name: _name,
    ast.BoolOp: lambda node: partial(_joined, _readers(node.values), isinstance(node.op, ast.Or)),
    ast.UnaryOp: _negation,
    ast.Compare: _comparison,
    ast.List: lambda node: partial(_list, _readers(node.elts)),
    ast.Subscript: lambda node: partial(_entry, _reader(node.value), _reader(node.slice)),
    ast.Attribute: lambda node: partial(_entry, _reader(node.value), _constant(node.attr[1:])),
    ast.Call: _call,
}


def _constant(value: object) -> _Read:
    return lambda _device: value


def _unknown(_device: CelDevice) -> _Mark:
    return UNKNOWN


def _device(device: CelDevice) -> CelDevice:
    return device


def _joined(parts: Sequence[_Read], decides: bool, device: CelDevice) -> object:  # noqa: FBT001
    """The value of `||` or `&&`; a part that equals `decides` decides it, in any position."""
    values = [part(device) for part in parts]
    if any(value is decides for value in values):
        return decides
    if UNKNOWN in values:
        return UNKNOWN
    return (
        not decides
        if all(value is not decides and isinstance(value, bool) for value in values)
        else _ERROR
    )


def _negated(read: _Read, device: CelDevice) -> object:
    value = read(device)
    if isinstance(value, bool):
        return not value
    return UNKNOWN if value is UNKNOWN else _ERROR


def _compared(left: _Read, sign: type[ast.cmpop], right: _Read, device: CelDevice) -> object:
    value, other = left(device), right(device)
    if value is _ERROR or other is _ERROR:
        return _ERROR
    if value is UNKNOWN or other is UNKNOWN:
        return UNKNOWN
    if sign is ast.In:
        return _within(value, other)
    if type(value) is not type(other):
        return _ERROR
    ordered = isinstance(value, int | str) or sign in (ast.Eq, ast.NotEq)
    return _ORDERS[sign](value, other) if ordered else UNKNOWN


def _within(item: object, among: object) -> object:
    if isinstance(among, list) and (UNKNOWN in among or _ERROR in among):
        return UNKNOWN
    if isinstance(among, list | Mapping):
        return any(type(member) is type(item) and member == item for member in among)
    return _ERROR


def _list(items: Sequence[_Read], device: CelDevice) -> list[object]:
    return [item(device) for item in items]


def _quantity(arguments: Sequence[_Read], device: CelDevice) -> object:
    values = [argument(device) for argument in arguments]
    if len(values) != 1 or not isinstance(values[0], str):
        return UNKNOWN
    try:
        return CelQuantity(quantity(values[0]))
    except ValueError:
        return _ERROR


def _entry(read: _Read, key: _Read, device: CelDevice) -> object:
    value, name = read(device), key(device)
    if isinstance(value, _Mark):
        return value
    if isinstance(value, Mapping) and isinstance(name, str):
        return value.get(name, _ERROR)
    return UNKNOWN


def _method(read: _Read, name: str, arguments: Sequence[_Read], device: CelDevice) -> object:
    """The value of a method call; only methods of quantities are known."""
    value, others = read(device), [argument(device) for argument in arguments]
    if value is _ERROR or _ERROR in others:
        return _ERROR
    if not (
        isinstance(value, CelQuantity) and len(others) == 1 and isinstance(others[0], CelQuantity)
    ):
        return UNKNOWN
    order = (value > others[0]) - (value < others[0])
    return {"compareTo": order, "isGreaterThan": order > 0, "isLessThan": order < 0}.get(
        name, UNKNOWN
    )
