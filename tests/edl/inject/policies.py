"""Namespaces' policies for the tests of this folder, and requests under one."""

from typing import Any

from msgspec.structs import replace

from edl.inject.handlers import AdmissionRequest, AdmissionVerdict, mutate, validate
from edl.parsing.namespace_policy import NamespacePolicy
from edl.writes import Json
from tests.edl.manifests import CONTEXT, USER

LAB = NamespacePolicy("lab")
OPTED_IN = NamespacePolicy("lab", adopts=True)


def saying(**fields: Any) -> NamespacePolicy:  # noqa: ANN401 - fields of several types
    return replace(LAB, **fields)


def opted_in(**fields: Any) -> NamespacePolicy:  # noqa: ANN401 - the same
    return replace(OPTED_IN, **fields)


def create(manifest: Json, policy: NamespacePolicy) -> AdmissionVerdict:
    return mutate(AdmissionRequest("CREATE", manifest, None, USER, policy), CONTEXT)


def created(manifest: Json, policy: NamespacePolicy) -> Json:
    return create(manifest, policy).manifest


def update(new: Json, old: Json, policy: NamespacePolicy) -> AdmissionVerdict:
    """As both looks judge it."""
    verdict = mutate(AdmissionRequest("UPDATE", new, old, USER, policy), CONTEXT)
    validate(AdmissionRequest("UPDATE", verdict.manifest, old, USER, policy), CONTEXT)
    return verdict


def look_again(manifest: Json, policy: NamespacePolicy) -> None:
    """The last look at a creation."""
    validate(AdmissionRequest("CREATE", manifest, None, USER, policy), CONTEXT)
