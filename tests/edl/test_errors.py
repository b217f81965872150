"""Findings about one manifest or document."""

from edl.errors import MAX_FINDINGS, Finding, Findings


def test_a_finding_that_is_made_again_is_listed_once() -> None:
    findings = Findings()
    findings.found("spec.a", "1", "2")
    findings.found("spec.b", "1", "2")
    findings.found("spec.a", "1", "2")

    assert findings == [Finding("spec.a", "1", "2"), Finding("spec.b", "1", "2")]


def test_findings_are_bounded_and_say_when_they_are_full() -> None:
    findings = Findings()
    for place in range(MAX_FINDINGS):
        assert not findings.full
        findings.found(f"spec[{place}]", "wrong")
    findings.found("spec", "wrong")

    assert findings.full
    assert len(findings) == MAX_FINDINGS
