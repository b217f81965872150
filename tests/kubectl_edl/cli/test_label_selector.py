"""The verdicts are those of `kubectl top pod -l`, which parses as the API server does."""

from typing import Final

import pytest

from kubectl_edl.cli.label_selector import is_selector
from tests.fake_cluster.label_matching import matches

_LONG: Final = "x" * 64


@pytest.mark.parametrize(
    "text",
    [
        *("a", "!a", "! a", "a=b", "a = b", "a==b", "a!=b,c", "a=", "x.y/a=", "a=in", " "),
        *("a in (b,c),!d", "a notin ( b )", "a in(b)", "a in ()", "a in (,b)", "in in (in)"),
        *("a>1", "a<007", "a>9223372036854775807"),
    ],
)
def test_all_that_the_api_takes_is_a_selector(text: str) -> None:
    assert is_selector(text)


@pytest.mark.parametrize(
    "text",
    [
        *("=", "!", "a!", "a!b", "!a=b", "a=b=c", "a=!b", "a=b c", "a=b,", ",a", "a,,b", "a=(b)"),
        f"a>{'9' * 5000}",
        *("a in b", "a in (b", "a in (b c)", "a in (b)c", "a in (b,(c))", "a in (b),", "ain (b)"),
        *(
            "-a",
            "_a",
            "/a",
            "x.y/",
            "a/b/c",
            "X/a",
            _LONG,
            "a=_b",
            f"a={_LONG}",
            f"a in (b,{_LONG})",
        ),
        *("a>", "a>x", "a>-5", "a>9223372036854775808"),
    ],
)
def test_what_the_api_refuses_is_refused_before_any_request(text: str) -> None:
    assert not is_selector(text)


def test_a_label_without_a_number_is_neither_above_nor_below_one() -> None:
    labels = {"a": "x", "b": "3"}
    assert not matches("a>1", labels)
    assert not matches("a<1", labels)
    assert matches("b>2", labels)
