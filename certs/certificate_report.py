"""Certificates in words, for `python -m certs`."""

from datetime import datetime

from certs.bundle import Bundle, CertificateError, SubjectNames, each_certificate
from certs.secrets import Installed
from certs.verify import bundle_problem, facts_of


def report(bundle: Bundle, now: datetime) -> tuple[str, ...]:
    """Lines on the authority, the certificate, and whether clients would accept it."""
    problem = bundle_problem(bundle, SubjectNames(()), now)
    return (
        *_described("authority", bundle.authority.certificate, now),
        *_described("certificate", bundle.pair.certificate, now),
        f"{'problem':<13}{problem}" if problem else f"{'state':<13}good",
    )


def report_installed(installed: Installed, now: datetime) -> tuple[str, ...]:
    """Lines on each authority that is trusted, and on what is served."""
    authorities = each_certificate(installed.issuer.trust)
    described = [line for one in authorities for line in _described("authority", one, now)]
    if installed.pair is None:
        return (*described, f"{'certificate':<13}none until every API server knows the authority")
    return (*described, *_described("certificate", installed.pair.certificate, now))


def _described(title: str, certificate: bytes, now: datetime) -> tuple[str, ...]:
    try:
        facts = facts_of(certificate)
    except CertificateError as error:
        return (f"{title:<13}{error}",)
    names = ", ".join((*facts.names.dns, *facts.names.ips))
    days = facts.left(now).days
    left = f"{days} days left" if days >= 0 else f"expired {-days} days ago"
    lines = (
        f"{title:<13}{facts.subject}, signed by {facts.issuer}",
        f"{'':<13}for {names}" if names else "",
        f"{'':<13}until {facts.ends:%Y-%m-%d %H:%M} UTC, {left}",
    )
    return tuple(line for line in lines if line)
