"""The reason of each change that `mutate` makes, by the path of the changed field.

A path is a sequence of names, relative to the Job, to the pod's metadata or to its spec; list items
go by their names. `*` stands for any one name, and the first matching path counts. A text with
`{meaning}` takes the contract's meaning of the last name, `{files}` those of the files in a
directory.
"""

from collections.abc import Mapping
from typing import Final

from edl import contract
from edl.contract import registry

_RANKS: Final = "pods here are ranks, one index each: as many completions as pods"
_GPU: Final = f"whole GPUs that {contract.GPU} requests; limits equal requests"
_CLAIM: Final = f"the devices of {contract.GPU_CLASS} that {contract.GPU} requests"
_SHARE: Final = f"{contract.GPU} under KubeShare's name, or a name of 1.0 as 2.0 spells it"
_ACCOUNT: Final = "a ServiceAccount of the training job, with only the rights that its pods need"
_RESTART: Final = f"{contract.RESTART} as fields of a Job"
_IDENTITY: Final = (contract.FRAMEWORK, contract.JOB, contract.ROLE)

JOB: Final[Mapping[str, str]] = {
    f"metadata annotations {contract.PAUSED}": "`suspend: true` of its user is kept as a pause",
    "metadata annotations *": "{meaning}",
    **dict.fromkeys(
        (f"metadata labels {name}" for name in (*_IDENTITY, contract.MIN, contract.MAX)),
        "the default, written out",
    ),
    "spec suspend": "it is queued, and starts when the minimum of every role fits at once",
    "spec parallelism": _RANKS,
    "spec completions": _RANKS,
    "spec completionMode": _RANKS,
    "spec backoffLimit": (
        "Kubernetes' 6 retries for each replica, as evicted pods count as failures; "
        f"none where {contract.RESTART} is Never"
    ),
    "spec ttlSecondsAfterFinished": f"{contract.TTL} counts when the whole training has ended",
    "spec podFailurePolicy": _RESTART,
    "spec podReplacementPolicy": _RESTART,
    "spec successPolicy": "these indexes decide when the Job is done",
}

POD_METADATA: Final[Mapping[str, str]] = {
    f"labels {contract.SHARED_GPU_LIMIT}": _SHARE,
    f"labels {contract.SHARED_GPU_REQUEST}": _SHARE,
    f"labels {contract.SHARED_GPU_MEMORY}": _SHARE,
    **{f"labels {name}": "selects the pods of a training job" for name in _IDENTITY},
    "labels *": "{meaning}",
    **{f"annotations {name}": _SHARE for name in contract.KUBESHARE_1},
    "annotations *": "{meaning}",
}

_CONTAINER: Final[Mapping[str, str]] = {
    f"env {contract.COMPLETION_INDEX_ENV}": "its index, defined before the variables that use it",
    "env *": "{meaning}",
    "ports *": "the port on which its peers reach it",
    "command": "the role's default, because the pod sets neither command nor args",
    "lifecycle preStop": "it leaves its peers before it is terminated",
    "volumeMounts *": "{files}",
    f"resources limits {contract.GPU_RESOURCE}": _GPU,
    f"resources requests {contract.GPU_RESOURCE}": _GPU,
    f"resources claims {contract.GPU_CLAIM}": _CLAIM,
}
POD: Final[Mapping[str, str]] = {
    **{f"initContainers * {place}": why for place, why in _CONTAINER.items()},
    **{f"containers * {place}": why for place, why in _CONTAINER.items()},
    "volumes *": "{files}",
    f"resourceClaims {contract.GPU_CLAIM}": _CLAIM,
    "schedulingGates *": "{meaning}",
    "serviceAccountName": _ACCOUNT,
    "serviceAccount": _ACCOUNT,
    "restartPolicy": _RESTART,
    "shareProcessNamespace": "as PID 1 a program may ignore SIGTERM, or exit with 0 on it",
    "subdomain": "gives its pods addresses: HOST.SUBDOMAIN.NAMESPACE.svc",
    "hostname": "the address that its peers expect",
    "affinity nodeAffinity": "whole GPUs, so not on nodes whose GPUs KubeShare shares",
    "affinity podAffinity": "prefers nodes that run pods of its training job already",
    f"nodeSelector {contract.SHARED_GPU_NODE}": "only nodes whose GPUs KubeShare shares",
    "priorityClassName": "its namespace's default",
    "schedulerName": "KubeShare's scheduler assigns shares of GPUs",
}

NEW_IN_POD: Final[Mapping[str, str]] = {
    "initContainers *": "gives the launcher kubectl, from kubectl-edl's own image",
    "containers *": "a container of its framework, beside yours",
}
"""Paths in the pod's spec that apply only to what is new: whole containers."""

DROPPED: Final = "written only by kubectl-edl"
"""The reason for removing an annotation."""

PROGRAMS: Final = {contract.KUBECTL_DIRECTORY: "kubectl, for the launcher"}
"""Reasons for directories whose files the contract does not list."""

OWN_VOLUME: Final = "the pod's own volume of this name, instead of live files"
"""The reason for a mount that uses a volume of the user's instead of ours."""

MEANINGS: Final = {entry.name: entry.meaning for entry in registry.ENTRIES}
