import copy

import jsonpatch
import msgspec
import pytest

from edl.errors import Denied, Finding
from edl.inject.handlers import AdmissionVerdict, Context, advise, mutate
from edl.parsing.namespace_policy import SILENT
from edl.writes import Json
from tests.webhook import reviews
from tests.webhook.cores import failing
from webhook.admission_review import Review, decode, encode
from webhook.handler import AdmissionDecision, ReviewOutcome, handle

CONTEXT = Context(frozenset({"reconciler"}), "kubectl-edl:test")


def question(manifest: Json, **changes: object) -> Review:
    return decode(reviews.review(manifest, **changes))


def answering(manifest: Json, *warnings: str) -> AdmissionDecision:
    return lambda _, __: AdmissionVerdict(manifest, warnings)


def denial(findings: list[Finding], **changes: object) -> Json:
    asked = question(reviews.job(framework="none"), **changes)
    denied = handle(asked, SILENT, failing(Denied(findings)).mutate, CONTEXT)
    status: Json = reviews.response(encode(asked.uid, denied.answer))["status"]
    return status


def test_the_patch_makes_the_object_that_the_core_wants() -> None:
    asked = question(reviews.job(framework="none", min="1", max="3"))
    before = copy.deepcopy(asked.manifest)
    found = handle(asked, SILENT, mutate, CONTEXT)
    assert found.outcome is ReviewOutcome.PATCHED
    after = jsonpatch.apply_patch(before, msgspec.json.decode(found.answer.patch))
    assert after["spec"]["suspend"] is True
    again = handle(question(after), SILENT, mutate, CONTEXT)
    assert (again.outcome, again.answer.patch) == (ReviewOutcome.UNCHANGED, b"")


def test_an_object_without_our_label_is_left_alone() -> None:
    found = handle(question(reviews.job()), SILENT, mutate, CONTEXT)
    assert (found.outcome, found.answer.patch) == (ReviewOutcome.UNCHANGED, b"")


def test_an_object_that_is_not_ours_is_told_of_its_slips_and_never_refused() -> None:
    slip = question(reviews.job(framwork="none"))
    found = handle(slip, SILENT, advise, CONTEXT)
    assert (found.outcome, found.answer.refusal) == (ReviewOutcome.UNCHANGED, None)
    assert found.answer.warnings == (
        "edl.dev/framwork is unknown, and does nothing: did you mean edl.dev/framework?",
    )
    failed = handle(slip, SILENT, failing(KeyError("labels")).mutate, CONTEXT)
    assert (failed.outcome, failed.answer.refusal) == (ReviewOutcome.FAILED, None)


def test_one_finding_is_one_line() -> None:
    found = handle(question(reviews.job(framework="caffe")), SILENT, mutate, CONTEXT)
    assert found.outcome is ReviewOutcome.DENIED
    assert found.answer.refusal is not None
    message = found.answer.refusal.message
    assert message.startswith("Job default/mnist: metadata.labels[edl.dev/framework]: unknown")
    assert "\n" not in message


def test_several_findings_are_numbered_and_all_there() -> None:
    decide = failing(
        Denied([Finding("a", "is bad", "one of b, c"), Finding("d", "is worse")])
    ).mutate
    refusal = handle(
        question(reviews.job(framework="none")), SILENT, decide, CONTEXT
    ).answer.refusal
    assert refusal is not None
    assert (refusal.code, refusal.reason) == (422, "Invalid")
    assert refusal.message == (
        "2 problems in Job default/mnist:\n  1. a: is bad; one of b, c\n  2. d: is worse"
    )


def test_each_finding_is_a_cause_with_its_field() -> None:
    findings = [Finding("a", "is bad", "one of b, c"), Finding("d", "is worse")]
    status = denial(findings)
    assert status["details"] == {
        "kind": "Job",
        "name": "mnist",
        "causes": [
            {"field": "a", "message": "is bad; one of b, c", "reason": "FieldValueInvalid"},
            {"field": "d", "message": "is worse", "reason": "FieldValueInvalid"},
        ],
    }


def test_the_details_of_an_object_without_a_name_yet_have_none() -> None:
    status = denial([Finding("a", "is bad")], name="")
    assert not status["details"]["name"]


