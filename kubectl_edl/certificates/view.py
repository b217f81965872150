"""The output of `kubectl edl certs show`: stored and trusted certificates."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from certs.bundle import CertificateError, each_certificate
from certs.secrets import usual
from certs.verify import CertificateInfo, facts_of, is_signed_by
from edl.errors import Forbidden, NotFound
from edl.model import ObjectRef
from kubectl_edl.cli.context import ClusterConnection
from kubectl_edl.client.certificate_store import (
    CertificateStore,
    authorities,
    certificate_owner,
    days_left,
    served,
    trusted,
)
from kubectl_edl.job_views.training_job_view import time_text
from kubectl_edl.output.documents.cluster_documents import CertificateDocument
from kubectl_edl.output.report import Report, documents
from kubectl_edl.output.table import Column, Table

_NOTHING: Final = (
    "No certificates: kubectl-edl is not installed here; kubectl edl install --image IMAGE{flags}"
)


@dataclass(frozen=True, slots=True)
class CertificateRow:
    """A certificate, its purpose and its location; `problem` is set if it cannot be read.

    `is_old`: whether a replaced authority, which is still trusted, has signed it.
    """

    what: str
    where: ObjectRef
    certificate: bytes
    facts: CertificateInfo | None
    problem: str = ""
    is_old: bool = False


def listed(connection: ClusterConnection, now: datetime) -> Report:
    """All certificates of the installation; certificates that cannot be read become hints."""
    cluster, flags = connection.cluster, connection.scope.edl_flags
    secrets = usual(namespace=cluster.system_namespace)
    bundles = dict.fromkeys((bundle.target, bundle.certificates) for bundle in trusted(cluster))
    issuing, no_issuing = _read(
        connection,
        secrets.authority,
        lambda where: [
            _row("predecessor" if number else "authority", where, certificate)
            for number, certificate in enumerate(authorities(cluster))
        ],
    )
    old = [row.certificate for row in issuing[1:] if row.facts]
    serving, no_serving = _read(
        connection,
        secrets.serving,
        lambda where: [_row("serving", where, served(cluster).certificate, old)],
    )
    believed = [
        _row("trusted predecessor" if certificate in old else "trusted", where, certificate)
        for where, certificates in bundles
        for certificate in each_certificate(certificates)
    ]
    report = _report([*issuing, *serving, *believed], now, flags)
    return report.with_hints((*no_issuing, *no_serving) if believed else ())


def _read(
    connection: ClusterConnection,
    secret: ObjectRef,
    shown: Callable[[ObjectRef], list[CertificateRow]],
) -> tuple[list[CertificateRow], tuple[str, ...]]:
    where = _place(secret)
    try:
        return shown(secret), ()
    except Forbidden as error:
        return [], (f"hint: what is in {where} is not shown: {error}",)
    except (CertificateError, NotFound) as error:
        if certificate_owner(connection.cluster) is not CertificateStore.DIRECTORY:
            renewal = f"kubectl edl certs renew{connection.scope.edl_flags}"
            return [], (f"hint: {where}: {error}; {renewal}",)
    return [], ()


def _report(certificates: Sequence[CertificateRow], now: datetime, flags: str) -> Report:
    """One row per certificate; `flags` are appended to the command suggested if there is none."""
    return Report(
        sections=(Table.of(_columns(now), certificates),),
        objects=documents("Certificate", map(_document, certificates)),
        names=tuple(f"{row.where.kind.lower()}/{row.where.name}" for row in certificates),
        list_kind="CertificateList",
        nothing=_NOTHING.format(flags=flags),
    )


def _place(where: ObjectRef) -> str:
    """`Secret edl-system/edl-webhook-tls`, or a webhook configuration's kind and name."""
    name = f"{where.namespace}/{where.name}" if where.namespace else where.name
    return f"{where.kind} {name}"


def _row(
    what: str, where: ObjectRef, certificate: bytes, old: Iterable[bytes] = ()
) -> CertificateRow:
    try:
        facts = facts_of(certificate)
        is_old = any(is_signed_by(certificate, authority) for authority in old)
        return CertificateRow(what, where, certificate, facts, is_old=is_old)
    except CertificateError as error:
        return CertificateRow(what, where, certificate, None, str(error))


def _columns(now: datetime) -> tuple[Column[CertificateRow], ...]:
    def of_facts(text: Callable[[CertificateInfo], str]) -> Callable[[CertificateRow], str]:
        return lambda row: text(row.facts) if row.facts else ""

    return (
        Column("CERTIFICATE", lambda row: row.what),
        Column("SUBJECT", lambda row: row.facts.subject if row.facts else row.problem),
        Column("SIGNED-BY", _signer),
        Column("LEFT", of_facts(lambda facts: days_left(facts, now))),
        Column("UNTIL", of_facts(lambda facts: f"{facts.ends:%Y-%m-%d}"), wide=True),
        Column("KEPT-IN", lambda row: _place(row.where), shrinks=True),
        Column(
            "NAMES", of_facts(lambda facts: ",".join(facts.names.dns + facts.names.ips)), wide=True
        ),
    )


def _signer(row: CertificateRow) -> str:
    issuer = row.facts.issuer if row.facts else ""
    return f"{issuer} (predecessor)" if row.is_old else issuer


def _document(row: CertificateRow) -> CertificateDocument:
    head: CertificateDocument = {
        "metadata": {"name": row.what.replace(" ", "-")},
        "source": _place(row.where),
        "error": row.problem,
    }
    if (facts := row.facts) is None:
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
