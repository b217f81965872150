"""Certificates in the cluster: the Secrets that hold them, the configurations that trust them.

The CA's key is in a Secret of its own, apart from the pair that the webhook reads: only the
reconciler and the plugin need the CA's Secret. Trust is published before anything is served that
relies on it.
"""

import base64
import binascii
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeVar

from certs.bundle import (
    CertificateError,
    Issuer,
    KeyPair,
    issuer_files,
    issuer_from,
    pair_files,
    pair_from,
)
from certs.ca_bundle import publish, trusted
from certs.issue import LIFETIMES, Lifetimes, issue_pair
from certs.rotation_steps import (
    MAX_PREDECESSORS,
    NO_PROGRESS,
    CertificateRequest,
    TrustProgress,
    is_good,
    renewed,
    renewed_pair,
    succeeded,
)
from certs.subject_names import SubjectNames, is_address, service_names
from certs.verify import is_signed_by, trusted_of
from edl import contract
from edl.errors import Conflict, Forbidden, NotFound
from edl.kube.cluster import Cluster, find
from edl.model import ObjectRef
from edl.writes import Json

NAMESPACE: Final = contract.SYSTEM_NAMESPACE
SERVICE: Final = "edl-webhook"
AUTHORITY_SECRET: Final = "edl-webhook-authority"  # noqa: S105 - where it is
SECRET: Final = "edl-webhook-tls"  # noqa: S105 - where it is
CONFIGURATION: Final = "edl"
"""The name of the mutating and of the validating webhook configuration in manifests/."""

WEBHOOK_KINDS: Final = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
_CONFIGURATIONS: Final = tuple(ObjectRef(kind, "", CONFIGURATION) for kind in WEBHOOK_KINDS)
_ATTEMPTS: Final = 8
"""Two writers conflict once or twice; more conflicts have another cause."""
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Installation:
    """The Secrets that hold the certificates, and the names that they are for.

    `authority` holds ca.crt and ca.key, `serving` tls.crt and tls.key.
    """

    authority: ObjectRef
    serving: ObjectRef
    names: SubjectNames


@dataclass(frozen=True, slots=True)
class Installed:
    """The certificates in the cluster now; `absent` are configurations that do not exist (yet).

    `pair` is None while there is no pair that clients would trust.
    """

    issuer: Issuer
    pair: KeyPair | None
    absent: tuple[ObjectRef, ...] = ()


def usual(*further: str, namespace: str = NAMESPACE) -> Installation:
    """The names in the manifests; `further` are names and addresses of the webhook's server."""
    names = service_names(SERVICE, namespace)
    addresses = tuple(name for name in further if is_address(name))
    hosts = tuple(name for name in further if name not in addresses)
    return Installation(
        authority=ObjectRef("Secret", namespace, AUTHORITY_SECRET),
        serving=ObjectRef("Secret", namespace, SECRET),
        names=SubjectNames((*names.dns, *hosts), addresses),
    )


def secret_target(text: str) -> ObjectRef:
    """`NAMESPACE/NAME` of a Secret; raises CertificateError for anything else."""
    namespace, slash, name = text.partition("/")
    if not (namespace and slash and name) or "/" in name:
        raise CertificateError(f'"{text}" names no Secret; write NAMESPACE/NAME')
    return ObjectRef("Secret", namespace, name)


def read_pair(cluster: Cluster, secret: ObjectRef) -> KeyPair:
    """The pair in a Secret. Raises ClusterError, and CertificateError if it has none."""
    return pair_from(_files(cluster.get(secret)))


def read_issuer(cluster: Cluster, secret: ObjectRef) -> Issuer:
    """The authority in a Secret. Raises ClusterError, and CertificateError if it has none."""
    return issuer_from(_files(cluster.get(secret)))


def ensure(
    cluster: Cluster,
    installation: Installation,
    now: datetime,
    lifetimes: Lifetimes = LIFETIMES,
    progress: TrustProgress = NO_PROGRESS,
) -> Installed:
    """Keeps authority, trust and serving pair valid, in this order; changes only what is due.

    Several processes may do this at once: the first write wins, the others read it. Raises
    ClusterError, or CertificateError if a Secret is missing and may not be created.
    """
    order = CertificateRequest(installation.names, now, lifetimes)

    def issuer(stored: Issuer | None, believed: bytes) -> Issuer:
        return renewed(stored, order, believed, progress.served)

    def pair(stored: KeyPair | None, chosen: Installed) -> KeyPair | None:
        waits = chosen.absent and not progress.alone
        if waits and not (stored and is_good(stored, chosen.issuer.trust, order)):
            return None  # the webhook gets no traffic before the API server knows its CA
        return renewed_pair(stored, chosen.issuer, order, progress.settled)

    return _agreed(cluster, installation, _Choice(issuer, pair))


