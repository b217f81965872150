from pathlib import Path

import pytest

from benchmarks import stalls
from benchmarks.stalls import Stall
from tests.e2e.support.stalls import Stalls


def stall(framework: str, case: str, seconds: float) -> Stall:
    return Stall(framework, case, seconds, "abc1234", "2026-11-22 23:00", "2 cores")


def test_what_a_run_measures_is_printed_and_appended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(stalls.VARIABLE, raising=False)
    path, properties = tmp_path / "stalls.jsonl", list[tuple[str, object]]()
    Stalls(properties).add("mxnet", "1 → 3", 9.0)
    monkeypatch.setenv(stalls.VARIABLE, str(path))
    Stalls(properties).add("mxnet", "1 → 3", 5.126)
    Stalls(properties).add("mxnet", "3 → 2", 7.0)
    assert len(properties) == 3
    found = stalls.read(path)
    assert [(one.case, one.seconds) for one in found] == [("1 → 3", 5.13), ("3 → 2", 7.0)]
    assert all(one.commit and one.date and "Kubernetes" in one.machine for one in found)


def test_runs_of_a_case_are_one_row_with_n_and_spread() -> None:
    found = [
        stall("mxnet", "1 → 3", 5.0),
        stall("paddle", "1 → 3", 11.0),
        stall("mxnet", "server drained", 40.0),
        stall("mxnet", "1 → 3", 73.0),
        stall("mxnet", "1 → 3", 10.0),
    ]
    assert stalls.table(found).splitlines()[2:] == [
        "| mxnet | 1 → 3 | 10.0 (5.0–73.0) | 3 |",
        "| mxnet | server drained | 40.0 | 1 |",
        "| paddle | 1 → 3 | 11.0 | 1 |",
    ]


def test_the_page_has_the_marks_for_the_table() -> None:
    before = stalls.PAGE.read_text()
    text = stalls.with_table(before, "| a | b |")
    assert "<!-- stalls -->\n| a | b |\n<!-- end of stalls -->" in text
    first, last = text.splitlines()[0], text.splitlines()[-1]
    assert (first, last) == (before.splitlines()[0], before.splitlines()[-1])
    with pytest.raises(ValueError, match="no marks"):
        stalls.with_table("nothing", "| a | b |")
