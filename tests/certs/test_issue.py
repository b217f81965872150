from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

from certs.bundle import Bundle, CertificateError, Names, service_names
from certs.issue import Lifetimes, issue, issue_pair
from certs.verify import facts_of

NOW = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)
NAMES = service_names("edl-webhook", "edl-system")


def accepts(bundle: Bundle, name: str, at: datetime) -> bool:
    """What a strict TLS client that trusts the authority says."""
    store = Store([x509.load_pem_x509_certificate(bundle.trust)])
    verifier = PolicyBuilder().store(store).time(at).build_server_verifier(x509.DNSName(name))
    try:
        verifier.verify(x509.load_pem_x509_certificate(bundle.pair.certificate), [])
    except VerificationError:
        return False
    return True


@pytest.mark.parametrize("name", NAMES.dns[:-1])
def test_a_client_accepts_the_server_under_each_name_of_the_service(name: str) -> None:
    assert accepts(issue(NAMES, NOW), name, NOW)


def test_a_client_refuses_the_server_under_another_name() -> None:
    assert not accepts(issue(NAMES, NOW), "edl-webhook.default.svc", NOW)


def test_a_client_whose_clock_is_half_an_hour_behind_accepts_a_fresh_certificate() -> None:
    bundle = issue(NAMES, NOW)
    assert accepts(bundle, NAMES.dns[0], NOW - timedelta(minutes=59))
    assert not accepts(bundle, NAMES.dns[0], NOW - timedelta(minutes=61))


def test_a_year_later_the_certificate_is_over_and_ten_years_later_the_authority() -> None:
    bundle = issue(NAMES, NOW)
    assert facts_of(bundle.pair.certificate).left(NOW) == timedelta(days=365)
    assert facts_of(bundle.authority.certificate).left(NOW) == timedelta(days=3650)
    assert not accepts(bundle, NAMES.dns[0], NOW + timedelta(days=366))


def test_a_certificate_never_outlives_its_authority() -> None:
    bundle = issue(NAMES, NOW, Lifetimes(authority=timedelta(days=3), serving=timedelta(days=9)))
    assert facts_of(bundle.pair.certificate).left(NOW) == timedelta(days=3)


def test_the_authority_signs_certificates_but_no_authorities() -> None:
    certificate = x509.load_pem_x509_certificate(issue(NAMES, NOW).authority.certificate)
    limits = certificate.extensions.get_extension_for_class(x509.BasicConstraints)
    usage = certificate.extensions.get_extension_for_class(x509.KeyUsage)
    assert limits.critical
    assert (limits.value.ca, limits.value.path_length) == (True, 0)
    assert usage.critical
    assert (usage.value.key_cert_sign, usage.value.digital_signature) == (True, False)


def test_the_certificate_serves_and_signs_nothing() -> None:
    certificate = x509.load_pem_x509_certificate(issue(NAMES, NOW).pair.certificate)
    extended = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    usage = certificate.extensions.get_extension_for_class(x509.KeyUsage).value
    assert list(extended) == [ExtendedKeyUsageOID.SERVER_AUTH]
    assert (usage.key_cert_sign, usage.digital_signature) == (False, True)
    key = certificate.public_key()
    assert isinstance(key, ec.EllipticCurvePublicKey)
    assert key.curve.name == "secp256r1"


def test_the_certificate_names_this_machine_for_a_webhook_run_by_hand() -> None:
    assert facts_of(issue(NAMES, NOW).pair.certificate).names == NAMES


def test_a_name_longer_than_a_common_name_may_be_is_still_certified() -> None:
    name = f"{'a' * 60}.{'b' * 60}.svc"
    assert accepts(issue(Names((name,)), NOW), name, NOW)


def test_keys_are_not_printed() -> None:
    assert "PRIVATE" not in repr(issue(NAMES, NOW))


def test_what_is_no_address_is_named() -> None:
    authority = issue(NAMES, NOW).authority
    with pytest.raises(CertificateError, match=r"no certificate for a, 300\.1\.1\.1"):
        issue_pair(authority, Names(("a",), ("300.1.1.1",)), NOW)
