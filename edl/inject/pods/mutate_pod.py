"""Merges what a framework needs into a pod spec. Fields that the user set stay.

Every field is written as the API server would default it, so that a second pass changes nothing.
"""

from collections.abc import Mapping
from decimal import Decimal
from typing import Final

from edl import contract
from edl.contract.manifest_parts import with_env, with_first_container
from edl.frameworks.base import Companion, Env, Needs
from edl.inject.pods import gpus, scheduling_gates, volumes
from edl.model.nodes import HOSTNAME
from edl.quantities import quantity
from edl.spec import addresses
from edl.spec.job_spec import JobSpec
from edl.writes import Json

_INDEX_FIELD: Final = f"metadata.annotations['{contract.COMPLETION_INDEX_ANNOTATION}']"
_COPYING: Final = {"cpu": "100m", "memory": "128Mi"}
_UNPRIVILEGED_UID: Final = 65532
_NEAR: Final = 50
"""Weight, out of 100, of the preference for nodes that run pods of the same training job."""


_CONFINED: Final[Json] = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}
_IDENTITY: Final = ("runAsNonRoot", "runAsUser", "runAsGroup")


def complete(pod: Json, spec: JobSpec, needs: Needs, image: str) -> Json:
    """The pod spec of one role with everything that it needs."""
    if not pod.get("containers"):
        return pod  # The API server refuses it, and explains why.
    # Our own container comes first, so that a second pass treats it like the others.
    done = _with_kubectl(pod, spec, image) if needs.kubectl else pod
    if needs.lists_pods:
        done = _with_account(done, addresses.peers_account(spec.job))
    if needs.companion:
        done = _with_companion(done, needs.companion)
    env = _env(spec, needs)
    done = done | {
        field: [with_env(container, env) for container in done[field]]
        for field in ("initContainers", "containers")
        if done.get(field)
    }
    done = _with_leaving(_with_command(_with_ports(done, needs), needs), needs)
    if needs.shares_processes and not done.get("hostPID"):  # No container is PID 1 there.
        done = {"shareProcessNamespace": True} | done
    done = volumes.with_files(done, needs.files)
    if needs.ssh_keys:
        done = volumes.with_keys(done, spec)
    if needs.gated and not done.get("nodeName"):  # The API server refuses both together.
        done = scheduling_gates.with_gate(done, contract.HOSTS_GATE)
    if spec.indexed:
        done = _with_address(_near_its_own(done, spec), spec)
    return gpus.with_whole(done, spec)


def _env(spec: JobSpec, needs: Needs) -> list[Json]:
    """The variables; the index comes first.

    After it `$(JOB_COMPLETION_INDEX)` expands (docs/kubernetes.md 6).
    """
    if not spec.indexed:
        return [_entry(env) for env in needs.env]
    index: Json = {"name": contract.COMPLETION_INDEX_ENV}
    index |= _field(_INDEX_FIELD) if spec.rank is None else {"value": str(spec.rank)}
    return [index, *map(_entry, needs.env)]


def _entry(env: Env) -> Json:
    if env.annotation:
        return {"name": env.name} | _field(f"metadata.annotations['{env.annotation}']")
    if env.field:
        return {"name": env.name} | _field(env.field)
    # The API server drops an empty value.
    return {"name": env.name} | ({"value": env.value} if env.value else {})


