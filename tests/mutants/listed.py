"""The list of mutants, read from mutants.toml."""

import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

ROOT: Final = Path(__file__).parents[2]
LIST: Final = Path(__file__).with_name("mutants.toml")
PACKAGES: Final = {
    "edl/planner": ("tests/edl/planner",),
    "edl/feasibility": ("tests/edl/planner",),
    "edl/job_state": ("tests/edl/job_state", "tests/edl/planner", "tests/edl/steps"),
    "edl/model": ("tests/edl/planner",),
    "edl/kube": ("tests/edl/kube",),
    "edl/steps": ("tests/edl/steps",),
    "edl/inject": ("tests/edl/inject", "tests/edl/frameworks"),
    "edl/annotations": ("tests/edl/annotations",),
    "edl/parsing": ("tests/edl/parsing", "tests/edl/kube"),
    "edl/simulator": ("tests/edl/simulator",),
    "kubectl_edl": ("tests/kubectl_edl/top",),
    "webhook": ("tests/webhook",),
    "reconciler": ("tests/reconciler",),
    "certs": ("tests/certs",),
}
"""The tests that must kill the mutants of each package."""


class Mutant(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One line of one file, and what stands there instead.

    line: as in the file, without indentation; nth: which of several equal lines, from 1.
    survives: why no test can kill it, where that is so.
    hangs: its tests do not end, and that is what kills it.
    killed_by: the test that failed when the list was recorded. It runs first.
    """

    file: str
    line: str
    instead: str
    nth: int = 1
    survives: str = ""
    hangs: bool = False
    killed_by: str = ""

    def __str__(self) -> str:
        return f"{self.file}: {self.line}  →  {self.instead}"

    @property
    def tests(self) -> tuple[str, ...]:
        """The tests of the mutant's package. Raises KeyError for a package that has none here."""
        (package,) = (each for each in PACKAGES if self.file.startswith(f"{each}/"))
        return PACKAGES[package]

    @property
    def first_tests(self) -> str:
        """What probably fails: the recorded test, else the test file named like the mutated file.

        Empty if neither is there.
        """
        path = Path(self.file)
        file = Path("tests", path.parent, f"test_{path.name}")
        return self.killed_by or (str(file) if (ROOT / file).is_file() else "")

    def of(self, text: str) -> str:
        """The file's text with this mutation. Raises ValueError where the line is not there."""
        lines = text.splitlines(keepends=True)
        places = [place for place, line in enumerate(lines) if line.strip() == self.line]
        if len(places) < self.nth:
            raise ValueError(f"{self.file} has no such line (any more): {self.line}")
        place = places[self.nth - 1]
        lines[place] = lines[place].replace(self.line, self.instead)
        return "".join(lines)


def record(killed_by: Mapping[Mutant, str], path: Path = LIST) -> None:
    """Write the list again, with the test that killed each of these mutants."""
    blocks = []
    for mutant in read(path):
        now = msgspec.structs.replace(mutant, killed_by=killed_by.get(mutant, mutant.killed_by))
        fields = msgspec.to_builtins(now).items()
        lines = [f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in fields]
        blocks.append("\n".join(["[[mutant]]", *lines]) + "\n")
    path.write_text("\n".join(blocks))


def read(path: Path = LIST) -> Sequence[Mutant]:
    """All of them, in the order of the list."""
    return msgspec.convert(tomllib.loads(path.read_text())["mutant"], list[Mutant])
