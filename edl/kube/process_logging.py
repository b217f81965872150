"""How our processes log: one line a message, as JSON or as words and KEY=VALUE."""

import logging
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, TextIO

import msgspec

LEVELS: Final = ("debug", "info", "warning", "error")


class _OneLine(logging.Formatter):
    """`extra={"fields": {...}}` of a log call becomes part of the line."""

    def __init__(self, render: Callable[[dict[str, Any]], str]) -> None:
        super().__init__()
        self._render = render

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return self._render(line)


def _json(value: object) -> str:
    return msgspec.json.encode(value, enc_hook=str).decode()


def _text(line: Mapping[str, Any]) -> str:
    """Words first, then the fields; what has blanks or quotes is written as JSON writes it."""
    head = " ".join(str(line[name]) for name in ("time", "level"))
    message = line["message"] if str(line["message"]).isprintable() else _quoted(line["message"])
    rest = {name: value for name, value in line.items() if name not in ("time", "level", "message")}
    return " ".join([head, message, *(f"{name}={_quoted(value)}" for name, value in rest.items())])


def _quoted(value: object) -> str:
    text = value if isinstance(value, str) else _json(value)
    plain = text.isprintable() and not set(text) & set(' "=')
    return text if plain and text else _json(text)


FORMATS: Final[Mapping[str, Callable[[dict[str, Any]], str]]] = {"json": _json, "text": _text}


def log_to(stream: TextIO, level: str, form: str = "json") -> None:
    """All that this process logs goes to `stream`; `form` is one of FORMATS."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(_OneLine(FORMATS[form]))
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    logging.getLogger("urllib3").setLevel(logging.ERROR)  # its retries are told by our errors
