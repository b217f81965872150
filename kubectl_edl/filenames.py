"""What `-f` names, as kubectl takes it: files, folders of manifests, `-` for stdin."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TextIO

from kubectl_edl.refusals import Refused

_STDIN: Final = "-"
_MANIFESTS: Final = frozenset({".yaml", ".yml", ".json"})


@dataclass(frozen=True, slots=True)
class Source:
    """One file's text, and its name in messages."""

    name: str
    text: str


def sources(filenames: Sequence[str], stdin: TextIO) -> tuple[Source, ...]:
    """All that was named, in order; of a folder its manifests, by name, but not its folders'.

    Raises Refused for what cannot be read, and for a folder without manifests.
    """
    return tuple(source for name in filenames for source in _named(name, stdin))


def _named(filename: str, stdin: TextIO) -> Iterator[Source]:
    if filename == _STDIN:
        yield Source("stdin", stdin.read())
    elif Path(filename).is_dir():
        yield from _folder(Path(filename))
    else:
        yield _file(Path(filename))


def _folder(folder: Path) -> Iterator[Source]:
    found = sorted(path for path in folder.iterdir() if path.suffix in _MANIFESTS)
    if not found:
        known = ", ".join(sorted(_MANIFESTS))
        raise Refused(f"{folder} has no manifests: no file in it ends with {known}")
    yield from map(_file, found)


def _file(path: Path) -> Source:
    try:
        return Source(str(path), path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(f"{path} cannot be read: {error}") from error
