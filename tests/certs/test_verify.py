from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from certs.bundle import CertificateError, KeyPair, issuer_files, issuer_from, pair_from, to_files
from certs.issue import issue
from certs.subject_names import SubjectNames, service_names
from certs.verify import facts_of, is_signed_by, issuer_problem, misnamed, pair_problem

NOW = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)
NAMES = service_names("edl-webhook", "edl-system")
BUNDLE = issue(NAMES, NOW)
OTHER = issue(NAMES, NOW)


def test_a_fresh_bundle_is_good() -> None:
    assert issuer_problem(BUNDLE.issuer, NOW, NAMES) == pair_problem(BUNDLE.pair, NOW) == ""


def test_a_key_of_another_certificate_is_seen() -> None:
    pair = KeyPair(BUNDLE.pair.certificate, OTHER.pair.key)
    assert pair_problem(pair, NOW) == "the key does not belong to the certificate"


def test_an_expired_certificate_says_since_when() -> None:
    later = NOW + timedelta(days=400)
    assert pair_problem(BUNDLE.pair, later) == "expired on 2027-11-21 09:00 UTC"


def test_a_certificate_of_tomorrow_says_from_when() -> None:
    early = NOW - timedelta(days=1)
    assert pair_problem(BUNDLE.pair, early) == "not valid before 2026-11-21 08:00 UTC"


@pytest.mark.parametrize("damage", [b"", b"x", BUNDLE.pair.certificate[:300]])
def test_damaged_text_is_a_problem_and_no_crash(damage: bytes) -> None:
    assert "not readable PEM" in pair_problem(replace(BUNDLE.pair, certificate=damage), NOW)
    assert "not readable PEM" in pair_problem(replace(BUNDLE.pair, key=damage), NOW)


def test_a_certificate_of_another_authority_is_seen() -> None:
    assert not is_signed_by(OTHER.pair.certificate, BUNDLE.authority.certificate)


def test_names_that_the_certificate_lacks_are_listed() -> None:
    wanted = SubjectNames((*NAMES.dns, "edl.example.test"), ("10.0.0.1",))
    said = misnamed(BUNDLE.pair.certificate, wanted)
    assert said == "the certificate is not for edl.example.test, 10.0.0.1"


def test_an_authority_that_cannot_sign_is_named_as_such() -> None:
    signs = replace(BUNDLE.authority, key=OTHER.authority.key)
    problem = issuer_problem(replace(BUNDLE.issuer, authority=signs), NOW, NAMES)
    assert problem == "the key does not belong to the certificate"


def test_facts_of_no_certificate_are_refused() -> None:
    with pytest.raises(CertificateError, match="not readable PEM"):
        facts_of(b"hello")


def test_a_bundle_survives_being_kept_in_files() -> None:
    files = to_files(BUNDLE)
    assert (issuer_from(files), pair_from(files)) == (BUNDLE.issuer, BUNDLE.pair)


def test_two_trusted_authorities_survive_and_the_first_one_signs() -> None:
    both = replace(BUNDLE.issuer, trust=BUNDLE.trust + OTHER.trust)
    assert issuer_from(issuer_files(both)) == both


def test_missing_files_are_all_named() -> None:
    with pytest.raises(CertificateError, match=r"ca\.crt and ca\.key missing"):
        issuer_from({"ca.crt": b""})


def test_a_certificate_is_valid_from_its_very_first_second() -> None:
    assert pair_problem(BUNDLE.pair, NOW - timedelta(hours=1)) == ""
