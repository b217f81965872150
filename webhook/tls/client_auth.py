"""Client authentication: only holders of a certificate of one CA may send reviews."""

import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

from edl.errors import EdlError

PeerCertificate: TypeAlias = Mapping[str, Any]
"""As `ssl.SSLSocket.getpeercert` returns it."""

_NAMES: Final = frozenset({"DNS", "URI", "email"})


class ClientAuthorityError(EdlError):
    """The client CA cannot be used."""


class ClientAuthority:
    """The CA in `file`, and the names that clients may have; an empty set allows every name."""

    def __init__(self, file: Path, names: frozenset[str]) -> None:
        self._file = file
        self._names = names
        self._loaded: bytes | None = None

    def demand(self, context: ssl.SSLContext) -> bool:
        """Requires certificates of this CA in `context`; False if the file is unchanged.

        A new CA in the file is trusted in addition to earlier ones until the process ends, so that
        CAs change without a gap. Raises ClientAuthorityError; earlier CAs stay trusted.
        """
        try:
            content = self._file.read_bytes()
            if content == self._loaded:
                return False
            context.load_verify_locations(cadata=content.decode("ascii"))
        except (OSError, ValueError, ssl.SSLError) as error:  # ValueError: no ASCII text
            raise ClientAuthorityError(f"--client-ca {self._file}: {error}") from error
        context.verify_mode = ssl.CERT_REQUIRED
        self._loaded = content
        return True

    def problem(self, certificate: PeerCertificate) -> str:
        """Why the holder of a certificate may not send reviews; empty if it may."""
        names = names_of(certificate)
        if not self._names or self._names & {*names}:
            return ""
        return (
            f"the client certificate of {', '.join(names) or '(no name)'} is not one of "
            f"{', '.join(sorted(self._names))} (--client-name)"
        )


def names_of(certificate: PeerCertificate) -> tuple[str, ...]:
    """The common name, then the alternative names, of a certificate's subject."""
    common = (
        value
        for part in certificate.get("subject", ())
        for name, value in part
        if name == "commonName"
    )
    others = (value for kind, value in certificate.get("subjectAltName", ()) if kind in _NAMES)
    return (*common, *others)
