"""Certificates and keys as values, and the four files that hold them. Everything is PEM."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from edl.errors import EdlError

AUTHORITY_CERTIFICATE: Final = "ca.crt"
AUTHORITY_KEY: Final = "ca.key"
CERTIFICATE: Final = "tls.crt"
KEY: Final = "tls.key"
FILES: Final = (AUTHORITY_CERTIFICATE, AUTHORITY_KEY, CERTIFICATE, KEY)


class CertificateError(EdlError):
    """A certificate or key that cannot be used, with the reason and the way out."""


@dataclass(frozen=True, slots=True)
class Authority:
    """Signs certificates. `certificate` is what clients trust."""

    certificate: bytes
    key: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Pair:
    """What a server shows (`certificate`, perhaps with its chain) and the key that proves it."""

    certificate: bytes
    key: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Bundle:
    """All that a webhook needs: who signs, what it serves with, and what its clients trust.

    `trust` is the authority's certificate and, while one is replaced, its predecessor's after it,
    so that a replica that still serves the old pair is believed.
    """

    authority: Authority
    pair: Pair
    trust: bytes


@dataclass(frozen=True, slots=True)
class Names:
    """Whom a serving certificate is for: host names and IP addresses."""

    dns: tuple[str, ...]
    ips: tuple[str, ...] = ()


def service_names(service: str, namespace: str) -> Names:
    """A Service's names inside the cluster, and this machine's, for a webhook run by hand."""
    inside = f"{service}.{namespace}"
    return Names(
        dns=(f"{inside}.svc", f"{inside}.svc.cluster.local", inside, service, "localhost"),
        ips=("127.0.0.1", "::1"),
    )


def to_files(bundle: Bundle) -> dict[str, bytes]:
    """The bundle by file name, as a directory or a Secret keeps it."""
    return {
        AUTHORITY_CERTIFICATE: bundle.trust,
        AUTHORITY_KEY: bundle.authority.key,
        CERTIFICATE: bundle.pair.certificate,
        KEY: bundle.pair.key,
    }


def from_files(files: Mapping[str, bytes]) -> Bundle:
    """The opposite of `to_files`; raises CertificateError naming what is missing."""
    if missing := [name for name in FILES if not files.get(name)]:
        raise CertificateError(f"{' and '.join(missing)} missing")
    trust = files[AUTHORITY_CERTIFICATE]
    return Bundle(
        authority=Authority(first_certificate(trust), files[AUTHORITY_KEY]),
        pair=Pair(files[CERTIFICATE], files[KEY]),
        trust=trust,
    )


def first_certificate(chain: bytes) -> bytes:
    """The first of several concatenated certificates, or all of a text that holds none."""
    end = b"-----END CERTIFICATE-----\n"
    head, found, _ = chain.partition(end)
    return head + found
