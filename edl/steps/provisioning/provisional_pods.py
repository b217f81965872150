"""The manifest of a provisional pod: what schedulers and autoscalers read of a pod of a role.

It has one container that runs nothing and requests what the whole pod would. It has none of the
pod's labels, so that no Service, PodDisruptionBudget or user's selector matches it. Constraints of
the role about its own pods select its provisional pods instead.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import Final

from edl import contract
from edl.model import (
    HostPort,
    JobKey,
    ObjectRef,
    PodAffinityTerm,
    PodConstraints,
    PodTemplate,
    Requirement,
    Role,
    Selector,
    Toleration,
    TopologySpread,
    TrainingJob,
)
from edl.planner.plan import ProvisioningRequest
from edl.quantities import CPU, PODS, Resources
from edl.steps.dependents import owned
from edl.writes import Create, Json

OVERLAP: Final = timedelta(seconds=30)
"""Within this time of a start its pods should exist; then provisional pods are deleted anyway."""
_NODE_FIELD: Final = "metadata.name"
_LONGEST: Final = 40
"""Most characters of a training job's name within the names of its provisional pods."""
_DIGITS: Final = 10
_DIGEST: Final = re.compile("[0-9a-f]{10}")


def prefix(job: TrainingJob, role: Role) -> str:
    """The names' common prefix, before an index; repeated rounds name the same pods."""
    return f"{named(job, content(job, role))}-"


def named(job: TrainingJob, *contents: object) -> str:
    """A name that differs for each content, and after each failure."""
    failure = job.provisioning.failure
    what = [job.roles[0].uid, failure.attempts if failure else 0, *contents]
    digest = hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:_DIGITS]
    return _own_prefix(job) + digest


def is_own_name(job: TrainingJob, name: str) -> bool:
    """Whether `named` gives such names for a job."""
    start = _own_prefix(job)
    return name.startswith(start) and bool(_DIGEST.fullmatch(name, len(start)))


def _own_prefix(job: TrainingJob) -> str:
    return f"{job.key.name[:_LONGEST].rstrip('-.')}-"


def content(job: TrainingJob, role: Role) -> object:
    """What determines the nodes that a provisional pod of a role requests."""
    return [role.name, _quantities(role.template.shape.requests), _scheduling(job, role)]


def create(job: TrainingJob, role: Role, name: str, request: ProvisioningRequest) -> Create:
    """Creates a provisional pod.

    Its deadline ends it even if the reconciler does not delete it, so that no node is kept for
    ever.
    """
    target = ObjectRef("Pod", job.key.namespace, name)
    write = created(job, target, role.name, {"spec": _spec(job, role, request)})
    # Its node must not be removed while the gang's other nodes are still awaited.
    metadata = write.manifest["metadata"] | {"annotations": contract.UNDISRUPTED}
    return Create(write.target, {**write.manifest, "metadata": metadata})


def created(job: TrainingJob, target: ObjectRef, role: str, fields: Json) -> Create:
    """An object that requests nodes, owned by the job's first Job; `role` "": for all roles."""
    manifest = owned(job, target, fields)
    metadata = manifest["metadata"] | {
        "labels": _siblings(job.key, role) | {contract.MANAGED_BY_LABEL: contract.MANAGED_BY},
        "ownerReferences": manifest["metadata"]["ownerReferences"][:1],
    }
    return Create(target, manifest | {"metadata": metadata})


def template(job: TrainingJob, role: Role, request: ProvisioningRequest) -> Json:
    """The pod template of a ProvisioningRequest, with the default priority."""
    pod = _scheduling(job, role) | {"containers": [_container(role, request)]}
    return {"metadata": {"labels": _labels(job.key, role.name)}, "spec": pod}


def _labels(key: JobKey, role: str) -> dict[str, str]:
    return {contract.PROVISIONAL: key.name, contract.PROVISIONAL_ROLE: role}


def _container(role: Role, request: ProvisioningRequest) -> Json:
    container: Json = {
        "name": "provisional",
        "image": request.image,
        "resources": _resources(role.template),
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }
    if role.template.shape.constraints and role.template.shape.constraints.ports:
        container["ports"] = [_port(port) for port in role.template.shape.constraints.ports]
    return container


def _spec(job: TrainingJob, role: Role, request: ProvisioningRequest) -> Json:
    return _scheduling(job, role) | {
        "containers": [_container(role, request)],
        "priorityClassName": contract.PROVISIONAL_PRIORITY,
        "restartPolicy": "Never",
        "activeDeadlineSeconds": int((request.timeout + OVERLAP).total_seconds()),
        "terminationGracePeriodSeconds": 0,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        # No user: OpenShift gives each namespace its own.
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
    }


