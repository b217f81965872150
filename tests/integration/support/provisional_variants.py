"""A provisional pod as the reconciler makes it, and what one must not say besides."""

from datetime import timedelta
from typing import Final

from edl.planner.decision_limits import ProvisionerSettings
from edl.planner.plan import ProvisioningRequest
from edl.steps.provisioning import provisional_pods
from edl.writes import Json
from tests.edl.trainings import role, training

PROBE: Final = {"exec": {"command": ["id"]}}
RAISED: Final[tuple[Json, ...]] = (
    {"labels": {"app": "web"}},
    {"annotations": {"a": "b"}},
    {"finalizers": ["a.example/b"]},
)
"""What a provisional pod's metadata must not say."""
WIDER: Final[tuple[Json, ...]] = (
    *({name: True} for name in ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace")),
    *({"automountServiceAccountToken": True}, {"serviceAccountName": "powerful"}),
    *({"volumes": [{"name": "all", "secret": {"secretName": "keys"}}]}, {"nodeName": "node-0"}),
    *({"initContainers": [{"name": "more", "image": "evil"}]}, {"hostname": "web"}),
    *({"priorityClassName": None}, {"activeDeadlineSeconds": None}),
    {"terminationGracePeriodSeconds": 86400},
    {"resourceClaims": [{"name": "all", "resourceClaimName": "all"}]},
)
"""What its spec must not say."""
RUNNING: Final[tuple[Json, ...]] = (
    *({"image": "evil"}, {"command": ["id"]}, {"args": ["id"]}, {"workingDir": "/"}),
    *({"env": [{"name": "A", "value": "b"}]}, {"envFrom": [{"secretRef": {"name": "keys"}}]}),
    *({"lifecycle": {"postStart": PROBE}}, {"livenessProbe": PROBE}, {"startupProbe": PROBE}),
    *({"stdin": True}, {"tty": True}),
)
"""What its container must not say."""
UNCONFINED: Final[tuple[Json | None, ...]] = (
    *(None, {"runAsUser": 0, "runAsNonRoot": False}, {"runAsUser": 0}, {"runAsNonRoot": False}),
    *({"seccompProfile": {"type": "Unconfined"}}, {"seccompProfile": None}),
    *({"runAsNonRoot": None}, {"sysctls": [{"name": "net.ipv4.ip_forward", "value": "1"}]}),
    *({"seLinuxOptions": {name: "spc_t"}} for name in ("type", "role", "user")),
)
"""What its security context must not say."""
ESCALATING: Final[tuple[Json | None, ...]] = (
    *(None, {"allowPrivilegeEscalation": True}, {"allowPrivilegeEscalation": None}),
    *({"runAsUser": 0}, {"runAsGroup": 0}, {"runAsNonRoot": False}),
    *({"capabilities": {"add": ["NET_ADMIN"], "drop": ["ALL"]}}, {"capabilities": None}),
    {"privileged": True, "allowPrivilegeEscalation": True},
    *({"seLinuxOptions": {name: "spc_t"}} for name in ("type", "role", "user")),
    {"seccompProfile": {"type": "Unconfined"}},
)
"""What that of its container must not say."""


def as_openshift_admits_it() -> Json:
    """With what the SecurityContextConstraint restricted-v2 adds."""
    told = {"openshift.io/scc": "restricted-v2"}
    told |= {"seccomp.security.alpha.kubernetes.io/pod": "runtime/default"}
    told |= {"security.openshift.io/validated-scc-subject-type": "user"}
    pod = {"fsGroup": 1000680000, "seLinuxOptions": {"level": "s0:c26,c15"}}
    container = {"runAsUser": 1000680000, "runAsNonRoot": True}
    return provisional(
        {"annotations": told}, {"securityContext": pod}, {"securityContext": container}
    )


def provisional(
    metadata: Json | None = None, spec: Json | None = None, container: Json | None = None
) -> Json:
    """The real one, with something more in it; None takes away."""
    worker = role("worker", suspended=True)
    job = training(worker)
    image = ProvisionerSettings().provisional_image
    request = ProvisioningRequest(job.key, (), image, timedelta(minutes=10))
    found = dict(provisional_pods.create(job, worker, "mnist-0", request).manifest)
    (only,) = found["spec"]["containers"]
    inside = {"containers": [merged(only, container or {})]}
    own = {name: found["metadata"][name] for name in ("labels", "annotations", "ownerReferences")}
    return found | {
        "metadata": merged(own, metadata or {}),
        "spec": merged(found["spec"] | inside, spec or {}),
    }


def merged(before: Json, change: Json) -> Json:
    """A JSON Merge Patch."""
    found = dict(before)
    for name, value in change.items():
        inside = found.get(name)
        if isinstance(value, dict) and isinstance(inside, dict):
            found[name] = merged(inside, value)
        else:
            found[name] = value
    return {name: value for name, value in found.items() if value is not None}
