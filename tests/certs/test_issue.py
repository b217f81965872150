import ssl
import tempfile
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

from certs import certificate_directory as files_in
from certs.bundle import Bundle, CertificateError, to_files
from certs.issue import Lifetimes, issue, issue_authority, issue_pair
from certs.subject_names import SubjectNames, local_names, service_names
from certs.verify import facts_of

NOW = datetime.now(UTC).replace(microsecond=0)
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


@pytest.mark.parametrize("name", NAMES.dns)
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
    assert not usage.key_agreement
    key = certificate.public_key()
    assert isinstance(key, ec.EllipticCurvePublicKey)
    assert key.curve.name == "secp256r1"


def test_a_webhook_run_by_hand_is_certified_for_its_machine() -> None:
    names = local_names(NAMES)
    assert facts_of(issue(names, NOW).pair.certificate).names == names
    assert tls_accepts(issue(names, NOW), "127.0.0.1")


def stolen(name: SubjectNames) -> Bundle:
    """What the key of the Service's authority can sign for another name."""
    bundle = issue(NAMES, NOW)
    return replace(bundle, pair=issue_pair(bundle.authority, name, NOW))


def tls_accepts(bundle: Bundle, name: str) -> bool:
    """What OpenSSL says to the certificate as a server's, today."""
    client = ssl.create_default_context(cadata=bundle.trust.decode())
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder:
        files_in.write(Path(folder), to_files(bundle))
        server.load_cert_chain(Path(folder) / "tls.crt", Path(folder) / "tls.key")
    one, other = ssl.MemoryBIO(), ssl.MemoryBIO()
    asks = client.wrap_bio(one, other, server_hostname=name)
    answers = server.wrap_bio(other, one, server_side=True)
    for side in (asks, answers, asks, answers):
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            continue
        except ssl.SSLCertVerificationError:
            return False
    return True


@pytest.mark.parametrize(
    "name", ["kubernetes.default.svc", "edl-webhook.default.svc", "www.example.test"]
)
def test_no_client_believes_the_authority_about_another_host(name: str) -> None:
    assert not accepts(stolen(SubjectNames((name,))), name, NOW)
    assert not tls_accepts(stolen(SubjectNames((name,))), name)


@pytest.mark.parametrize("address", ["10.96.0.1", "127.0.0.1", "fd00::1"])
def test_no_client_believes_the_authority_about_an_address(address: str) -> None:
    assert not tls_accepts(stolen(SubjectNames((), (address,))), address)


def test_the_names_that_an_authority_may_sign_for_are_a_critical_constraint() -> None:
    certificate = x509.load_pem_x509_certificate(issue_authority(NAMES, NOW).certificate)
    constraints = certificate.extensions.get_extension_for_class(x509.NameConstraints)
    assert constraints.critical
    assert constraints.value.permitted_subtrees == [x509.DNSName(name) for name in NAMES.dns]


def test_a_name_longer_than_a_common_name_may_be_is_still_certified() -> None:
    name = f"{'a' * 60}.{'b' * 60}.svc"
    assert accepts(issue(SubjectNames((name,)), NOW), name, NOW)


def test_keys_are_not_printed() -> None:
    assert "PRIVATE" not in repr(issue(NAMES, NOW))


def test_a_host_name_that_no_client_could_parse_is_named() -> None:
    with pytest.raises(CertificateError, match='"bad name" is not a DNS name'):
        issue(SubjectNames(("a", "bad name")), NOW)


def test_an_invalid_address_is_named() -> None:
    authority = issue(NAMES, NOW).authority
    with pytest.raises(CertificateError, match=r"no certificate for a, 300\.1\.1\.1"):
        issue_pair(authority, SubjectNames(("a",), ("300.1.1.1",)), NOW)
