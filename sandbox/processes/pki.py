"""The sandbox's own certificate authority, and the certificates that it signs."""

import datetime as dt
import ipaddress
from collections.abc import Sequence
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from sandbox.files import write_whole

LIFETIME = dt.timedelta(days=3650)
# The clocks of containers and machines differ slightly.
EARLIER = dt.timedelta(hours=1)
SERVING_NAMES = (
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
)
SERVING_ADDRESSES = ("127.0.0.1", "10.96.0.1")  # the second is the Service `kubernetes`
NODE_NAME = "real-0"
# User and group of each client. The default RBAC roles are bound to these names.
CLIENTS = {
    "admin": ("sandbox-admin", "system:masters"),
    "kwok": ("kwok", "system:masters"),
    "karpenter": ("karpenter", "system:masters"),
    "kube-controller-manager": ("system:kube-controller-manager", None),
    "kube-scheduler": ("system:kube-scheduler", None),
    "kubelet": (f"system:node:{NODE_NAME}", "system:nodes"),
    "kube-proxy": ("system:kube-proxy", None),
    "coredns": ("coredns", "system:masters"),
}
SERVER = "server"
NODE = "node"
SERVICE_ACCOUNT_KEY = "service-account.key"


def issue(folder: Path, now: dt.datetime, host: str = "", node: str = "") -> None:
    """Write NAME.crt and NAME.key of ca, server and CLIENTS, and the service accounts' key.

    host and node: addresses of this machine and of a real node, which then gets a pair `node`.
    """
    authority = _Authority(now)
    _write_key(folder / "ca.key", authority.key)
    write_whole(folder / "ca.crt", _pem(authority.certificate))
    addresses = (*SERVING_ADDRESSES, host) if host else SERVING_ADDRESSES
    authority.issue(folder, SERVER, _name("kube-apiserver", None), (*SERVING_NAMES, *addresses))
    if node:
        authority.issue(folder, NODE, _name(f"system:node:{NODE_NAME}", None), (NODE_NAME, node))
    for client, (user, group) in CLIENTS.items():
        authority.issue(folder, client, _name(user, group))
    _write_key(folder / SERVICE_ACCOUNT_KEY, ec.generate_private_key(ec.SECP256R1()))


class _Authority:
    def __init__(self, now: dt.datetime) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name("kubectl-edl sandbox", None)
        self._now = now
        usage = x509.BasicConstraints(ca=True, path_length=0)
        builder = self._builder(self._name, self.key).add_extension(usage, critical=True)
        signing = x509.KeyUsage(
            digital_signature=True,
            key_cert_sign=True,
            crl_sign=True,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            encipher_only=False,
            decipher_only=False,
        )
        builder = builder.add_extension(signing, critical=True)
        self.certificate = builder.sign(self.key, hashes.SHA256())

    def issue(self, folder: Path, file: str, subject: x509.Name, hosts: Sequence[str] = ()) -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        # etcd's server is also its own client, so every certificate allows both uses.
        uses = x509.ExtendedKeyUsage(
            [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        )
        builder = self._builder(subject, key).add_extension(uses, critical=False)
        if hosts:
            names = x509.SubjectAlternativeName(map(_general, hosts))
            builder = builder.add_extension(names, critical=False)
        _write_key(folder / f"{file}.key", key)
        write_whole(folder / f"{file}.crt", _pem(builder.sign(self.key, hashes.SHA256())))

    def _builder(self, name: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(self._now - EARLIER)
            .not_valid_after(self._now + LIFETIME)
            .add_extension(
                x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False
            )
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key()),
                critical=False,
            )
        )


def _general(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _name(user: str, group: str | None) -> x509.Name:
    groups = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group)] if group else []
    return x509.Name([*groups, x509.NameAttribute(NameOID.COMMON_NAME, user)])


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


def _write_key(path: Path, key: ec.EllipticCurvePrivateKey) -> None:
    text = key.private_bytes(
        serialization.Encoding.PEM,
        # SEC 1 is the only format of such a key that kube-apiserver reads for service accounts.
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )
    write_whole(path, text.decode())
