"""This machine's package sources for a Debian release."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

FOLDER: Final = Path("/etc/apt")
_LINE: Final = re.compile(r"deb\s+(?:\[[^\]]*\]\s+)?(\S+)\s+(\S+)\s+(.+)")
_FIELD: Final = re.compile(r"^([A-Za-z-]+):[ \t]*(.*(?:\n[ \t].*)*)", re.MULTILINE)


def of_release(release: str, folder: Path = FOLDER) -> tuple[str, ...]:
    """The machine's sources of a release, as lines of a sources.list; empty if there are none.

    Only Debian's component `main` of the release, its updates and its security fixes.
    """
    suites = {release, f"{release}-updates", f"{release}-security"}
    found = (
        f"deb {address} {suite} main"
        for address, suite, components in _all(folder)
        if suite in suites and "main" in components and address.startswith("http")
    )
    return tuple(dict.fromkeys(found))


def one_line(text: str) -> Iterator[tuple[str, str, list[str]]]:
    """Address, suite and components of each entry in a sources.list."""
    for line in text.splitlines():
        if found := _LINE.fullmatch(line.partition("#")[0].strip()):
            yield found[1].rstrip("/"), found[2], found[3].split()


def deb822(text: str) -> Iterator[tuple[str, str, list[str]]]:
    """The same for a .sources file, whose entries are paragraphs of fields."""
    bare = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    for paragraph in re.split(r"\n\s*\n", bare):
        fields = {name.lower(): value.split() for name, value in _FIELD.findall(paragraph)}
        if "deb" in fields.get("types", ()) and fields.get("enabled") != ["no"]:
            for address in fields.get("uris", ()):
                for suite in fields.get("suites", ()):
                    yield address.rstrip("/"), suite, fields.get("components", [])


def _all(folder: Path) -> Iterator[tuple[str, str, list[str]]]:
    parts = folder / "sources.list.d"
    for path in _texts([folder / "sources.list", *sorted(parts.glob("*.list"))]):
        yield from one_line(path)
    for path in _texts(sorted(parts.glob("*.sources"))):
        yield from deb822(path)


def _texts(paths: Iterable[Path]) -> Iterator[str]:
    for path in paths:
        if path.is_file():
            yield path.read_text()
