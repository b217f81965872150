"""A mutating webhook of another owner, which the API server calls after ours."""

import base64
import json
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

from certs.bundle import to_files
from certs.certificate_directory import write
from certs.issue import issue
from certs.subject_names import local_names, service_names
from tests.integration.support.stage import Stage

_PATCH = [
    {
        "op": "add",
        "path": "/spec/template/spec/containers/-",
        "value": {"name": "log-shipper", "image": "none"},
    }
]


class _AddsContainer(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        patch = base64.b64encode(json.dumps(_PATCH).encode()).decode()
        answer = {"uid": review["request"]["uid"], "allowed": True}
        answer |= {"patchType": "JSONPatch", "patch": patch}
        body = json.dumps(review | {"request": None, "response": answer}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def adds_container(stage: Stage, folder: Path) -> Iterator[None]:
    """While the block runs, new Jobs of the stage's namespace get a second container."""
    bundle = issue(local_names(service_names("later", stage.namespace)), datetime.now(UTC))
    files = to_files(bundle)
    write(folder, files)
    server = HTTPServer(("127.0.0.1", 0), _AddsContainer)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "tls.crt", folder / "tls.key")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    Thread(target=server.serve_forever, daemon=True).start()
    name = f"later-{stage.namespace}"
    by_name = {"kubernetes.io/metadata.name": stage.namespace}
    webhook = {
        "name": "later.example.com",
        "clientConfig": {
            "url": f"https://127.0.0.1:{server.server_port}/",
            "caBundle": base64.b64encode(files["ca.crt"]).decode(),
        },
        "rules": [
            {
                "apiGroups": ["batch"],
                "apiVersions": ["v1"],
                "operations": ["CREATE"],
                "resources": ["jobs"],
            }
        ],
        "namespaceSelector": {"matchLabels": by_name},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    configuration = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": [webhook],
    }
    stage.kubectl("create", "-f", "-", text=json.dumps(configuration))
    try:
        yield
    finally:
        stage.kubectl("delete", "mutatingwebhookconfiguration", name)
        server.shutdown()
        server.server_close()
