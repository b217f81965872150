"""The lines of a diff: difflib's, and bounded work for large texts."""

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


def repeated(regions: int, lines: Sequence[str]) -> list[str]:
    return [line for n in range(regions) for line in (f"- name: team-{n}", *lines)]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (teams(5000), teams(5000, 2)),
        ([*"ab"] * 90_000, [*"ba"] * 90_000),
        (["x"] * 40_000 + ["y"], ["y"] + ["x"] * 40_000),
    ],
    ids=["many small changes", "a pattern", "repeated lines alone"],
)
def test_what_would_take_minutes_to_compare_is_replaced(
    before: list[str], after: list[str]
) -> None:
    assert patched(before, list(line_diff(before, after, TITLES))) == after


def inner(first: int, last: int) -> list[str]:
    """Lines of a region, each there twice."""
    return [line for n in range(first, last) for line in [f"  cpu: {n}"] * 2]


OWN = teams(500)
MANY = teams(1500)
SHORT = ["a", "a", "b"] * 50


@pytest.mark.parametrize(
    ("before", "after", "most"),
    [
        (OWN, OWN[600:] + OWN[:600], 1200),
        (OWN, OWN[:200] + OWN[800:1000] + OWN[400:800] + OWN[200:400] + OWN[1000:], 800),
        (MANY, [*MANY[:3], "new", *MANY[4:-1], "new"], 4),
        (inner(0, 1500), ["new", *inner(0, 700), "new", *inner(701, 1500), "last"], 5),
        (OWN + inner(0, 1500) + OWN, [*OWN, "new", *inner(0, 1500), "new", *OWN], 2),
        (SHORT + OWN + SHORT, [*SHORT, "a", *OWN, "b", *SHORT], 2),
        (["x"] * 3000, ["x"] * 3001, 1),
        (
            ["x"] * 3000 + ["old"] + ["x"] * 3000,
            ["x"] * 3001 + ["new"] + ["x"] * 3001,
            4,
        ),
        (
            repeated(3, [f"  cpu: {n}" for n in range(1000)]),
            repeated(3, ["new" if n in (50, 950) else f"  cpu: {n}" for n in range(1000)]),
            12,
        ),
        (["x"] * 30, ["y", *["x"] * 15, "y", *["x"] * 14, "y"], 4),
    ],
    ids=[
        "a moved block",
        "two swapped blocks",
        "the first and the last of many teams",
        "each line twice",
        "each line of a region twice",
        "head and tail of repeated lines",
        "a head that overlaps the tail",
        "a head and a tail that grow",
        "lines that are unique in their region",
        "few repeated lines",
    ],
)
def test_a_text_keeps_what_did_not_move(before: list[str], after: list[str], most: int) -> None:
    lines = list(line_diff(before, after, TITLES))
    assert patched(before, lines) == after
    assert sum(not line.startswith((" ", "@")) for line in lines[2:]) <= most
