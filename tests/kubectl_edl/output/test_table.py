from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_edl.output.table import Column, Layout, Table, display_width, render, widths

COLUMNS: tuple[Column[Any], ...] = (
    Column("NAME"),
    Column("NODES", wide=True),
    Column("REASON", shrinks=True),
    Column("AGE"),
)
TABLE = Table.of_rows(
    COLUMNS,
    (
        ("mnist", "node-1,node-2", "waits for the Jobs of chief", "5m"),
        ("a-longer-name", "", "", "3d"),
    ),
)


def test_columns_are_aligned_and_empty_cells_can_be_counted() -> None:
    assert render(TABLE, Layout()) == (
        "NAME            REASON                        AGE\n"
        "mnist           waits for the Jobs of chief   5m\n"
        "a-longer-name   <none>                        3d\n"
    )


def test_wide_shows_every_column() -> None:
    assert render(TABLE, Layout(wide=True)).splitlines()[2] == (
        "a-longer-name   <none>          <none>                        3d"
    )


def test_a_terminal_that_is_too_narrow_shortens_the_reason_only() -> None:
    assert render(TABLE, Layout(width=40)) == (
        "NAME            REASON               AGE\n"
        "mnist           waits for the Job…   5m\n"
        "a-longer-name   <none>               3d\n"
    )


def test_a_terminal_never_shortens_a_reason_to_nothing() -> None:
    assert render(TABLE, Layout(width=10)).splitlines()[1] == "mnist           waits for t…   5m"


@pytest.mark.parametrize("wide", [True, False])
def test_a_bounded_column_is_not_truncated_with_wide(*, wide: bool) -> None:
    table = Table.of((Column("MESSAGE", bounded=True),), ["no " * 100 + "end"])
    (line,) = render(table, Layout(wide=wide, header=False)).splitlines()
    assert line.endswith("no end") is wide
    assert (len(line) == 303) is wide


def test_cells_of_wide_columns_are_computed_only_for_wide() -> None:
    nodes_by_name = dict[str, str]()
    nodes = Column("NODES", nodes_by_name.__getitem__, wide=True)
    table = Table.of((Column[str]("NAME"), nodes), ["mnist"])
    assert "mnist" in render(table, Layout())
    with pytest.raises(KeyError):
        render(table, Layout(wide=True))


def test_a_wide_table_is_not_truncated() -> None:
    assert render(TABLE, Layout(wide=True, width=40)) == render(TABLE, Layout(wide=True))


def test_a_table_without_rows_prints_nothing_not_even_a_header() -> None:
    assert render(Table.of_rows(COLUMNS, ()), Layout()) == ""


def test_lines_that_continue_a_table_keep_its_columns() -> None:
    floor = widths(TABLE, Layout())
    shorter = TABLE.only([0])
    assert render(shorter, Layout(header=False, floor=floor)) == (
        "mnist           waits for the Jobs of chief   5m\n"
    )


@given(
    rows=st.lists(st.tuples(*[st.text("abc ", max_size=40)] * 4), min_size=1, max_size=5),
    width=st.integers(40, 120),
)
def test_on_a_terminal_no_line_is_longer_than_the_fixed_columns_need(
    rows: list[tuple[str, str, str, str]], width: int
) -> None:
    table = Table.of_rows(COLUMNS, tuple(rows))
    fixed = sum(
        size for size, name in zip(widths(table, Layout()), "NRA", strict=True) if name != "R"
    )
    longest = max(map(len, render(table, Layout(width=width)).splitlines()))
    assert longest <= max(width, fixed + 2 * 3 + 12)


def test_wide_letters_take_two_columns_and_combining_marks_none() -> None:
    table = Table.of_rows(
        (Column("NAME"), Column("AGE")), (("学習", "5m"), ("e\u0301a", "6m"), ("abcd", "7m"))
    )
    assert render(table, Layout()).splitlines() == [
        "NAME   AGE",
        "学習   5m",
        "e\u0301a     6m",
        "abcd   7m",
    ]


def test_a_cell_of_wide_letters_is_truncated_by_columns() -> None:
    table = Table.of_rows((Column("MESSAGE", shrinks=True), Column("AGE")), (("学習" * 9, "5m"),))
    line = render(table, Layout(width=20)).splitlines()[1]
    assert line == "学習学習学習…    5m"
    assert display_width(line) == 20 - 1


def test_later_rows_have_the_columns_of_the_header_before_them() -> None:
    """A terminal has room for the shorter cells of a later row, but not beside the first ones."""
    columns = [
        Column[tuple[str, str]]("NAME", cell=lambda row: row[0]),
        Column[tuple[str, str]]("NODES", cell=lambda row: row[1], spare=1),
    ]
    first = Table.of(columns, [("a-long-name", "a-long-node")])
    layout = Layout(width=20)
    assert render(first, layout) == "NAME\na-long-name\n"
    later = Layout(width=20, header=False, floor=widths(first, layout))
    assert render(Table.of(columns, [("a", "n")]), later) == "a\n"
