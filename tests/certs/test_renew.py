from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certs.bundle import Bundle, CertificateError, Names, service_names, to_files
from certs.issue import issue
from certs.renew import reissued, renewed
from certs.verify import bundle_problem, is_signed_by

NOW = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)
NAMES = service_names("edl-webhook", "edl-system")
BUNDLE = issue(NAMES, NOW)


def authorities(bundle: Bundle) -> list[bytes]:
    end = b"-----END CERTIFICATE-----\n"
    return [part + end for part in bundle.trust.split(end) if part]


def test_a_good_bundle_stays_the_very_same() -> None:
    assert renewed(BUNDLE, NAMES, NOW + timedelta(days=200)) is BUNDLE


def test_when_a_third_of_its_life_is_left_the_certificate_is_renewed_under_its_authority() -> None:
    fresh = renewed(BUNDLE, NAMES, NOW + timedelta(days=250))
    assert fresh.pair != BUNDLE.pair
    assert fresh.authority == BUNDLE.authority
    assert fresh.trust == BUNDLE.trust


def test_a_new_name_renews_the_certificate() -> None:
    names = Names((*NAMES.dns, "edl.example.test"), NAMES.ips)
    assert bundle_problem(renewed(BUNDLE, names, NOW), names, NOW) == ""


def test_a_damaged_certificate_is_replaced_under_its_authority() -> None:
    damaged = replace(BUNDLE, pair=replace(BUNDLE.pair, certificate=b"x"))
    fresh = renewed(damaged, NAMES, NOW)
    assert is_signed_by(fresh.pair.certificate, BUNDLE.authority.certificate)


def test_what_an_ageing_authority_signed_stays_trusted_beside_its_successor() -> None:
    later = NOW + timedelta(days=3000)
    fresh = renewed(BUNDLE, NAMES, later)
    assert authorities(fresh) == [fresh.authority.certificate, BUNDLE.authority.certificate]
    assert fresh.authority != BUNDLE.authority


def test_an_expired_authority_is_no_longer_trusted() -> None:
    fresh = renewed(BUNDLE, NAMES, NOW + timedelta(days=4000))
    assert authorities(fresh) == [fresh.authority.certificate]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 5000))
def test_whatever_the_day_the_renewed_bundle_is_good_and_renewing_it_again_changes_nothing(
    days: int,
) -> None:
    now = NOW + timedelta(days=days)
    fresh = renewed(BUNDLE, NAMES, now)
    assert bundle_problem(fresh, NAMES, now) == ""
    assert renewed(fresh, NAMES, now) is fresh


def test_reissuing_keeps_the_authority_that_clients_trust() -> None:
    fresh = reissued(to_files(BUNDLE), NAMES, NOW)
    assert fresh.authority == BUNDLE.authority
    assert fresh.pair != BUNDLE.pair


def test_reissuing_without_an_authority_makes_one() -> None:
    assert bundle_problem(reissued({}, NAMES, NOW), NAMES, NOW) == ""


def test_reissuing_never_replaces_a_broken_authority_silently() -> None:
    files = to_files(BUNDLE) | {"ca.key": b"x"}
    with pytest.raises(CertificateError, match=r"remove ca\.crt and ca\.key to start with a new"):
        reissued(files, NAMES, NOW)
