"""The addresses of both families, at one socket."""

import errno
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing

import pytest

from edl.kube.listening_socket import EVERY_ADDRESS, client_address, listening_socket

WITHOUT_IPV6 = """
import socket
from edl.kube.listening_socket import EVERY_ADDRESS, listening_socket
{change}
print(listening_socket(EVERY_ADDRESS, 0, 1).family.name)
"""
NO_FAMILY = "socket.has_dualstack_ipv6 = lambda: False"
NO_ADDRESS = """
create = socket.create_server
def create_server(address, **named):
    if named.get("family") == socket.AF_INET6:
        raise OSError(99, "Cannot assign requested address")
    return create(address, **named)
socket.create_server = create_server
"""


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    with closing(listening_socket(EVERY_ADDRESS, 0, 4)) as opened:
        yield opened


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="this machine has no IPv6")
@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_a_client_of_either_family_connects_and_is_known_by_its_own_address(
    listening: socket.socket, address: str
) -> None:
    with closing(socket.create_connection((address, listening.getsockname()[1]))):
        accepted, peer = listening.accept()
    accepted.close()
    assert client_address(peer[0]) == address


@pytest.mark.parametrize("change", [NO_FAMILY, NO_ADDRESS])
def test_a_kernel_without_ipv6_listens_on_ipv4(change: str) -> None:
    program = [sys.executable, "-c", WITHOUT_IPV6.format(change=change)]
    ended = subprocess.run(program, capture_output=True, text=True, check=True)
    assert ended.stdout == "AF_INET\n"


@pytest.mark.parametrize("host", ["127.0.0.1", EVERY_ADDRESS])
def test_a_port_in_use_is_an_error(host: str) -> None:
    in_use = os.strerror(errno.EADDRINUSE)
    with closing(listening_socket(host, 0, 1)) as first, pytest.raises(OSError, match=in_use):
        listening_socket(host, first.getsockname()[1], 1)


@pytest.mark.parametrize("address", ["10.0.0.1", "fe80::1%eth0", "2001:db8::ffff:1", ""])
def test_other_addresses_stay_as_they_are(address: str) -> None:
    assert client_address(address) == address
