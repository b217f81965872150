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

PAGE_HEADER: Final = "X-EDL-Page"
OPEN: Final = "/static/"
"""Scripts and styles: they contain no cluster data, so they need no token."""
_SAME: Final = frozenset({"", "same-origin", "none"})
_READS: Final = frozenset({"GET", "HEAD"})


@dataclass(frozen=True, slots=True)
class RequestOrigin:
    """The parts of a request that decide. `tokens` are from cookie, header and query string."""

    path: str
    method: str
    host: str
    origin: str = ""
    site: str = ""
    """The header `Sec-Fetch-Site`."""
    page: str = ""
    """The page's secret, as the request repeats it."""
    tokens: tuple[str, ...] = ()
    opens_page: bool = False
    """Whether it requests a page, or a file of one; other requests are for data."""


@dataclass(frozen=True, slots=True)
class AuthRefusal:
    """The status and the reason of a refusal, with a remedy."""

    status: HTTPStatus
    text: str


@dataclass(frozen=True, slots=True)
class RequestAuth:
    """The rules. `names` are accepted in `Host`; an empty `token` means that none is needed."""

    page: str
    """The secret that only our own page contains."""
    names: frozenset[str] = frozenset({"localhost"})
    token: str = ""

    def refusal(self, asked: RequestOrigin) -> AuthRefusal | None:
        """The reason to refuse a request; None if it is allowed."""
        return self._host(asked) or self._known(asked) or _foreign(asked) or self._writes(asked)

    def knows(self, token: str) -> bool:
        return bool(self.token) and _same(token, self.token)

    def _host(self, asked: RequestOrigin) -> AuthRefusal | None:
        try:
            name = urlsplit(f"//{asked.host}").hostname or ""
        except ValueError:
            name = ""
        if name in self.names or _is_address(name):
            return None
        return AuthRefusal(
            HTTPStatus.MISDIRECTED_REQUEST,
            f'Host "{asked.host}" is not a name of this dashboard; open it by the address that '
            "kubectl edl dashboard printed",
        )

    def _known(self, asked: RequestOrigin) -> AuthRefusal | None:
        if not self.token or asked.path.startswith(OPEN):
            return None
        if any(self.knows(token) for token in asked.tokens):
            return None
        return AuthRefusal(
            HTTPStatus.UNAUTHORIZED,
            "this dashboard needs its token: open the address that kubectl edl dashboard printed, "
            "with ?token=…, or send the header Authorization: Bearer TOKEN",
        )

    def _writes(self, asked: RequestOrigin) -> AuthRefusal | None:
        if asked.method in _READS or _same(asked.page, self.page):
            return None
        return AuthRefusal(
            HTTPStatus.FORBIDDEN,
            f"the header {PAGE_HEADER} is missing or old: the dashboard was started again; "
            "load the page again",
        )


def _foreign(asked: RequestOrigin) -> AuthRefusal | None:
    if asked.opens_page and asked.method in _READS:
        return None
    if asked.origin in ("", f"http://{asked.host}") and asked.site in _SAME:
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
