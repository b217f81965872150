"""Decodes ConfigMaps of ours: their content, and whether the reconciler created them."""

import msgspec

from edl import contract
from edl.kube.cluster import ObjectKey
from edl.kube.decode.schemas import ObjectMeta, ObjectPart


class _ConfigMapObject(ObjectPart, frozen=True):
    metadata: ObjectMeta
    data: dict[str, str] | None = None
    binary_data: dict[str, str] | None = None


class ConfigMapFacts(msgspec.Struct, frozen=True):
    """`managed`: it has the label of the reconciler's objects, which others may set too."""

    name: ObjectKey
    version: str
    managed: bool
    data: dict[str, str]


_decoder = msgspec.json.Decoder(_ConfigMapObject)


def config_map(raw: bytes) -> ConfigMapFacts:
    obj = _decoder.decode(raw)
    metadata = obj.metadata
    labels = metadata.labels or {}
    return ConfigMapFacts(
        ObjectKey(metadata.namespace, metadata.name),
        metadata.resource_version,
        contract.is_managed(labels),
        # A text that no parser accepts: binary data must not count as absent.
        {**dict.fromkeys(obj.binary_data or (), "\0"), **(obj.data or {})},
    )
