"""A warning for pods that need rights and run as an account to which kubectl-edl gives none."""

from collections.abc import Iterator

from edl import contract
from edl.contract.manifest_parts import annotations, service_account
from edl.dns_names import is_dns_subdomain
from edl.frameworks import FRAMEWORKS
from edl.spec import addresses
from edl.spec.job_spec import JobSpec
from edl.writes import Json


def warnings(manifest: Json, spec: JobSpec) -> tuple[str, ...]:
    """The command that grants the rights to the account of the user's choice.

    The API server refuses other names than DNS subdomains later: no command contains them.
    """
    bare = manifest.get("kind") == "Pod"
    if not bare and contract.INJECTED_MAX in annotations(manifest):
        return ()  # completed before, and warned about then
    account = service_account(manifest)
    way_out = "" if bare else ", or leave serviceAccountName out"
    return tuple(
        f'ServiceAccount "{account}" needs {granted}, which kubectl-edl binds to its own accounts '
        f"alone: {_command(spec, account, granted)}{way_out}"
        for generated, granted in _rights(spec)
        if account and is_dns_subdomain(account) and (bare or account != generated)
    )


def _rights(spec: JobSpec) -> Iterator[tuple[str, str]]:
    """The generated account and the ClusterRole that the reconciler binds to it."""
    needs = FRAMEWORKS[spec.framework].describe(spec)
    if needs.kubectl:
        yield addresses.launcher_account(spec.job), contract.LAUNCHER_CLUSTER_ROLE
    if needs.lists_pods:
        yield addresses.peers_account(spec.job), contract.PEERS_CLUSTER_ROLE


def _command(spec: JobSpec, account: str, granted: str) -> str:
    namespace = spec.namespace or "default"
    return (
        f"kubectl create rolebinding {account} -n {namespace} --clusterrole={granted} "
        f"--serviceaccount={namespace}:{account}"
    )
