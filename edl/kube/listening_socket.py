"""The socket that a server of webhook or reconciler listens on, and its clients' addresses."""

import errno
import socket
from contextlib import suppress
from ipaddress import AddressValueError, IPv6Address
from typing import Final

EVERY_ADDRESS: Final = "::"
"""All addresses of the machine, of IPv4 and of IPv6."""
_EVERY_IPV4_ADDRESS: Final = "0.0.0.0"  # noqa: S104 - asked for by EVERY_ADDRESS
_WITHOUT_IPV6: Final = (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL)


def listening_socket(host: str, port: int, backlog: int) -> socket.socket:
    """A socket that listens; port 0 takes a free port. Raises OSError.

    EVERY_ADDRESS accepts both families, and IPv4 alone where the kernel has no IPv6.
    """
    if host != EVERY_ADDRESS:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=backlog)
    if socket.has_dualstack_ipv6():
        try:
            return socket.create_server(
                (host, port), family=socket.AF_INET6, dualstack_ipv6=True, backlog=backlog
            )
        except OSError as error:
            if error.errno not in _WITHOUT_IPV6:
                raise
    return socket.create_server((_EVERY_IPV4_ADDRESS, port), backlog=backlog)


def client_address(peer: str) -> str:
    """The address of a client: IPv4 as such, which a socket of both families maps into IPv6."""
    with suppress(AddressValueError):
        return str(IPv6Address(peer).ipv4_mapped or peer)
    return peer
