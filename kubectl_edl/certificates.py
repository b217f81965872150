"""What `kubectl edl certs` does: read what is kept and trusted, and renew it."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Final

from certs.bundle import Bundle, CertificateError
from certs.installation import Installed, ensure, rotate, store
from certs.issue import issue_pair
from certs.verify import authority_problem
from edl.errors import Forbidden, NotFound
from edl.kube.cluster import Cluster
from kubectl_edl.printers.report import Report
from kubectl_edl.refusals import Refused
from kubectl_edl.screens.certs import certs_report, of_configurations, of_secret
from kubectl_edl.trust import Keeper, installation, keeper, kept, trusted
from kubectl_edl.world import Connection

_ELSEWHERE: Final[Mapping[Keeper, str]] = {
    Keeper.CERT_MANAGER: "cmctl renew edl-webhook -n edl-system",
    Keeper.DIRECTORY: "python -m certs issue --dir DIR renews it there",
}


def listed(connection: Connection, now: datetime) -> Report:
    """All certificates of the installation; what may not be read is a hint."""
    cluster, secret = connection.cluster, installation().secret
    hints = []
    found = list(of_configurations(list(trusted(cluster))))
    try:
        found = [*of_secret(kept(cluster, secret), secret), *found]
    except Forbidden as error:
        hints.append(f"hint: only what is trusted, not what is served: {error}")
    except (CertificateError, NotFound) as error:
        if found and keeper(cluster) is not Keeper.DIRECTORY:
            named = f"Secret {secret.namespace}/{secret.name}"
            hints.append(f"hint: {named}: {error}; kubectl edl certs renew")
    return certs_report(found, now).hinting(hints)


def renew(connection: Connection, now: datetime, *, authority: bool) -> Installed:
    """A new serving certificate in the Secret, or everything anew, and trusted.

    Raises Refused where nobody would serve with it, ClusterError, CertificateError.
    """
    cluster, place = connection.cluster, installation()
    if not list(trusted(cluster)):
        raise Refused("kubectl-edl is not installed here: kubectl edl install --image IMAGE")
    if (by := keeper(cluster)) is not Keeper.WEBHOOK:
        raise Refused(f"{by.value} keeps the certificates of this installation: {_ELSEWHERE[by]}")
    if authority:
        return rotate(cluster, place, now)
    bundle = _good(cluster, now)
    if bundle is None:
        return ensure(cluster, place, now)
    pair = issue_pair(bundle.authority, place.names, now)
    return store(cluster, place, replace(bundle, pair=pair))


def _good(cluster: Cluster, now: datetime) -> Bundle | None:
    """The Secret's bundle, None where its authority cannot sign: then all of it is made anew."""
    try:
        bundle = kept(cluster, installation().secret).bundle
    except (CertificateError, NotFound):
        return None
    return None if bundle is None or authority_problem(bundle, now) else bundle
