"""Warnings for new Jobs and bare pods that can be completed, and would not run as their user means.

Each function takes a manifest that kubectl-edl has not completed before.
"""

from collections.abc import Iterator
from typing import Final

from edl import contract
from edl.contract.manifest_parts import (
    annotations,
    is_of_cron_job,
    is_paused,
    labels,
    pod_of,
    service_account,
    training_container,
)
from edl.dns_names import is_dns_subdomain
from edl.frameworks import FRAMEWORKS, needs_all_ranks, peer_access, success_policy
from edl.frameworks.base import Needs, PeerAccess
from edl.inject import pauses
from edl.inject.pods import gpus, volumes
from edl.inject.warnings import launcher_warnings, request_warnings
from edl.spec import addresses, index_rules
from edl.spec.failure_policy import FAILS, exit_code_rules
from edl.spec.job_spec import JobSpec
from edl.writes import Json

_FAILS_THE_JOB: Final = (
    "spec.podFailurePolicy.rules: a pod that a scale-down, pause or preemption ends fails the Job "
    "if FailJob has its exit code: recreate it with a rule before that: Ignore, on the condition "
    "DisruptionTarget"
)
_HELD: Final = "suspend: true or kubectl edl pause keeps the Job from starting"
_DEFAULT: Final = "Default"
_OF_NODES: Final = ("", "ClusterFirst", _DEFAULT)
"""DNS policies with which a pod in its node's network asks the node's DNS servers."""


def warnings(manifest: Json, spec: JobSpec) -> Iterator[str]:
    needs, pod = FRAMEWORKS[spec.framework].describe(spec), pod_of(manifest).get("spec") or {}
    yield from _of_account(manifest, spec, needs)
    yield from _of_start(pod, spec, needs)
    yield from _of_keys(pod, training_container(pod_of(manifest)), spec, needs)
    yield from _of_files(training_container(pod_of(manifest)), needs)
    yield from _of_network(pod, spec)
    yield from launcher_warnings.warnings(manifest, spec, needs)
    if manifest.get("kind") != "Pod":
        yield from _of_repetition(manifest)
        yield from _of_size(manifest, spec)
        yield from _of_failure_policy(manifest)
        yield from _of_failed_indexes(manifest, spec)
        yield from _of_clean_up(manifest, spec)
        yield from request_warnings.warnings(manifest, spec)
        yield from gpus.warnings(manifest, spec.resources.gpu)


def _of_account(manifest: Json, spec: JobSpec, needs: Needs) -> Iterator[str]:
    """Pods that need rights and run as an account to which kubectl-edl gives none.

    The command grants the rights to the account of the user's choice. The API server refuses other
    names than DNS subdomains later: no command contains them.
    """
    bare, account = manifest.get("kind") == "Pod", service_account(manifest)
    way_out = "" if bare else ", or leave serviceAccountName out"
    for generated, granted in _rights(spec, needs):
        if account and is_dns_subdomain(account) and (bare or account != generated):
            yield (
                f'ServiceAccount "{account}" needs {granted}, '
                "which kubectl-edl binds to its own accounts alone: "
                f"{_command(spec, account, granted)}{way_out}"
            )


def _rights(spec: JobSpec, needs: Needs) -> Iterator[tuple[str, str]]:
    """The generated account and the ClusterRole that the reconciler binds to it."""
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


def _of_start(pod: Json, spec: JobSpec, needs: Needs) -> Iterator[str]:
    """Pods that start before they know their peers, or cannot ask the API server for them."""
    if needs.gated and pod.get("nodeName"):
        yield (
            f"nodeName: this {spec.role} starts before it is told the workers of the training "
            "job: use a nodeSelector"
        )
    by_server = needs.kubectl or needs.lists_pods
    if by_server and pod.get("automountServiceAccountToken") is False and not _has_token(pod):
        yield (
            f"automountServiceAccountToken is false: without a token this {spec.role} cannot reach "
            "its peers through the API server: leave it out"
        )


def _has_token(pod: Json) -> bool:
    """Whether a volume of the user's own has a token, as hardened pods do."""
    volumes = pod.get("volumes") or ()
    sources = (
        item for volume in volumes for item in (volume.get("projected") or {}).get("sources") or ()
    )
    return any(source.get("serviceAccountToken") for source in sources)


def _of_keys(pod: Json, container: Json, spec: JobSpec, needs: Needs) -> Iterator[str]:
    """Pods that mount the training job's key pair, which ssh and sshd cannot use there."""
    if not needs.ssh_keys or volumes.own_mount(container, contract.SSH_DIRECTORY):
        return
    context = (pod.get("securityContext") or {}) | (container.get("securityContext") or {})
    dials = spec.role != FRAMEWORKS[spec.framework].publishes
    if dials and context.get("fsGroup") is not None:
        yield (
            "securityContext.fsGroup: Kubernetes lets that group read the key pair of the training "
            "job, and ssh refuses such a key: leave it out, or use mode kubexec"
        )
    if context.get("runAsUser") or context.get("runAsNonRoot"):
        yield (
            "securityContext: only root may read the key pair of the training job, and start sshd: "
            f"run this {spec.role} as root, or use mode kubexec"
        )


