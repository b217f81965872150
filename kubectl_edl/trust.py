"""The webhook's certificates as the cluster keeps them: the Secret, and who trusts what."""

import base64
import binascii
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Final

from certs.bundle import (
    AUTHORITY_CERTIFICATE,
    AUTHORITY_KEY,
    CERTIFICATE,
    KEY,
    Bundle,
    CertificateError,
    Pair,
    each_certificate,
    from_files,
    service_names,
)
from certs.installation import CONFIGURATION, SECRET, SERVICE, WEBHOOK_KINDS, Installation
from certs.installation import secret_target as target_of
from certs.verify import Facts, is_signed_by
from edl.errors import NotFound
from edl.kube.cluster import Cluster
from edl.model import Target
from edl.writes import Json

_WITHOUT_SIGNER: Final = (AUTHORITY_CERTIFICATE, CERTIFICATE, KEY)
_INJECTED: Final = "cert-manager.io/inject-ca-from"


class Keeper(Enum):
    """Who issues and renews: the webhook itself, unless somebody chose otherwise."""

    WEBHOOK = "the webhook"
    CERT_MANAGER = "cert-manager"
    DIRECTORY = "a directory of its own"


@dataclass(frozen=True, slots=True)
class Kept:
    """What a Secret holds; `bundle` is None where its authority signs elsewhere."""

    pair: Pair
    trust: bytes
    bundle: Bundle | None = None


@dataclass(frozen=True, slots=True)
class Trusted:
    """What one entry of a webhook configuration trusts, as PEM; empty where nobody wrote it."""

    target: Target
    entry: str
    certificates: bytes

    def __str__(self) -> str:
        return f"{self.target.kind} {self.target.name}, {self.entry}"


def installation(secret: str = SECRET) -> Installation:
    """Where an installation keeps its certificates; raises CertificateError for a bad name."""
    target = target_of(secret)
    return Installation(target, (CONFIGURATION,), service_names(SERVICE, target.namespace))


def kept(cluster: Cluster, secret: Target) -> Kept:
    """What the Secret holds. Raises ClusterError, CertificateError when nothing serves with it."""
    data = cluster.get(secret).get("data") or {}
    try:
        files = {name: base64.b64decode(text) for name, text in data.items()}
    except binascii.Error as error:
        raise CertificateError(f"it is not base64: {error}") from error
    if files.get(AUTHORITY_KEY) or not all(files.get(name) for name in _WITHOUT_SIGNER):
        bundle = from_files(files)
        return Kept(bundle.pair, bundle.trust, bundle)
    return Kept(Pair(files[CERTIFICATE], files[KEY]), files[AUTHORITY_CERTIFICATE])


def keeper(cluster: Cluster) -> Keeper:
    """Who renews the certificates of this installation."""
    found = _configuration(cluster)
    if _INJECTED in (found.get("metadata", {}).get("annotations") or {}):
        return Keeper.CERT_MANAGER
    return Keeper.DIRECTORY if _url(found) else Keeper.WEBHOOK


def trusted(cluster: Cluster) -> Iterator[Trusted]:
    """Entry by entry, of the configurations that exist."""
    for kind in WEBHOOK_KINDS:
        target = Target(kind, "", CONFIGURATION)
        try:
            webhooks = cluster.get(target).get("webhooks") or ()
        except NotFound:
            continue
        for webhook in webhooks:
            encoded = webhook["clientConfig"].get("caBundle") or ""
            text = base64.b64decode(encoded)
            # Whoever wrote it may have left out the last line's end.
            whole = text if text.endswith(b"\n") or not text else text + b"\n"
            yield Trusted(target, webhook["name"], whole)


def is_believed(certificate: bytes, trust: bytes) -> bool:
    """Whether any authority among `trust` signed the certificate."""
    return any(is_signed_by(certificate, authority) for authority in each_certificate(trust))


def days_left(facts: Facts, now: datetime) -> str:
    """`364 days left`, `expired 3 days ago`."""
    days = facts.left(now).days
    if facts.left(now).total_seconds() < 0:
        return f"expired {-days} days ago"
    return f"{days} days left"


def served_outside(cluster: Cluster) -> str:
    """Where a webhook outside of the cluster is served; empty for the usual one."""
    return _url(_configuration(cluster))


def _configuration(cluster: Cluster) -> Json:
    try:
        return cluster.get(Target(WEBHOOK_KINDS[0], "", CONFIGURATION))
    except NotFound:
        return {}


def _url(configuration: Json) -> str:
    webhooks = configuration.get("webhooks") or ()
    urls = (str(one["clientConfig"].get("url") or "") for one in webhooks)
    return next((url.rpartition("/")[0] for url in urls if url), "")
