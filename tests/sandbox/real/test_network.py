from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

import pytest

from sandbox.errors import SandboxError
from sandbox.real.network import NUMBERS, Network, free_number

if TYPE_CHECKING:
    from pathlib import Path

HEAD = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n"


def hexadecimal(address: ipaddress.IPv4Address) -> str:
    return address.packed[::-1].hex().upper()


def table(folder: Path, *networks: str) -> Path:
    """As the kernel shows its routes."""
    rows = []
    for each in map(ipaddress.IPv4Network, networks):
        words = ("x0", hexadecimal(each.network_address), "0" * 8, *"00000000"[:4])
        rows.append("\t".join((*words, hexadecimal(each.netmask), "0", "0", "0")))
    path = folder / "route"
    path.write_text(HEAD + "\n".join(rows) + "\n")
    return path


def test_no_two_numbers_share_an_address() -> None:
    found = [Network(number) for number in NUMBERS]
    links = [ipaddress.IPv4Network(f"{net.host}/30", strict=False) for net in found]
    ranges = [*links, *(ipaddress.IPv4Network(net.pods) for net in found)]
    assert len(set(ranges)) == 2 * len(found)
    assert not any(one.overlaps(other) for one in links for other in ranges if one != other)
    assert len({net.link for net in found}) == len(found)


def test_both_ends_of_the_link_are_in_its_network() -> None:
    net = Network(7)
    hosts = ipaddress.IPv4Network(f"{net.host}/30", strict=False).hosts()
    assert [str(host) for host in hosts] == [net.host, net.node]


def test_a_network_number_is_free_while_its_addresses_are_unreachable(tmp_path: Path) -> None:
    others = [Network(number).pods for number in NUMBERS if number % 2]
    links = [f"10.201.{number}.0/30" for number in NUMBERS if number not in (7, 8)]
    assert free_number(table(tmp_path, "192.0.2.0/24", *others, *links)) == 8


def test_a_way_to_everywhere_takes_no_address(tmp_path: Path) -> None:
    assert free_number(table(tmp_path, "0.0.0.0/0", "10.0.0.0/8")) in NUMBERS


def test_when_no_address_is_left_it_says_which_are_wanted(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match=r"all of 10.201.0.0/16 and 10.202.0.0/16 is routed"):
        free_number(table(tmp_path, "10.202.0.0/16"))
