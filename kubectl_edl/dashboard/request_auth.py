"""Authentication of requests: the `Host` header, the token, and for writes the page's own secret.

- A foreign page whose name is made to point here (DNS rebinding) sends its own name in `Host`: only
  addresses and our own names are answered.
- A foreign page that writes (CSRF) cannot know the secret in our page, and the browser sends its
  `Origin`.
"""

from dataclasses import dataclass
from hmac import compare_digest
from http import HTTPStatus
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

PAGE_HEADER: Final = "X-EDL-Page"
OPEN: Final = "/static/"
"""Files without data of the cluster, served without a token: scripts and styles."""
_SAME: Final = frozenset({"", "same-origin", "none"})
_READS: Final = frozenset({"GET", "HEAD"})


@dataclass(frozen=True, slots=True)
class RequestOrigin:
    """What of a request decides. `tokens` are all that it shows: cookie, header, address."""

    path: str
    method: str
    host: str
    origin: str = ""
    site: str = ""
    """`Sec-Fetch-Site`."""
    page: str = ""
    """The secret that it knows."""
    tokens: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AuthRefusal:
    """Why not, and what to do instead."""

    status: HTTPStatus
    text: str


@dataclass(frozen=True, slots=True)
class RequestAuth:
    """`names` are ours besides addresses; an empty `token` asks for none."""

    page: str
    """The secret that only our own page knows."""
    names: frozenset[str] = frozenset({"localhost"})
    token: str = ""

    def refusal(self, asked: RequestOrigin) -> AuthRefusal | None:
        """None if the request is allowed."""
        return self._host(asked) or self._known(asked) or self._writes(asked)

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
        if asked.method in _READS:
            return None
        if asked.origin not in ("", f"http://{asked.host}") or asked.site not in _SAME:
            return AuthRefusal(HTTPStatus.FORBIDDEN, "another page may not ask for this")
        if _same(asked.page, self.page):
            return None
        return AuthRefusal(
            HTTPStatus.FORBIDDEN,
            f"the header {PAGE_HEADER} is missing or old: the dashboard was started again; "
            "load the page again",
        )


def _same(given: str, secret: str) -> bool:
    return compare_digest(given.encode(), secret.encode())


def _is_address(name: str) -> bool:
    """An address cannot be made to point elsewhere."""
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
