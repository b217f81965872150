"""The shell commands of the documentation, page by page."""

import re
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
DOCS: Final = ROOT / "docs"
_BLOCK: Final = re.compile(
    r"^(?P<skip>[ ]*<!-- not run: .+? -->\n)?(?P<indent>[ ]*)```sh\n(?P<body>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)


def pages() -> list[Path]:
    """Every page of the site, and the documents outside it that show commands."""
    others = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("examples/*/README.md"))
    return [*sorted(DOCS.rglob("*.md")), *others]


def blocks(page: Path, *, skipped: bool) -> list[str]:
    """The shell blocks of a page without their indentation; `skipped`: also those not run."""
    return [
        re.sub(rf"^{found['indent']}", "", found["body"], flags=re.MULTILINE)
        for found in _BLOCK.finditer(page.read_text())
        if skipped or not found["skip"]
    ]
