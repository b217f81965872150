"""Renews the serving certificate, or the authority."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from certs.secrets import Installed, rotate, usual
from certs.secrets import renew as renewed
from certs.verify import facts_of, is_signed_by
from kubectl_edl.cli.command_errors import Refused
from kubectl_edl.cli.context import ClusterConnection
from kubectl_edl.client.certificate_store import (
    CertificateStore,
    certificate_owner,
    days_left,
    trusted,
)

_ELSEWHERE: Final[Mapping[CertificateStore, str]] = {
    # `certs` cannot issue this certificate: only the leader knows the server's names.
    CertificateStore.LEADER: "to have it renewed: kubectl delete secret edl-webhook-tls "
    "-n {namespace}{flags}",
    CertificateStore.CERT_MANAGER: "cmctl renew edl-webhook -n {namespace}{flags}",
    CertificateStore.DIRECTORY: "python -m certs issue --dir DIR renews it there",
}


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


def message(installed: Installed, now: datetime, *, authority: bool) -> str:
    if (
        authority
        or installed.pair is None
        or not is_signed_by(installed.pair.certificate, installed.issuer.authority.certificate)
    ):
        return (
            "a new CA is trusted; the reconciler switches to its certificate once every API "
            "server trusts it, and removes the old CA an hour later, when all replicas serve "
            "the new one"
        )
    left = days_left(facts_of(installed.pair.certificate), now)
    return f"renewed: {left}; the webhook loads it within a minute"
