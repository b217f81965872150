"""PersistentVolumeClaims that pods wait for: without one of them no scheduler places a pod.

kube-scheduler's plugin VolumeBinding refuses a pod whatever room there is while a claim that it
names does not exist, is being deleted, or is bound to a volume that is gone. One that is yet to be
bound refuses nothing: it may be made where the pod is to go.
"""

from typing import Final

import msgspec

from edl.kube.cluster import ObjectKey
from edl.kube.decode.schemas import PersistentVolumeClaimObject, RawJson, Volume

_claims: Final = msgspec.json.Decoder(PersistentVolumeClaimObject)
_volumes: Final = msgspec.json.Decoder(list[Volume] | None)
_LOST: Final = "Lost"


def claim(raw: bytes) -> ObjectKey | None:
    """A PersistentVolumeClaim that a pod can be placed with, None for another one."""
    found = _claims.decode(raw)
    if found.metadata.deletion_timestamp or found.status.phase == _LOST:
        return None
    return ObjectKey(found.metadata.namespace, found.metadata.name)


def named(namespace: str, volumes: RawJson) -> tuple[ObjectKey, ...]:
    """The claims that a pod's volumes name. A generic ephemeral volume brings its own."""
    sources = (one.persistent_volume_claim for one in _volumes.decode(volumes) or ())
    return tuple(ObjectKey(namespace, source.claim_name) for source in sources if source)
