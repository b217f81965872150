"""Documents that the code, manifests and other documents name exist, with the named heading."""

import re
import subprocess
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
SUFFIXES: Final = frozenset({".py", ".md", ".yaml", ".json", ".toml", ".tpl", ""})
INVENTED: Final = ("tests/sandbox/images/", "benchmarks/report/prose/")
"""Tests that make up paths of their own, and parts of a page that stands elsewhere."""
_NAMED: Final = re.compile(r"(?<![/\w])(docs/[\w/-]+\.md)(#[\w-]+)?")
_LINK: Final = re.compile(r"\]\(([^)\s#:]+)(#[\w-]+)?\)")
_HEADING: Final = re.compile(r"^#+ (.+?)(?: \{.*\})?$", re.MULTILINE)


def tracked() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    paths = [Path(name) for name in listed if not name.startswith(INVENTED)]
    return [path for path in paths if path.suffix in SUFFIXES and (ROOT / path).is_file()]


def anchors(page: Path) -> set[str]:
    """The headings of a page, as GitHub and mkdocs make anchors of them."""
    kept = (re.sub(r"[^\w\s-]", "", text).strip().lower() for text in _headings(page))
    return {re.sub(r"\s+", "-", text) for text in kept}


def _headings(page: Path) -> list[str]:
    return _HEADING.findall(page.read_text())


def broken(pattern: re.Pattern[str], path: Path, folder: Path) -> list[str]:
    """What a file names by `pattern`, relative to `folder`, and does not exist."""
    text = re.sub(r"```.*?```", "", (ROOT / path).read_text(), flags=re.DOTALL)
    missing = []
    for match in pattern.finditer(text):
        target = folder / match[1]
        anchor = (match[2] or "").removeprefix("#")
        if not target.exists() or (anchor and anchor not in anchors(target)):
            missing.append(match[0])
    return missing


def test_every_document_that_a_file_names_exists() -> None:
    missing = {str(path): broken(_NAMED, path, ROOT) for path in tracked()}
    assert {path: names for path, names in missing.items() if names} == {}


def test_every_link_between_files_leads_somewhere() -> None:
    pages = (path for path in tracked() if path.suffix == ".md")
    missing = {str(path): broken(_LINK, path, (ROOT / path).parent) for path in pages}
    assert {path: links for path, links in missing.items() if links} == {}
