"""Decodes AdmissionReview v1 (only the fields that are used), and encodes its response."""

import base64
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, Final

import msgspec

from edl.dns_names import is_dns_label
from edl.errors import EdlError, Finding
from edl.writes import Json

API_VERSION: Final = "admission.k8s.io/v1"
KIND: Final = "AdmissionReview"


DEEPEST: Final = 100
"""Levels of objects and lists in a review: Kubernetes' own objects have about twenty."""


_MAX_FINDINGS: Final = 50
"""Findings in one message."""
_LONGEST: Final = 2_000
"""Characters of one finding: its path is at the start, what is allowed at the end."""


class BadReview(EdlError):
    """A body that is not an AdmissionReview; `status` is the HTTP status of the answer."""

    def __init__(self, message: str, status: HTTPStatus = HTTPStatus.BAD_REQUEST) -> None:
        self.status = status
        super().__init__(message)


class Review(msgspec.Struct, frozen=True):
    """One request of the API server. `manifest` and `old` are None if the API server sends none."""

    uid: str
    kind: str
    operation: str
    namespace: str
    name: str
    user: str
    manifest: Json | None
    old: Json | None

    def __str__(self) -> str:
        place = "" if self.kind == "Namespace" else f"{self.namespace}/"
        return f"{self.kind} {place}{self.name or '(no name yet)'}"


class DenialCause(msgspec.Struct, frozen=True):
    """One finding, as the API server's own validation reports it (metav1.StatusCause)."""

    field: str
    message: str
    reason: str = "FieldValueInvalid"


class DenialDetails(msgspec.Struct, frozen=True):
    """The object and the causes. For the reason Invalid, kubectl prints these, not the message."""

    kind: str
    name: str
    causes: tuple[DenialCause, ...]


class DenialStatus(msgspec.Struct, frozen=True, omit_defaults=True):
    """A refusal (metav1.Status): code and reason are for programs, the rest is for the user."""

    code: HTTPStatus
    reason: str
    message: str
    details: DenialDetails | None = None


def denial_details(review: Review, findings: Sequence[Finding]) -> DenialDetails:
    """The first findings as causes, each of a bounded length."""
    causes = [DenialCause(_cut(one.path), _cut(one.problem)) for one in findings[:_MAX_FINDINGS]]
    if (more := len(findings) - _MAX_FINDINGS) > 0:
        causes.append(DenialCause("…", f"{more} more problems"))
    return DenialDetails(review.kind, review.name, tuple(causes))


def denial_message(review: Review, findings: Sequence[Finding]) -> str:
    """The message of a refusal, with the first findings, each of a bounded length."""
    texts = [_cut(str(finding)) for finding in findings[:_MAX_FINDINGS]]
    if len(findings) == 1:
        return f"{review}: {texts[0]}"
    shown = [f"{number}. {text}" for number, text in enumerate(texts, 1)]
    lines = shown if len(findings) <= _MAX_FINDINGS else [*shown, "…"]
    return "\n  ".join((f"{len(findings)} problems in {review}:", *lines))


def _cut(text: str) -> str:
    """A text of a finding, shortened: it may quote a value as large as the object."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]} … {text[-_LONGEST // 2 :]}"


class ReviewResponse(msgspec.Struct, frozen=True):
    """Allows the request unless there is a refusal. `patch` is JSON (RFC 6902), or empty."""

    patch: bytes = b""
    warnings: tuple[str, ...] = ()
    refusal: DenialStatus | None = None


class _Kind(msgspec.Struct):
    kind: str


class _User(msgspec.Struct):
    username: str = ""


class _Request(msgspec.Struct, rename="camel"):
    uid: str
    kind: _Kind
    operation: str
    name: str = ""
    namespace: str = ""
    user_info: _User = msgspec.field(default_factory=_User)
    object: dict[str, Any] | None = None
    old_object: dict[str, Any] | None = None


class _Envelope(msgspec.Struct, rename="camel"):
    api_version: str = ""
    kind: str = ""
    request: _Request | None = None


_decoder: Final = msgspec.json.Decoder(_Envelope)


def decode(body: bytes) -> Review:
    """The review in a body.

    Raises BadReview, in one line, for anything but an API server's request.
    """
    try:
        envelope = _decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadReview(f"the body is not an {KIND}: {error}") from error
    if (envelope.api_version, envelope.kind) != (API_VERSION, KIND):
        given = f'"{envelope.kind}" of "{envelope.api_version}"'
        raise BadReview(f"the body is not {API_VERSION} {KIND} but {given}")
    if (request := envelope.request) is None:
        raise BadReview(f"the {KIND} has no request")
    _check_namespace(request)
    if max(map(_depth, (request.object, request.old_object))) > DEEPEST:
        raise BadReview(f"the object is nested deeper than {DEEPEST} levels")
    if request.operation in ("CREATE", "UPDATE") and request.object is None:
        raise BadReview(f"the request ({request.operation} {request.kind.kind}) has no object")
    return Review(
        uid=request.uid,
        kind=request.kind.kind,
        operation=request.operation,
        namespace=request.namespace,
        name=request.name,
        user=request.user_info.username,
        manifest=request.object,
        old=request.old_object,
    )


def _check_namespace(request: _Request) -> None:
    """Checks the namespace, which becomes part of a request path.

    In a review of a Namespace it is the name of the object.
    """
    namespace, kind = request.namespace, request.kind.kind
    if kind != "Namespace" and not is_dns_label(namespace):
        raise BadReview(f"the namespace {namespace[:64]!r} of the {kind[:64]} is not a DNS label")


def _depth(value: object) -> int:
    """The nesting depth of objects and lists, computed level by level, without recursion."""
    levels = 0
    level: list[Any] = [value] if value else []
    while level:
        levels += 1
        inner = (each.values() if type(each) is dict else each for each in level)
        level = [one for many in inner for one in many if type(one) is dict or type(one) is list]
    return levels


def encode(uid: str, answer: ReviewResponse) -> bytes:
    """The AdmissionReview that carries `answer` to the request `uid`."""
    response: Json = {"uid": uid, "allowed": answer.refusal is None}
    if answer.patch:
        response["patchType"] = "JSONPatch"
        response["patch"] = base64.b64encode(answer.patch).decode()
    if answer.warnings:
        response["warnings"] = answer.warnings
    if answer.refusal is not None:
        response["status"] = answer.refusal
    return msgspec.json.encode({"apiVersion": API_VERSION, "kind": KIND, "response": response})
