"""The manifests that -f names: a file, everything below a directory, or stdin."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final, TextIO

from kubectl_edl.convert_documents import Unreadable, position
from kubectl_edl.refusals import Refused

_STDIN: Final = "-"
_ENDINGS: Final = (".yaml", ".yml", ".json")


def texts(stdin: TextIO, names: Sequence[str]) -> list[tuple[str, str | Unreadable]]:
    """(where, text) of every file in order; a file that is no text is what is wrong with it.

    Raises Refused for what is not there.
    """
    return [found for name in names for found in _texts(stdin, name)]


def _texts(stdin: TextIO, name: str) -> list[tuple[str, str | Unreadable]]:
    if name == _STDIN:
        return [("stdin", _read_all(stdin))]
    path = Path(name)
    if not path.is_dir():
        return [(name, _read(path))]
    below = sorted(found for found in path.rglob("*") if found.suffix in _ENDINGS)
    files = [found for found in below if found.is_file()]
    if not files:
        raise Refused(f"{name} has no manifests: no *{', *'.join(_ENDINGS)} in it or below it")
    return [(str(file), _read(file)) for file in files]


def _read(path: Path) -> str | Unreadable:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise Refused(f"{path} cannot be read: {error.strerror}") from error
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return _no_text(str(path), error)


def _read_all(stdin: TextIO) -> str | Unreadable:
    try:
        return stdin.read()
    except UnicodeDecodeError as error:
        return _no_text("stdin", error)


def _no_text(where: str, error: UnicodeDecodeError) -> Unreadable:
    line = error.object.count(b"\n", 0, error.start) + 1
    return Unreadable(f"{position(where, 1, line)}: not UTF-8")
