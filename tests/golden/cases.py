"""The golden files, read: what users write, and what the API server stores or answers.

How they are written, and from what, stands in README.md beside this file.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import yaml

from edl import contract
from edl.inject.handlers import Context
from edl.writes import Json

FOLDER: Final = Path(__file__).parent
DENIED: Final = "denied"
NAMESPACE: Final = "lab"
"""Of every case: addresses are written out."""
IMAGE: Final = "kubectl-edl:0.1.0"
CONTEXT: Final = Context(trusted=frozenset({contract.RECONCILER_USER}), image=IMAGE)


@dataclass(frozen=True, slots=True)
class Golden:
    """What goes in, and the whole object that comes out; `name` is FRAMEWORK/CASE."""

    name: str
    given: Json
    stored: Json


@dataclass(frozen=True, slots=True)
class Denial:
    """What goes in, and the whole message that its user reads."""

    name: str
    given: Json
    message: str


class _Loader(yaml.CSafeLoader):
    """YAML with `!script MODULE.NAME`, a program of edl/frameworks: its own tests run it."""


def _script(loader: _Loader, node: yaml.ScalarNode) -> str:
    module, _, name = str(loader.construct_scalar(node)).partition(".")
    return str(getattr(import_module(f"edl.frameworks.{module}"), name))


_Loader.add_constructor("!script", _script)


def goldens() -> list[Golden]:
    return [
        Golden(_name(folder), read(folder / "in.yaml"), read(folder / "out.yaml"))
        for folder in _folders()
        if folder.parent.name != DENIED
    ]


def denials() -> list[Denial]:
    return [
        Denial(folder.name, read(folder / "in.yaml"), (folder / "message.txt").read_text().strip())
        for folder in _folders()
        if folder.parent.name == DENIED
    ]


def read(path: Path) -> Json:
    found: Json = yaml.load(path.read_text(), _Loader)  # noqa: S506 - a SafeLoader with one tag
    return found


def sources(golden: Golden) -> str:
    """The comment at the head of out.yaml: where its values come from."""
    lines = (FOLDER / golden.name / "out.yaml").read_text().splitlines()
    head = lines[: next(i for i, line in enumerate(lines) if not line.startswith("#"))]
    return " ".join(line.removeprefix("#").strip() for line in head)


def holds(found: Any, wanted: Any) -> bool:  # noqa: ANN401 - JSON
    """Whether every field of `wanted` stands in `found`; lists have the same items in order."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        return all(name in found and holds(found[name], value) for name, value in wanted.items())
    if isinstance(wanted, list) and isinstance(found, list):
        pairs = zip(found, wanted, strict=False)
        return len(found) == len(wanted) and all(holds(one, other) for one, other in pairs)
    return type(found) is type(wanted) and bool(found == wanted)


def _folders() -> Iterator[Path]:
    return (path.parent for path in sorted(FOLDER.glob("*/*/in.yaml")))


def _name(folder: Path) -> str:
    return folder.relative_to(FOLDER).as_posix()
