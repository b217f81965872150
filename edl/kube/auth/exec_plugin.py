"""Credential plugins (client.authentication.k8s.io): commands that print credentials.

The kubernetes package runs them too, but it logs failures instead of raising them, and never renews
a client certificate.
"""

import base64
import subprocess
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Lock
from typing import Annotated, Any, Final

import msgspec

from edl.errors import Unreachable
from edl.kube.auth.kubeconfig import KubeconfigSection, SelectedContext

_KIND: Final = "ExecCredential"
_EXTENSION: Final = "client.authentication.k8s.io/exec"


class _Variable(msgspec.Struct):
    name: str
    value: str = ""


class _Exec(msgspec.Struct, rename="camel"):
    """The `exec` section of a kubeconfig's user."""

    command: str
    api_version: str
    args: list[str] | None = None
    env: list[_Variable] | None = None
    install_hint: str = ""
    interactive_mode: str = "IfAvailable"
    provide_cluster_info: bool = False


class _Status(msgspec.Struct, rename="camel"):
    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: Annotated[datetime, msgspec.Meta(tz=True)] | None = None


class _Credential(msgspec.Struct, rename="camel"):
    api_version: str
    kind: str
    status: _Status


_credentials: Final = msgspec.json.Decoder(_Credential)
_REFUSED: Final = timedelta(minutes=1)
"""The least time between two runs for refused credentials: the plugin may prompt its user."""


class ExecPlugin:
    """Runs the plugin for the first request, and again when its credentials expire or are refused.

    Thread-safe. Refused credentials are renewed as by client-go: a session may be revoked before
    its credentials expire.
    """

    def __init__(
        self,
        chosen: SelectedContext,
        environ: Mapping[str, str],
        identify: Callable[[bytes, bytes], None],
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`identify` installs each new client certificate and its key, both in PEM.

        Raises ValueError if the `exec` section is invalid.
        """
        self._chosen = chosen
        self._exec = msgspec.convert(chosen.user["exec"], _Exec)
        self._environ = environ
        self._identify = identify
        self._now = now
        self._lock = Lock()
        self._status: _Status | None = None
        self._refused_at: datetime | None = None

    def authorization(self) -> str | None:
        """The Authorization header, None for a client certificate.

        Raises Unreachable on failure.
        """
        with self._lock:
            if self._status is None or self._is_over(self._status):
                self._status = self._renewed()
            return _bearer(self._status)

    def refused(self, authorization: str | None) -> bool:
        """Whether to retry a request that was answered 401 with this Authorization header."""
        with self._lock:
            if self._status is None or _bearer(self._status) != authorization:
                return True  # another thread has renewed them
            now = self._now()
            if self._refused_at and abs(now - self._refused_at) < _REFUSED:
                return False
            self._refused_at, self._status = now, None
            return True

    def _is_over(self, status: _Status) -> bool:
        ends = status.expiration_timestamp
        return ends is not None and ends <= self._now()

    def _renewed(self) -> _Status:
        try:
            status = self._credential().status
            if certificate := status.client_certificate_data:
                self._identify(certificate.encode(), status.client_key_data.encode())
        except (OSError, ValueError) as error:
            raise self._without(error) from error
        return status

    def _credential(self) -> _Credential:
        done = self._run()
        if done.returncode:
            printed = (done.stderr or b"").decode(errors="replace")
            raise ValueError(f"it returned {done.returncode}. {printed}")
        credential = _credentials.decode(done.stdout)
        if (credential.api_version, credential.kind) != (self._exec.api_version, _KIND):
            raise ValueError(f"it printed {credential.kind} of {credential.api_version}")
        if not (credential.status.token or credential.status.client_certificate_data):
            raise ValueError("it printed neither a token nor a certificate")
        return credential

    def _run(self) -> subprocess.CompletedProcess[bytes]:
        """Runs the plugin; on a terminal it may prompt."""
        mode = self._exec.interactive_mode
        interactive = mode != "Never" and sys.stdin is not None and sys.stdin.isatty()
        if mode == "Always" and not interactive:
            raise ValueError("it needs a terminal")
        spec: dict[str, Any] = {"interactive": interactive}
        if self._exec.provide_cluster_info:
            spec["cluster"] = _cluster_info(self._chosen.cluster)
        info = {"apiVersion": self._exec.api_version, "kind": _KIND, "spec": spec}
        own_env = {variable.name: variable.value for variable in self._exec.env or ()}
        return subprocess.run(
            [self._exec.command, *(self._exec.args or ())],
            env={
                **self._environ,
                **own_env,
                "KUBERNETES_EXEC_INFO": msgspec.json.encode(info).decode(),
            },
            stdin=None if interactive else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=None if interactive else subprocess.PIPE,
            check=False,
        )

    def _without(self, why: Exception) -> Unreachable:
        way_out = self._exec.install_hint or "log in with it, or install it, until kubectl works"
        return Unreachable(
            f"context {self._chosen.context}: its credential plugin {self._exec.command} gave no "
            f"credentials: {' '.join(str(why).split())}; {' '.join(way_out.split())}"
        )


def _bearer(status: _Status) -> str | None:
    return f"Bearer {status.token}" if status.token else None


def _cluster_info(cluster: KubeconfigSection) -> dict[str, Any]:
    """The cluster as client-go passes it: with inline CA data and the plugin's configuration."""
    info = {key: value for key, value in cluster.items() if key != "extensions"}
    if file := info.pop("certificate-authority", None):
        info["certificate-authority-data"] = base64.b64encode(Path(file).read_bytes()).decode()
    for extension in cluster.get("extensions") or ():
        if extension.get("name") == _EXTENSION:
            info["config"] = extension.get("extension")
    return info
