"""The output of `kubectl edl certs show`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from certs.bundle import CertificateError
from certs.secrets import Installed
from certs.verify import CertificateInfo, facts_of, is_signed_by
from edl.model import ObjectRef
from kubectl_edl.client.certificate_store import days_left
from kubectl_edl.job_views.training_job_view import time_text
from kubectl_edl.output.documents.cluster_documents import CertificateDocument
from kubectl_edl.output.report import Report, documents
from kubectl_edl.output.table import Column, Table

_NOTHING: Final = (
    "No certificates: kubectl-edl is not installed here; kubectl edl install --image IMAGE{flags}"
)


@dataclass(frozen=True, slots=True)
class CertificateRow:
    """A certificate, its purpose and its location; `problem` is set if it cannot be read."""

    what: str
    where: ObjectRef
    facts: CertificateInfo | None
    problem: str = ""


def certs_report(certificates: Sequence[CertificateRow], now: datetime, flags: str) -> Report:
    """One row per certificate; `flags` are appended to the command suggested if there is none."""
    return Report(
        sections=(Table.of(_columns(now), certificates),),
        objects=documents("Certificate", map(_document, certificates)),
        names=tuple(f"{one.where.kind.lower()}/{one.where.name}" for one in certificates),
        list_kind="CertificateList",
        nothing=_NOTHING.format(flags=flags),
    )


def renewal_message(installed: Installed, now: datetime, *, authority: bool) -> str:
    if (
        authority
        or installed.pair is None
        or not is_signed_by(installed.pair.certificate, installed.issuer.authority.certificate)
    ):
        return (
            "a new CA is trusted; the reconciler switches to its certificate once every API "
            "server trusts it, and removes the old CA once all replicas serve the new certificate"
        )
    left = days_left(facts_of(installed.pair.certificate), now)
    return f"renewed: {left}; the webhook loads it within a minute"


def place(where: ObjectRef) -> str:
    """`Secret edl-system/edl-webhook-tls`, or a webhook configuration's kind and name."""
    name = f"{where.namespace}/{where.name}" if where.namespace else where.name
    return f"{where.kind} {name}"


def row(what: str, where: ObjectRef, certificate: bytes) -> CertificateRow:
    try:
        return CertificateRow(what, where, facts_of(certificate))
    except CertificateError as error:
        return CertificateRow(what, where, None, str(error))


def _columns(now: datetime) -> tuple[Column[CertificateRow], ...]:
    def of_facts(text: Callable[[CertificateInfo], str]) -> Callable[[CertificateRow], str]:
        return lambda one: text(one.facts) if one.facts else ""

    return (
        Column("CERTIFICATE", lambda one: one.what),
        Column("SUBJECT", lambda one: one.facts.subject if one.facts else one.problem),
        Column("SIGNED-BY", of_facts(lambda facts: facts.issuer)),
        Column("LEFT", of_facts(lambda facts: days_left(facts, now))),
        Column("UNTIL", of_facts(lambda facts: f"{facts.ends:%Y-%m-%d}"), wide=True),
        Column("KEPT-IN", lambda one: place(one.where), shrinks=True),
        Column(
            "NAMES", of_facts(lambda facts: ",".join(facts.names.dns + facts.names.ips)), wide=True
        ),
    )


def _document(one: CertificateRow) -> CertificateDocument:
    head: CertificateDocument = {
        "metadata": {"name": one.what.replace(" ", "-")},
        "source": place(one.where),
        "error": one.problem,
    }
    if (facts := one.facts) is None:
        return head
    return {
        **head,
        "subject": facts.subject,
        "issuer": facts.issuer,
        "dnsNames": list(facts.names.dns),
        "ipAddresses": list(facts.names.ips),
        "notBefore": time_text(facts.starts),
        "notAfter": time_text(facts.ends),
    }
