"""The few API requests that are needed to start a sandbox."""

import http.client
import json
import ssl
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Self
from urllib.parse import urlsplit

from sandbox.errors import SandboxError
from sandbox.layout import Layout

Json = dict[str, Any]
COLLECTIONS = {
    "Node": "/api/v1/nodes",
    "PersistentVolume": "/api/v1/persistentvolumes",
    "StorageClass": "/apis/storage.k8s.io/v1/storageclasses",
}
TIMEOUT = 10.0  # seconds per request


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP status and body. `status` 0: no response; the body has the reason."""

    status: int
    body: bytes

    def json(self) -> Json:
        return dict(json.loads(self.body))


class Api:
    """One connection to the API server, as the sandbox's admin."""

    def __init__(self, layout: Layout, server: str) -> None:
        context = ssl.create_default_context(cafile=str(layout.ca))
        context.load_cert_chain(layout.certificate("admin"), layout.key("admin"))
        address = urlsplit(server)
        self._connection = http.client.HTTPSConnection(
            address.hostname or "", address.port, timeout=TIMEOUT, context=context
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def get(self, path: str) -> Answer:
        return self._ask("GET", path, None)

    def post(self, path: str, body: Json) -> Answer:
        return self._ask("POST", path, json.dumps(body))

    def delete(self, path: str) -> None:
        """Delete an object, or all objects of a collection. Raises SandboxError."""
        answer = self._ask("DELETE", path, None)
        if answer.status not in (HTTPStatus.OK, HTTPStatus.NOT_FOUND):
            raise SandboxError(f"cannot delete {path}: {answer.body.decode(errors='replace')}")

    def create(self, manifest: Json) -> None:
        """Create a cluster-scoped object. Raises SandboxError."""
        answer = self.post(COLLECTIONS[manifest["kind"]], manifest)
        if answer.status not in (HTTPStatus.CREATED, HTTPStatus.CONFLICT):
            name = manifest["metadata"]["name"]
            raise SandboxError(f"cannot create {name}: {answer.body.decode(errors='replace')}")

    def _ask(self, method: str, path: str, body: str | None) -> Answer:
        try:
            self._connection.request(method, path, body, {"Content-Type": "application/json"})
            response = self._connection.getresponse()
            return Answer(response.status, response.read())
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            return Answer(0, str(error).encode())
