"""The serving certificate: where it comes from, and one TLS context that always has the newest."""

import ssl
import tempfile
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TypeAlias

import msgspec

from certs import certificate_directory as files_in
from certs.bundle import (
    CERTIFICATE,
    KEY,
    PAIR_FILES,
    CertificateError,
    KeyPair,
    pair_files,
    pair_from,
)
from certs.secrets import read_pair
from certs.verify import facts_of, pair_problem
from edl.kube.cluster import Cluster
from edl.model import ObjectRef

Source: TypeAlias = Callable[[], KeyPair]
"""Reads the current key pair; raises CertificateError or ClusterError."""


def of_directory(directory: Path) -> KeyPair:
    """`tls.crt` and `tls.key` of a directory: of `certs issue`, or a mounted Secret."""
    files = files_in.read(directory, PAIR_FILES)
    try:
        return pair_from(files)
    except CertificateError as error:
        raise CertificateError(f"{directory}: {error}") from error


def of_secret(cluster: Cluster, secret: ObjectRef) -> KeyPair:
    """`tls.crt` and `tls.key` of a Secret, which the reconciler fills and renews."""
    try:
        return read_pair(cluster, secret)
    except CertificateError as error:
        raise CertificateError(f"Secret {secret.namespace}/{secret.name}: {error}") from error


class LoadedCertificate(msgspec.Struct, frozen=True):
    """The pair in use, and when its certificate expires."""

    pair: KeyPair
    ends: datetime


class ServingCertificate:
    """One TLS context, changed in place by `load`: open connections keep the old certificate."""

    def __init__(self) -> None:
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
        self.loaded: LoadedCertificate | None = None

    def load(self, pair: KeyPair, now: datetime) -> bool:
        """Serves new connections with `pair`; False if it is loaded already.

        Raises CertificateError for an unusable pair; the old one then stays in place.
        """
        if self.loaded is not None and self.loaded.pair == pair:
            return False
        # Checked first: a context loses its old key when it is given a pair that does not match.
        if problem := pair_problem(pair, now):
            raise CertificateError(problem)
        _load(self.context, pair)
        self.loaded = LoadedCertificate(pair, facts_of(pair.certificate).ends)
        return True

    def problem(self, now: datetime) -> str:
        """Why clients would reject the certificate now; empty if they would accept it."""
        if self.loaded is None:
            return "no certificate is loaded"
        return "the certificate has expired" if now >= self.loaded.ends else ""


def _load(context: ssl.SSLContext, pair: KeyPair) -> None:
    # OpenSSL only reads files. In a pod the temporary directory is in memory.
    with tempfile.TemporaryDirectory(prefix="edl-webhook-") as name:
        directory = Path(name)
        files_in.write(directory, pair_files(pair))
        try:
            context.load_cert_chain(directory / CERTIFICATE, directory / KEY)
        except ssl.SSLError as error:
            raise CertificateError(f"TLS cannot use the certificate: {error}") from error
