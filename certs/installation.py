"""Certificates in the cluster: the Secret that keeps them, the configurations that trust them."""

import base64
import binascii
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from certs.bundle import OVERLAP_FILES, Bundle, CertificateError, Names, from_files, to_files
from certs.issue import LIFETIMES, Lifetimes
from certs.renew import Belief, renewed, succeeded
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


def ensure(
    cluster: Cluster,
    installation: Installation,
    now: datetime,
    lifetimes: Lifetimes = LIFETIMES,
    settled: bytes = b"",
) -> Installed:
    """Make the Secret hold a good bundle and the configurations trust it; change only what is bad.

    Any number of replicas may do this at once: the first write of the Secret wins, the others read
    it. Trust is installed before the bundle is returned. `settled`: see `certs.renew.Belief`.
    Raises ClusterError, or CertificateError when the Secret is missing and may not be created.
    """

    def decide(found: Bundle | None, believed: bytes) -> Bundle:
        belief = Belief(believed, settled)
        return renewed(found, installation.names, now, lifetimes, belief)

    return _agreed(cluster, installation, decide)


def rotate(
    cluster: Cluster, installation: Installation, now: datetime, lifetimes: Lifetimes = LIFETIMES
) -> Installed:
    """Replace the authority now; the old one is trusted on until all replicas serve the new."""

    def decide(found: Bundle | None, believed: bytes) -> Bundle:
        return succeeded(found, installation.names, now, lifetimes, Belief(believed))

    return _agreed(cluster, installation, decide)


def store(cluster: Cluster, installation: Installation, bundle: Bundle) -> Installed:
    """Install exactly this bundle, whatever the Secret held before."""
    return _agreed(cluster, installation, lambda _found, _believed: bundle)


def _agreed(
    cluster: Cluster, installation: Installation, decide: Callable[[Bundle | None, bytes], Bundle]
) -> Installed:
    for _ in range(_ATTEMPTS - 1):
        try:
            return _attempt(cluster, installation, decide)
        except Conflict:
            continue  # somebody wrote in between: look again, perhaps all is well now
    return _attempt(cluster, installation, decide)


def _attempt(
    cluster: Cluster, installation: Installation, decide: Callable[[Bundle | None, bytes], Bundle]
) -> Installed:
    # The configurations before the Secret: so their versions refuse us when another replica has
    # published a newer Secret's trust since, and nobody ever puts an older trust back.
    configurations = {target: _read(cluster, target) for target in _targets(installation)}
    secret = _secret(cluster, installation.secret)
    found = _held(secret)
    believed = b"".join(map(_trusted, filter(None, configurations.values())))
    wanted = decide(found, believed)
    if wanted != found:
        _write(cluster, installation.secret, secret, wanted)
    for target, configuration in configurations.items():
        if configuration is not None:
            _trust(cluster, target, configuration, wanted.trust)
    absent = tuple(target for target, body in configurations.items() if body is None)
    return Installed(wanted, absent)


def _targets(installation: Installation) -> list[Target]:
    return [
        Target(kind, "", name) for kind in WEBHOOK_KINDS for name in installation.configurations
    ]


def _trusted(configuration: Json) -> bytes:
    """What the webhooks of one configuration trust, one after the other."""
    configs = (webhook["clientConfig"] for webhook in _webhooks(configuration))
    return b"".join(_pem(config.get("caBundle") or "") for config in configs)


def _pem(encoded: str) -> bytes:
    # Whoever wrote it may have left out the last line's end.
    text = base64.b64decode(encoded)
    return text if text.endswith(b"\n") or not text else text + b"\n"


def _trust(cluster: Cluster, target: Target, configuration: Json, trust: bytes) -> None:
    """Write `trust` into every webhook of one configuration, where it is not there already."""
    encoded = base64.b64encode(trust).decode()
    webhooks = _webhooks(configuration)
    if any(webhook["clientConfig"].get("caBundle") != encoded for webhook in webhooks):
        # A merge patch replaces the whole list: the version makes sure that it is the one we read.
        cluster.patch(
            target,
            {
                "metadata": {"resourceVersion": configuration["metadata"]["resourceVersion"]},
                "webhooks": [_trusting(webhook, encoded) for webhook in webhooks],
            },
        )


def _webhooks(configuration: Json) -> list[Json]:
    webhooks: list[Json] = configuration.get("webhooks") or []
    return webhooks


def _trusting(webhook: Json, encoded: str) -> Json:
    return webhook | {"clientConfig": webhook["clientConfig"] | {"caBundle": encoded}}


def _read(cluster: Cluster, target: Target) -> Json | None:
    try:
        return cluster.get(target)
    except NotFound:
        return None


def _secret(cluster: Cluster, target: Target) -> Json:
    return _read(cluster, target) or _created(cluster, target)


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
    # What an earlier overlap left is removed: null takes a name out.
    gone: dict[str, str | None] = dict.fromkeys(OVERLAP_FILES)
    held = {name: base64.b64encode(content).decode() for name, content in files.items()}
    cluster.patch(
        target,
        {
            "metadata": {"resourceVersion": secret["metadata"]["resourceVersion"]},
            "data": gone | held,
        },
    )


def _held(secret: Json) -> Bundle | None:
    """None for a Secret that is empty, as it is shipped, or damaged."""
    data: dict[str, str] = secret.get("data") or {}
    try:
        return from_files({name: base64.b64decode(text) for name, text in data.items()})
    except (CertificateError, binascii.Error):  # the API server lets in nothing but base64
        return None