def _field(path: str) -> Json:
    return {"valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}}


def _with_ports(pod: Json, needs: Needs) -> Json:
    ports = pod["containers"][0].get("ports") or []
    taken = {port.get("name") for port in ports} | {port.get("containerPort") for port in ports}
    missing = [
        {"containerPort": number, "name": name, "protocol": "TCP"}
        for name, number in needs.ports
        if name not in taken and number not in taken
    ]
    return with_first_container(pod, ports=ports + missing) if missing else pod


def _with_command(pod: Json, needs: Needs) -> Json:
    first = pod["containers"][0]
    if not needs.command or first.get("command") or first.get("args"):
        return pod
    return with_first_container(pod, command=list(needs.command))


def _with_leaving(pod: Json, needs: Needs) -> Json:
    """The pod with a preStop hook on the first container, unless it has one."""
    lifecycle = pod["containers"][0].get("lifecycle") or {}
    if not needs.leaving or lifecycle.get("preStop"):
        return pod
    hook = {"preStop": {"exec": {"command": list(needs.leaving)}}}
    return with_first_container(pod, lifecycle=lifecycle | hook)


def _with_kubectl(pod: Json, spec: JobSpec, image: str) -> Json:
    """The pod with kubectl from our image, and a ServiceAccount that may exec into the workers."""
    pod = volumes.with_empty_dir(pod, contract.KUBECTL_DIRECTORY)
    inits = pod.get("initContainers") or []
    if all(container.get("name") != contract.KUBECTL_CONTAINER for container in inits):
        by_root = (pod.get("securityContext") or {}).get("runAsUser") == 0
        user = {"runAsUser": _UNPRIVILEGED_UID} if by_root else {}
        container = _kubectl_container(image, user, pod.get("resources") or {})
        pod = pod | {"initContainers": [container, *inits]}
    return _with_account(pod, addresses.launcher_account(spec.job))


def _with_account(pod: Json, account: str) -> Json:
    if pod.get("serviceAccountName") or pod.get("serviceAccount"):
        return pod
    return pod | {"serviceAccountName": account, "serviceAccount": account}


def _with_companion(pod: Json, companion: Companion) -> Json:
    containers = pod["containers"]
    if any(container.get("name") == companion.name for container in containers):
        return pod
    added = {
        "name": companion.name,
        "image": companion.image,
        "imagePullPolicy": "IfNotPresent",
        "command": list(companion.command),
        "resources": {},
        "securityContext": _confined(containers[0]),
        "workingDir": "/tmp",  # noqa: S108 - its own, and writable for any user
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
    }
    return pod | {"containers": [*containers, added]}


def _confined(container: Json) -> Json:
    """A security context for the strictest namespaces, with the user IDs of the user's own."""
    context = container.get("securityContext") or {}
    return _CONFINED | {name: context[name] for name in _IDENTITY if name in context}


def _kubectl_container(image: str, user: Json, pod_level: Json) -> Json:
    """`user`: overrides a root user of the pod. Otherwise OpenShift may assign one."""
    limits = _within(_COPYING, pod_level.get("limits") or {})
    requests = _within(limits, pod_level.get("requests") or {})
    directory = contract.KUBECTL_DIRECTORY
    return {
        "name": contract.KUBECTL_CONTAINER,
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["cp", "/usr/local/bin/kubectl", f"{directory}/kubectl"],
        # Limits and security context satisfy the strictest namespaces.
        "resources": {"requests": requests, "limits": limits},
        "securityContext": _CONFINED | {"runAsNonRoot": True} | user,
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "volumeMounts": [{"name": volumes.volume_name(directory), "mountPath": directory}],
    }


def _within(amounts: Mapping[str, str], most: Json) -> Json:
    """The amounts, none of them above what the pod itself has: the API server would refuse it."""
    return {
        name: min(text, str(most.get(name, text)), key=_amount) for name, text in amounts.items()
    }


def _amount(text: str) -> Decimal:
    """The API server reports what is not a quantity."""
    try:
        return quantity(text)
    except ValueError:
        return Decimal("Infinity")


def _with_address(pod: Json, spec: JobSpec) -> Json:
    """The pod with a name in the job's Service; a bare pod also gets the host name of its rank."""
    pod = pod | {"subdomain": pod.get("subdomain") or spec.job}
    if spec.rank is None:
        return pod
    name = addresses.hostname(addresses.job_name(spec, spec.role), spec.rank)
    return pod | {"hostname": pod.get("hostname") or name}


def _near_its_own(pod: Json, spec: JobSpec) -> Json:
    """The pod with a preference for nodes of its own, unless its user says how pods are spread."""
    affinity = pod.get("affinity") or {}
    if pod.get("topologySpreadConstraints"):
        return pod
    if "podAffinity" in affinity or "podAntiAffinity" in affinity:
        return pod
    return pod | {"affinity": affinity | {"podAffinity": _near(spec.job)}}


def _near(job: str) -> Json:
    """A preference for nodes that run pods of the training job."""
    term = {"labelSelector": {"matchLabels": {contract.JOB: job}}, "topologyKey": HOSTNAME}
    preferred = [{"weight": _NEAR, "podAffinityTerm": term}]
    return {"preferredDuringSchedulingIgnoredDuringExecution": preferred}


def near_which(pod: Json) -> str:
    """The training job whose pods a completed pod prefers to be near; empty if it names none."""
    near = (pod.get("affinity") or {}).get("podAffinity") or {}
    try:
        (preferred,) = near["preferredDuringSchedulingIgnoredDuringExecution"]
        job = preferred["podAffinityTerm"]["labelSelector"]["matchLabels"][contract.JOB]
    except (KeyError, TypeError, ValueError):
        return ""
    return job if near == _near(job) else ""
