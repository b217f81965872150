"""Checks that the API server trusts the webhook's certificate, and for how long."""

from collections.abc import Mapping
from typing import Final

from certs.bundle import CertificateError, KeyPair, each_certificate
from certs.rotation_steps import is_due
from certs.secrets import Installation, usual
from certs.verify import CertificateInfo, facts_of, is_signed_by, misnamed, pair_problem
from edl.errors import NotFound
from kubectl_edl.cli.suggested_commands import FixCommand
from kubectl_edl.client.certificate_store import (
    CertificateStore,
    Trusted,
    certificate_owner,
    days_left,
    is_believed,
    served,
)
from kubectl_edl.client.certificate_store import trusted as entries
from kubectl_edl.doctor.checks.check import (
    CheckContext,
    CheckResults,
    failure,
    ok,
    warning,
)
from kubectl_edl.install.components import DEPLOYMENTS

_RENEW: Final = "kubectl edl certs renew"
_FIXES: Final[Mapping[CertificateStore, str]] = {
    CertificateStore.RECONCILER: _RENEW,
    CertificateStore.LEADER: "kubectl delete secret edl-webhook-tls -n {namespace}",
    CertificateStore.CERT_MANAGER: (
        "kubectl describe certificate,certificaterequest -n {namespace}"
    ),
    CertificateStore.DIRECTORY: "python -m certs issue --dir DIR",
}


def trusted(context: CheckContext) -> CheckResults:
    """Check each entry's caBundle: present, readable, equal to the others, not about to expire."""
    cluster = context.cluster
    bundles, owner = list(entries(cluster)), certificate_owner(cluster)
    fix, rewrite = _fix(context, owner), _rewrite(context, owner)
    empty = [bundle for bundle in bundles if not bundle.certificates]
    if empty:
        more = f" and {len(empty) - 1} more" if len(empty) > 1 else ""
        what = "no caBundle, so the API server trusts no certificate of the webhook"
        yield failure(f"{empty[0]}{more}: {what}", _rollout(context) or rewrite)
    trusting = [bundle for bundle in bundles if bundle not in empty]
    bad = [(bundle, problem) for bundle in trusting if (problem := _problem(bundle, context))]
    for bundle, problem in bad:
        yield failure(f"{bundle}: {problem}", fix if fix == rewrite else f"{fix}; then: {rewrite}")
    if empty or bad or not bundles:
        return
    if len({bundle.certificates for bundle in bundles}) > 1:
        yield failure("the webhooks' entries trust different authorities", rewrite)
        return
    (authority, *older) = each_certificate(bundles[0].certificates)
    facts = facts_of(authority)
    also = " (and its predecessor, while it is replaced)" if older else ""
    message = f'the API server trusts "{facts.subject}"{also}, {days_left(facts, context.now)}'
    yield (
        warning(message, FixCommand(f"{fix} --authority") if fix == _RENEW else fix)
        if is_due(authority, context.now)
        else ok(message)
    )


def bundle_remedy(context: CheckContext) -> str:
    """What mends an entry whose caBundle has no readable certificate; empty if each has one."""
    cluster = context.cluster
    if all(_authorities(bundle) for bundle in entries(cluster)):
        return ""
    return _rollout(context) or _rewrite(context, certificate_owner(cluster))


def serving(context: CheckContext) -> CheckResults:
    """Check the serving certificate: valid, in time, and signed by the trusted authority.

    A webhook outside the cluster has it in a file there, which only its answers show.
    """
    cluster = context.cluster
    secret, by = _usual(context).serving, certificate_owner(cluster)
    named = f"Secret {secret.namespace}/{secret.name}"
    if by is CertificateStore.DIRECTORY:
        return
    try:
        pair = served(cluster)
    except (CertificateError, NotFound) as error:
        yield failure(f"{named}: {error}", _fix(context, by))
        return
    yield from _served(pair, named, context, _fix(context, by))


def _usual(context: CheckContext) -> Installation:
    return usual(namespace=context.system_namespace)


def _fix(context: CheckContext, by: CertificateStore) -> str:
    fix = _FIXES[by].format(namespace=context.system_namespace)
    return fix if by is CertificateStore.DIRECTORY else FixCommand(fix)


def _rewrite(context: CheckContext, by: CertificateStore) -> str:
    """The command that writes each caBundle again; `certs issue` writes files alone."""
    return context.installer.again if by is CertificateStore.DIRECTORY else _fix(context, by)


def _rollout(context: CheckContext) -> str:
    """The command that waits for a reconciler that starts, which writes the bundle; or empty."""
    reconciler = context.components.get("edl-reconciler")
    if reconciler is None or reconciler.ready:
        return ""
    rollout = f"rollout status {' '.join(f'deployment/{name}' for name in DEPLOYMENTS)}"
    return FixCommand(f"wait for the rollout: kubectl {rollout} -n {context.system_namespace}")


def _problem(bundle: Trusted, context: CheckContext) -> str:
    facts = _authorities(bundle)
    if not facts:
        return "its caBundle is not a PEM certificate, so the API server cannot call the webhook"
    if all(each.left(context.now).total_seconds() < 0 for each in facts):
        return f"the authority that it trusts has {days_left(facts[0], context.now)}"
    return ""


def _authorities(bundle: Trusted) -> list[CertificateInfo]:
    """The authorities that the entry trusts; empty if any of them is not readable."""
    try:
        return [facts_of(authority) for authority in each_certificate(bundle.certificates)]
    except CertificateError:
        return []


def _served(pair: KeyPair, named: str, context: CheckContext, fix: str) -> CheckResults:
    now = context.now
    problem = pair_problem(pair, now) or misnamed(pair.certificate, _usual(context).names)
    if problem:
        yield failure(f"{named}: {problem}", fix)
        return
    certificate = pair.certificate
    if distrusting := _distrusting(certificate, context):
        yield failure(
            f"{distrusting} trusts another authority than the one that signed the certificate in "
            f"{named}",
            fix,
        )
        return
    left, signer = days_left(facts_of(certificate), now), _signer(certificate, context)
    message = f"the serving certificate in {named} has {left}, signed by {signer}"
    if is_due(certificate, now):
        yield warning(f"{message}; it should have been renewed by now", fix)
    else:
        yield ok(message)


def _signer(certificate: bytes, context: CheckContext) -> str:
    """The first authority in caBundle signs; the others stay trusted while it replaces them."""
    firsts = (each_certificate(bundle.certificates)[0] for bundle in entries(context.cluster))
    signs = all(is_signed_by(certificate, authority) for authority in firsts)
    return "the trusted authority" if signs else "its predecessor, which is still trusted"


def _distrusting(certificate: bytes, context: CheckContext) -> Trusted | None:
    """The first entry that does not trust the certificate."""
    bundles = entries(context.cluster)
    return next((one for one in bundles if not is_believed(certificate, one.certificates)), None)
