"""Connections to an API server: through a proxy if there is one, and with TCP keep-alive.

The proxy is the kubeconfig's, or the environment's. Keep-alive detects a server that is gone.
"""

import socket
import ssl
from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final
from urllib.parse import SplitResult, unquote, urlsplit

import urllib3
from urllib3.connection import HTTPConnection
from urllib3.util import make_headers, parse_url

POOL_SIZE: Final = 32
_SECONDS: Final = 30
_PROBES: Final = 3
_OPTIONS: Final = (
    ("TCP_KEEPIDLE", _SECONDS),
    ("TCP_KEEPALIVE", _SECONDS),  # the same on macOS
    ("TCP_KEEPINTVL", _SECONDS),
    ("TCP_KEEPCNT", _PROBES),
)
_SCHEMES: Final = frozenset({"http", "https"})
_NO_HOST: Final = (
    "its proxy has no host: write http://USER:PASSWORD@HOST:PORT, with %2F for / in the password, "
    "and other special characters likewise"
)


def connection_pool(context: ssl.SSLContext, through: SplitResult | None) -> urllib3.PoolManager:
    settings: dict[str, Any] = {
        "ssl_context": context,
        "maxsize": POOL_SIZE,
        "socket_options": _keep_alive(),
    }
    if through is None:
        return urllib3.PoolManager(**settings)
    name = f"{unquote(through.username or '')}:{unquote(through.password or '')}"
    asked = make_headers(proxy_basic_auth=name) if through.username else None
    return urllib3.ProxyManager(through.geturl(), proxy_headers=asked, **settings)


def proxy(server: str, proxy_url: str, environ: Mapping[str, str]) -> SplitResult | None:
    """The proxy, as for kubectl: `proxy-url`, else HTTPS_PROXY (HTTP_PROXY), subject to NO_PROXY.

    Raises ValueError if it is not a URL of http or https. The text does not contain the URL,
    and so no password.
    """
    url = proxy_url or _of_environment(server, environ)
    if not url:
        return None
    try:
        parse_url(url)  # as the pool does
        parts = urlsplit(url)
    except ValueError:
        raise ValueError(_NO_HOST) from None
    if not parts.hostname or "@" in f"{parts.path}{parts.query}{parts.fragment}":
        raise ValueError(_NO_HOST)
    if parts.scheme not in _SCHEMES:
        raise ValueError(f'its proxy is of "{parts.scheme}": only http and https proxies are known')
    return parts


def _of_environment(server: str, environ: Mapping[str, str]) -> str:
    url = _variable(f"{urlsplit(server).scheme}_proxy", environ)
    if not url:
        return ""
    # The import is slow: it is made only if there is a proxy.
    rest = import_module("kubernetes.client.rest")
    if rest.should_bypass_proxies(server, _variable("no_proxy", environ)):
        return ""
    return url if "://" in url else f"http://{url}"


def _variable(name: str, environ: Mapping[str, str]) -> str:
    return environ.get(name.upper()) or environ.get(name) or ""


def _keep_alive() -> list[tuple[int, int, int | bytes]]:
    """Socket options for TCP keep-alive, where the system has them: a watch may be idle."""
    options = [
        (socket.IPPROTO_TCP, getattr(socket, name), value)
        for name, value in _OPTIONS
        if hasattr(socket, name)
    ]
    return [
        *HTTPConnection.default_socket_options,
        (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
        *options,
    ]
