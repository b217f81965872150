from importlib.util import find_spec
from pathlib import Path

import pytest

from benchmarks.__main__ import README, renew
from benchmarks.report import sections
from benchmarks.report.sections import SECTIONS, Told

TOLD = Told(
    "python -m benchmarks.planner.decide", "2026-11-22 10:00", "abc1234", "2 cores", (0.1, 2.0)
)


def test_each_section_has_a_script_and_a_template() -> None:
    for section in SECTIONS:
        assert find_spec(f"benchmarks.{section.module}")
        text = sections.body(section.name, TOLD, "12 ms")
        assert text.startswith("## ")
        assert "12 ms" in text
        assert str(TOLD) in text


def test_what_is_written_is_read_again() -> None:
    bodies = {one.name: sections.body(one.name, TOLD, one.name) for one in SECTIONS}
    assert sections.read(sections.document(bodies)) == bodies


def test_a_document_as_it_stands_is_what_its_sections_make() -> None:
    """So that nothing stands between the sections that a run would lose."""
    text = README.read_text()
    assert sections.document(sections.read(text)) == text
    assert set(sections.read(text)) == {one.name for one in SECTIONS}


def test_one_section_is_renewed_and_the_others_stay(tmp_path: Path) -> None:
    before = sections.read(README.read_text())
    path = tmp_path / "README.md"
    path.write_text(README.read_text())
    assert renew(path, sections.asked(["holding"]), lambda _: "new") == []
    after = sections.read(path.read_text())
    assert after.pop("holding") == "new"
    assert after == {name: text for name, text in before.items() if name != "holding"}


def test_a_failed_script_leaves_its_section(tmp_path: Path) -> None:
    path = tmp_path / "README.md"
    path.write_text(sections.document({"decide": "old"}))
    measured = {"decide": None, "state": "new"}
    failed = renew(path, sections.asked(["decide", "state"]), lambda one: measured[one.name])
    assert failed == ["decide"]
    assert sections.read(path.read_text()) == {"decide": "old", "state": "new"}


def test_an_unknown_section_is_named() -> None:
    with pytest.raises(ValueError, match="no section decode; there are decide, release"):
        sections.asked(["decode"])
