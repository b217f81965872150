"""Reads stored and trusted certificates, and renews them."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final

from certs.bundle import CertificateError, each_certificate
from certs.secrets import Installed, rotate, usual
from certs.secrets import renew as renewed
from edl.errors import Forbidden, NotFound
from edl.model import ObjectRef
from kubectl_edl.certificates.view import CertificateRow, certs_report, place, row
from kubectl_edl.cli.command_errors import Refused
from kubectl_edl.cli.context import ClusterConnection
from kubectl_edl.client.certificate_store import (
    CertificateStore,
    authorities,
    certificate_owner,
    served,
    trusted,
)
from kubectl_edl.output.report import Report

_ELSEWHERE: Final[Mapping[CertificateStore, str]] = {
    # `certs` cannot issue this certificate: only the leader knows the server's names.
    CertificateStore.LEADER: "to have it renewed: kubectl delete secret edl-webhook-tls "
    "-n {namespace}{flags}",
    CertificateStore.CERT_MANAGER: "cmctl renew edl-webhook -n {namespace}{flags}",
    CertificateStore.DIRECTORY: "python -m certs issue --dir DIR renews it there",
}


def listed(connection: ClusterConnection, now: datetime) -> Report:
    """All certificates of the installation; certificates that cannot be read become hints."""
    cluster, flags = connection.cluster, connection.scope.edl_flags
    secrets = usual(namespace=cluster.system_namespace)
    bundles = dict.fromkeys((one.target, one.certificates) for one in trusted(cluster))
    believed = [
        row("trusted", where, one)
        for where, certificates in bundles
        for one in each_certificate(certificates)
    ]
    issuing, no_issuing = _read(
        connection,
        secrets.authority,
        lambda where: [
            row("predecessor" if number else "authority", where, one)
            for number, one in enumerate(authorities(cluster))
        ],
    )
    serving, no_serving = _read(
        connection,
        secrets.serving,
        lambda where: [row("serving", where, served(cluster).certificate)],
    )
    report = certs_report([*issuing, *serving, *believed], now, flags)
    return report.with_hints((*no_issuing, *no_serving) if believed else ())


def _read(
    connection: ClusterConnection,
    secret: ObjectRef,
    shown: Callable[[ObjectRef], list[CertificateRow]],
) -> tuple[list[CertificateRow], tuple[str, ...]]:
    where = place(secret)
    try:
        return shown(secret), ()
    except Forbidden as error:
        return [], (f"hint: what is in {where} is not shown: {error}",)
    except (CertificateError, NotFound) as error:
        if certificate_owner(connection.cluster) is not CertificateStore.DIRECTORY:
            renewal = f"kubectl edl certs renew{connection.scope.edl_flags}"
            return [], (f"hint: {where}: {error}; {renewal}",)
    return [], ()


def renew(connection: ClusterConnection, now: datetime, *, authority: bool) -> Installed:
    """Renew the serving certificate in its Secret, or replace the authority and trust the new one.

    Raises Refused if another component manages the certificates, ClusterError, CertificateError.
    """
    cluster = connection.cluster
    secrets = usual(namespace=cluster.system_namespace)
    if not list(trusted(cluster)):
        way = f"kubectl edl install --image IMAGE{connection.scope.edl_flags}"
        raise Refused(f"kubectl-edl is not installed here: {way}")
    if (by := certificate_owner(cluster)) is not CertificateStore.RECONCILER:
        elsewhere = _ELSEWHERE[by].format(
            namespace=cluster.system_namespace, flags=connection.scope.cluster_flags
        )
        raise Refused(f"{by.value} keeps the certificates of this installation: {elsewhere}")
    return (rotate if authority else renewed)(cluster, secrets, now)
