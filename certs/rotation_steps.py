"""Renewal in time: valid certificates stay unchanged, and served ones never lose their trust.

An authority follows another in three steps: the new one is trusted together with the old one
(`succeeded`); once every API server knows it, it signs the serving certificate (`renewed_pair`);
once every replica serves that certificate, the old authority is dropped (`renewed`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from certs.bundle import (
    AUTHORITY_CERTIFICATE,
    AUTHORITY_FILES,
    AUTHORITY_KEY,
    Bundle,
    CertificateError,
    Issuer,
    KeyPair,
    issuer_from,
)
from certs.issue import CLOCK_SKEW, LIFETIMES, Lifetimes, issue, issue_authority, issue_pair
from certs.subject_names import SubjectNames
from certs.verify import (
    facts_of,
    is_signed_by,
    is_trusted,
    issuer_problem,
    misnamed,
    trusted_of,
)

MAX_PREDECESSORS: Final = 7
"""Predecessors in a configuration, however often the Secret is emptied."""


@dataclass(frozen=True, slots=True)
class CertificateRequest:
    """The names, the time and the lifetimes for certificates to issue."""

    names: SubjectNames
    now: datetime
    lifetimes: Lifetimes = LIFETIMES


@dataclass(frozen=True, slots=True)
class TrustProgress:
    """How far clients and servers have come, as authorities (PEM); empty if unknown.

    `settled` is trusted by every client, so its certificates may be served. `served` has signed
    what every server serves, so its predecessors may be dropped. `alone`: a configuration has been
    missing for so long that nothing waits for it.
    """

    settled: bytes = b""
    served: bytes = b""
    alone: bool = False


NO_PROGRESS: Final = TrustProgress()


def renewed(
    issuer: Issuer | None, order: CertificateRequest, belief: bytes = b"", served: bytes = b""
) -> Issuer:
    """`issuer` while it is good; its successor if it is not, or itself without predecessors.

    None stands for an issuer that was lost: the next one keeps the clients' `belief` (PEM).
    """
    if (
        issuer is None
        or issuer_problem(issuer, order.now, order.names)
        or is_due(issuer.authority.certificate, order.now)
    ):
        return succeeded(issuer, order, belief)
    if issuer.overlaps and served == issuer.authority.certificate:
        return replace(issuer, trust=issuer.authority.certificate)
    return issuer


def succeeded(issuer: Issuer | None, order: CertificateRequest, belief: bytes = b"") -> Issuer:
    """A new authority; what clients trust already stays trusted."""
    fresh = issue_authority(order.names, order.now, order.lifetimes.authority)
    held = issuer.trust if issuer else b""
    before = trusted_of(held + belief, order.now)[:MAX_PREDECESSORS]
    return Issuer(fresh, fresh.certificate + b"".join(before))


def renewed_pair(
    pair: KeyPair | None, issuer: Issuer, order: CertificateRequest, settled: bytes = b""
) -> KeyPair | None:
    """`pair` while it is good, else one that the issuer signs.

    None if there is no pair that clients trust until the issuer's authority is `settled`.
    """
    good = pair if pair and is_good(pair, issuer.trust, order) else None
    signed = good is not None and is_signed_by(good.certificate, issuer.authority.certificate)
    if signed and good and not is_due(good.certificate, order.now):
        return good
    if signed or not issuer.overlaps or settled == issuer.authority.certificate:
        return issue_pair(issuer.authority, order.names, order.now, order.lifetimes.serving)
    return good


def is_good(pair: KeyPair, trust: bytes, order: CertificateRequest) -> bool:
    """Whether clients that trust `trust` accept this pair under every requested name."""
    return is_trusted(pair, trust, order.now) and not misnamed(pair.certificate, order.names)


def is_due(certificate: bytes, now: datetime) -> bool:
    """Whether less than a third of the lifetime is left for which the certificate was issued."""
    facts = facts_of(certificate)
    life = facts.ends - facts.starts
    return facts.left(now) < (life - CLOCK_SKEW if life > CLOCK_SKEW else life) / 3


def reissued(files: Mapping[str, bytes], order: CertificateRequest) -> Bundle:
    """A new serving certificate by the authority in `files`, or by a new one if it has none."""
    if not any(files.get(name) for name in AUTHORITY_FILES):
        return issue(order.names, order.now, order.lifetimes)
    issuer = issuer_from(files)
    if problem := issuer_problem(issuer, order.now, order.names):
        raise CertificateError(
            f"the authority cannot sign: {problem}; remove {AUTHORITY_CERTIFICATE} and "
            f"{AUTHORITY_KEY} to start with a new one"
        )
    pair = issue_pair(issuer.authority, order.names, order.now, order.lifetimes.serving)
    return Bundle(issuer, pair)
