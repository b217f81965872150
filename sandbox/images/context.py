"""The files that a Dockerfile can copy, and one digest of all of them."""

import hashlib
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

IGNORE_FILE: Final = ".dockerignore"
ALWAYS: Final = ("Dockerfile", IGNORE_FILE)
"""Part of the digest whatever the ignore file says, because they determine the build."""
_GLOBS: Final = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of .dockerignore. keeps: it starts with `!`."""

    pattern: str
    keeps: bool

    def matches(self, path: str) -> bool:
        """Whether the pattern matches this path or a folder above it."""
        return bool(re.fullmatch(f"{_expression(self.pattern)}(?:/.*)?", path))


def rules(text: str) -> tuple[Rule, ...]:
    """The rules of a .dockerignore; the last one that matches a path applies."""
    lines = (line.strip() for line in text.splitlines())
    return tuple(
        Rule(os.path.normpath(line.removeprefix("!").strip()).strip("/"), line.startswith("!"))
        for line in lines
        if line and not line.startswith("#")
    )


def ignores(every: tuple[Rule, ...], path: str) -> bool:
    """Whether the context excludes this path; the separator is `/`."""
    decided = [rule for rule in every if rule.matches(path)]
    return bool(decided) and not decided[-1].keeps


def files(folder: Path) -> Iterator[str]:
    """The paths in the context, sorted, relative to the folder."""
    ignored = folder / IGNORE_FILE
    every = rules(ignored.read_text()) if ignored.exists() else ()
    found = {name for name in ALWAYS if (folder / name).exists()}
    for parent, folders, names in os.walk(folder):
        inside = Path(parent).relative_to(folder)
        folders[:] = [name for name in folders if _may_hold(every, (inside / name).as_posix())]
        paths = ((inside / name).as_posix() for name in names)
        found |= {path for path in paths if not ignores(every, path)}
    yield from sorted(found)


def digest(folder: Path) -> bytes:
    """A digest of the path, content and execute bit of each file in the context."""
    whole = hashlib.sha256()
    for path in files(folder):
        whole.update(f"{path}\0".encode() + _of_file(folder / path))
    return whole.digest()


def _may_hold(every: tuple[Rule, ...], folder: str) -> bool:
    """Whether a folder may hold files of the context: a rule may keep some of an ignored one."""
    if not ignores(every, folder):
        return True
    return any(rule.keeps and _reaches(rule.pattern, folder) for rule in every)


def _reaches(pattern: str, folder: str) -> bool:
    """Whether a pattern may match something below the folder."""
    return "*" in pattern or "?" in pattern or pattern.startswith(f"{folder}/")


def _of_file(path: Path) -> bytes:
    if path.is_symlink():
        return f"link {path.readlink()}".encode()
    with path.open("rb") as stream:
        executable = bool(os.fstat(stream.fileno()).st_mode & stat.S_IXUSR)
        return bytes([executable]) + hashlib.file_digest(stream, "sha256").digest()


def _expression(pattern: str) -> str:
    """Docker's glob as a regular expression: `**` crosses folders, `*` and `?` do not."""
    parts = re.split(r"(\*\*/|\*\*|\*|\?|\[[^\]]+\])", pattern)
    return "".join(
        _GLOBS.get(part) or (part if part.startswith("[") else re.escape(part)) for part in parts
    )
