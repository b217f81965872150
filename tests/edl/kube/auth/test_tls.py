import base64
import json
import os
import ssl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from ipaddress import ip_address
from pathlib import Path
from threading import Thread
from typing import Final

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from urllib3.exceptions import SSLError

from edl.kube.auth.connection_pool import connection_pool
from edl.kube.auth.credentials import log_in
from edl.kube.auth.tls import client_context, identify

_HOST: Final = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Certificate:
    x509: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @property
    def pem(self) -> bytes:
        return self.x509.public_bytes(Encoding.PEM)

    @property
    def key_pem(self) -> bytes:
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def issued(name: str, by: Certificate | None = None, *, authority: bool = False) -> Certificate:
    """Without the identifiers of keys, as the authorities of EKS clusters are."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(by.x509.subject if by else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
    )
    if authority:
        builder = builder.add_extension(
            x509.BasicConstraints(ca=True, path_length=None), critical=True
        )
    else:
        names = x509.SubjectAlternativeName([x509.IPAddress(ip_address(_HOST))])
        builder = builder.add_extension(names, critical=False)
    return Certificate(builder.sign(by.key if by else key, SHA256()), key)


ROOT: Final = issued("root", authority=True)
BETWEEN: Final = issued("intermediate", ROOT, authority=True)
SERVER: Final = issued("server", BETWEEN)


@contextmanager
def serving_tls(chain: Sequence[Certificate], clients: Certificate) -> Iterator[str]:
    """The address of a server that answers with its client's subject and the chosen protocol."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            connection = self.connection
            assert isinstance(connection, ssl.SSLSocket)
            peer = connection.getpeercert() or {}
            body = json.dumps([peer.get("subject"), connection.selected_alpn_protocol()]).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_alpn_protocols(["http/1.1"])
    context.verify_mode = ssl.CERT_OPTIONAL
    context.load_verify_locations(cadata=clients.pem.decode())
    own = Certificate(chain[0].x509, chain[0].key)
    identify(context, b"".join(one.pem for one in chain), own.key_pem)
    server = HTTPServer((_HOST, 0), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"https://{_HOST}:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def address() -> Iterator[str]:
    with serving_tls([SERVER, BETWEEN], ROOT) as served:
        yield served


def protocol(context: ssl.SSLContext, address: str) -> str:
    return str(connection_pool(context, None).request("GET", address).json()[1])


@pytest.mark.parametrize("trusted", [ROOT, BETWEEN], ids=["root", "intermediate"])
def test_an_authority_without_key_identifiers_is_trusted(
    address: str, trusted: Certificate
) -> None:
    assert protocol(client_context(pem=trusted.pem.decode()), address) == "http/1.1"


def test_the_default_of_newer_pythons_would_refuse_it(address: str) -> None:
    strict = ssl.create_default_context(cadata=ROOT.pem.decode())
    strict.verify_flags |= ssl.VERIFY_X509_STRICT
    with pytest.raises(SSLError, match="CERTIFICATE_VERIFY_FAILED"):
        connection_pool(strict, None).request("GET", address, retries=False)


def test_another_authority_or_host_is_refused(address: str) -> None:
    other = client_context(pem=issued("root", authority=True).pem.decode())
    with pytest.raises(SSLError, match="CERTIFICATE_VERIFY_FAILED"):
        connection_pool(other, None).request("GET", address, retries=False)
    trusting = connection_pool(client_context(pem=ROOT.pem.decode()), None)
    with pytest.raises(SSLError, match="Hostname mismatch"):
        trusting.request("GET", address.replace(_HOST, "localhost"), retries=False)


def test_connections_leave_the_context_unchanged(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = client_context(pem=ROOT.pem.decode())
    changes: list[object] = []
    monkeypatch.setattr(ssl.SSLContext, "set_alpn_protocols", lambda _, to: changes.append(to))
    assert protocol(context, address) == "http/1.1"
    assert changes == []


def kubeconfig(folder: Path, address: str, trust: bytes, user: dict[str, object]) -> Path:
    trusted = base64.b64encode(trust).decode()
    cluster = {"server": address, "certificate-authority-data": trusted}
    document: dict[str, object] = {
        "current-context": "a",
        "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
        "clusters": [{"name": "a", "cluster": cluster}],
        "users": [{"name": "a", "user": user}],
    }
    (folder / "kubeconfig").write_text(yaml.safe_dump(document))
    return folder / "kubeconfig"


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_comments_beside_an_authority_may_be_of_any_encoding(
    address: str, tmp_path: Path, encoding: str
) -> None:
    commented = "# Autorité\n".encode(encoding) + ROOT.pem
    login = log_in(str(kubeconfig(tmp_path, address, commented, {})), None, os.environ)
    assert login.pool.request("GET", address).status == 200


def logging_in(folder: Path, address: str) -> Path:
    """A kubeconfig whose plugin prints a certificate that has expired, then another one."""
    version = "client.authentication.k8s.io/v1"
    for number, year in enumerate((2026, 2126), start=1):
        own = issued(f"client-{number}", ROOT)
        credential = {
            "clientCertificateData": own.pem.decode(),
            "clientKeyData": own.key_pem.decode(),
            "expirationTimestamp": f"{year}-01-01T00:00:00Z",
        }
        printed = {"apiVersion": version, "kind": "ExecCredential", "status": credential}
        (folder / f"{number}.json").write_text(json.dumps(printed))
    script = f"cd {folder}; cat 1.json; mv -f 2.json 1.json || true"
    command = {"command": "sh", "args": ["-c", script], "interactiveMode": "Never"}
    plugin: dict[str, object] = {"exec": {"apiVersion": version, **command}}
    return kubeconfig(folder, address, ROOT.pem, plugin)


def test_a_renewed_certificate_leaves_the_context_of_other_connections_unchanged(
    address: str, tmp_path: Path
) -> None:
    login = log_in(str(logging_in(tmp_path, address)), None, os.environ)
    first = login.pool.connection_pool_kw["ssl_context"]
    assert login.authorization() is None
    assert "client-2" in login.pool.request("GET", address).data.decode()
    assert "client-1" in connection_pool(first, None).request("GET", address).data.decode()
