"""Authentication of requests: the `Host` header, the token, and for writes the page's own secret.

- A foreign page whose name resolves to this address (DNS rebinding) sends its own name in `Host`:
  only IP addresses and our own names are accepted.
- A foreign page that requests data cannot read it, but would cause work and occupy streams: the
  browser sends `Sec-Fetch-Site` or its `Origin`. It may link to our pages.
- A foreign page that writes (CSRF) does not know the secret in our page either.
"""

from dataclasses import dataclass
from hmac import compare_digest
from http import HTTPStatus
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from werkzeug.wrappers import Request

PAGE_HEADER: Final = "X-EDL-Page"
OPEN: Final = "/static/"
"""Scripts and styles: they contain no cluster data, so they need no token."""
_SAME: Final = frozenset({"", "same-origin", "none"})
_READS: Final = frozenset({"GET", "HEAD"})


@dataclass(frozen=True, slots=True)
class AuthRefusal:
    """The status and the reason of a refusal, with a remedy."""

    status: HTTPStatus
    text: str


@dataclass(frozen=True, slots=True)
class RequestAuth:
    """The rules. `names` are accepted in `Host`; an empty `token` means that none is needed.

    The token is in the header `Authorization`, in the `cookie`, or in the query string of `/`.
    """

    page: str
    """The secret that only our own page contains."""
    names: frozenset[str] = frozenset({"localhost"})
    token: str = ""
    cookie: str = "edl-dashboard"

    def refusal(self, asked: Request, *, opens_page: bool) -> AuthRefusal | None:
        """The reason to refuse a request; None if it is allowed.

        `opens_page`: it requests a page, or a file of one; other requests are for data.
        """
        read = opens_page and asked.method in _READS
        foreign = None if read else _foreign(asked)
        return self._host(asked) or self._token(asked) or foreign or self._writes(asked)

    def knows(self, token: str) -> bool:
        return bool(self.token) and _same(token, self.token)

    def _host(self, asked: Request) -> AuthRefusal | None:
        host = asked.headers.get("Host", "")
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            name = ""
        if name in self.names or _is_address(name):
            return None
        return AuthRefusal(
            HTTPStatus.MISDIRECTED_REQUEST,
            f'Host "{host}" is not a name of this dashboard; open it by the address that '
            "kubectl edl dashboard printed",
        )

    def _token(self, asked: Request) -> AuthRefusal | None:
        if not self.token or asked.path.startswith(OPEN):
            return None
        bearer = asked.headers.get("Authorization", "").removeprefix("Bearer ")
        tokens = (bearer, asked.cookies.get(self.cookie, ""), token_in_query(asked))
        if any(map(self.knows, tokens)):
            return None
        return AuthRefusal(
            HTTPStatus.UNAUTHORIZED,
            "this dashboard needs its token: open the address that kubectl edl dashboard printed, "
            "with ?token=…, or send the header Authorization: Bearer TOKEN",
        )

    def _writes(self, asked: Request) -> AuthRefusal | None:
        if asked.method in _READS or _same(asked.headers.get(PAGE_HEADER, ""), self.page):
            return None
        return AuthRefusal(
            HTTPStatus.FORBIDDEN,
            f"the header {PAGE_HEADER} is missing or old: the dashboard was started again; "
            "load the page again",
        )


def token_in_query(asked: Request) -> str:
    """The token in the query string, accepted only for `/`, which moves it to a cookie."""
    return asked.args.get("token", "") if asked.path == "/" else ""


def _foreign(asked: Request) -> AuthRefusal | None:
    origins = ("", f"http://{asked.headers.get('Host', '')}")
    site = asked.headers.get("Sec-Fetch-Site", "")
    if asked.headers.get("Origin", "") in origins and site in _SAME:
        return None
    return AuthRefusal(HTTPStatus.FORBIDDEN, "another page may not ask for this")


def _same(given: str, secret: str) -> bool:
    return compare_digest(given.encode(), secret.encode())


def _is_address(name: str) -> bool:
    """Whether `name` is an IP address, which DNS rebinding cannot redirect."""
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
