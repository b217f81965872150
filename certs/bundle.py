"""Certificates and keys as values, and the four files that hold them. Everything is PEM."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from edl.errors import EdlError

AUTHORITY_CERTIFICATE: Final = "ca.crt"
AUTHORITY_KEY: Final = "ca.key"
CERTIFICATE: Final = "tls.crt"
KEY: Final = "tls.key"
AUTHORITY_FILES: Final = (AUTHORITY_CERTIFICATE, AUTHORITY_KEY)
PAIR_FILES: Final = (CERTIFICATE, KEY)
FILES: Final = (*AUTHORITY_FILES, *PAIR_FILES)
_END: Final = b"-----END CERTIFICATE-----\n"


class CertificateError(EdlError):
    """A certificate or key that cannot be used, with the reason and the remedy."""


@dataclass(frozen=True, slots=True)
class Authority:
    """A CA. `certificate` is what clients trust."""

    certificate: bytes
    key: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A server's certificate, possibly with its chain, and the private key."""

    certificate: bytes
    key: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Issuer:
    """An authority and what clients trust (PEM).

    `trust` is the authority's certificate and, while one authority follows another, its
    predecessors' after it: certificates that they signed are served until every client trusts the
    successor.
    """

    authority: Authority
    trust: bytes

    @property
    def overlaps(self) -> bool:
        """Whether a predecessor of the authority is still trusted."""
        return self.trust != self.authority.certificate


@dataclass(frozen=True, slots=True)
class Bundle:
    """An authority, and a serving certificate that it has signed, as a directory holds them."""

    issuer: Issuer
    pair: KeyPair

    @property
    def authority(self) -> Authority:
        return self.issuer.authority

    @property
    def trust(self) -> bytes:
        return self.issuer.trust


def issuer_files(issuer: Issuer) -> dict[str, bytes]:
    """An issuer by file name."""
    return {AUTHORITY_CERTIFICATE: issuer.trust, AUTHORITY_KEY: issuer.authority.key}


def pair_files(pair: KeyPair) -> dict[str, bytes]:
    """A pair by file name."""
    return {CERTIFICATE: pair.certificate, KEY: pair.key}


def to_files(bundle: Bundle) -> dict[str, bytes]:
    """The bundle by file name."""
    return issuer_files(bundle.issuer) | pair_files(bundle.pair)


def issuer_from(files: Mapping[str, bytes]) -> Issuer:
    """The inverse of `issuer_files`; raises CertificateError naming what is missing."""
    _require(files, AUTHORITY_FILES)
    trust = files[AUTHORITY_CERTIFICATE]
    return Issuer(Authority(first_certificate(trust), files[AUTHORITY_KEY]), trust)


def pair_from(files: Mapping[str, bytes]) -> KeyPair:
    """The inverse of `pair_files`; raises CertificateError naming what is missing."""
    _require(files, PAIR_FILES)
    return KeyPair(files[CERTIFICATE], files[KEY])


def _require(files: Mapping[str, bytes], names: Iterable[str]) -> None:
    """Raises CertificateError naming the files that are missing or empty."""
    if missing := [name for name in names if not files.get(name)]:
        raise CertificateError(f"{' and '.join(missing)} missing")


def first_certificate(chain: bytes) -> bytes:
    """The first of several concatenated certificates, or all of a text that holds none."""
    head, end, _ = chain.partition(_END)
    return head + end


def each_certificate(chain: bytes) -> tuple[bytes, ...]:
    """The concatenated certificates one by one; text after the last one is dropped."""
    return tuple(part + _END for part in chain.split(_END)[:-1])
