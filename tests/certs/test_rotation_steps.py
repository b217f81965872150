from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certs.bundle import CertificateError, Issuer, each_certificate, to_files
from certs.issue import Lifetimes, issue
from certs.rotation_steps import (
    CertificateRequest,
    is_good,
    reissued,
    renewed,
    renewed_pair,
    succeeded,
)
from certs.subject_names import SubjectNames, service_names
from certs.verify import is_signed_by, is_trusted

NOW = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)
NAMES = service_names("edl-webhook", "edl-system")
ORDER = CertificateRequest(NAMES, NOW)
BUNDLE = issue(NAMES, NOW)
ISSUER, PAIR = BUNDLE.issuer, BUNDLE.pair


def at(**later: float) -> CertificateRequest:
    return CertificateRequest(NAMES, NOW + timedelta(**later))


def authority(issuer: Issuer) -> bytes:
    return issuer.authority.certificate


def test_what_is_good_stays_the_very_same() -> None:
    assert renewed(ISSUER, at(days=200)) is ISSUER
    assert renewed_pair(PAIR, ISSUER, at(days=200)) is PAIR


def test_when_a_third_of_its_life_is_left_the_certificate_is_renewed_under_its_authority() -> None:
    fresh = renewed_pair(PAIR, ISSUER, at(days=250))
    assert fresh is not None
    assert fresh != PAIR
    assert is_signed_by(fresh.certificate, authority(ISSUER))
    assert renewed(ISSUER, at(days=250)) is ISSUER


def test_a_new_name_takes_another_authority_and_then_another_certificate() -> None:
    order = CertificateRequest(SubjectNames((*NAMES.dns, "edl.example.test"), ("10.0.0.1",)), NOW)
    fresh = renewed(ISSUER, order)
    assert fresh.trust == authority(fresh) + ISSUER.trust
    pair = renewed_pair(PAIR, fresh, order, settled=authority(fresh))
    assert pair is not None
    assert is_good(pair, fresh.trust, order)


def test_a_damaged_certificate_is_replaced_under_its_authority() -> None:
    fresh = renewed_pair(replace(PAIR, certificate=b"x"), ISSUER, ORDER)
    assert fresh is not None
    assert is_signed_by(fresh.certificate, authority(ISSUER))


def test_an_ageing_authority_stays_trusted_beside_its_successor() -> None:
    fresh = renewed(ISSUER, at(days=3000))
    assert each_certificate(fresh.trust) == (authority(fresh), authority(ISSUER))
    assert fresh.authority != ISSUER.authority


def test_an_expired_authority_is_no_longer_trusted() -> None:
    fresh = renewed(ISSUER, at(days=4000))
    assert each_certificate(fresh.trust) == (authority(fresh),)


def test_a_new_authority_signs_nothing_before_every_client_knows_it() -> None:
    fresh = succeeded(ISSUER, ORDER)
    assert renewed_pair(PAIR, fresh, ORDER) is PAIR
    assert renewed_pair(PAIR, fresh, ORDER, settled=authority(ISSUER)) is PAIR
    pair = renewed_pair(PAIR, fresh, ORDER, settled=authority(fresh))
    assert pair is not None
    assert is_signed_by(pair.certificate, authority(fresh))


def test_what_was_lost_is_issued_again_only_by_an_authority_that_every_client_knows() -> None:
    fresh = succeeded(ISSUER, ORDER)
    assert renewed_pair(None, fresh, ORDER) is None
    assert renewed_pair(None, fresh, ORDER, settled=authority(fresh)) is not None
    assert renewed_pair(None, ISSUER, ORDER) is not None, "the first authority follows no other"


def test_a_new_leader_renews_what_the_successor_has_signed_already() -> None:
    fresh = succeeded(ISSUER, ORDER)
    pair = renewed_pair(PAIR, fresh, ORDER, settled=authority(fresh))
    later = renewed_pair(pair, fresh, at(days=250))
    assert later not in (None, pair, PAIR)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 5000))
def test_whatever_the_day_what_is_renewed_is_good_and_renewing_it_again_changes_nothing(
    days: int,
) -> None:
    order = at(days=days)
    fresh = renewed(ISSUER, order)
    pair = renewed_pair(PAIR, fresh, order, settled=authority(fresh))
    assert pair is not None
    assert is_good(pair, fresh.trust, order)
    assert renewed(fresh, order) is fresh
    assert renewed_pair(pair, fresh, order) is pair


