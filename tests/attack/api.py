"""An API server as the observer and the churn know it: plain HTTP and JSON."""

import base64
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import urllib3
import yaml

Json = dict[str, Any]
MERGE: Final = "application/merge-patch+json"
_SECONDS: Final = 20
KINDS: Final[Mapping[str, str]] = {
    "Node": "/api/v1/nodes",
    "Namespace": "/api/v1/namespaces",
    "Pod": "/api/v1/pods",
    "Service": "/api/v1/services",
    "Secret": "/api/v1/secrets",
    "ServiceAccount": "/api/v1/serviceaccounts",
    "Job": "/apis/batch/v1/jobs",
    "Deployment": "/apis/apps/v1/deployments",
    "PodDisruptionBudget": "/apis/policy/v1/poddisruptionbudgets",
    "RoleBinding": "/apis/rbac.authorization.k8s.io/v1/rolebindings",
}


class Refused(Exception):
    """An answer that is no success; `status` is HTTP's."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status


class Api:
    """Requests with the rights of a kubeconfig's user; thread-safe."""

    def __init__(self, kubeconfig: Path, folder: Path) -> None:
        found = yaml.safe_load(kubeconfig.read_text())
        cluster, user = found["clusters"][0]["cluster"], found["users"][0]["user"]
        self._server = cluster["server"]
        self._pool = urllib3.PoolManager(
            maxsize=24,
            ca_certs=_file(cluster, "certificate-authority", folder),
            cert_file=_file(user, "client-certificate", folder),
            key_file=_file(user, "client-key", folder),
        )

    def call(self, method: str, path: str, body: Json | None = None, kind: str = "") -> Json:
        """Raise Refused."""
        headers = {"Content-Type": kind or "application/json"}
        answer = self._pool.request(
            method, self._server + path, body=json.dumps(body) if body else None,
            headers=headers, timeout=_SECONDS, retries=False,
        )  # fmt: skip
        found: Json = answer.json() if answer.data else {}
        if answer.status >= 400:
            raise Refused(answer.status, str(found.get("message", "")))
        return found

    def list(self, kind: str, namespace: str = "") -> Json:
        return self.call("GET", path(kind, namespace))

    def follow(
        self, kind: str, told: Callable[[str, Json], None], stopped: threading.Event
    ) -> None:
        """Every object of a kind, then every change of one, until `stopped` is set."""
        version = ""
        while not stopped.is_set():
            if not version:
                listing = self.list(kind)
                for item in listing["items"]:
                    told("ADDED", item)
                version = listing["metadata"]["resourceVersion"]
            for event in self._events(kind, version):
                if event["type"] == "ERROR":
                    version = ""
                    break
                version = event["object"]["metadata"]["resourceVersion"]
                if event["type"] != "BOOKMARK":
                    told(event["type"], event["object"])
                if stopped.is_set():
                    return

    def _events(self, kind: str, version: str) -> Iterator[Json]:
        query = f"?watch=1&allowWatchBookmarks=true&timeoutSeconds=5&resourceVersion={version}"
        answer = self._pool.request(
            "GET", self._server + path(kind) + query, preload_content=False, retries=False,
            timeout=urllib3.Timeout(connect=_SECONDS, read=_SECONDS),
        )  # fmt: skip
        left = b""
        for chunk in answer.stream(65536):
            *lines, left = (left + chunk).split(b"\n")
            yield from map(json.loads, lines)
        answer.release_conn()


def path(kind: str, namespace: str = "", name: str = "") -> str:
    whole = KINDS[kind]
    base, _, plural = whole.rpartition("/")
    found = f"{base}/namespaces/{namespace}/{plural}" if namespace else whole
    return f"{found}/{name}" if name else found


def _file(found: Json, name: str, folder: Path) -> str:
    """The file that a kubeconfig names, or one with what it holds itself."""
    if name in found:
        return str(found[name])
    made = folder / name
    made.write_bytes(base64.b64decode(found[f"{name}-data"]))
    return str(made)
