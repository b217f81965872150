"""Values as JSON in annotations. Other clients may write these too, with any content."""

from typing import TypeVar

import msgspec

_Value = TypeVar("_Value")


def json_text(value: object) -> str:
    return msgspec.json.encode(value).decode()


def read_json(text: str, decoder: "msgspec.json.Decoder[_Value]") -> _Value | None:
    """The value in an annotation; None if it is missing or invalid."""
    if not text:
        return None
    try:
        return decoder.decode(text)
    except (msgspec.MsgspecError, RecursionError):
        return None