def _of_files(container: Json, needs: Needs) -> Iterator[str]:
    """Volumes of the user's own over live files, to which variables and commands refer."""
    hidden: dict[str, list[str]] = {}
    for file in needs.files:
        if volumes.own_mount(container, file.directory):
            hidden.setdefault(file.directory, []).append(file.name)
    for directory, names in hidden.items():
        yield (
            f"volumeMounts {directory}: this volume hides {' and '.join(names)} of kubectl-edl: "
            "mount it elsewhere if the program needs them"
        )


def found_by_labels(spec: JobSpec) -> bool:
    """Whether the training job's pods find each other by their labels, and ask for no names."""
    return peer_access(spec) is PeerAccess.LABELS


def _of_network(pod: Json, spec: JobSpec) -> Iterator[str]:
    """Pods that ask their node's DNS servers, and pods in its network: no peer knows their name.

    The API server writes ClusterFirst where a user writes nothing: that is not a choice, but which
    of them it was is unknown here, so the policy stays.
    """
    on_host, policy = pod.get("hostNetwork"), pod.get("dnsPolicy") or ""
    if not spec.indexed or not (on_host or policy == _DEFAULT) or found_by_labels(spec):
        return
    framework, roles = FRAMEWORKS[spec.framework], [bounds.role for bounds in spec.all_roles]
    if spec.role == framework.publishes:
        return  # Its launcher looks it up, and tells it addresses.
    if sum(bounds.max for bounds in spec.all_roles) == 1 and roles != [framework.host_role]:
        return  # without peers
    if policy in _OF_NODES:
        cause = "hostNetwork" if on_host else "dnsPolicy Default"
        way_out = "set dnsPolicy to ClusterFirstWithHostNet" if on_host else "leave it out"
        yield f"{cause}: the DNS servers of the nodes do not know the names of the pods: {way_out}"
    if on_host and spec.rank is None and roles == [framework.host_role]:
        yield (
            f"hostNetwork: pods have the host names of their nodes, so no {spec.role} becomes the "
            f"host of the rendezvous: add the role rendezvous in {contract.ROLES}"
        )


def _of_repetition(manifest: Json) -> Iterator[str]:
    """A CronJob whose Jobs would all be one training job: a role has one Job.

    It is not refused: the run after a Job was deleted, by its TTL or a history limit of 0, starts.
    """
    name = labels(manifest).get(contract.JOB)
    if name and is_of_cron_job(manifest):
        yield (
            f"{contract.JOB}: each run is left out of {name} while the Job of an earlier one "
            "exists, also of one that has ended: leave the label out, so that each run is a "
            "training job of its own"
        )


def _of_size(manifest: Json, spec: JobSpec) -> Iterator[str]:
    """A `spec.parallelism` that the bounds exclude: the Job starts within the bounds instead.

    1 is the API server's default, which a file that leaves it out gets. 0 holds an ordinary Job.
    """
    size = (manifest.get("spec") or {}).get("parallelism")
    low, high = spec.scaling.min, spec.scaling.max
    if size is None or size == 1 or low <= size <= high or (not size and _is_held(manifest)):
        return
    bounds = f"{low}" if low == high else f"{low}..{high}"
    why = f"because {spec.role} is {bounds} by {_source(manifest)}"
    way_out = "write the same in both, or leave it out" if size else _HELD
    yield f"spec.parallelism {size} has no effect, {why}: {way_out}"


def _is_held(manifest: Json) -> bool:
    return pauses.is_to_be_paused(manifest) or is_paused(manifest)


def _source(manifest: Json) -> str:
    """The keys that set the bounds; labels precede `edl.dev/roles`."""
    names = [name for name in (contract.MIN, contract.MAX) if name in labels(manifest)]
    by_roles = contract.ROLES in annotations(manifest)
    return " and ".join(names) or (contract.ROLES if by_roles else "a default of its namespace")


def _of_clean_up(manifest: Json, spec: JobSpec) -> Iterator[str]:
    """Pods that their Job's own controller ends, although the user wants them kept."""
    if spec.lifecycle.clean_up is contract.CleanUp.NONE and index_rules.ends_its_own_pods(
        manifest, spec, decides=bool(success_policy(manifest, spec))
    ):
        yield f"{contract.CLEAN_UP}: {index_rules.OWN_PODS}"


def _of_failed_indexes(manifest: Json, spec: JobSpec) -> Iterator[str]:
    """Fields that let a rank fail for good without its Job, though the others wait for it."""
    job = manifest.get("spec") or {}
    rules = (job.get("podFailurePolicy") or {}).get("rules") or ()
    fails = job.get("backoffLimitPerIndex") is not None
    fails = fails or any(rule.get("action") == "FailIndex" for rule in rules)
    if fails and needs_all_ranks(spec):
        yield (
            f"spec.backoffLimitPerIndex and FailIndex: the other pods wait for a {spec.role} that "
            "has failed for good, so the training job fails with it: leave them out"
        )


def _of_failure_policy(manifest: Json) -> Iterator[str]:
    """Rules that fail the Job for the exit code of a pod that was ended.

    The reconciler marks pods before it ends them (`edl.steps.disruption_marks`): a rule that
    ignores the mark must come first.
    """
    rules = exit_code_rules(manifest.get("spec") or {})
    if any(rule.action == FAILS and not rule.spares_disrupted for rule in rules):
        yield _FAILS_THE_JOB
