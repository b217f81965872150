"""The figures of the last long runs, in benchmarks/fuzz.md: a section for each."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

FILE: Final = Path(__file__).parents[2] / "benchmarks" / "fuzz.md"
_HEAD: Final = "# Generated admission reviews\n\nBy `make torture`. The runs are seeded.\n"
_SECTION: Final = r"\n## {}\n.*?(?=\n## |\Z)"


def write(title: str, rows: Iterable[tuple[str, str]], file: Path = FILE) -> None:
    """Put this section in place of the one of the same title, or at the end."""
    table = "\n".join(f"| {name} | {figure} |" for name, figure in rows)
    section = f"\n## {title}\n\n| | |\n|---|---|\n{table}\n"
    text = file.read_text() if file.exists() else _HEAD
    old = re.compile(_SECTION.format(re.escape(title)), re.DOTALL)
    replaced, count = old.subn(lambda _: section, text)
    file.write_text(replaced if count else text + section)
