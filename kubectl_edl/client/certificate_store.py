"""The webhook's certificates in the cluster: its Secrets, and the trusted CA bundles."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Final

from certs.bundle import CertificateError, KeyPair, each_certificate
from certs.ca_bundle import ca_bundle
from certs.secrets import CONFIGURATION, WEBHOOK_KINDS, read_pair, usual
from certs.verify import CertificateInfo, is_signed_by
from edl import contract
from edl.contract.manifest_parts import annotations
from edl.errors import Forbidden, NotFound
from edl.kube.cluster import Cluster, find
from edl.model import ObjectRef
from edl.writes import Json
from kubectl_edl.output.age import duration

_INJECTED: Final = "cert-manager.io/inject-ca-from"


class CertificateStore(Enum):
    """The component that issues and renews the certificates: the reconciler by default."""

    RECONCILER = "the reconciler"
    LEADER = "the reconciler of a webhook outside the cluster"
    CERT_MANAGER = "cert-manager"
    DIRECTORY = "a directory of its own"


@dataclass(frozen=True, slots=True)
class Trusted:
    """The CA bundle of one entry of a webhook configuration, as PEM; empty if it is not set."""

    target: ObjectRef
    entry: str
    certificates: bytes

    def __str__(self) -> str:
        return f"{self.target.kind} {self.target.name}, {self.entry}"


def served(cluster: Cluster) -> KeyPair:
    """The serving key pair in the webhook's Secret. Raises ClusterError, CertificateError."""
    return read_pair(cluster, usual(namespace=cluster.system_namespace).serving)


def certificate_owner(cluster: Cluster) -> CertificateStore:
    """The component that renews the certificates of this installation."""
    configurations = [configuration for _, configuration in _configurations(cluster)]
    if any(_INJECTED in annotations(configuration) for configuration in configurations):
        return CertificateStore.CERT_MANAGER
    if not served_outside(cluster):
        return CertificateStore.RECONCILER
    return CertificateStore.LEADER if _is_stored(cluster) else CertificateStore.DIRECTORY


def _is_stored(cluster: Cluster) -> bool:
    """Whether the API server trusts the certificate in the Secret; False if it cannot be read."""
    try:
        certificate = served(cluster).certificate
    except (CertificateError, NotFound, Forbidden):
        return False
    return any(is_believed(certificate, bundle.certificates) for bundle in trusted(cluster))


def trusted(cluster: Cluster) -> Iterator[Trusted]:
    """The CA bundles of all entries of the webhook configurations that exist."""
    for target, webhook in _entries(cluster):
        yield Trusted(target, webhook["name"], ca_bundle(webhook))


def is_believed(certificate: bytes, trust: bytes) -> bool:
    """Whether one of the authorities in `trust` signed the certificate."""
    return any(is_signed_by(certificate, authority) for authority in each_certificate(trust))


def days_left(facts: CertificateInfo, now: datetime) -> str:
    """The remaining lifetime: `364 days left`, `5h left` or `expired 6s ago`."""
    left = facts.left(now)
    if left < timedelta():
        return f"expired {duration(-left)} ago"
    return f"{duration(left)} left" if left < timedelta(days=2) else f"{left.days} days left"


def served_outside(cluster: Cluster) -> str:
    """The URL of a webhook outside of the cluster; empty for one behind a Service."""
    urls = (str(entry["clientConfig"].get("url") or "") for _, entry in _entries(cluster))
    return next((url.rpartition("/")[0] for url in urls if url), "")


def served_for(cluster: Cluster) -> str:
    """The namespace of the installation; empty if no webhook configuration names it.

    A webhook behind a URL has no Service, but reviews the teams of its namespace.
    """
    names = (name for _, entry in _entries(cluster) for name in _homes(entry))
    return next(names, "")


def _homes(entry: Json) -> list[str]:
    service = entry["clientConfig"].get("service")
    return [str(service["namespace"])] if service else namespaces_named(entry, "In")


def namespaces_named(entry: Json, operator: str) -> list[str]:
    """The namespaces that a webhook entry's selector names with this operator."""
    rules = (entry.get("namespaceSelector") or {}).get("matchExpressions") or ()
    return [
        str(name)
        for rule in rules
        if (rule["key"], rule["operator"]) == (contract.NAMESPACE_NAME, operator)
        for name in rule.get("values") or ()
    ]


def _entries(cluster: Cluster) -> Iterator[tuple[ObjectRef, Json]]:
    """All entries, each with its webhook configuration: one of the two may have been deleted."""
    for target, configuration in _configurations(cluster):
        for entry in configuration.get("webhooks") or ():
            yield target, entry


def _configurations(cluster: Cluster) -> Iterator[tuple[ObjectRef, Json]]:
    """The webhook configurations that exist."""
    for kind in WEBHOOK_KINDS:
        target = ObjectRef(kind, "", CONFIGURATION)
        if configuration := find(cluster, target):
            yield target, configuration
