"""Address and credentials of an API server, from a kubeconfig or from inside a pod.

The kubernetes package could load these too. But importing its loader, with all kinds of the API,
takes 0.4 s of CPU time and 20 MiB per process, which is too slow for the plugin, and saves no code
here. It is used only for auth providers and the rules of NO_PROXY, which are rare. The CA of the
API server is read once, and again only with a renewed client certificate.
"""

import base64
import time
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast
from urllib.parse import urlsplit

import msgspec
import urllib3
from msgspec.structs import replace
from urllib3.util import make_headers

from edl import contract
from edl.errors import Unreachable
from edl.kube.auth import kubeconfig as files
from edl.kube.auth.connection_pool import connection_pool, proxy
from edl.kube.auth.impersonation import Headers, impersonate
from edl.kube.auth.kubeconfig import ConfigOverrides, KubeconfigSection, SelectedContext
from edl.kube.auth.tls import ClientContext, client_context, identify

if TYPE_CHECKING:
    from edl.kube.auth.exec_plugin import ExecPlugin

_POD: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_TOKEN_SECONDS: Final = 60.0


def _final(_authorization: str | None) -> bool:
    return False


class ClientConfig(msgspec.Struct, frozen=True):
    """How to reach one API server.

    `authorization` is called before each request: tokens are renewed.
    """

    server: str
    namespace: str
    pool: urllib3.PoolManager
    authorization: Callable[[], str | None]
    refused: Callable[[str | None], bool] = _final
    """Called with the Authorization header of a request that was answered 401; whether to retry."""
    impersonation: Headers = ()
    """Headers of the user that requests impersonate."""
    system_namespace: str = contract.SYSTEM_NAMESPACE
    """The namespace in which kubectl-edl is installed."""
    flags: str = ""
    """Options that give kubectl the same cluster and user: ` --as ann`."""


def log_in(
    kubeconfig: str | None, overrides: ConfigOverrides | None, environ: Mapping[str, str]
) -> ClientConfig:
    """The configuration of the chosen cluster.

    Raises Unreachable if no cluster can be chosen, or if its credentials cannot be read.
    """
    overrides = overrides or ConfigOverrides()
    config = replace(_log_in(kubeconfig, overrides, environ), flags=overrides.flags)
    named = overrides.system_namespace or environ.get(contract.SYSTEM_NAMESPACE_ENV)
    return replace(config, system_namespace=named) if named else config


def _log_in(
    kubeconfig: str | None, overrides: ConfigOverrides, environ: Mapping[str, str]
) -> ClientConfig:
    paths = files.chosen_files(kubeconfig, environ)
    in_pod = "KUBERNETES_SERVICE_HOST" in environ and (_POD / "token").exists()
    chosen_by_name = overrides.context or overrides.cluster or overrides.user
    if in_pod and not (kubeconfig or chosen_by_name or files.existing(paths)):
        return _of_pod(environ, overrides.impersonation)
    chosen = files.choose(paths, overrides)
    try:
        return _of_file(chosen, environ)
    except (OSError, ValueError) as error:
        raise Unreachable(
            f"the credentials of context {chosen.context} in {chosen.path} cannot be used: {error}"
        ) from error


def _of_pod(environ: Mapping[str, str], user: KubeconfigSection) -> ClientConfig:
    host, port = environ["KUBERNETES_SERVICE_HOST"], environ["KUBERNETES_SERVICE_PORT"]
    return ClientConfig(
        server=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
        namespace=(_POD / "namespace").read_text().strip(),
        pool=connection_pool(client_context(str(_POD / "ca.crt")), None),
        authorization=TokenFile(_POD / "token", time.monotonic).authorization,
        impersonation=_impersonated(user),
    )


def _impersonated(user: KubeconfigSection) -> Headers:
    try:
        return impersonate(user)
    except ValueError as error:
        raise Unreachable(f"a pod's own account cannot be used so: {error}") from error


def _of_file(chosen: SelectedContext, environ: Mapping[str, str]) -> ClientConfig:
    impersonation = impersonate(chosen.user)
    server = _server(chosen.cluster)
    if urlsplit(server).scheme != "https":
        chosen = replace(chosen, user={})  # as client-go: no credentials are sent in clear text
    cluster, user = chosen.cluster, chosen.user
    context = _trust(cluster)
    if certificate := _pem(user, "client-certificate"):
        identify(context, certificate, _pem(user, "client-key"))
    pool = connection_pool(context, proxy(server, cluster.get("proxy-url") or "", environ))
    if server_name := cluster.get("tls-server-name"):
        pool.connection_pool_kw |= {"server_hostname": server_name, "assert_hostname": server_name}

    def renew(certificate: bytes, key: bytes) -> None:
        """Installs a certificate, and drops connections, which keep their old one."""
        renewed = _trust(cluster)
        identify(renewed, certificate, key)
        pool.connection_pool_kw |= {"ssl_context": renewed}
        pool.clear()

    plugin: ExecPlugin | None = None
    if _asks_plugin(user):
        plugin = import_module("edl.kube.auth.exec_plugin").ExecPlugin(chosen, environ, renew)
    return ClientConfig(
        server=server,
        namespace=chosen.namespace,
        pool=pool,
        authorization=_authorization(chosen, plugin),
        refused=plugin.refused if plugin else _final,
        impersonation=impersonation,
    )


def _server(cluster: KubeconfigSection) -> str:
    """The address, which client-go takes for http if it has no scheme."""
    if not cluster.get("server"):
        raise ValueError("its cluster names no server")
    server = str(cluster["server"]).rstrip("/")
    return server if "://" in server else f"http://{server}"


def _trust(cluster: KubeconfigSection) -> ClientContext:
    if data := cluster.get("certificate-authority-data"):
        # Comments between certificates may be of any encoding.
        return client_context(pem=base64.b64decode(data).decode("ascii", "ignore"))
    verifies = not cluster.get("insecure-skip-tls-verify")
    return client_context(cluster.get("certificate-authority"), verifies=verifies)


def _pem(user: KubeconfigSection, name: str) -> bytes:
    if data := user.get(f"{name}-data"):
        return base64.b64decode(data)
    return Path(user[name]).read_bytes() if user.get(name) else b""


def _asks_plugin(user: KubeconfigSection) -> bool:
    """Whether the plugin is the user's first method: no method that precedes it is configured."""
    return bool(user.get("exec")) and not any(map(user.get, ("token", "tokenFile", "username")))


def _authorization(
    chosen: SelectedContext, plugin: "ExecPlugin | None"
) -> Callable[[], str | None]:
    """The first method that the user's section has, in client-go's order."""
    user = chosen.user
    if token := user.get("token"):
        return lambda: f"Bearer {token}"
    if path := user.get("tokenFile"):
        return TokenFile(Path(path), time.monotonic).authorization
    if name := user.get("username"):
        basic = make_headers(basic_auth=f"{name}:{user.get('password') or ''}")
        return lambda: basic["authorization"]
    if plugin:
        plugin.authorization()  # so that a failure is raised here
        return plugin.authorization
    if user.get("auth-provider"):
        authorization = import_module("edl.kube.auth.auth_providers").authorization(chosen)
        return cast("Callable[[], str | None]", authorization)
    return lambda: None


class TokenFile:
    """A bearer token in a file that is rotated from outside; the file is read every minute."""

    def __init__(self, path: Path, monotonic: Callable[[], float]) -> None:
        self._path = path
        self._monotonic = monotonic
        self._read_at = float("-inf")
        self._token = ""

    def authorization(self) -> str:
        """The Authorization header. Raises Unreachable if no token could ever be read."""
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
