"""Address and credentials of an API server, from a kubeconfig or from inside a pod.

The kubernetes package would do this too. Importing its loader, with all kinds of the API, takes
0.4 s of processor time and 20 MiB in each process, and no code here would go: the plugin cannot
wait for it. It is left what few need: auth providers, and the rules of NO_PROXY. As with client-go,
the API server's authority is read once.
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
from msgspec.structs import replace
from urllib3.util import make_headers

from edl import contract
from edl.errors import Unreachable
from edl.kube.auth import kubeconfig as files
from edl.kube.auth.connection_pool import connection_pool, proxy
from edl.kube.auth.exec_plugin import ExecPlugin
from edl.kube.auth.impersonation import Headers, impersonate
from edl.kube.auth.kubeconfig import ConfigOverrides, KubeconfigSection, SelectedContext

_POD: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_TOKEN_SECONDS: Final = 60.0


def _final(_authorization: str | None) -> bool:
    return False


class ClientConfig(msgspec.Struct, frozen=True):
    """A way to one API server. `authorization` is asked before each request: tokens are renewed."""

    server: str
    namespace: str
    pool: urllib3.PoolManager
    authorization: Callable[[], str | None]
    refused: Callable[[str | None], bool] = _final
    """Told the authorization of a request that was answered 401; whether it is worth another."""
    impersonation: Headers = ()
    """Which other user the requests are made as."""
    system_namespace: str = contract.SYSTEM_NAMESPACE
    """Where kubectl-edl is installed."""


def log_in(
    kubeconfig: str | None, said: ConfigOverrides | None, environ: Mapping[str, str]
) -> ClientConfig:
    """Raise Unreachable when no cluster can be chosen, or its credentials cannot be read."""
    said = said or ConfigOverrides()
    found = _log_in(kubeconfig, said, environ)
    named = said.system_namespace or environ.get(contract.SYSTEM_NAMESPACE_ENV)
    return replace(found, system_namespace=named) if named else found


def _log_in(
    kubeconfig: str | None, said: ConfigOverrides, environ: Mapping[str, str]
) -> ClientConfig:
    path = files.default_path(kubeconfig, environ)
    in_pod = "KUBERNETES_SERVICE_HOST" in environ and (_POD / "token").exists()
    chosen_by_name = said.context or said.cluster or said.user
    if in_pod and not (kubeconfig or chosen_by_name or files.exists(path)):
        return _of_pod(environ, said.impersonation)
    chosen = files.choose(path, said)
    try:
        return _of_file(chosen, environ)
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        raise Unreachable(
            f"the credentials of context {chosen.context} in {path} cannot be used: {error}"
        ) from error


def _of_pod(environ: Mapping[str, str], user: KubeconfigSection) -> ClientConfig:
    host, port = environ["KUBERNETES_SERVICE_HOST"], environ["KUBERNETES_SERVICE_PORT"]
    return ClientConfig(
        server=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
        namespace=(_POD / "namespace").read_text().strip(),
        pool=connection_pool(ssl.create_default_context(cafile=_POD / "ca.crt"), None),
        authorization=TokenFile(_POD / "token", time.monotonic).authorization,
        impersonation=_impersonated(user),
    )


def _impersonated(user: KubeconfigSection) -> Headers:
    try:
        return impersonate(user)
    except ValueError as error:
        raise Unreachable(f"a pod's own account cannot be used so: {error}") from error


def _of_file(chosen: SelectedContext, environ: Mapping[str, str]) -> ClientConfig:
    cluster, user = chosen.cluster, chosen.user
    if not cluster.get("server"):
        raise ValueError("its cluster names no server")
    server = str(cluster["server"]).rstrip("/")
    context = _trust(cluster)
    if certificate := _pem(user, "client-certificate"):
        _identify(context, certificate, _pem(user, "client-key"))
    pool = connection_pool(context, proxy(server, cluster.get("proxy-url") or "", environ))
    if server_name := cluster.get("tls-server-name"):
        pool.connection_pool_kw |= {"server_hostname": server_name, "assert_hostname": server_name}

    def renew(certificate: bytes, key: bytes) -> None:
        """Kept connections go on with the certificate that they began with: they are dropped."""
        _identify(context, certificate, key)
        pool.clear()

    plugin = ExecPlugin(chosen, environ, renew) if _asks_plugin(user) else None
    return ClientConfig(
        server=server,
        namespace=chosen.namespace,
        pool=pool,
        authorization=_authorization(chosen, plugin),
        refused=plugin.refused if plugin else _final,
        impersonation=impersonate(user),
    )


def _trust(cluster: KubeconfigSection) -> ssl.SSLContext:
    if data := cluster.get("certificate-authority-data"):
        return ssl.create_default_context(cadata=base64.b64decode(data).decode())
    context = ssl.create_default_context(cafile=cluster.get("certificate-authority"))
    if cluster.get("insecure-skip-tls-verify"):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _identify(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """OpenSSL reads client certificates from files only: data goes through one, 0600, gone soon."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(certificate + b"\n" + key)
        file.flush()
        context.load_cert_chain(file.name)


def _pem(user: KubeconfigSection, name: str) -> bytes:
    if data := user.get(f"{name}-data"):
        return base64.b64decode(data)
    return Path(user[name]).read_bytes() if user.get(name) else b""


def _asks_plugin(user: KubeconfigSection) -> bool:
    """Whether no way that comes before it is there."""
    return bool(user.get("exec")) and not any(map(user.get, ("token", "tokenFile", "username")))


def _authorization(chosen: SelectedContext, plugin: ExecPlugin | None) -> Callable[[], str | None]:
    """The first way that the user's section has, in client-go's order."""
    user = chosen.user
    if token := user.get("token"):
        return lambda: f"Bearer {token}"
    if path := user.get("tokenFile"):
        return TokenFile(Path(path), time.monotonic).authorization
    if name := user.get("username"):
        basic = make_headers(basic_auth=f"{name}:{user.get('password') or ''}")
        return lambda: basic["authorization"]
    if plugin:
        plugin.authorization()  # so that it fails here
        return plugin.authorization
    if user.get("auth-provider"):
        found = import_module("edl.kube.auth.auth_providers").authorization(chosen)
        return cast("Callable[[], str | None]", found)
    return lambda: None


class TokenFile:
    """A bearer token in a file that is renewed from outside; read again every minute."""

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
