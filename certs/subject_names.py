"""The names in the serving certificate: the Service's names, and this machine's."""

import ipaddress
import re
from dataclasses import dataclass
from typing import Final

_LABEL: Final = "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
_HOST: Final = re.compile(
    rf"(?=.{{1,253}}\Z)({_LABEL}\.)*(?![0-9]+\Z){_LABEL}", re.IGNORECASE | re.ASCII
)


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
    return _HOST.fullmatch(name) is not None
