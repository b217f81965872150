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
PREVIOUS_CERTIFICATE: Final = "previous.crt"
PREVIOUS_KEY: Final = "previous.key"
OVERLAP_FILES: Final = (PREVIOUS_CERTIFICATE, PREVIOUS_KEY)
"""There only while one authority follows another."""
_END: Final = b"-----END CERTIFICATE-----\n"


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

    `trust` is the authority's certificate and, while one is replaced, its predecessors' after it,
    so that a replica that still serves the old pair is believed. `previous` is that old pair: it is
    served on until every API server has had time to learn of the new authority.
    """

    authority: Authority
    pair: Pair
    trust: bytes
    previous: Pair | None = None

    @property
    def overlaps(self) -> bool:
        """Whether a predecessor of the authority is still trusted."""
        return self.trust != self.authority.certificate


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
    files = {
        AUTHORITY_CERTIFICATE: bundle.trust,
        AUTHORITY_KEY: bundle.authority.key,
        CERTIFICATE: bundle.pair.certificate,
        KEY: bundle.pair.key,
    }
    if (previous := bundle.previous) is None:
        return files
    return files | {PREVIOUS_CERTIFICATE: previous.certificate, PREVIOUS_KEY: previous.key}


def from_files(files: Mapping[str, bytes]) -> Bundle:
    """The opposite of `to_files`; raises CertificateError naming what is missing."""
    if missing := [name for name in FILES if not files.get(name)]:
        raise CertificateError(f"{' and '.join(missing)} missing")
    trust = files[AUTHORITY_CERTIFICATE]
    previous = [files.get(name, b"") for name in OVERLAP_FILES]
    return Bundle(
        authority=Authority(first_certificate(trust), files[AUTHORITY_KEY]),
        pair=Pair(files[CERTIFICATE], files[KEY]),
        trust=trust,
        previous=Pair(*previous) if all(previous) else None,
    )


def first_certificate(chain: bytes) -> bytes:
    """The first of several concatenated certificates, or all of a text that holds none."""
    head, found, _ = chain.partition(_END)
    return head + found


def each_certificate(chain: bytes) -> tuple[bytes, ...]:
    """The concatenated certificates one by one; what follows the last one is dropped."""
    return tuple(part + _END for part in chain.split(_END)[:-1])
