"""The log format of our processes: one line per message, as JSON or as text with KEY=VALUE."""

import faulthandler
import logging
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, TextIO

import msgspec

_STDERR: Final = 2
"""Its file descriptor."""
LEVELS: Final = ("debug", "info", "warning", "error")


class _OneLine(logging.Formatter):
    """Formats a record as one line, with the fields of `extra={"fields": {...}}`."""

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
    """The message, then the fields; values with spaces or quotes are JSON strings."""
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
    """Sends all logs of this process to `stream`; `form` is one of FORMATS."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(_OneLine(FORMATS[form]))
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    logging.getLogger("urllib3").setLevel(logging.ERROR)  # our own errors report its retries


def log_to_stderr(level: str, form: str) -> None:
    """`log_to` stderr; a crash of the interpreter leaves the stack of each thread there, too."""
    log_to(sys.stderr, level, form)
    faulthandler.enable(_STDERR)
