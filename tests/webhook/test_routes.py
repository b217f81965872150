import logging

import pytest
from flask.testing import FlaskClient

from edl.errors import Denied, Finding
from edl.inject.handlers import Context
from tests.webhook import reviews
from tests.webhook.cores import failing
from webhook.handler import AdmissionCore
from webhook.http.body_budget import MAX_VALUES, values
from webhook.http.connection_limits import LIMIT
from webhook.routes import RouteContext, add_probe_routes, add_review_routes, create_app

CONTEXT = Context(frozenset(), "kubectl-edl:test")
LABELLED = reviews.review(reviews.job(framework="none"))
JSON = "application/json"


def client(unready: str = "", core: AdmissionCore | None = None) -> FlaskClient:
    routes = RouteContext(CONTEXT, lambda: unready, core=core or AdmissionCore())
    return create_app(routes, add_review_routes, add_probe_routes).test_client()


@pytest.mark.parametrize("path", ["/mutate", "/validate", "/advise"])
def test_a_review_is_answered_with_its_uid(path: str) -> None:
    answer = client().post(path, data=reviews.review(reviews.job()), content_type=JSON)
    assert (answer.status_code, answer.content_type) == (200, JSON)
    assert reviews.response(answer.data) == {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "allowed": True,
    }


def test_a_content_type_with_a_charset_is_json_too() -> None:
    answer = client().post("/mutate", data=LABELLED, content_type=f"{JSON}; charset=utf-8")
    assert reviews.response(answer.data)["allowed"] is True


def test_a_refusal_is_a_proper_answer_and_a_log_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    core = failing(Denied([Finding("a", "is bad"), Finding("b", "too")]))
    answer = client(core=core).post("/mutate", data=LABELLED, content_type=JSON)
    assert answer.status_code == 200
    assert reviews.response(answer.data)["status"]["code"] == 422
    (line,) = caplog.messages
    assert line.startswith("refused CREATE of Job default/mnist by alice")
    assert "1. a: is bad 2. b: too" in line


@pytest.mark.parametrize(
    ("kind", "named"),
    [("Job", {"job": "beta/beta"}), ("Namespace", {"object": "Namespace beta"})],
)
def test_only_a_job_is_logged_as_a_job(
    caplog: pytest.LogCaptureFixture, kind: str, named: dict[str, str]
) -> None:
    """The API server sends the name of a Namespace as its namespace as well."""
    caplog.set_level(logging.INFO)
    given = {"kind": {"kind": kind}, "namespace": "beta", "name": "beta", "uid": "1"}
    core = failing(Denied([Finding("a", "is bad")]))
    client(core=core).post(
        "/mutate", data=reviews.review(reviews.job(), **given), content_type=JSON
    )
    (record,) = caplog.records
    fields = record.__dict__["fields"]
    assert fields == {**named, "uid": "1", "reason": fields["reason"]}


def test_a_review_cannot_forge_a_log_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    core = failing(Denied([Finding("a", "is\nbad")]))
    forged = "alice\n2026-01-01 INFO webhook: all is well"
    body = reviews.review(reviews.job(), userInfo={"username": forged}, name="a\nb", uid="1\r\n2")
    client(core=core).post("/mutate", data=body, content_type=JSON)
    (line,) = caplog.messages
    assert len(line.splitlines()) == 1
    assert "by alice 2026-01-01 INFO" in line


def test_a_defect_is_refused_in_words_and_logged_with_its_traceback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    core = failing(KeyError("spec"))
    answer = client(core=core).post("/mutate", data=LABELLED, content_type=JSON)
    assert answer.status_code == 200
    assert "Traceback" not in answer.text
    assert reviews.response(answer.data)["allowed"] is False
    (record,) = caplog.records
    assert record.exc_info is not None
    assert record.exc_info[0] is KeyError


