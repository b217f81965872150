from http import HTTPStatus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubectl_edl.dashboard.request_auth import AuthRefusal, RequestAuth, RequestOrigin

OPEN = RequestAuth("secret")
LOCKED = RequestAuth("secret", token="token")


def status(found: AuthRefusal | None) -> int:
    return found.status if found else HTTPStatus.OK


@pytest.mark.parametrize(
    "host", ["localhost:8180", "LOCALHOST", "127.0.0.1:9", "[::1]:8180", "10.1.2.3", "[fe80::1]"]
)
def test_addresses_and_our_own_names_are_answered(host: str) -> None:
    assert OPEN.refusal(RequestOrigin("/", "GET", host)) is None


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:8180", "", "[::1"]
)
def test_a_name_that_was_made_to_point_here_is_refused(host: str) -> None:
    found = OPEN.refusal(RequestOrigin("/", "GET", host))
    assert found is not None
    assert found.status == HTTPStatus.MISDIRECTED_REQUEST
    assert "open it by the address" in found.text


def test_a_dashboard_without_a_token_accepts_any_request() -> None:
    assert OPEN.refusal(RequestOrigin("/events", "GET", "localhost")) is None


@pytest.mark.parametrize("tokens", [(), ("",), ("Token",), ("token ",), ("", "other")])
def test_a_missing_or_wrong_token_is_refused_with_the_way_out(tokens: tuple[str, ...]) -> None:
    found = LOCKED.refusal(RequestOrigin("/events", "GET", "localhost", tokens=tokens))
    assert found is not None
    assert found.status == HTTPStatus.UNAUTHORIZED
    assert "?token=" in found.text


def test_one_right_token_of_several_is_enough() -> None:
    asked = RequestOrigin("/events", "GET", "localhost", tokens=("", "old", "token"))
    assert LOCKED.refusal(asked) is None


def test_scripts_and_colours_need_no_token() -> None:
    assert LOCKED.refusal(RequestOrigin("/static/page.css", "GET", "localhost")) is None


def test_our_own_page_may_write() -> None:
    asked = RequestOrigin(
        "/scale", "POST", "localhost:8180", "http://localhost:8180", "same-origin", "secret"
    )
    assert OPEN.refusal(asked) is None


def test_a_program_without_a_browser_may_write_with_the_secret() -> None:
    assert OPEN.refusal(RequestOrigin("/scale", "POST", "localhost", page="secret")) is None


@pytest.mark.parametrize(
    ("origin", "site", "page"),
    [
        ("http://evil.example", "cross-site", "secret"),
        ("http://localhost:9999", "same-site", "secret"),
        ("https://localhost:8180", "", "secret"),
        ("null", "", "secret"),
        ("http://localhost:8180", "cross-site", "secret"),
        ("http://localhost:8180", "same-origin", ""),
        ("http://localhost:8180", "same-origin", "old"),
    ],
)
def test_another_page_may_not_write(origin: str, site: str, page: str) -> None:
    asked = RequestOrigin("/scale", "POST", "localhost:8180", origin, site, page)
    assert status(OPEN.refusal(asked)) == HTTPStatus.FORBIDDEN


@settings(max_examples=50)
@given(st.text(max_size=20), st.text(max_size=20))
def test_random_hosts_and_tokens_are_refused(host: str, token: str) -> None:
    assert LOCKED.refusal(RequestOrigin("/", "GET", host)) is not None
    known = LOCKED.refusal(RequestOrigin("/", "GET", "localhost", tokens=(token,)))
    assert (known is None) == (token == "token")