OVER_A_LIFE = st.integers(0, 5000)
IN_ITS_LAST_THIRD = st.integers(2450, 5000)
SKEW = st.floats(-0.5, 0.5)


@settings(max_examples=40, deadline=None)
@given(IN_ITS_LAST_THIRD, SKEW)
def test_leaders_whose_clocks_differ_agree_on_what_the_first_has_issued(
    days: int, hours: float
) -> None:
    fresh = renewed(ISSUER, at(days=days))
    assert fresh is not ISSUER
    assert renewed(fresh, at(days=days, hours=hours)) is fresh


@settings(max_examples=40, deadline=None)
@given(OVER_A_LIFE, st.booleans())
def test_what_clients_trusted_they_trust_until_every_server_serves_the_successors(
    days: int,
    lost: bool,  # noqa: FBT001 - hypothesis passes it
) -> None:
    order = at(days=days)
    fresh = renewed(None if lost else ISSUER, order, belief=ISSUER.trust)
    if is_trusted(PAIR, ISSUER.trust, order.now):
        assert is_trusted(PAIR, fresh.trust, order.now)
    assert renewed(fresh, order, served=authority(ISSUER)) is fresh or not fresh.overlaps
    assert renewed(fresh, order, served=authority(fresh)).trust == authority(fresh)


def test_damage_to_the_authoritys_key_leaves_the_pair_in_service() -> None:
    damaged = replace(ISSUER, authority=replace(ISSUER.authority, key=b"x"))
    fresh = renewed(damaged, ORDER)
    assert fresh.overlaps
    assert renewed_pair(PAIR, fresh, ORDER) is PAIR


def test_trust_does_not_grow_without_end() -> None:
    issuer = ISSUER
    for _ in range(20):
        issuer = succeeded(None, ORDER, belief=issuer.trust)
    assert len(each_certificate(issuer.trust)) == 8


def test_a_short_life_is_renewed_in_its_last_third_whatever_was_allowed_for_clocks() -> None:
    short = Lifetimes(authority=timedelta(seconds=9), serving=timedelta(seconds=6))
    bundle = issue(NAMES, NOW, short)

    def after(seconds: float) -> CertificateRequest:
        return CertificateRequest(NAMES, NOW + timedelta(seconds=seconds), short)

    assert renewed_pair(bundle.pair, bundle.issuer, after(3.9)) is bundle.pair
    assert renewed_pair(bundle.pair, bundle.issuer, after(4.1)) != bundle.pair
    assert renewed(bundle.issuer, after(4.1)) is bundle.issuer
    assert renewed(bundle.issuer, after(6.1)).overlaps


def test_reissuing_keeps_the_authority_that_clients_trust() -> None:
    fresh = reissued(to_files(BUNDLE), ORDER)
    assert fresh.authority == BUNDLE.authority
    assert fresh.pair != BUNDLE.pair


def test_reissuing_without_an_authority_makes_one() -> None:
    fresh = reissued({}, ORDER)
    assert is_good(fresh.pair, fresh.trust, ORDER)


@pytest.mark.parametrize(
    ("key", "names", "problem"),
    [
        (b"x", NAMES, "the key is not readable PEM"),
        (
            ISSUER.authority.key,
            SubjectNames(("edl.example.test",)),
            "may not sign for edl.example.test",
        ),
    ],
)
def test_reissuing_never_replaces_an_unfit_authority_silently(
    key: bytes, names: SubjectNames, problem: str
) -> None:
    files = to_files(BUNDLE) | {"ca.key": key}
    with pytest.raises(CertificateError, match=rf"{problem}.*remove ca\.crt and ca\.key to start"):
        reissued(files, CertificateRequest(names, NOW))


def test_a_new_name_that_the_authority_may_sign_for_takes_another_certificate_alone() -> None:
    order = CertificateRequest(SubjectNames((*NAMES.dns, f"next.{NAMES.dns[0]}"), NAMES.ips), NOW)
    assert renewed(ISSUER, order) is ISSUER
    pair = renewed_pair(PAIR, ISSUER, order)
    assert pair is not None
    assert is_good(pair, ISSUER.trust, order)
    assert not is_good(PAIR, ISSUER.trust, order)
