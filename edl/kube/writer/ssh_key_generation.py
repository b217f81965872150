"""Generates SSH key pairs, which are written once and not kept in memory."""

from base64 import b64encode
from collections.abc import Mapping
from typing import Final

from edl.spec import addresses

_BITS: Final = 3072
_EXPONENT: Final = 65537
_CONFIG: Final = """\
StrictHostKeyChecking no
UserKnownHostsFile /dev/null
LogLevel ERROR
"""
"""et-operator's settings, with less output: workers are new hosts each time."""


def key_pair() -> Mapping[str, str]:
    """The `data` of a Secret with a fresh RSA key pair, under et-operator's key names."""
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 - few jobs need it
    from cryptography.hazmat.primitives.asymmetric import rsa  # noqa: PLC0415 - the same

    key = rsa.generate_private_key(_EXPONENT, _BITS)
    private = key.private_bytes(
        serialization.Encoding.PEM,
        # PKCS #1, which the ssh of the oldest images reads too.
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )
    public = key.public_key().public_bytes(
        serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH
    )
    data = {
        addresses.SSH_PRIVATE_KEY: private,
        addresses.SSH_PUBLIC_KEY: public + b"\n",
        addresses.SSH_CONFIG: _CONFIG.encode(),
    }
    return {name: b64encode(text).decode() for name, text in data.items()}
