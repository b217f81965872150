"""The names in the serving certificate: the Service's names, and this machine's."""

import ipaddress
from dataclasses import dataclass
from typing import Final

from edl.dns_names import is_dns_label

_LONGEST: Final = 253


@dataclass(frozen=True, slots=True)
class SubjectNames:
    """Host names and IP addresses that a serving certificate is for."""

    dns: tuple[str, ...]
    ips: tuple[str, ...] = ()


def service_names(service: str, namespace: str) -> SubjectNames:
    """A Service's names inside the cluster."""
    inside = f"{service}.{namespace}.svc"
    return SubjectNames(dns=(inside, f"{inside}.cluster.local"))


def local_names(names: SubjectNames) -> SubjectNames:
    """These names and this machine's, for a webhook that is run by hand."""
    return SubjectNames((*names.dns, "localhost"), (*names.ips, "127.0.0.1", "::1"))


def is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def is_host(name: str) -> bool:
    """Whether this is a DNS name (RFC 1123).

    Go parses no CA that is constrained to anything else.
    """
    labels = name.lower().split(".")
    valid = name.isascii() and len(name) <= _LONGEST and all(map(is_dns_label, labels))
    return valid and not labels[-1].isdigit()
