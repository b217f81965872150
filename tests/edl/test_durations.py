from datetime import timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from edl.durations import duration_text, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("60", 60),
        ("0", 0),
        ("0.5", 0.5),
        ("60s", 60),
        ("5m", 300),
        ("1h30m", 5400),
        ("1d", 86400),
        ("1d2h3m4s", 93784),
        ("1m0.25s", 60.25),
    ],
)
def test_a_length_of_time_is_a_number_of_seconds_or_has_units(text: str, seconds: float) -> None:
    assert parse_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "text", ["", "soon", "-1", "5 m", "5M", "1m1h", "1e3", "1.5h", "1.s", "٣", "inf", "nan"]
)
def test_anything_else_is_none(text: str) -> None:
    assert parse_duration(text) is None


@pytest.mark.parametrize(
    "text", ["0.0001", "0.0009s", "9999999999999", "864000000000", "9999999d24h"]
)
def test_a_length_that_is_not_written_is_not_read(text: str) -> None:
    assert parse_duration(text) is None


@pytest.mark.parametrize(
    ("length", "text"),
    [
        (timedelta(), "0s"),
        (timedelta(seconds=90), "90s"),
        (timedelta(seconds=150), "2m30s"),
        (timedelta(days=1, hours=2), "1d2h"),
        (timedelta(seconds=0.5), "0.5s"),
    ],
)
def test_it_is_shown_exactly(length: timedelta, text: str) -> None:
    assert duration_text(length) == text


@given(st.integers(0, 8 * 10**14))
@example(90_500)
@example(1_234_567 * 86_400_000)
def test_what_is_shown_is_read_again(milliseconds: int) -> None:
    length = timedelta(milliseconds=milliseconds)
    assert parse_duration(duration_text(length)) == length
