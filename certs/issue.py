"""Issues authorities and serving certificates (EC P-256), without a clock, and stores nothing."""

import ipaddress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from certs.bundle import Authority, Bundle, CertificateError, Issuer, KeyPair
from certs.subject_names import SubjectNames, is_host
from certs.verify import certificate_of, key_of

CLOCK_SKEW: Final = timedelta(hours=1)
"""Certificates are valid from this long before `now`, like those that Kubernetes signs for itself
(client-go, util/cert): the clocks of API servers and of other replicas may be behind ours."""

_EVERY_ADDRESS: Final = ("0.0.0.0/0", "::/0")
_COMMON_NAME_LIMIT: Final = 64  # X.509's upper bound; clients check the SANs


@dataclass(frozen=True, slots=True)
class Lifetimes:
    authority: timedelta = timedelta(days=3650)
    serving: timedelta = timedelta(days=365)


LIFETIMES: Final = Lifetimes()


def issue(names: SubjectNames, now: datetime, lifetimes: Lifetimes = LIFETIMES) -> Bundle:
    """A new authority, and a serving certificate that it signs."""
    authority = issue_authority(names, now, lifetimes.authority)
    pair = issue_pair(authority, names, now, lifetimes.serving)
    return Bundle(Issuer(authority, trust=authority.certificate), pair)


def issue_authority(
    names: SubjectNames, now: datetime, lifetime: timedelta = LIFETIMES.authority
) -> Authority:
    """A self-signed authority that may sign serving certificates for `names` and nothing else.

    Raises CertificateError for a name that is neither a host name nor an address.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    name = _name("kubectl-edl webhook authority")
    certificate = (
        _builder(key, now, now + lifetime)
        .subject_name(name)
        .issuer_name(name)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs=True), critical=True)
        .add_extension(_constraints(names), critical=True)
        .sign(key, hashes.SHA256())
    )
    return Authority(_pem(certificate), _key_pem(key))


def issue_pair(
    authority: Authority,
    names: SubjectNames,
    now: datetime,
    lifetime: timedelta = LIFETIMES.serving,
) -> KeyPair:
    """A serving certificate for `names`; it never outlives its authority.

    Raises CertificateError for an unreadable authority, or a name that is not a host or address.
    """
    issuer = certificate_of(authority.certificate)
    key = ec.generate_private_key(ec.SECP256R1())
    ends = min(now + lifetime, issuer.not_valid_after_utc)
    certificate = (
        _builder(key, now, ends)
        .subject_name(_name((names.dns or names.ips)[0][:_COMMON_NAME_LIMIT]))
        .issuer_name(issuer.subject)
        .add_extension(_alternative_names(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(_issuer_key(issuer), critical=False)
        .sign(_signing_key(authority), hashes.SHA256())
    )
    return KeyPair(_pem(certificate), _key_pem(key))


def _signing_key(authority: Authority) -> ec.EllipticCurvePrivateKey:
    key = key_of(authority.key)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise CertificateError("the authority's key is not an elliptic curve key: not one of ours")
    return key


def _builder(
    key: ec.EllipticCurvePrivateKey, now: datetime, ends: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCK_SKEW)
        .not_valid_after(ends)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs,
        key_cert_sign=signs,
        crl_sign=signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _constraints(names: SubjectNames) -> x509.NameConstraints:
    """Name constraints for these names.

    A kind of name is excluded as a whole if none of it is permitted (RFC 5280, 4.2.1.10).
    """
    networks = [ipaddress.ip_network(address.value) for address in _addresses(names)]
    hosts: list[x509.GeneralName] = [*_hosts(names)]
    permitted = [*hosts, *map(x509.IPAddress, networks)]
    excluded = [x509.IPAddress(ipaddress.ip_network(every)) for every in _EVERY_ADDRESS]
    return x509.NameConstraints(permitted, None if networks else excluded)


def _alternative_names(names: SubjectNames) -> x509.SubjectAlternativeName:
    return x509.SubjectAlternativeName([*_hosts(names), *_addresses(names)])


def _hosts(names: SubjectNames) -> list[x509.DNSName]:
    if wrong := [name for name in names.dns if not is_host(name)]:
        raise _no_certificate(names, f'"{wrong[0]}" is not a DNS name')
    return [x509.DNSName(name) for name in names.dns]


def _addresses(names: SubjectNames) -> list[x509.IPAddress]:
    try:
        return [x509.IPAddress(ipaddress.ip_address(ip)) for ip in names.ips]
    except ValueError as error:
        raise _no_certificate(names, error) from error


def _no_certificate(names: SubjectNames, error: ValueError | str) -> CertificateError:
    return CertificateError(f"no certificate for {', '.join(names.dns + names.ips)}: {error}")


def _issuer_key(issuer: x509.Certificate) -> x509.AuthorityKeyIdentifier:
    identifier = issuer.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier)


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