def rotate(cluster: Cluster, installation: Installation, now: datetime) -> Installed:
    """Publishes a new authority; the old one stays trusted, and its certificate is served.

    Raises CertificateError if the oldest, whose certificate may be served, would lose its trust.
    """
    order = CertificateRequest(installation.names, now)

    def issuer(stored: Issuer | None, believed: bytes) -> Issuer:
        if stored and len(trusted_of(stored.trust, now)) > MAX_PREDECESSORS:
            raise CertificateError(
                f"the authority was replaced {MAX_PREDECESSORS} times already, and all of them "
                "are trusted: wait until the leading reconciler has dropped them, an hour after "
                "the last one"
            )
        return succeeded(stored, order, believed)

    return _agreed(cluster, installation, _Choice(issuer, _as_found))


def renew(cluster: Cluster, installation: Installation, now: datetime) -> Installed:
    """Replaces the serving pair if every client trusts its authority; otherwise as `ensure`.

    While one authority follows another, the leader is about to replace the pair anyway.
    """
    order = CertificateRequest(installation.names, now)

    def pair(stored: KeyPair | None, chosen: Installed) -> KeyPair | None:
        authority = chosen.issuer.authority
        signed = stored is not None and is_signed_by(stored.certificate, authority.certificate)
        if chosen.issuer.overlaps and not signed:
            return stored
        return issue_pair(authority, order.names, now)

    choice = _Choice(lambda stored, believed: renewed(stored, order, believed), pair)
    return _agreed(cluster, installation, choice)


@dataclass(frozen=True, slots=True)
class _Choice:
    """The desired state: `issuer` depends on what clients trust, `pair` on the issuer."""

    issuer: Callable[[Issuer | None, bytes], Issuer]
    pair: Callable[[KeyPair | None, Installed], KeyPair | None]


def _as_found(stored: KeyPair | None, _chosen: Installed) -> KeyPair | None:
    return stored


def _agreed(cluster: Cluster, installation: Installation, choice: _Choice) -> Installed:
    tries = _ATTEMPTS
    while True:
        try:
            return _attempt(cluster, installation, choice)
        except Conflict:  # another process wrote in between: read again, nothing may be left to do
            tries -= 1
            if not tries:
                raise


def _attempt(cluster: Cluster, installation: Installation, choice: _Choice) -> Installed:
    # Read the configurations before the Secret: if another process has published a newer Secret's
    # trust since, their versions cause a conflict, so an older trust never replaces a newer one.
    configurations = {target: find(cluster, target) for target in _CONFIGURATIONS}
    believed = b"".join(map(trusted, filter(None, configurations.values())))
    secret = _secret(cluster, installation.authority)
    stored = _parsed(secret, issuer_from)
    issuer = choice.issuer(stored, believed)
    if issuer != stored:
        _write(cluster, installation.authority, secret, issuer_files(issuer))
    for target, configuration in configurations.items():
        if configuration is not None:
            publish(cluster, target, configuration, issuer.trust)
    absent = tuple(target for target, body in configurations.items() if body is None)
    return _serve(cluster, installation, choice, Installed(issuer, None, absent))


def _serve(
    cluster: Cluster, installation: Installation, choice: _Choice, chosen: Installed
) -> Installed:
    secret = _secret(cluster, installation.serving)
    stored = _parsed(secret, pair_from)
    pair = choice.pair(stored, chosen)
    if pair is not None and pair != stored:
        _write(cluster, installation.serving, secret, pair_files(pair))
    return Installed(chosen.issuer, pair, chosen.absent)


def _secret(cluster: Cluster, target: ObjectRef) -> Json:
    return find(cluster, target) or _created(cluster, target)


def _created(cluster: Cluster, target: ObjectRef) -> Json:
    manifest = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"namespace": target.namespace, "name": target.name},
    }
    try:
        return cluster.create(target, manifest)
    except (Forbidden, NotFound) as error:
        raise CertificateError(
            f"no Secret {target.namespace}/{target.name}, and none can be created ({error}); "
            "apply the installation again"
        ) from error


def _write(cluster: Cluster, target: ObjectRef, secret: Json, files: Mapping[str, bytes]) -> None:
    data = {name: base64.b64encode(content).decode() for name, content in files.items()}
    version = secret["metadata"]["resourceVersion"]
    cluster.patch(target, {"metadata": {"resourceVersion": version}, "data": data})


def _parsed(secret: Json, parse: Callable[[Mapping[str, bytes]], _T]) -> _T | None:
    """The parsed files; None for a Secret that is empty, as in the manifests, or damaged."""
    try:
        return parse(_files(secret))
    except CertificateError:
        return None


def _files(secret: Json) -> dict[str, bytes]:
    data: dict[str, str] = secret.get("data") or {}
    try:
        return {name: base64.b64decode(text) for name, text in data.items()}
    except binascii.Error as error:  # the API server accepts only base64
        raise CertificateError(f"it is not base64: {error}") from error