@pytest.mark.parametrize(
    ("body", "content_type", "status", "line"),
    [
        (b"not json", JSON, 400, "the body is not an AdmissionReview: JSON is malformed"),
        (b"{}", JSON, 400, "the body is not admission.k8s.io/v1 AdmissionReview"),
        (reviews.review(None), JSON, 400, "the request (CREATE Job) has no object"),
        (LABELLED, "text/plain", 415, "text/plain instead of application/json"),
        (LABELLED, None, 415, "no content type instead of application/json"),
        (b" " * (LIMIT + 1), JSON, 413, f"the body is larger than {LIMIT} bytes"),
    ],
)
def test_a_bad_request_is_one_line_for_the_sender_and_one_in_the_log(
    caplog: pytest.LogCaptureFixture,
    body: bytes,
    content_type: str | None,
    status: int,
    line: str,
) -> None:
    served = client()
    answer = served.post("/mutate", data=body, content_type=content_type)
    assert answer.status_code == status
    assert answer.text.startswith(line)
    assert answer.text.count("\n") == 1
    (logged,) = caplog.messages
    assert answer.text.strip() in logged
    again = served.post("/mutate", data=LABELLED, content_type=JSON)
    assert reviews.response(again.data)["allowed"] is True


def test_a_body_of_exactly_the_limit_is_read() -> None:
    body = LABELLED + b" " * (LIMIT - len(LABELLED))
    answer = client().post("/mutate", data=body, content_type=JSON)
    assert reviews.response(answer.data)["allowed"] is True


@pytest.mark.parametrize(
    ("method", "path", "status"), [("GET", "/mutate", 405), ("POST", "/other", 404)]
)
def test_what_is_not_ours_is_answered_in_one_line(method: str, path: str, status: int) -> None:
    answer = client().open(path, method=method)
    assert answer.status_code == status
    assert answer.text.startswith(f"{method} {path}: ")
    assert answer.text.count("\n") == 1


def test_it_is_healthy_but_not_ready_while_there_is_a_reason() -> None:
    waiting = client(unready="no certificate is loaded")
    assert waiting.get("/healthz").status_code == 200
    answer = waiting.get("/readyz")
    assert (answer.status_code, answer.text) == (503, "no certificate is loaded\n")
    assert client().get("/readyz").text == "ready\n"


def test_the_metrics_count_what_was_answered_and_what_was_not() -> None:
    served = client()
    served.post("/mutate", data=LABELLED, content_type=JSON)
    served.post("/mutate", data=reviews.review(reviews.job()), content_type=JSON)
    served.post("/mutate", data=b"x", content_type=JSON)
    text = served.get("/metrics").text
    labels = 'kind="Job",operation="CREATE"'
    assert f'edl_webhook_reviews_total{{{labels},outcome="patched",path="/mutate"}} 1.0' in text
    assert f'edl_webhook_reviews_total{{{labels},outcome="unchanged",path="/mutate"}} 1.0' in text
    assert 'edl_webhook_bad_requests_total{status="400"} 1.0' in text
    assert 'edl_webhook_review_seconds_count{path="/mutate"} 2.0' in text


def test_names_from_outside_make_no_new_metrics() -> None:
    served = client()
    for name in ("Foo", "Bar"):
        body = reviews.review(reviews.job(), kind={"kind": name}, operation=name.upper())
        served.post("/validate", data=body, content_type=JSON)
    text = served.get("/metrics").text
    assert 'kind="other",operation="other",outcome="unchanged",path="/validate"} 2.0' in text
    assert "Foo" not in text


def test_a_body_of_more_values_than_any_job_has_is_not_decoded() -> None:
    body = reviews.review(reviews.job() | {"junk": [{}] * 250_000})
    answer = client().post("/mutate", data=body, content_type="application/json")
    assert answer.status_code == 413
    assert answer.text.startswith("the body has ")


@pytest.mark.parametrize(("further", "status"), [(0, 200), (1, 413)])
def test_a_body_of_just_as_many_values_as_are_allowed_is_decoded(further: int, status: int) -> None:
    plain = reviews.review(reviews.job() | {"junk": ""})
    marks = "," * (MAX_VALUES - values(plain) + further)
    body = plain.replace(b'"junk":""', b'"junk":"' + marks.encode() + b'"')
    body = body.replace(b'"junk": ""', b'"junk": "' + marks.encode() + b'"')
    assert values(body) == MAX_VALUES + further
    assert (
        client().post("/mutate", data=body, content_type="application/json").status_code == status
    )
