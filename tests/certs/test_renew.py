from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certs.bundle import Bundle, CertificateError, Names, from_files, service_names, to_files
from certs.issue import Lifetimes, issue
from certs.renew import Belief, reissued, renewed, succeeded
from certs.verify import bundle_problem, is_signed_by, is_trusted

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


OVER_A_LIFE = st.integers(0, 5000)
SKEW = st.floats(-0.5, 0.5)


@settings(max_examples=40, deadline=None)
@given(OVER_A_LIFE, SKEW)
def test_replicas_whose_clocks_differ_agree_on_what_the_first_has_issued(
    days: int, hours: float
) -> None:
    now = NOW + timedelta(days=days)
    fresh = renewed(BUNDLE, NAMES, now)
    if fresh is not BUNDLE:
        assert renewed(fresh, NAMES, now + timedelta(hours=hours)) is fresh


@settings(max_examples=40, deadline=None)
@given(OVER_A_LIFE, st.booleans())
def test_whom_clients_trusted_they_trust_until_all_know_the_successor(
    days: int,
    lost: bool,  # noqa: FBT001 - hypothesis passes it
) -> None:
    now = NOW + timedelta(days=days)
    belief = Belief(BUNDLE.trust)
    fresh = renewed(None if lost else BUNDLE, NAMES, now, belief=belief)
    assert is_trusted(fresh.pair, fresh.trust, now)
    if is_trusted(BUNDLE.pair, BUNDLE.trust, now):
        assert is_trusted(BUNDLE.pair, fresh.trust, now)
    settled = renewed(fresh, NAMES, now, belief=Belief(fresh.trust, fresh.authority.certificate))
    assert settled.trust == settled.authority.certificate
    assert (settled.pair, settled.previous) == (fresh.pair, None)


def test_what_is_settled_about_another_authority_drops_nothing() -> None:
    fresh = succeeded(BUNDLE, NAMES, NOW)
    belief = Belief(fresh.trust, BUNDLE.authority.certificate)
    assert renewed(fresh, NAMES, NOW, belief=belief) is fresh


def test_the_pair_that_clients_know_longest_is_kept_for_who_starts_in_between() -> None:
    second = succeeded(BUNDLE, NAMES, NOW)
    third = succeeded(second, NAMES, NOW)
    assert second.previous == third.previous == BUNDLE.pair
    assert from_files(to_files(third)) == third


def test_damage_to_the_authoritys_key_leaves_the_pair_in_service() -> None:
    damaged = replace(BUNDLE, authority=replace(BUNDLE.authority, key=b"x"))
    fresh = renewed(damaged, NAMES, NOW)
    assert fresh.previous == BUNDLE.pair
    assert is_trusted(BUNDLE.pair, fresh.trust, NOW)


def test_trust_does_not_grow_without_end() -> None:
    bundle = BUNDLE
    for _ in range(20):
        bundle = succeeded(None, NAMES, NOW, belief=Belief(bundle.trust))
    assert len(authorities(bundle)) == 8


def test_a_short_life_is_renewed_in_its_last_third_whatever_was_allowed_for_clocks() -> None:
    short = Lifetimes(authority=timedelta(seconds=9), serving=timedelta(seconds=6))
    bundle = issue(NAMES, NOW, short)
    assert renewed(bundle, NAMES, NOW + timedelta(seconds=3.9), short) is bundle
    fresh = renewed(bundle, NAMES, NOW + timedelta(seconds=4.1), short)
    assert (fresh.pair == bundle.pair, fresh.authority == bundle.authority) == (False, True)
    assert renewed(bundle, NAMES, NOW + timedelta(seconds=6.1), short).overlaps


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
