from http import HTTPStatus

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.webhook import reviews
from webhook.admission_review import (
    DEEPEST,
    BadReview,
    DenialStatus,
    ReviewResponse,
    decode,
    encode,
)


def test_a_question_is_read() -> None:
    found = decode(reviews.review(reviews.job(framework="none")))
    assert (found.kind, found.operation, found.user) == ("Job", "CREATE", "alice")
    assert found.manifest == reviews.job(framework="none")
    assert found.old is None
    assert str(found) == "Job default/mnist"


def test_an_update_carries_both_objects() -> None:
    old = reviews.job(framework="none")
    found = decode(reviews.review(reviews.job(), operation="UPDATE", oldObject=old))
    assert found.old == old


def test_an_object_without_a_name_yet_is_called_so() -> None:
    found = decode(reviews.review(reviews.job(), name=""))
    assert str(found) == "Job default/(no name yet)"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "the body is not an AdmissionReview: "),
        (b"hello", "the body is not an AdmissionReview: "),
        (b"\xff\xfe", "the body is not an AdmissionReview: "),
        (b"[]", "Expected `object`, got `array`"),
        (b"{}", 'the body is not admission.k8s.io/v1 AdmissionReview but "" of ""'),
        (b"[" * 100_000, "the body is not an AdmissionReview: "),
        (
            b'{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview"}',
            'but "AdmissionReview" of "admission.k8s.io/v1beta1"',
        ),
        (
            b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}',
            "the AdmissionReview has no request",
        ),
        (reviews.review(None), "the request (CREATE Job) has no object"),
        (reviews.review(reviews.job(), uid=3), "`$.request.uid`"),
        (reviews.review(reviews.job(), object=[]), "`$.request.object`"),
    ],
)
def test_anything_else_is_refused_in_one_line(body: bytes, reason: str) -> None:
    with pytest.raises(BadReview) as refused:
        decode(body)
    assert reason in str(refused.value)
    assert refused.value.status == 400
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "namespace", ["", "a/b", "..", "?watch=true", "Lab", "-lab", "lab\n", "l" * 64, "a.b"]
)
def test_a_namespace_that_cannot_exist_is_refused(namespace: str) -> None:
    with pytest.raises(
        BadReview, match=r"the namespace .* of the Job is not a DNS label"
    ) as refused:
        decode(reviews.review(reviews.job(), namespace=namespace))
    assert refused.value.status == 400
    assert len(str(refused.value)) < 150


def test_a_namespace_under_review_may_be_called_anything() -> None:
    body = reviews.review({}, kind={"kind": "Namespace"}, namespace="", name="Not_Valid")
    assert str(decode(body)) == "Namespace Not_Valid"


def nested(levels: int) -> dict[str, object]:
    """So many objects and lists, the outermost included."""
    inner: object = 1
    for level in range(levels - 1):
        inner = [inner] if level % 2 else {"a": inner}
    return {"a": inner}


@pytest.mark.parametrize("field", ["object", "oldObject"])
def test_a_bottomless_object_is_refused_and_a_deep_one_is_not(field: str) -> None:
    found = decode(reviews.review(reviews.job(), operation="UPDATE", **{field: nested(DEEPEST)}))
    assert found.operation == "UPDATE"
    body = reviews.review(reviews.job(), operation="UPDATE", **{field: nested(DEEPEST + 1)})
    with pytest.raises(BadReview, match="the object is nested deeper than 100 levels") as refused:
        decode(body)
    assert refused.value.status == 400


@given(st.binary(max_size=80))
def test_no_bytes_whatever_do_more_than_be_refused(body: bytes) -> None:
    with pytest.raises(BadReview):
        decode(body)


def test_an_answer_echoes_the_uid() -> None:
    assert reviews.response(encode("u-1", ReviewResponse())) == {"uid": "u-1", "allowed": True}


def test_a_patch_and_warnings_travel_together() -> None:
    patch = msgspec.json.encode([{"op": "add", "path": "/a", "value": 1}])
    answer = reviews.response(encode("u-1", ReviewResponse(patch, ("mind the gap",))))
    assert answer["allowed"] is True
    assert reviews.operations(answer) == [{"op": "add", "path": "/a", "value": 1}]
    assert answer["warnings"] == ["mind the gap"]


def test_a_refusal_carries_code_reason_and_message() -> None:
    refusal = DenialStatus(HTTPStatus.FORBIDDEN, "Invalid", "no")
    answer = reviews.response(encode("u-1", ReviewResponse(refusal=refusal)))
    assert answer == {
        "uid": "u-1",
        "allowed": False,
        "status": {"code": 403, "reason": "Invalid", "message": "no"},
    }
