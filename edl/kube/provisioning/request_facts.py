"""Decodes ProvisioningRequests. Any user of a namespace may write one, with any content."""

from datetime import UTC, datetime
from typing import Final

import msgspec

from edl import contract
from edl.annotations import failed_attempts
from edl.kube.decode.schemas import ObjectMeta, ObjectPart, OwnerReference
from edl.model import CapacityRequest, RequestState
from edl.model.object_refs import JOB_TYPE

_TRUE: Final = "True"
_MAX_POD_SETS: Final = 32
"""The most that the API server accepts."""
_ENDS: Final = ("Failed", "CapacityRevoked", "BookingExpired")
"""Conditions after which no nodes come, or nodes that came are no longer reserved."""
_PROVISIONED: Final = "Provisioned"
_SAY: Final = (*_ENDS, _PROVISIONED, "Accepted")
"""Conditions whose messages are quoted, the most informative first."""


class CapacityRequestFacts(msgspec.Struct, frozen=True, gc=False):
    """A ProvisioningRequest. `request` is set if we made it, for the Job with the uid `job`."""

    namespace: str
    name: str
    job: str = ""
    request: CapacityRequest | None = None


class _Metadata(ObjectMeta, frozen=True):
    creation_timestamp: datetime = datetime.min.replace(tzinfo=UTC)
    deletion_timestamp: str | None = None
    owner_references: list[OwnerReference] | None = None


class _Spec(ObjectPart, frozen=True):
    provisioning_class_name: str = ""
    pod_sets: list[msgspec.Raw] | None = None


class _Condition(ObjectPart, frozen=True):
    type: str = ""
    status: str = ""
    message: str = ""


class _Status(ObjectPart, frozen=True):
    conditions: list[_Condition] | None = None


class _Request(ObjectPart, frozen=True):
    metadata: _Metadata
    spec: _Spec = _Spec()
    status: _Status = _Status()


_decoder: Final = msgspec.json.Decoder(_Request)


def capacity_request(raw: bytes) -> CapacityRequestFacts:
    """Decodes a request; one that is being deleted has no `request`."""
    obj = _decoder.decode(raw)
    metadata = obj.metadata
    labels = metadata.labels or {}
    facts = CapacityRequestFacts(metadata.namespace, metadata.name)
    ours = contract.is_managed(labels)
    if metadata.deletion_timestamp or not (ours and contract.PROVISIONAL in labels):
        return facts
    owners = metadata.owner_references or ()
    job = next((owner.uid for owner in owners if (owner.api_version, owner.kind) == JOB_TYPE), "")
    conditions = {condition.type: condition for condition in obj.status.conditions or ()}
    request = CapacityRequest(
        name=metadata.name,
        uid=metadata.uid,
        provisioning_class=obj.spec.provisioning_class_name,
        created_at=metadata.creation_timestamp,
        pod_sets=min(len(obj.spec.pod_sets or ()), _MAX_POD_SETS),
        state=_state({one.type for one in conditions.values() if one.status == _TRUE}),
        message=_message([conditions[name] for name in _SAY if name in conditions]),
    )
    return CapacityRequestFacts(metadata.namespace, metadata.name, job, request)


def _state(true: set[str]) -> RequestState:
    if true.intersection(_ENDS):
        return RequestState.FAILED
    return RequestState.PROVISIONED if _PROVISIONED in true else RequestState.PENDING


def _message(conditions: list[_Condition]) -> str:
    """The message of the most informative condition; a failure counts only if it is true."""
    informative = (one for one in conditions if one.type not in _ENDS or one.status == _TRUE)
    return next((text for one in informative if (text := failed_attempts.quoted(one.message))), "")
