"""Client authentication: reviews only from holders of certificates of one authority."""

import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

from edl.errors import EdlError

PeerCertificate: TypeAlias = Mapping[str, Any]
"""As `ssl.SSLSocket.getpeercert` returns it."""

_NAMES: Final = frozenset({"DNS", "URI", "email"})


class ClientAuthorityError(EdlError):
    """The authority of the clients cannot be used."""


class ClientAuthority:
    """The authority in `file`, and the names that it may have signed for; none allow them all."""

    def __init__(self, file: Path, names: frozenset[str]) -> None:
        self._file = file
        self._names = names
        self._loaded: bytes | None = None

    def demand(self, context: ssl.SSLContext) -> bool:
        """Require certificates of this authority in `context`; False if the file is unchanged.

        What is new in the file is trusted besides what was, until the process ends: so authorities
        change without a gap. Raises ClientAuthorityError, with the old ones still trusted.
        """
        try:
            content = self._file.read_bytes()
            if content == self._loaded:
                return False
            context.load_verify_locations(cadata=content.decode("ascii"))
        except (OSError, ValueError, ssl.SSLError) as error:  # no text is a ValueError
            raise ClientAuthorityError(f"--client-ca {self._file}: {error}") from error
        context.verify_mode = ssl.CERT_REQUIRED
        self._loaded = content
        return True

    def problem(self, certificate: PeerCertificate) -> str:
        """Why the holder of a certificate may not send reviews; empty when it may."""
        found = names_of(certificate)
        if not self._names or self._names & {*found}:
            return ""
        return (
            f"the client certificate of {', '.join(found) or '(no name)'} is not one of "
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
