"""The lines of a diff: difflib's for small texts, and bounded work for large ones."""

import difflib
import re
from collections.abc import Sequence

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kubectl_edl.output.line_diff import line_diff

TITLES = ("stored", "new")
HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
LINES = st.lists(st.sampled_from("abcdefg"), max_size=30)
EDITS = st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 3), LINES), max_size=8)


def teams(count: int, weight: int = 1) -> list[str]:
    """A document with four lines for each team, one of which is its own."""
    own = (
        [f"- name: team-{n}", "  guaranteed:", f"    cpu: {n % 90}", f"  weight: {weight}"]
        for n in range(count)
    )
    return [line for lines in own for line in lines]


def patched(before: Sequence[str], lines: Sequence[str]) -> list[str]:
    """The text after the diff is applied; its ranges and the lines that it keeps must be right."""
    after: list[str] = []
    at = 0
    for line in lines[2:]:
        if found := HUNK.fullmatch(line):
            start = int(found[1]) - (found[2] != "0")
            after += before[at:start]
            at = start
            assert int(found[3]) - (found[4] != "0") == len(after)
        elif line.startswith("+"):
            after.append(line[1:])
        else:
            assert line[1:] == before[at]
            after += [line[1:]] if line.startswith(" ") else []
            at += 1
    return [*after, *before[at:]]


@given(LINES, LINES)
def test_small_texts_differ_as_by_difflib(before: list[str], after: list[str]) -> None:
    wanted = difflib.unified_diff(before, after, *TITLES, lineterm="")
    assert list(line_diff(before, after, TITLES)) == list(wanted)


@pytest.mark.laws
@settings(deadline=None)
@given(EDITS)
@example([(0, 1, ["a"]), (1000, 2, ["b"]), (1999, 1, [])])
@example([(0, 0, ["a"] * 500)])
def test_the_diff_of_a_large_text_yields_the_other(edits: list[tuple[int, int, list[str]]]) -> None:
    before = teams(500)
    after = list(before)
    for at, length, lines in edits:
        after[at : at + length] = lines
    assert patched(before, list(line_diff(before, after, TITLES))) == after


def test_a_large_text_differs_in_the_changed_lines_alone() -> None:
    before = teams(1000)
    after = [*before[:2003], "  weight: 7", *before[2004:], "- name: last"]
    assert list(line_diff(before, after, TITLES)) == [
        "--- stored",
        "+++ new",
        "@@ -2001,7 +2001,7 @@",
        " - name: team-500",
        "   guaranteed:",
        "     cpu: 50",
        "-  weight: 1",
        "+  weight: 7",
        " - name: team-501",
        "   guaranteed:",
        "     cpu: 51",
        "@@ -3998,3 +3998,4 @@",
        "   guaranteed:",
        "     cpu: 9",
        "   weight: 1",
        "+- name: last",
    ]


class Counted(str):
    """A line that counts how often it is looked up or compared."""

    __slots__ = ()
    uses = 0

    def __hash__(self) -> int:
        Counted.uses += 1
        return super().__hash__()

    def __eq__(self, other: object) -> bool:
        Counted.uses += 1
        return super().__eq__(other)


def test_the_work_for_a_large_text_is_nearly_linear() -> None:
    before, after = (list(map(Counted, teams(1000, weight))) for weight in (1, 2))
    Counted.uses = 0
    found = list(line_diff(before, after, TITLES))
    assert Counted.uses < 30 * len(before)
    assert len(found) > len(before)
