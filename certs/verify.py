"""Describes certificates and their problems; nothing is repaired."""

import ipaddress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography.x509.oid import NameOID

from certs.bundle import CertificateError, Issuer, KeyPair, each_certificate
from certs.subject_names import SubjectNames

_NETWORKS: Final = (ipaddress.IPv4Network, ipaddress.IPv6Network)


@dataclass(frozen=True, slots=True)
class CertificateInfo:
    """The fields of a certificate that are shown; times are UTC."""

    subject: str
    issuer: str
    names: SubjectNames
    starts: datetime
    ends: datetime

    def left(self, now: datetime) -> timedelta:
        """How long the certificate is still valid; negative once it has expired."""
        return self.ends - now


def facts_of(certificate: bytes) -> CertificateInfo:
    """The fields of a PEM certificate. Raises CertificateError if it is not one."""
    parsed = certificate_of(certificate)
    return CertificateInfo(
        subject=_common_name(parsed.subject),
        issuer=_common_name(parsed.issuer),
        names=_names(parsed),
        starts=parsed.not_valid_before_utc,
        ends=parsed.not_valid_after_utc,
    )


def pair_problem(pair: KeyPair, now: datetime) -> str:
    """Why a server must not serve with this pair now; empty if it may."""
    try:
        certificate, key = certificate_of(pair.certificate), key_of(pair.key)
    except CertificateError as error:
        return str(error)
    if certificate.public_key() != key.public_key():
        return "the key does not belong to the certificate"
    return _date_problem(certificate, now)


def issuer_problem(issuer: Issuer, now: datetime, names: SubjectNames) -> str:
    """Why the authority cannot sign for `names`; empty if it can."""
    authority = issuer.authority
    problem = pair_problem(KeyPair(authority.certificate, authority.key), now)
    return problem or _constraint_problem(certificate_of(authority.certificate), names)


def misnamed(certificate: bytes, names: SubjectNames) -> str:
    """The names that a readable certificate is not for, as a sentence; empty if there are none."""
    held = facts_of(certificate).names
    addresses = {ipaddress.ip_address(ip) for ip in held.ips}
    missing = [name for name in names.dns if name not in held.dns]
    missing += [ip for ip in names.ips if ipaddress.ip_address(ip) not in addresses]
    return f"the certificate is not for {', '.join(missing)}" if missing else ""


def is_signed_by(certificate: bytes, authority: bytes) -> bool:
    """Whether `authority` itself (not a parent of it) signed `certificate`; both are PEM."""
    try:
        certificate_of(certificate).verify_directly_issued_by(certificate_of(authority))
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def trusted_of(chain: bytes, now: datetime) -> tuple[bytes, ...]:
    """The certificates of a PEM chain that can be read and are valid now, without duplicates."""
    return tuple(dict.fromkeys(each for each in each_certificate(chain) if _is_valid(each, now)))


def is_trusted(pair: KeyPair, trust: bytes, now: datetime) -> bool:
    """Whether a client that trusts `trust` would accept this pair, apart from its names."""
    authorities = trusted_of(trust, now)
    return not pair_problem(pair, now) and any(
        is_signed_by(pair.certificate, authority) for authority in authorities
    )


def certificate_of(pem: bytes) -> x509.Certificate:
    """The first certificate of a PEM text; raises CertificateError."""
    try:
        return x509.load_pem_x509_certificate(pem)
    except ValueError as error:
        raise CertificateError("the certificate is not readable PEM") from error


def key_of(pem: bytes) -> PrivateKeyTypes:
    """A private key without a password; raises CertificateError."""
    try:
        return load_pem_private_key(pem, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise CertificateError("the key is not readable PEM, or has a password") from error


def _is_valid(certificate: bytes, now: datetime) -> bool:
    try:
        return not _date_problem(certificate_of(certificate), now)
    except CertificateError:
        return False


def _constraint_problem(authority: x509.Certificate, names: SubjectNames) -> str:
    """The names that the authority may not sign for; without constraints it may sign for all."""
    try:
        constraints = authority.extensions.get_extension_for_class(x509.NameConstraints).value
    except x509.ExtensionNotFound:
        return ""
    permitted = constraints.permitted_subtrees or ()
    hosts = [each.value for each in permitted if isinstance(each, x509.DNSName)]
    values = [each.value for each in permitted if isinstance(each, x509.IPAddress)]
    networks = [each for each in values if isinstance(each, _NETWORKS)]
    barred = [name for name in names.dns if not any(_is_below(name, host) for host in hosts)]
    barred += [
        ip for ip in names.ips if not any(ipaddress.ip_address(ip) in one for one in networks)
    ]
    return f"it may not sign for {', '.join(barred)}" if barred else ""


def _is_below(name: str, host: str) -> bool:
    return name == host or name.endswith(f".{host}")


def _date_problem(certificate: x509.Certificate, now: datetime) -> str:
    if now >= certificate.not_valid_after_utc:
        return f"expired on {certificate.not_valid_after_utc:%Y-%m-%d %H:%M} UTC"
    if now < certificate.not_valid_before_utc:
        return f"not valid before {certificate.not_valid_before_utc:%Y-%m-%d %H:%M} UTC"
    return ""


def _names(certificate: x509.Certificate) -> SubjectNames:
    try:
        held = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return SubjectNames(())
    return SubjectNames(
        dns=tuple(held.get_values_for_type(x509.DNSName)),
        ips=tuple(str(ip) for ip in held.get_values_for_type(x509.IPAddress)),
    )


def _common_name(name: x509.Name) -> str:
    attributes = name.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(attributes[0].value) if attributes else name.rfc4514_string()
