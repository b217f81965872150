"""The YAML documents of a folder with a kustomization.yaml."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, TypeAlias

import yaml

from edl.parsing.strict_yaml import LOADER
from edl.writes import Json

Documents: TypeAlias = tuple[Json, ...]

HERE: Final = Path(__file__).parent
BASE: Final = HERE / "base"


def load(directory: Path = BASE) -> Documents:
    """The documents of a kustomization's resources, in its order."""
    return tuple(document for _, document in by_file(directory))


def by_file(directory: Path = BASE) -> Iterator[tuple[Path, Json]]:
    """The documents of a kustomization's resources, each with the path of its file."""
    (kustomization,) = read(directory / "kustomization.yaml")
    for name in kustomization.get("resources", ()):
        for document in read(directory / name):
            yield directory / name, document


def to_yaml(documents: Iterable[Json]) -> str:
    """All documents as the text of one file."""
    return yaml.safe_dump_all(documents, sort_keys=False, width=100)


def read(path: Path) -> list[Json]:
    """The documents of one file."""
    return parse(path.read_text())


def parse(text: str) -> list[Json]:
    """The documents of a text, by libyaml: nine times as fast as in Python."""
    return list(yaml.load_all(text, LOADER))