def _scheduling(job: TrainingJob, role: Role) -> Json:
    """The pod spec's scheduling constraints, without requests."""
    shape = role.template.shape
    fields: Json = {
        "nodeSelector": dict(shape.node_selector),
        "tolerations": [_toleration(toleration) for toleration in shape.tolerations],
        "affinity": dict(_affinity(job, role)),
        "topologySpreadConstraints": [*_spread(job.key, role)],
    }
    return {field: value for field, value in fields.items() if value}


def _affinity(job: TrainingJob, role: Role) -> Iterator[tuple[str, Json]]:
    if role.template.shape.affinity:
        terms = [_node_term(term) for term in role.template.shape.affinity]
        yield "nodeAffinity", {contract.REQUIRED_AFFINITY: {"nodeSelectorTerms": terms}}
    rules = role.template.shape.constraints or PodConstraints("", ())
    near = [_term(job.key, role, term) for term in rules.affinity]
    near += [
        {"topologyKey": label, "labelSelector": {"matchLabels": _siblings(job.key, named)}}
        for named, label in job.topology.required
        if named in ("", role.name)
    ]
    if near:
        yield "podAffinity", {contract.REQUIRED_AFFINITY: near}
    if rules.anti_affinity:
        yield (
            "podAntiAffinity",
            {
                contract.REQUIRED_AFFINITY: [
                    _term(job.key, role, term) for term in rules.anti_affinity
                ]
            },
        )


def _siblings(key: JobKey, role: str) -> dict[str, str]:
    """The labels that select the provisional pods of one role, "" for all roles."""
    return _labels(key, role) if role else {contract.PROVISIONAL: key.name}


def _term(key: JobKey, role: Role, term: PodAffinityTerm) -> Json:
    if _is_own(key, role, term.selector):
        selector = {"matchLabels": _siblings(key, role.name)}
        return {"topologyKey": term.key, "labelSelector": selector}
    where: Json = (
        {"namespaceSelector": {}}
        if term.selector.namespaces is None
        else {"namespaces": list(term.selector.namespaces)}
    )
    return {"topologyKey": term.key, "labelSelector": _selector(term.selector)} | where


def _spread(key: JobKey, role: Role) -> Iterator[Json]:
    for spread in role.template.shape.constraints.spread if role.template.shape.constraints else ():
        if spread.selector is not None:
            yield _constraint(key, role, spread, spread.selector)


def _constraint(key: JobKey, role: Role, spread: TopologySpread, selector: Selector) -> Json:
    is_own = _is_own(key, role, selector)
    constraint: Json = {
        "topologyKey": spread.key,
        "maxSkew": spread.skew,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": (
            {"matchLabels": _siblings(key, role.name)} if is_own else _selector(selector)
        ),
        "nodeAffinityPolicy": "Honor" if spread.by_affinity else "Ignore",
        "nodeTaintsPolicy": "Honor" if spread.by_taints else "Ignore",
    }
    return constraint | ({"minDomains": spread.domains} if spread.domains > 1 else {})


def _is_own(key: JobKey, role: Role, selector: Selector) -> bool:
    return selector.matches(key.namespace, dict(role.template.labels))


def _selector(selector: Selector) -> Json:
    return {"matchExpressions": _expressions(selector.requirements)}


def _node_term(term: Iterable[Requirement]) -> Json:
    fields = [requirement for requirement in term if requirement.key == _NODE_FIELD]
    labels = [requirement for requirement in term if requirement.key != _NODE_FIELD]
    parts = {"matchExpressions": _expressions(labels), "matchFields": _expressions(fields)}
    return {part: entries for part, entries in parts.items() if entries}


def _expressions(requirements: Iterable[Requirement]) -> list[Json]:
    return [
        {"key": requirement.key, "operator": requirement.operator}
        | ({"values": [*requirement.values]} if requirement.values else {})
        for requirement in requirements
        if requirement.key
    ]


def _toleration(item: Toleration) -> Json:
    parts = {"key": item.key, "operator": item.operator, "value": item.value, "effect": item.effect}
    return {part: text for part, text in parts.items() if text}


def _port(port: HostPort) -> Json:
    entry: Json = {"containerPort": port.number, "hostPort": port.number, "protocol": port.protocol}
    return entry | ({"hostIP": port.address} if port.address != "0.0.0.0" else {})  # noqa: S104 - compared, never bound to


def _resources(template: PodTemplate) -> Json:
    """Requests and limits; the limits are those of the role's pods, as quotas count them.

    Every request has a limit of at least its amount: extended resources require it, and a
    LimitRange might default a smaller one. A resource with a limit only gets a request of 0, since
    the API server would default the request to the limit.
    """
    requests, limits = template.shape.requests, _quantities(template.limits)
    return {
        "requests": dict.fromkeys(limits, "0") | _quantities(requests),
        "limits": _quantities(requests.most(template.limits)),
    }


def _quantities(requests: Resources) -> dict[str, str]:
    """Amounts as Kubernetes quantities."""
    return {
        resource: f"{amount}m" if resource == CPU else str(amount)
        for resource, amount in requests
        if resource != PODS
    }
