"""The `caBundle` of the webhooks of a webhook configuration."""

import base64

from edl.kube.cluster import Cluster
from edl.model import ObjectRef
from edl.writes import Json


def trusted(configuration: Json) -> bytes:
    """The authorities that the webhooks of one configuration trust, in order."""
    return b"".join(map(ca_bundle, _webhooks(configuration)))


def ca_bundle(webhook: Json) -> bytes:
    """The authorities that one webhook trusts, as PEM; empty if none is set."""
    text = base64.b64decode(webhook["clientConfig"].get("caBundle") or "")
    # The last line may lack its newline.
    return text if text.endswith(b"\n") or not text else text + b"\n"


def publish(cluster: Cluster, target: ObjectRef, configuration: Json, trust: bytes) -> None:
    """Writes `trust` into every webhook of one configuration, unless it is there already."""
    encoded = base64.b64encode(trust).decode()
    webhooks = _webhooks(configuration)
    if any(webhook["clientConfig"].get("caBundle") != encoded for webhook in webhooks):
        # A merge patch replaces the whole list: the version ensures that it is the one that was
        # read.
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
