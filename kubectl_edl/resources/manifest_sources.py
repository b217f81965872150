"""The sources of `-f`: a file, all manifests below a folder, or `-` for stdin."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TextIO

from edl.errors import EdlError
from kubectl_edl.cli.command_errors import Misused, Refused

_STDIN: Final = "-"
_LONGEST_NAME: Final = 255
LARGEST_FILE: Final = 16 * 2**20
"""The largest file in bytes: ten times the largest object that an API server accepts."""
TOO_DEEP: Final = "nested too deeply"
_ENDINGS: Final = (".yaml", ".yml", ".json")


class Unreadable(EdlError):
    """A malformed document; the message has the file, the document's number and the line."""


@dataclass(frozen=True, slots=True)
class Named:
    """Manifest files and the name of a Job, in them or in the cluster; either may be empty."""

    name: str = ""
    filenames: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ManifestSource:
    """One file and its name in messages; `content` is its text, or the error from decoding it."""

    name: str
    content: str | Unreadable

    @property
    def text(self) -> str:
        """The text. Raises Unreadable if the file is not text."""
        if isinstance(self.content, Unreadable):
            raise self.content
        return self.content


def sources(names: Sequence[str], stdin: TextIO) -> list[ManifestSource]:
    """The files of all names, in order; a folder's files are sorted by path.

    Raises Refused for a missing file, and for a folder without manifests.
    """
    return [source for name in names for source in _named(name, stdin)]


def position(where: str, number: int, line: int) -> str:
    """`jobs.yaml: document 2, line 14`."""
    return f"{where}: document {number}, line {line}"


def _named(name: str, stdin: TextIO) -> Iterator[ManifestSource]:
    if name == _STDIN:
        yield ManifestSource("stdin", _read_all(stdin))
    elif not name:
        raise Misused("no file has an empty name")
    elif _is_folder(name):
        yield from (ManifestSource(str(path), _read(path)) for path in _below(Path(name)))
    else:
        yield ManifestSource(name, _read(Path(name)))


def _is_folder(name: str) -> bool:
    try:
        return Path(name).is_dir()
    except OSError as error:
        # Users often pass a manifest's text instead of its name, and it may contain secrets.
        shown = name if len(name) <= _LONGEST_NAME else f"{name.splitlines()[0][:40]}…"
        raise Refused(f"{shown} cannot be read: {error.strerror}") from error


def _below(folder: Path) -> list[Path]:
    paths = sorted(path for path in folder.rglob("*") if path.suffix in _ENDINGS)
    files = [path for path in paths if path.is_file()]
    if not files:
        raise Refused(f"{folder} has no manifests: no *{', *'.join(_ENDINGS)} in it or below it")
    return files


def _read(path: Path) -> str | Unreadable:
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise Refused(f"{path} cannot be read: {error.strerror}") from error
    return _decoded(str(path), content)


def _read_all(stdin: TextIO) -> str | Unreadable:
    """Read stdin as bytes, because a text stream would use the locale and accept invalid text."""
    try:
        content: bytes | str = getattr(stdin, "buffer", stdin).read(LARGEST_FILE + 1)
    except OSError as error:
        raise Refused(f"stdin cannot be read: {error.strerror or 'it is closed'}") from error
    if isinstance(content, str):
        return content if len(content) <= LARGEST_FILE else _too_large("stdin")
    return _decoded("stdin", content)


def _too_large(where: str) -> Unreadable:
    return Unreadable(f"{where}: larger than {LARGEST_FILE >> 20} MiB; split it")


def _decoded(where: str, content: bytes) -> str | Unreadable:
    if len(content) > LARGEST_FILE:
        return _too_large(where)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        return Unreadable(f"{position(where, 1, line)}: not UTF-8")
