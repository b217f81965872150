"""What the serving certificate is for: the Service's names, and this machine's."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SubjectNames:
    """What a serving certificate is for: host names and IP addresses."""

    dns: tuple[str, ...]
    ips: tuple[str, ...] = ()


def service_names(service: str, namespace: str) -> SubjectNames:
    """A Service's names inside the cluster."""
    inside = f"{service}.{namespace}.svc"
    return SubjectNames(dns=(inside, f"{inside}.cluster.local"))


def local_names(names: SubjectNames) -> SubjectNames:
    """Also this machine's, for a webhook that is run by hand."""
    return SubjectNames((*names.dns, "localhost"), (*names.ips, "127.0.0.1", "::1"))
