"""PersistentVolumeClaims that must exist before a scheduler can place a pod.

kube-scheduler's plugin VolumeBinding refuses a pod, whatever capacity is free, while a claim that
it names does not exist, is being deleted, or is bound to a volume that is gone. A claim that is
unbound refuses nothing: its volume may be created where the pod runs.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

import msgspec

from edl.contract import pod_limits
from edl.kube.cluster import ObjectKey
from edl.kube.decode.schemas import PersistentVolumeClaimObject, RawJson, Volume
from edl.writes import Json

_claims: Final = msgspec.json.Decoder(PersistentVolumeClaimObject)
_volumes: Final = msgspec.json.Decoder(list[Volume] | None)
_LOST: Final = "Lost"


def claim(raw: bytes) -> ObjectKey | None:
    """The name of a claim that pods can be placed with; None for other claims."""
    obj = _claims.decode(raw)
    if obj.metadata.deletion_timestamp or obj.status.phase == _LOST:
        return None
    return ObjectKey(obj.metadata.namespace, obj.metadata.name)


def named(namespace: str, volumes: RawJson) -> tuple[ObjectKey, ...]:
    """The claims that a pod's volumes name, at most as many as `pod_limits` allow.

    Claims of generic ephemeral volumes are left out.
    """
    return _named(namespace, _volumes.decode(volumes) or ())


def of_template(namespace: str, pod_spec: Json) -> tuple[ObjectKey, ...]:
    """As `named`, for the pod template of a Job."""
    volumes = pod_spec.get("volumes")
    return _named(namespace, msgspec.convert(volumes, list[Volume]) if volumes else ())


def _named(namespace: str, volumes: Iterable[Volume]) -> tuple[ObjectKey, ...]:
    sources = (volume.persistent_volume_claim for volume in volumes)
    claims = (ObjectKey(namespace, source.claim_name) for source in sources if source)
    return tuple(islice(claims, pod_limits.MAX_VOLUMES + pod_limits.ADDED))


def refusals(missing: Iterable[ObjectKey]) -> Iterator[str]:
    """Why no node takes a pod that names claims with which no pod can be placed."""
    for key in missing:
        yield (
            f'PersistentVolumeClaim "{key.name}" does not exist, is being deleted, or has lost its '
            "volume: create it, or recreate the Jobs with another"
        )