def test_the_causes_have_at_most_the_length_a_user_reads() -> None:
    findings = [Finding("p" * 9_000, "x" * 9_000, "a way out") for _ in range(200)]
    status = denial(findings)
    causes = status["details"]["causes"]
    assert [cause["field"] for cause in causes[49:]] == [causes[0]["field"], "…"]
    assert causes[-1]["message"] == "150 more problems"
    assert causes[0]["message"].endswith("xxx; a way out")
    assert max(len(text) for cause in causes for text in cause.values()) < 2_100


def test_a_message_has_at_most_the_length_a_user_reads() -> None:
    findings = [Finding(f"path{number}", "x" * 9_000, "a way out") for number in range(200)]
    decide = failing(Denied(findings)).mutate
    refusal = handle(
        question(reviews.job(framework="none")), SILENT, decide, CONTEXT
    ).answer.refusal
    assert refusal is not None
    lines = refusal.message.splitlines()
    assert lines[0] == "200 problems in Job default/mnist:"
    assert (len(lines), lines[-1]) == (52, "  …")
    assert lines[1].startswith("  1. path0: xxx")
    assert lines[1].endswith("xxx; a way out")
    assert max(map(len, lines)) < 2_100


def test_a_defect_refuses_a_labelled_object_with_the_reason() -> None:
    error = KeyError("spec")
    found = handle(question(reviews.job(framework="none")), SILENT, failing(error).mutate, CONTEXT)
    assert (found.outcome, found.failure) == (ReviewOutcome.FAILED, error)
    assert found.answer.patch == b""
    assert found.answer.refusal is not None
    assert found.answer.refusal.code == 500
    assert "internal error handling Job default/mnist (KeyError: 'spec')" in (
        found.answer.refusal.message
    )


def test_a_defect_refuses_an_object_that_was_labelled() -> None:
    asked = question(reviews.job(), operation="UPDATE", oldObject=reviews.job(framework="none"))
    assert (
        handle(asked, SILENT, failing(KeyError("spec")).mutate, CONTEXT).answer.refusal is not None
    )


def test_a_defect_lets_an_unlabelled_object_pass_with_a_warning() -> None:
    found = handle(question(reviews.job()), SILENT, failing(KeyError("spec")).mutate, CONTEXT)
    assert found.answer.refusal is None
    assert found.answer.patch == b""
    assert "left as it is" in found.answer.warnings[0]


@pytest.mark.parametrize("kind", ["CronJob", "Deployment"])
def test_a_defect_refuses_no_labelled_object_that_only_gets_advice(kind: str) -> None:
    types = {"group": "", "version": "v1", "kind": kind}
    asked = question(reviews.job(framework="none"), kind=types)
    found = handle(asked, SILENT, failing(KeyError("spec")).advise, CONTEXT)
    assert (found.outcome, found.answer.refusal) == (ReviewOutcome.FAILED, None)
    assert "left as it is" in found.answer.warnings[0]


@pytest.mark.parametrize("metadata", [None, [], "x", {"labels": None}, {"labels": []}])
def test_a_defect_on_an_object_out_of_shape_is_answered_too(metadata: object) -> None:
    found = handle(
        question({"metadata": metadata}), SILENT, failing(KeyError("spec")).mutate, CONTEXT
    )
    assert found.outcome is ReviewOutcome.FAILED


def test_a_result_that_is_not_json_is_a_defect_and_never_a_patch() -> None:
    manifest = reviews.job(framework="none")
    broken = manifest | {"spec": object()}
    found = handle(question(manifest), SILENT, answering(broken), CONTEXT)
    assert (found.outcome, found.answer.patch) == (ReviewOutcome.FAILED, b"")


def test_warnings_reach_the_user() -> None:
    manifest = reviews.job(framework="none")
    found = handle(
        question(manifest), SILENT, answering(manifest, "use kubectl edl scale"), CONTEXT
    )
    assert found.answer.warnings == ("use kubectl edl scale",)


@pytest.mark.parametrize("operation", ["DELETE", "CONNECT"])
def test_nobodys_deletion_is_stopped(operation: str) -> None:
    asked = decode(reviews.review(None, operation=operation, oldObject=reviews.job()))
    found = handle(asked, SILENT, failing(KeyError("spec")).mutate, CONTEXT)
    assert (found.outcome, found.answer.refusal) == (ReviewOutcome.UNCHANGED, None)


def test_warnings_end_where_the_api_server_drops_them() -> None:
    manifest = reviews.job(framework="none")
    decide = answering(manifest, "a" * 4_000, "b" * 200, "c")
    warnings = handle(question(manifest), SILENT, decide, CONTEXT).answer.warnings
    assert warnings == ("a" * 4_000, "b" * 96)
