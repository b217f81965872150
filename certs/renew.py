"""Renewal in time: a bundle that is good stays the very same, and nobody who serves loses trust.

An authority follows another in three steps, each of which any replica may take: the new one is
trusted beside the old (`succeeded`); when every API server knows it, replicas serve what it signed
(`webhook.keeper`); when they all do, the old one is dropped (`renewed` with a settled belief).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from certs.bundle import (
    AUTHORITY_CERTIFICATE,
    AUTHORITY_KEY,
    Bundle,
    CertificateError,
    Names,
    Pair,
    from_files,
    to_files,
)
from certs.issue import CLOCK_SKEW, LIFETIMES, Lifetimes, issue, issue_pair
from certs.verify import authority_problem, bundle_problem, facts_of, is_trusted, trusted_of

_MOST_PREDECESSORS: Final = 7
"""Somebody who empties the Secret again and again must not fill the configurations."""


@dataclass(frozen=True, slots=True)
class Belief:
    """What clients trust (PEM): `now`, and `settled`, the authority that they all know by now.

    Settled is what one replica has seen published for so long that no other serves anything else.
    """

    now: bytes = b""
    settled: bytes = b""


_NO_BELIEF: Final = Belief()


def renewed(
    bundle: Bundle | None,
    names: Names,
    now: datetime,
    lifetimes: Lifetimes = LIFETIMES,
    belief: Belief = _NO_BELIEF,
) -> Bundle:
    """`bundle` itself while it is good; else one with what was bad, or due, issued again.

    None is a bundle that was lost: the next one begins where the clients' belief is.
    """
    if (
        bundle is None
        or authority_problem(bundle, now)
        or is_due(bundle.authority.certificate, now)
    ):
        return succeeded(bundle, names, now, lifetimes, belief)
    if bundle_problem(bundle, names, now) or is_due(bundle.pair.certificate, now):
        return replace(bundle, pair=issue_pair(bundle.authority, names, now, lifetimes.serving))
    if bundle.overlaps and belief.settled == bundle.authority.certificate:
        return replace(bundle, trust=bundle.authority.certificate, previous=None)
    return bundle


def succeeded(
    bundle: Bundle | None,
    names: Names,
    now: datetime,
    lifetimes: Lifetimes = LIFETIMES,
    belief: Belief = _NO_BELIEF,
) -> Bundle:
    """A new authority and its first certificate; whom clients trust already stays trusted."""
    fresh = issue(names, now, lifetimes)
    held = bundle.trust if bundle else b""
    before = b"".join(trusted_of(held + belief.now, now)[:_MOST_PREDECESSORS])
    return replace(fresh, trust=fresh.trust + before, previous=_known(bundle, before, now))


def _known(bundle: Bundle | None, trust: bytes, now: datetime) -> Pair | None:
    """The pair that clients have known longest among those that still prove something."""
    pairs = (bundle.previous, bundle.pair) if bundle else ()
    return next((pair for pair in pairs if pair and is_trusted(pair, trust, now)), None)


def is_due(certificate: bytes, now: datetime) -> bool:
    """Whether less than a third of the life is left that the certificate was issued for."""
    facts = facts_of(certificate)
    life = facts.ends - facts.starts
    return facts.left(now) < (life - CLOCK_SKEW if life > CLOCK_SKEW else life) / 3


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
