"""Answers a review, without HTTP: calls `edl.inject`, and words its refusals."""

from collections.abc import Callable
from enum import StrEnum
from http import HTTPStatus
from itertools import accumulate
from typing import Final, Literal, TypeAlias, cast

import msgspec

from edl.errors import Denied, EdlError, Finding
from edl.inject import handlers
from edl.inject.handlers import AdmissionRequest, AdmissionVerdict, Context
from edl.inject.manifest_schema import is_labelled
from edl.parsing.namespace_policy import NamespacePolicy
from edl.patches import json_patch
from webhook.admission_review import (
    DenialStatus,
    Review,
    ReviewResponse,
    denial_details,
    denial_message,
)


class ReviewOutcome(StrEnum):
    """The outcome of a review, as the metrics count it."""

    UNCHANGED = "unchanged"
    PATCHED = "patched"
    DENIED = "denied"
    FAILED = "failed"


class ReviewResult(msgspec.Struct, frozen=True):
    """An answer and its outcome. `failure` is an internal error, for the log."""

    outcome: ReviewOutcome
    answer: ReviewResponse
    failure: Exception | None = None


AdmissionDecision: TypeAlias = Callable[[AdmissionRequest, Context], AdmissionVerdict]


class AdmissionCore(msgspec.Struct, frozen=True):
    """The functions that decide: those of `edl.inject`, unless a test passes its own."""

    mutate: AdmissionDecision = handlers.mutate
    validate: AdmissionDecision = handlers.validate
    advise: AdmissionDecision = handlers.advise


INTERNAL_ERROR: Final = "internal error handling"
"""Begins each answer that a defect of ours caused."""
_COMPLETED: Final = ("Job", "Pod")
"""Kinds that a release completes: one of them must not be stored as it is."""
_WARNED: Final = 4_096
"""Characters of all warnings of an answer: the API server drops further ones."""
_UNCHANGED: Final = ReviewResult(ReviewOutcome.UNCHANGED, ReviewResponse())


def handle(
    review: Review, policy: NamespacePolicy, decide: AdmissionDecision, context: Context
) -> ReviewResult:
    """The answer to a review, with a patch if the object should change. Never raises."""
    if review.manifest is None or review.operation not in ("CREATE", "UPDATE"):
        return _UNCHANGED  # deletions are never refused
    operation = cast("Literal['CREATE', 'UPDATE']", review.operation)
    request = AdmissionRequest(operation, review.manifest, review.old, review.user, policy)
    try:
        verdict = decide(request, context)
        # Encoded in this block, so that a value that JSON cannot express is handled as an internal
        # error.
        operations = json_patch.diff(request.manifest, verdict.manifest)
        encoded = msgspec.json.encode(operations) if operations else b""
    except Denied as denied:
        return _denied(review, denied.findings)
    except Exception as error:  # noqa: BLE001 - a review needs an answer, not a traceback
        return _failed(review, error)
    outcome = ReviewOutcome.PATCHED if operations else ReviewOutcome.UNCHANGED
    return ReviewResult(outcome, ReviewResponse(encoded, _passed_on(verdict.warnings)))


def namespace_unavailable(review: Review, error: EdlError) -> ReviewResult:
    """The refusal if the namespace could not be read: it may limit the object."""
    message = f"{review}: its namespace cannot be read ({error}); nothing was written, try again"
    refusal = DenialStatus(HTTPStatus.SERVICE_UNAVAILABLE, "ServiceUnavailable", message)
    return ReviewResult(ReviewOutcome.FAILED, ReviewResponse(refusal=refusal))


def _denied(review: Review, findings: tuple[Finding, ...]) -> ReviewResult:
    message, details = denial_message(review, findings), denial_details(review, findings)
    refusal = DenialStatus(HTTPStatus.UNPROCESSABLE_ENTITY, "Invalid", message, details)
    return ReviewResult(ReviewOutcome.DENIED, ReviewResponse(refusal=refusal))


def _passed_on(warnings: tuple[str, ...]) -> tuple[str, ...]:
    """The warnings that the API server passes on; the last one may be cut."""
    left = [_WARNED, *(_WARNED - total for total in accumulate(map(len, warnings)))]
    return tuple(text[:rest] for text, rest in zip(warnings, left, strict=False) if rest > 0)


def _failed(review: Review, error: Exception) -> ReviewResult:
    """The answer to an internal error: a labelled Job or pod is refused, others are admitted."""
    what = f"{INTERNAL_ERROR} {review} ({type(error).__name__}: {error})"
    labelled = is_labelled(review.manifest) or is_labelled(review.old)
    if review.kind not in _COMPLETED or not labelled:
        answer = ReviewResponse(warnings=_passed_on((f"{what}; the object was left as it is",)))
        return ReviewResult(ReviewOutcome.FAILED, answer, error)
    message = f"{what}; nothing was written. The webhook's log has the details, under {review.uid}"
    refusal = DenialStatus(HTTPStatus.INTERNAL_SERVER_ERROR, "InternalError", message)
    return ReviewResult(ReviewOutcome.FAILED, ReviewResponse(refusal=refusal), error)
