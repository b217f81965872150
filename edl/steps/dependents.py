"""The dependents of a training job, owned by its Jobs, so that they are garbage collected."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, TypeAlias

from edl import contract, device_templates
from edl.frameworks import FRAMEWORKS, peer_access
from edl.frameworks.base import PeerAccess
from edl.model import ObjectRef, Owner, PodPhase, Role, TrainingJob
from edl.planner.disruption_budgets import min_available, protected_size
from edl.spec import addresses
from edl.writes import Create, CreateKeys, Delete, Json, Write

_LAUNCHER: Final = "launcher"
_FIRST: Final = "-first-"
_OF: Final = "-of-"
_Wanted: TypeAlias = Iterator[tuple[ObjectRef, Json]]
"""Dependents, each with its fields besides the metadata."""


def dependents_of(job: TrainingJob, unprotected: Collection[str] = ()) -> tuple[Write, ...]:
    """Creates missing dependents, then deletes the PodDisruptionBudget of a former number.

    `unprotected` are roles that get none, so that a drain evicts their pods.

    While both exist, pods are not evicted (`MultiplePodDisruptionBudgets`); with neither, which
    could last if the reconciler failed between the two writes, any would be.
    """
    wanted = dict(_wanted(job, unprotected))
    missing = [
        Create(target, owned(job, target, fields), _needs(job, target))
        for target, fields in wanted.items()
        if target not in job.existing_dependents
    ]
    stale = [
        Delete(target, uid=job.existing_dependents[target])
        for target in sorted(job.existing_dependents)
        if _is_budget(job, target) and target not in wanted
    ]
    return (*missing, *stale)


def _needs(job: TrainingJob, target: ObjectRef) -> ObjectRef | None:
    """The account that a binding needs, unless it is known as the job's own.

    One of that name may be another owner's.
    """
    account = target._replace(kind="ServiceAccount")
    bound = target.kind == "RoleBinding" and account not in job.existing_dependents
    return account if bound else None


def _is_budget(job: TrainingJob, target: ObjectRef) -> bool:
    """Whether it is a generated budget, by its name: users may create others with our labels."""
    owner, separator, numbers = target.name.rpartition(_FIRST)
    generated = all(map(str.isdecimal, numbers.split(_OF)))
    named = separator and generated and owner in {role.job for role in job.roles}
    return target.kind == "PodDisruptionBudget" and bool(named)


def _wanted(job: TrainingJob, unprotected: Collection[str]) -> _Wanted:
    namespace = job.key.namespace
    framework = FRAMEWORKS[job.framework]
    if framework.ranked:
        everyone = {contract.JOB: job.key.name}
        yield ObjectRef("Service", namespace, job.key.name), _service(everyone)
    jobs = () if job.pods else job.live
    for role in jobs:
        if role.name == framework.host_role and len(job.roles) == 1:
            name = addresses.hostname(role.job, 0)
            yield ObjectRef("Service", namespace, name), _first(role)
    for role in jobs:
        yield from _of_role(job, role, protected=role.name not in unprotected)
    peers = peer_access(job)
    for role in jobs:
        if role.name == _LAUNCHER and peers is PeerAccess.EXEC:
            name = addresses.launcher_account(job.key.name)
            yield from _rights(job, [role], name, contract.LAUNCHER_CLUSTER_ROLE)
    if peers is PeerAccess.LABELS and jobs:
        name = addresses.peers_account(job.key.name)
        yield from _rights(job, job.roles, name, contract.PEERS_CLUSTER_ROLE)


def _of_role(job: TrainingJob, role: Role, *, protected: bool) -> _Wanted:
    namespace = job.key.namespace
    if protected and (least := min_available(job, role)):
        size = protected_size(role) if role.spec.indexed else least
        among = "" if size == least else f"{_OF}{size}"
        name = f"{role.job}{_FIRST}{least}{among}"
        yield ObjectRef("PodDisruptionBudget", namespace, name), _budget(role, least)
    if devices := role.template.device_template:
        target = ObjectRef("ResourceClaimTemplate", namespace, devices.name)
        yield target, {"spec": device_templates.spec(devices)}


def _first(role: Role) -> Json:
    """A Service for pod 0 under its own hostname, which resolves without a subdomain."""
    return _service({contract.JOB_NAME_LABEL: role.job, contract.COMPLETION_INDEX_ANNOTATION: "0"})


def _service(selector: Mapping[str, str]) -> Json:
    """Headless; publishes addresses of unready pods, as peers must meet to become ready."""
    spec = {"clusterIP": "None", "publishNotReadyAddresses": True, "selector": dict(selector)}
    return {"spec": spec}


def _budget(role: Role, least: int) -> Json:
    """Protects the minimum, so that kube-scheduler preempts extras first (docs/kubernetes.md 11).

    Pods of Indexed Jobs are selected by index, so that extras never count as part of the minimum.
    A selector cannot be changed, so its name tells the indexes if some of their ranks have ended.
    Only `minAvailable` works, because a Job has no scale subresource.
    """
    selector: Json = {"matchLabels": {contract.JOB_NAME_LABEL: role.job}}
    if role.spec.indexed:
        first = [str(index) for index in range(protected_size(role))]
        term = {"key": contract.COMPLETION_INDEX_ANNOTATION, "operator": "In", "values": first}
        selector["matchExpressions"] = [term]
    spec = {
        "minAvailable": least,
        "selector": selector,
        "unhealthyPodEvictionPolicy": "AlwaysAllow",
    }
    return {"spec": spec}


def _rights(job: TrainingJob, roles: Sequence[Role], name: str, granted: str) -> _Wanted:
    """Grants a ClusterRole to the generated ServiceAccount alone, if any of these roles uses it.

    Users grant rights to the accounts that they choose themselves.
    """
    if all(role.template.account not in ("", name) for role in roles):
        return
    account = ObjectRef("ServiceAccount", job.key.namespace, name)
    yield account, {}
    yield ObjectRef("RoleBinding", job.key.namespace, name), _binding(account, granted)


def _binding(account: ObjectRef, granted: str) -> Json:
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": granted}
    subject = {"kind": account.kind, "name": account.name, "namespace": account.namespace}
    return {"roleRef": role, "subjects": [subject]}


# Owner references of dependents, to Jobs or bare pods, so that deletion cleans up.

_API_VERSIONS: Final = {
    "Pod": "v1",
    "Service": "v1",
    "ServiceAccount": "v1",
    "Secret": "v1",
    "PodDisruptionBudget": "policy/v1",
    "ResourceClaimTemplate": "resource.k8s.io/v1",
    "PodTemplate": "v1",
    "ProvisioningRequest": "autoscaling.x-k8s.io/v1",
    "RoleBinding": "rbac.authorization.k8s.io/v1",
}


def owned(job: TrainingJob, target: ObjectRef, fields: Mapping[str, Any]) -> Json:
    """The manifest of `target`, owned by the job: its metadata plus these fields."""
    metadata = {
        "name": target.name,
        "namespace": target.namespace,
        "labels": {contract.JOB: job.key.name, contract.MANAGED_BY_LABEL: contract.MANAGED_BY},
        "ownerReferences": [_reference(owner) for owner in job.owners],
    }
    version = _API_VERSIONS[target.kind]
    return {"apiVersion": version, "kind": target.kind, "metadata": metadata, **fields}


def _reference(owner: Owner) -> Json:
    return {
        "apiVersion": owner.api_version,
        "kind": owner.kind,
        "name": owner.name,
        "uid": owner.uid,
    }


# The SSH key pair of a training job whose launcher connects to its workers by ssh.
#
# The reconciler may not read Secrets, so it cannot see whether one exists. It creates one at each
# start, and again while pods wait for their volumes; creating an existing one changes nothing.

PATIENCE: Final = timedelta(seconds=5)
"""A bound pod that is pending for longer may lack its volume: a recreated job of the same name may
have found the old job's Secret just before it was garbage collected."""


def keys(job: TrainingJob) -> tuple[CreateKeys, ...]:
    """Creates the Secret of a training job whose mode needs one."""
    if peer_access(job) is not PeerAccess.SSH:
        return ()
    target = ObjectRef("Secret", job.key.namespace, addresses.ssh_secret(job.key.name))
    return (CreateKeys(target, owned(job, target, {"type": "Opaque"})),)


def missed_keys(job: TrainingJob, now: datetime) -> tuple[CreateKeys, ...]:
    """Creates the Secret again, while pods may be waiting for it."""
    if peer_access(job) is not PeerAccess.SSH:
        return ()
    pods = (pod for role in job.live for pod in role.status.pods if not pod.terminating)
    waiting = any(
        pod.phase is PodPhase.PENDING and pod.node and now - pod.created_at > PATIENCE
        for pod in pods
    )
    return keys(job) if waiting else ()
