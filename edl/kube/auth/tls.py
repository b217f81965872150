"""TLS to an API server: certificates are verified as kubectl verifies them."""

import ssl
import tempfile
from collections.abc import Iterable
from typing import Final

_PROTOCOLS: Final = ["http/1.1"]


class ClientContext(ssl.SSLContext):
    """Trust in one cluster, and perhaps a client certificate; complete before its first connection.

    Threads share a context, and OpenSSL allows no change of one that connections use. urllib3 sets
    the protocols again before each connection, which frees memory that another thread may be
    reading (https://github.com/python/cpython/issues/141012): here they stay as they were set.
    """

    def set_alpn_protocols(self, alpn_protocols: Iterable[str]) -> None:
        """Does nothing: `client_context` has set the only protocol that urllib3 speaks."""


def client_context(
    file: str | None = None, pem: str | None = None, *, verifies: bool = True
) -> ClientContext:
    """Trusts the authorities in `file` and `pem`, else the machine's.

    `ssl.create_default_context` refuses authorities without key identifiers from Python 3.13 on;
    those of many clusters have none (https://github.com/kubernetes-client/python/issues/2394).
    kubectl accepts them, and an intermediate authority as well. Raises OSError.
    """
    context = ClientContext(ssl.PROTOCOL_TLS_CLIENT)
    super(ClientContext, context).set_alpn_protocols(_PROTOCOLS)
    context.verify_flags = ssl.VERIFY_X509_TRUSTED_FIRST | ssl.VERIFY_X509_PARTIAL_CHAIN
    if not verifies:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif file or pem:
        context.load_verify_locations(file, cadata=pem)
    else:
        context.load_default_certs()
    return context


def identify(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """Loads a client certificate through a temporary file (0600): OpenSSL reads only files."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(certificate + b"\n" + key)
        file.flush()
        context.load_cert_chain(file.name)
