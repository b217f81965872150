from http import HTTPStatus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from werkzeug.wrappers import Request

from kubectl_edl.dashboard.request_auth import AuthRefusal, RequestAuth

OPEN = RequestAuth("secret")
LOCKED = RequestAuth("secret", token="token")


def refusal(
    auth: RequestAuth, path: str, host: str = "localhost", **headers: str
) -> AuthRefusal | None:
    """The answer to a request, a POST if it has the page's header; `COOKIE` is a header too."""
    method = "POST" if "X_EDL_PAGE" in headers else "GET"
    where, _, query = path.partition("?")
    environ = {"REQUEST_METHOD": method, "PATH_INFO": where, "QUERY_STRING": query}
    given = {f"HTTP_{name}": value for name, value in ({"HOST": host} | headers).items()}
    return auth.refusal(Request({**environ, **given}), opens_page=False)


@pytest.mark.parametrize(
    "host", ["localhost:8180", "LOCALHOST", "127.0.0.1:9", "[::1]:8180", "10.1.2.3", "[fe80::1]"]
)
def test_addresses_and_our_own_names_are_answered(host: str) -> None:
    assert refusal(OPEN, "/", host) is None


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:8180", "", "[::1"]
)
def test_a_name_that_was_made_to_point_here_is_refused(host: str) -> None:
    found = refusal(OPEN, "/", host)
    assert found is not None
    assert found.status == HTTPStatus.MISDIRECTED_REQUEST
    assert "open it by the address" in found.text


def test_a_dashboard_without_a_token_accepts_any_request() -> None:
    assert refusal(OPEN, "/events") is None


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"AUTHORIZATION": "Bearer "},
        {"AUTHORIZATION": "Bearer Token"},
        {"AUTHORIZATION": "Bearer token "},
        {"AUTHORIZATION": "Bearer other", "COOKIE": "edl-dashboard=old"},
        {"COOKIE": "edl-dashboard-8181=token"},
    ],
)
def test_a_missing_or_wrong_token_is_refused_with_the_way_out(headers: dict[str, str]) -> None:
    found = refusal(LOCKED, "/events", **headers)
    assert found is not None
    assert found.status == HTTPStatus.UNAUTHORIZED
    assert "?token=" in found.text


def test_one_right_token_of_several_is_enough() -> None:
    wrong = {"AUTHORIZATION": "Bearer old"}
    assert refusal(LOCKED, "/events", COOKIE="edl-dashboard=token", **wrong) is None
    assert (
        refusal(LOCKED, "/events", AUTHORIZATION="Bearer token", COOKIE="edl-dashboard=x") is None
    )
    assert refusal(LOCKED, "/?token=token", **wrong) is None


def test_only_the_first_page_takes_the_token_from_its_address() -> None:
    assert refusal(LOCKED, "/events?token=token") is not None


def test_scripts_and_colours_need_no_token() -> None:
    assert refusal(LOCKED, "/static/page.css") is None


def test_our_own_page_may_write() -> None:
    origin = {"ORIGIN": "http://localhost:8180", "SEC_FETCH_SITE": "same-origin"}
    assert refusal(OPEN, "/scale", "localhost:8180", X_EDL_PAGE="secret", **origin) is None


def test_a_program_without_a_browser_may_write_with_the_secret() -> None:
    assert refusal(OPEN, "/scale", X_EDL_PAGE="secret") is None


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
    headers = {"ORIGIN": origin, "SEC_FETCH_SITE": site, "X_EDL_PAGE": page}
    found = refusal(OPEN, "/scale", "localhost:8180", **headers)
    assert found is not None
    assert found.status == HTTPStatus.FORBIDDEN


@settings(max_examples=50)
@given(st.text(max_size=20), st.text(max_size=20))
def test_random_hosts_and_tokens_are_refused(host: str, token: str) -> None:
    assert refusal(LOCKED, "/", host) is not None
    known = refusal(LOCKED, "/", AUTHORIZATION=f"Bearer {token}")
    assert (known is None) == (token == "token")
