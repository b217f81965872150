"""How to reach an API server and who we are there, from a kubeconfig or from inside a pod.

Certificates and tokens are read here, quickly. Exec plugins, auth providers and proxies are left
to the kubernetes package, which takes half a second to import.
"""

import base64
import ssl
import tempfile
import time
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Final, cast

import msgspec
import urllib3

from edl.errors import Unreachable
from edl.kube import kubeconfig as files
from edl.kube.connection import keep_alive
from edl.kube.kubeconfig import Chosen, Section

_POD: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_TOKEN_SECONDS: Final = 60.0
POOL_SIZE: Final = 32


class Login(msgspec.Struct, frozen=True):
    """A way to one API server. `authorization` is asked before each request: tokens are renewed."""

    server: str
    namespace: str
    pool: urllib3.PoolManager
    authorization: Callable[[], str | None]


def log_in(kubeconfig: str | None, context: str | None, environ: Mapping[str, str]) -> Login:
    """Raise Unreachable when no cluster can be chosen, or its credentials cannot be read."""
    path = files.default_path(kubeconfig, environ)
    in_pod = "KUBERNETES_SERVICE_HOST" in environ and (_POD / "token").exists()
    if in_pod and not (kubeconfig or context or files.exists(path)):
        return _of_pod(environ)
    chosen = files.choose(path, context)
    if _needs_package(chosen, environ):
        packaged = import_module("edl.kube.packaged")
        return cast("Login", packaged.log_in(chosen))
    try:
        return _of_file(chosen)
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        raise Unreachable(
            f"the credentials of context {chosen.context} in {path} cannot be used: {error}"
        ) from error


def _needs_package(chosen: Chosen, environ: Mapping[str, str]) -> bool:
    """As kubectl, proxies are looked for in the environment alone."""
    special = {"exec", "auth-provider", "username"} & chosen.user.keys()
    proxied = any(text for name, text in environ.items() if name.lower().endswith("_proxy"))
    return bool(special or chosen.cluster.get("proxy-url") or proxied)


def _of_pod(environ: Mapping[str, str]) -> Login:
    host, port = environ["KUBERNETES_SERVICE_HOST"], environ["KUBERNETES_SERVICE_PORT"]
    return Login(
        server=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
        namespace=(_POD / "namespace").read_text().strip(),
        pool=_pool(ssl.create_default_context(cafile=_POD / "ca.crt")),
        authorization=TokenFile(_POD / "token", time.monotonic).authorization,
    )


def _of_file(chosen: Chosen) -> Login:
    cluster = chosen.cluster
    if not cluster.get("server"):
        raise ValueError("its cluster names no server")
    context = _trust(cluster)
    _identify(context, chosen.user)
    return Login(
        server=str(cluster["server"]).rstrip("/"),
        namespace=chosen.namespace,
        pool=_pool(context, cluster.get("tls-server-name")),
        authorization=_authorization(chosen.user),
    )


def _pool(context: ssl.SSLContext, server_name: str | None = None) -> urllib3.PoolManager:
    pool = urllib3.PoolManager(ssl_context=context, maxsize=POOL_SIZE, socket_options=keep_alive())
    if server_name:
        pool.connection_pool_kw |= {"server_hostname": server_name, "assert_hostname": server_name}
    return pool


def _trust(cluster: Section) -> ssl.SSLContext:
    if data := cluster.get("certificate-authority-data"):
        return ssl.create_default_context(cadata=base64.b64decode(data).decode())
    context = ssl.create_default_context(cafile=cluster.get("certificate-authority"))
    if cluster.get("insecure-skip-tls-verify"):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _identify(context: ssl.SSLContext, user: Section) -> None:
    """OpenSSL reads client certificates from files only: data goes through one, 0600, gone soon."""
    certificate, key = _pem(user, "client-certificate"), _pem(user, "client-key")
    if not certificate:
        return
    with tempfile.NamedTemporaryFile() as file:
        file.write(certificate + b"\n" + key)
        file.flush()
        context.load_cert_chain(file.name)


def _pem(user: Section, name: str) -> bytes:
    if data := user.get(f"{name}-data"):
        return base64.b64decode(data)
    return Path(user[name]).read_bytes() if user.get(name) else b""


def _authorization(user: Section) -> Callable[[], str | None]:
    if token := user.get("token"):
        return lambda: f"Bearer {token}"
    if path := user.get("tokenFile"):
        return TokenFile(Path(path), time.monotonic).authorization
    return lambda: None


class TokenFile:
    """A bearer token in a file that somebody renews; read again every minute."""

    def __init__(self, path: Path, monotonic: Callable[[], float]) -> None:
        self._path = path
        self._monotonic = monotonic
        self._read_at = float("-inf")
        self._token = ""

    def authorization(self) -> str:
        """Raise Unreachable when there is no token to read, and never was."""
        now = self._monotonic()
        if now - self._read_at >= _TOKEN_SECONDS:
            self._renew()
            self._read_at = now
        return f"Bearer {self._token}"

    def _renew(self) -> None:
        try:
            self._token = self._path.read_text().strip() or self._token
        except OSError as error:
            if not self._token:
                raise Unreachable(f"no token in {self._path}: {error}") from error
