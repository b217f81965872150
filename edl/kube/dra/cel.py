"""Device selectors: the part of CEL that compares a device's attributes with constants.

Anything else in an expression, such as `matches` or a macro, is parsed and evaluates to `UNKNOWN`.
As `false && UNKNOWN` is false, devices of other drivers are still excluded.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from enum import Enum, auto
from functools import lru_cache, partial
from operator import eq, ge, gt, le, lt
from typing import Any, Final, NamedTuple, TypeAlias

from edl.quantities import quantity


class _Mark(Enum):
    """The absence of a value."""

    UNKNOWN = auto()
    ERROR = auto()


UNKNOWN: Final = _Mark.UNKNOWN
_ERROR: Final = _Mark.ERROR
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
_MAX_TOKENS: Final = 400
"""Tokens per expression: each may be a call within a call."""
_ORDERS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {"<": lt, "<=": le, ">": gt, ">=": ge}
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
        read = _Parser(list(_tokens(expression))).whole()
    except _Unreadable:
        return lambda _device: None
    return partial(_verdict, read)


def _verdict(read: _Read, device: CelDevice) -> bool | None:
    value = read(device)
    return None if value is UNKNOWN else value is True


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    start, text = 0, text.rstrip()
    while start < len(text):
        match = _TOKEN.match(text, start)
        if match is None or match.lastgroup is None:
            raise _Unreadable
        yield match.lastgroup, match[match.lastgroup]
        start = match.end()


class _Parser:
    """Recursive descent: `||`, `&&`, comparisons, then names and constants with suffixes."""

    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        if len(tokens) > _MAX_TOKENS:
            raise _Unreadable
        self._tokens = tokens
        self._at = 0
        self._depth = 0

    def whole(self) -> _Read:
        expression = self._either()
        if self._at < len(self._tokens):
            raise _Unreadable
        return expression

    def _next(self) -> tuple[str, str]:
        return self._tokens[self._at] if self._at < len(self._tokens) else ("", "")

    def _take(self) -> tuple[str, str]:
        token = self._next()
        self._at += 1
        return token

    def _has(self, *texts: str) -> str:
        """Takes and returns the next token if it is one of these; else an empty string."""
        kind, text = self._next()
        if kind in ("sign", "name") and text in texts:
            self._at += 1
            return text
        return ""

    def _expect(self, sign: str) -> None:
        if not self._has(sign):
            raise _Unreadable

    def _either(self) -> _Read:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise _Unreadable
        parts = [self._both()]
        while self._has("||"):
            parts.append(self._both())
        self._depth -= 1
        return parts[0] if len(parts) == 1 else partial(_joined, parts, True)  # noqa: FBT003

    def _both(self) -> _Read:
        parts = [self._comparison()]
        while self._has("&&"):
            parts.append(self._comparison())
        return parts[0] if len(parts) == 1 else partial(_joined, parts, False)  # noqa: FBT003

    def _comparison(self) -> _Read:
        left = self._unary()
        sign = self._has("==", "!=", "<", "<=", ">", ">=", "in")
        if not sign:
            return left
        return partial(_compared, left, sign, self._unary())

    def _unary(self) -> _Read:
        negations = 0
        while self._has("!"):
            negations += 1
        operand = self._followed(self._primary())
        return partial(_negated, operand) if negations % 2 else operand

    def _primary(self) -> _Read:
        kind, text = self._take()
        if kind == "number":
            return _constant(int(text))
        if kind == "text":
            return _constant(text[1:-1])
        if kind == "name":
            return self._named(text)
        if text == "(":
            expression = self._either()
            self._expect(")")
            return expression
        if text == "[":
            return partial(_list, self._items("]"))
        raise _Unreadable

    def _named(self, name: str) -> _Read:
        if name in _WORDS:
            return _constant(_WORDS[name])
        if self._has("("):
            arguments = self._items(")")
            return partial(_quantity, arguments) if name == "quantity" else _unknown
        return _device if name == "device" else _unknown

    def _items(self, end: str) -> list[_Read]:
        items: list[_Read] = []
        while not self._has(end):
            items.append(self._either())
            if not self._has(","):
                self._expect(end)
                break
        return items

    def _followed(self, operand: _Read) -> _Read:
        """The expression with the fields, entries and method calls that follow it."""
        while sign := self._has(".", "["):
            if sign == "[":
                operand = partial(_entry, operand, self._either())
                self._expect("]")
                continue
            kind, name = self._take()
            if kind != "name":
                raise _Unreadable
            if self._has("("):
                operand = partial(_method, operand, name, self._items(")"))
            else:
                operand = partial(_entry, operand, _constant(name))
        return operand


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


def _compared(left: _Read, sign: str, right: _Read, device: CelDevice) -> object:
    value, other = left(device), right(device)
    if value is _ERROR or other is _ERROR:
        return _ERROR
    if value is UNKNOWN or other is UNKNOWN:
        return UNKNOWN
    if sign == "in":
        return _within(value, other)
    if type(value) is not type(other):
        return _ERROR
    if sign in ("==", "!="):
        return eq(value, other) is (sign == "==")
    return _ORDERS[sign](value, other) if isinstance(value, int | str) else UNKNOWN


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
