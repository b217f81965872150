"""`python -m benchmarks [--only decide,holding]`: run the benchmarks and write README.md here.

Each section is written as soon as it has been measured; those that are not asked for stay.
"""

import argparse
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from benchmarks.report import circumstances, sections
from benchmarks.report.sections import Section, Told

FOLDER: Final = Path(__file__).parent
README: Final = FOLDER / "README.md"


def measure(section: Section, commit: str) -> str | None:
    """The text of one section; None if its script failed."""
    before = circumstances.load()
    done = subprocess.run(
        [sys.executable, *section.words],
        cwd=FOLDER.parent,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    print(done.stdout, flush=True)
    if done.returncode:
        return None
    told = Told(
        command=section.command,
        date=circumstances.now(),
        commit=commit,
        machine=circumstances.machine(),
        loads=(before, circumstances.load()),
    )
    return sections.body(section.name, told, done.stdout)


def renew(
    readme: Path, wanted: Iterable[Section], measured: Callable[[Section], str | None]
) -> list[str]:
    """Write each section as soon as it is measured; returns the names of those that failed."""
    failed = []
    for section in wanted:
        print(f"{section.command} …", flush=True)
        found = measured(section)
        if found is None:
            failed.append(section.name)
            continue
        bodies = sections.read(readme.read_text()) | {section.name: found}
        readme.write_text(sections.document(bodies))
    return failed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="names of sections, with commas between them")
    names = parser.parse_args().only
    try:
        wanted = sections.asked([name for name in names.split(",") if name])
    except ValueError as error:
        parser.error(str(error))
    commit = circumstances.commit()
    failed = renew(README, wanted, lambda section: measure(section, commit))
    if failed:
        sys.exit(f"failed, and left as they were: {', '.join(failed)}")


if __name__ == "__main__":
    main()
