from datetime import datetime, timedelta

import pytest

from kubectl_edl.output.age import age, ago, duration
from tests.kubectl_edl.stage import NOW


@pytest.mark.parametrize(
    ("length", "text"),
    [
        (timedelta(seconds=-5), "<invalid>"),
        (timedelta(seconds=-1), "0s"),
        (timedelta(0), "0s"),
        (timedelta(seconds=119.9), "119s"),
        (timedelta(minutes=2), "2m"),
        (timedelta(minutes=3, seconds=20), "3m20s"),
        (timedelta(minutes=10, seconds=59), "10m"),
        (timedelta(minutes=179, seconds=59), "179m"),
        (timedelta(hours=3), "3h"),
        (timedelta(hours=7, minutes=5), "7h5m"),
        (timedelta(hours=8, minutes=59), "8h"),
        (timedelta(hours=47, minutes=59), "47h"),
        (timedelta(hours=48), "2d"),
        (timedelta(days=7, hours=23), "7d23h"),
        (timedelta(days=8, hours=23), "8d"),
        (timedelta(days=729), "729d"),
        (timedelta(days=730), "2y"),
        (timedelta(days=770), "2y40d"),
        (timedelta(days=365 * 8 + 100), "8y"),
    ],
)
def test_an_age_reads_as_in_kubectl(length: timedelta, text: str) -> None:
    assert duration(length) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s ago"),
        (-120, "2m ago"),
        (1, "0s ago"),
        (5, "0s ago"),
        (6, "6s ahead of this clock"),
        (600, "10m ahead of this clock"),
    ],
)
def test_a_moment_in_the_future_is_ahead_of_the_clock_and_not_ago(seconds: int, text: str) -> None:
    assert ago(NOW + timedelta(seconds=seconds), NOW) == text


def test_an_age_is_the_time_until_now() -> None:
    assert age(NOW - timedelta(minutes=5), NOW) == "5m"


@pytest.mark.parametrize("never", [None])
def test_an_unknown_time_is_called_unknown(never: datetime | None) -> None:
    assert age(never, NOW) == "<unknown>"
