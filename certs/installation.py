"""Certificates in the cluster: the Secret that keeps them, the configurations that trust them."""

import base64
import binascii
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from certs.bundle import Bundle, CertificateError, Names, from_files, to_files
from certs.issue import issue
from certs.renew import renewed
from edl.errors import Conflict, Forbidden, NotFound
from edl.kube.cluster import Cluster
from edl.model import Target
from edl.writes import Json

SERVICE: Final = "edl-webhook"
SECRET: Final = "edl-system/edl-webhook-tls"  # noqa: S105 - where it is
CONFIGURATION: Final = "edl"
"""The name of the mutating and of the validating webhook configuration, as manifests/ has them."""

WEBHOOK_KINDS: Final = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
_ATTEMPTS: Final = 8
"""Replicas that start together meet once or twice; somebody who always wins is somebody else."""


@dataclass(frozen=True, slots=True)
class Installation:
    """Where the certificates live: a Secret, and webhook configurations of both kinds by name."""

    secret: Target
    configurations: tuple[str, ...]
    names: Names


@dataclass(frozen=True, slots=True)
class Installed:
    """What is in the cluster now; `absent` are the configurations that do not exist (yet)."""

    bundle: Bundle
    absent: tuple[Target, ...] = ()


def secret_target(text: str) -> Target:
    """`NAMESPACE/NAME` of a Secret; raises CertificateError for anything else."""
    namespace, slash, name = text.partition("/")
    if not (namespace and slash and name) or "/" in name:
        raise CertificateError(f'"{text}" names no Secret; write NAMESPACE/NAME')
    return Target("Secret", namespace, name)


def ensure(cluster: Cluster, installation: Installation, now: datetime) -> Installed:
    """Make the Secret hold a good bundle and the configurations trust it; change only what is bad.

    Any number of replicas may do this at once: the first write of the Secret wins, the others read
    it. Trust is installed before the bundle is returned, so nobody serves what is not believed.
    Raises ClusterError, or CertificateError when the Secret is missing and may not be created.
    """
    return _agreed(lambda: _install(cluster, installation, _kept(cluster, installation, now)))


def store(cluster: Cluster, installation: Installation, bundle: Bundle) -> Installed:
    """Install exactly this bundle, whatever the Secret held before."""

    def attempt() -> Installed:
        secret = _read(cluster, installation.secret)
        _write(cluster, installation.secret, secret, bundle)
        return _install(cluster, installation, bundle)

    return _agreed(attempt)


def _agreed(attempt: Callable[[], Installed]) -> Installed:
    for _ in range(_ATTEMPTS - 1):
        try:
            return attempt()
        except Conflict:
            continue  # somebody wrote in between: look again, perhaps all is well now
    return attempt()


def _kept(cluster: Cluster, installation: Installation, now: datetime) -> Bundle:
    """The Secret's bundle, renewed and written back first where that is needed."""
    secret = _read(cluster, installation.secret)
    try:
        found = from_files(_decoded(secret))
    except CertificateError:
        wanted = issue(installation.names, now)  # empty, as it is shipped, or damaged
    else:
        wanted = renewed(found, installation.names, now)
        if wanted is found:
            return found
    _write(cluster, installation.secret, secret, wanted)
    return wanted


def _install(cluster: Cluster, installation: Installation, bundle: Bundle) -> Installed:
    targets = [
        Target(kind, "", name) for kind in WEBHOOK_KINDS for name in installation.configurations
    ]
    absent = tuple(target for target in targets if not _trust(cluster, target, bundle.trust))
    return Installed(bundle, absent)


def _trust(cluster: Cluster, target: Target, trust: bytes) -> bool:
    """Write `trust` into every webhook of one configuration; False when there is none."""
    try:
        configuration = cluster.get(target)
    except NotFound:
        return False
    encoded = base64.b64encode(trust).decode()
    webhooks: list[Json] = configuration.get("webhooks") or []
    if any(webhook["clientConfig"].get("caBundle") != encoded for webhook in webhooks):
        # A merge patch replaces the whole list: the version makes sure that it is the one we read.
        cluster.patch(
            target,
            {
                "metadata": {"resourceVersion": configuration["metadata"]["resourceVersion"]},
                "webhooks": [_trusting(webhook, encoded) for webhook in webhooks],
            },
        )
    return True


def _trusting(webhook: Json, encoded: str) -> Json:
    return webhook | {"clientConfig": webhook["clientConfig"] | {"caBundle": encoded}}


def _read(cluster: Cluster, target: Target) -> Json:
    try:
        return cluster.get(target)
    except NotFound:
        return _created(cluster, target)


def _created(cluster: Cluster, target: Target) -> Json:
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
            "apply manifests/release.yaml again"
        ) from error


def _write(cluster: Cluster, target: Target, secret: Json, bundle: Bundle) -> None:
    files = to_files(bundle)
    cluster.patch(
        target,
        {
            "metadata": {"resourceVersion": secret["metadata"]["resourceVersion"]},
            "data": {name: base64.b64encode(content).decode() for name, content in files.items()},
        },
    )


def _decoded(secret: Json) -> dict[str, bytes]:
    data: dict[str, str] = secret.get("data") or {}
    try:
        return {name: base64.b64decode(text) for name, text in data.items()}
    except binascii.Error as error:  # the API server does not let this in
        raise CertificateError(f"the Secret is not base64: {error}") from error
