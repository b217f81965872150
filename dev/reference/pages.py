"""The generated pages: a whole page, or the part between two marks."""

from pathlib import Path
from typing import Final

from dev.reference import labels, metrics, outputs, reason_codes

_FOLDER: Final = Path(__file__).parents[2] / "docs" / "reference"


def pages() -> dict[Path, str]:
    """The text of each page, by path; hand-written text around generated tables is kept."""
    return {
        _FOLDER / "labels.md": _with_tables("labels.md", "contract", labels.tables()),
        _FOLDER / "reason-codes.md": _with_tables(
            "reason-codes.md", "reasons", reason_codes.tables()
        ),
        _FOLDER / "outputs.md": outputs.page(),
        _FOLDER / "metrics.md": metrics.page(),
    }


def _with_tables(name: str, mark: str, tables: str) -> str:
    before, begin, rest = (_FOLDER / name).read_text().partition(f"<!-- {mark}:begin -->\n")
    _, end, after = rest.partition(f"<!-- {mark}:end -->")
    return f"{before}{begin}{tables}{end}{after}"
