"""Renewal in time: a bundle that is good stays the very same, and nobody who serves loses trust."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from certs.bundle import (
    AUTHORITY_CERTIFICATE,
    AUTHORITY_KEY,
    Bundle,
    CertificateError,
    Names,
    from_files,
    to_files,
)
from certs.issue import LIFETIMES, Lifetimes, issue, issue_pair
from certs.verify import authority_problem, bundle_problem, facts_of


def renewed(
    bundle: Bundle, names: Names, now: datetime, lifetimes: Lifetimes = LIFETIMES
) -> Bundle:
    """`bundle` itself while it is good; else one with what was bad, or due, issued again.

    An authority with time left stays in `trust` behind its successor: a second replica still
    serves what it signed until it reads the new pair.
    """
    if authority_problem(bundle, now):
        return issue(names, now, lifetimes)
    if is_due(bundle.authority.certificate, now):
        fresh = issue(names, now, lifetimes)
        return replace(fresh, trust=fresh.trust + bundle.authority.certificate)
    if bundle_problem(bundle, names, now) or is_due(bundle.pair.certificate, now):
        return replace(bundle, pair=issue_pair(bundle.authority, names, now, lifetimes.serving))
    return bundle


def is_due(certificate: bytes, now: datetime) -> bool:
    """Whether less than a third of the certificate's life is left."""
    facts = facts_of(certificate)
    return facts.left(now) < (facts.ends - facts.starts) / 3


def reissued(
    files: Mapping[str, bytes], names: Names, now: datetime, lifetimes: Lifetimes = LIFETIMES
) -> Bundle:
    """A new serving certificate by the authority among `files`; a new one too where there is none.

    Raises CertificateError for an authority that cannot sign: clients may still trust it, so it is
    not replaced silently.
    """
    fresh = issue(names, now, lifetimes)
    found = {name: files.get(name, b"") for name in (AUTHORITY_CERTIFICATE, AUTHORITY_KEY)}
    if not any(found.values()):
        return fresh
    kept = from_files(to_files(fresh) | found)
    if problem := authority_problem(kept, now):
        raise CertificateError(
            f"the authority cannot sign: {problem}; remove {AUTHORITY_CERTIFICATE} and "
            f"{AUTHORITY_KEY} to start with a new one"
        )
    return replace(kept, pair=issue_pair(kept.authority, names, now, lifetimes.serving))
