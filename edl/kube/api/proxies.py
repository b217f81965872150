"""The proxy on the way to an API server, if there is one: by the kubeconfig, or the environment."""

from collections.abc import Mapping
from importlib import import_module
from typing import Final
from urllib.parse import SplitResult, urlsplit

_SCHEMES: Final = frozenset({"http", "https"})


def proxy(server: str, proxy_url: str, environ: Mapping[str, str]) -> SplitResult | None:
    """As kubectl: `proxy-url`, else HTTPS_PROXY (HTTP_PROXY), unless NO_PROXY names the server.

    Raises ValueError for one that is neither http nor https.
    """
    url = proxy_url or _of_environment(server, environ)
    if not url:
        return None
    parts = urlsplit(url)
    if parts.scheme not in _SCHEMES or not parts.hostname:
        # Never the URL: it may hold a password.
        raise ValueError(f'its proxy is of "{parts.scheme}": only http and https proxies are known')
    return parts


def _of_environment(server: str, environ: Mapping[str, str]) -> str:
    url = _variable(f"{urlsplit(server).scheme}_proxy", environ)
    if not url:
        return ""
    # The package takes long to import: only where there is a proxy.
    rest = import_module("kubernetes.client.rest")
    if rest.should_bypass_proxies(server, _variable("no_proxy", environ)):
        return ""
    return url if "://" in url else f"http://{url}"


def _variable(name: str, environ: Mapping[str, str]) -> str:
    return environ.get(name.upper()) or environ.get(name) or ""
