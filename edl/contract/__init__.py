"""Every label, annotation, path and name of the interface between users and kubectl-edl.

Each is spelled once, here; `edl.contract.registry` documents its setter and its meaning.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

PREFIX: Final = "edl.dev/"

# Labels: the user sets them on a Job or a bare pod, the webhook copies them to the pod template.
FRAMEWORK: Final = "edl.dev/framework"
JOB: Final = "edl.dev/job"
ROLE: Final = "edl.dev/role"
MIN: Final = "edl.dev/min"
MAX: Final = "edl.dev/max"
GPU: Final = "edl.dev/gpu"
GPU_MEMORY: Final = "edl.dev/gpu-memory"

# Annotations that users set.
ROLES: Final = "edl.dev/roles"
MODE: Final = "edl.dev/mode"
REPLICAS: Final = "edl.dev/replicas"
PAUSED: Final = "edl.dev/paused"
SCALE_TIMEOUT: Final = "edl.dev/scale-timeout"
SCALE_FALLBACK: Final = "edl.dev/scale-fallback"
REMOVE: Final = "edl.dev/remove"
PROGRESS: Final = "edl.dev/progress"
DURATION: Final = "edl.dev/duration"
COOLDOWN: Final = "edl.dev/cooldown"
REQUIRED_TOPOLOGY: Final = "edl.dev/required-topology"
PREFERRED_TOPOLOGY: Final = "edl.dev/preferred-topology"
PROVISION: Final = "edl.dev/provision"
SLOTS: Final = "edl.dev/slots"
PORT: Final = "edl.dev/port"
CLEAN_UP: Final = "edl.dev/clean-up"
RESTART: Final = "edl.dev/restart"
TTL: Final = "edl.dev/ttl-seconds-after-finished"
GPU_LIMIT: Final = "edl.dev/gpu-limit"
GPU_CLASS: Final = "edl.dev/gpu-class"
KUBESHARE: Final = "edl.dev/kubeshare"
RANK: Final = "edl.dev/rank"
SIZE: Final = "edl.dev/size"

# Annotations of Paddle's mode cloud, named after the fields of its EDL controller's spec.
PORTS_NUM: Final = "edl.dev/ports-num"
PORTS_NUM_FOR_SPARSE: Final = "edl.dev/ports-num-for-sparse"
PASSES: Final = "edl.dev/passes"
ENTRYPOINT: Final = "edl.dev/entrypoint"
WORKSPACE: Final = "edl.dev/workspace"
ETCD_IMAGE: Final = "edl.dev/etcd-image"

TUNER_SERVER_KEY: Final = "tuner-server-key"
"""training-operator's own annotation on a pod template: the label of MXNet's tuning servers."""

# Annotations that only the reconciler and the webhook may write; the webhook restores them.
INJECTED_MAX: Final = "edl.dev/injected-max"
PAUSED_BY: Final = "edl.dev/paused-by"
COMPLETED_BY: Final = "edl.dev/completed-by"
STARTED_AT: Final = "edl.dev/started-at"
FAILURES_AT_START: Final = "edl.dev/failures-at-start"
EARLIER_RESTARTS: Final = "edl.dev/earlier-restarts"
RAISED_LIMIT: Final = "edl.dev/raised-backoff-limit"
DELAYED_UNTIL: Final = "edl.dev/delayed-until"
ADDED_REQUESTS: Final = "edl.dev/added-requests"
RESIZED_AT: Final = "edl.dev/resized-at"
RESUMED_AT: Final = "edl.dev/resumed-at"
REASON: Final = "edl.dev/reason"
MESSAGE: Final = "edl.dev/message"
LAST_CHANGE: Final = "edl.dev/last-change"
HISTORY: Final = "edl.dev/history"
SCALING: Final = "edl.dev/scaling"
ASSIGNED_NODES: Final = "edl.dev/assigned-nodes"
CLEARED: Final = "edl.dev/cleared"
BELOW_MIN_SINCE: Final = "edl.dev/below-min-since"
REMOVED_PODS: Final = "edl.dev/removed-pods"
WRITE_REFUSED: Final = "edl.dev/write-refused"
PROVISIONING_FAILED: Final = "edl.dev/provisioning-failed"
CONSUMED_REQUEST: Final = "edl.dev/consumed-request"
SETTINGS: Final = "edl.dev/settings"
UNNEEDED_NODES: Final = "edl.dev/unneeded-nodes"
QUEUE_AS_OF: Final = "edl.dev/queue-as-of"
CLUSTER: Final = "edl.dev/cluster"
WORKERS: Final = "edl.dev/workers"
NEW_WORKER: Final = "edl.dev/new-worker"
WORKER_HOSTS: Final = "edl.dev/worker-hosts"
HOSTFILE: Final = "edl.dev/hostfile"
MPI_HOSTFILE: Final = "edl.dev/mpi-hostfile"
DISCOVER_HOSTS: Final = "edl.dev/discover-hosts"
KUBEXEC_SCRIPT: Final = "edl.dev/kubexec-script"
LEAVING: Final = "edl.dev/leaving"
PUBLISHED_AT: Final = "edl.dev/published-at"
CONFIRMED_AT: Final = "edl.dev/confirmed-at"
ASSIGNED_NODE: Final = "edl.dev/assigned-node"
PLACED_AT: Final = "edl.dev/placed-at"

# Labels, then annotations, of namespaces.
KUBEXEC: Final = "edl.dev/kubexec"
HOST: Final = "edl.dev/host"
"""Label of bare pods: the host name under which kubexec.sh finds them."""
INJECTION: Final = "edl.dev/injection"
DEFAULT_FRAMEWORK: Final = "edl.dev/default-framework"
DEFAULT_MIN: Final = "edl.dev/default-min"
DEFAULT_MAX: Final = "edl.dev/default-max"
DEFAULT_PRIORITY: Final = "edl.dev/default-priority"
DEFAULT_GPU_CLASS: Final = "edl.dev/default-gpu-class"
DEFAULT_PROVISION: Final = "edl.dev/default-provision"
LARGEST_MAX: Final = "edl.dev/largest-max"
GPU_BUDGET: Final = "edl.dev/gpu-budget"

INSTALLED: Final = "edl.dev/installed"
"""Label of each object of an installation but its namespace: users put `part-of` on their own."""

# Labels of provisional pods and ProvisioningRequests, which ask an autoscaler for nodes.
PROVISIONAL: Final = "edl.dev/provisional"
PROVISIONAL_ROLE: Final = "edl.dev/provisional-role"
# Names that node autoscalers read.
DO_NOT_DISRUPT: Final = "karpenter.sh/do-not-disrupt"
"""Annotation of pods and nodes: Karpenter does not disrupt them."""
SAFE_TO_EVICT: Final = "cluster-autoscaler.kubernetes.io/safe-to-evict"
UNDISRUPTED: Final = {DO_NOT_DISRUPT: "true", SAFE_TO_EVICT: "false"}
"""On pods that no autoscaler may move."""
SCALE_DOWN_DISABLED: Final = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
DISRUPTED: Final = "karpenter.sh/disrupted"
"""The taint of nodes that Karpenter removes."""
CONSUMES_REQUEST: Final = "autoscaling.x-k8s.io/consume-provisioning-request"
"""On pods: the ProvisioningRequest whose nodes they use; no other node is created for them."""
CONSUMES_CLASS: Final = "autoscaling.x-k8s.io/provisioning-class-name"
"""On the same pods: the class of that request."""
NODE_POOL: Final = "karpenter.sh/nodepool"
"""Label of the nodes that Karpenter created."""

HOSTS_GATE: Final = "edl.dev/hosts"
"""Scheduling gate of a launcher's pods; the patch that writes the first host list removes it."""
PLACEMENT_GATE: Final = "edl.dev/placement"
"""Scheduling gate of pods that the plan places; the patch that assigns the node removes it."""

ENABLED: Final = "enabled"
DISABLED: Final = "disabled"
TRUE: Final = "true"

# Names of objects around a training job.
MANAGED_BY: Final = "kubectl-edl"
MANAGED_BY_LABEL: Final = "app.kubernetes.io/managed-by"
MANAGED: Final = f"{MANAGED_BY_LABEL}={MANAGED_BY}"
"""Label selector of our objects."""
SYSTEM_NAMESPACE: Final = "edl-system"
"""The namespace in which kubectl-edl is installed, unless another one is configured."""
SYSTEM_NAMESPACE_ENV: Final = "EDL_SYSTEM_NAMESPACE"
LAUNCHER_CLUSTER_ROLE: Final = "edl-launcher"
PEERS_CLUSTER_ROLE: Final = "edl-peers"
RECONCILER_LEASE: Final = "edl-reconciler"
TEAMS_CONFIG_MAP: Final = "edl-teams"
"""In the installation's namespace: the teams of the cluster (`edl.parsing.team_document`)."""
TEAMS_APPLIED_CONFIG_MAP: Final = "edl-teams-applied"
"""In the same namespace: the last valid document, which is in effect; the leader writes it."""
TEAMS_KEY: Final = "teams.yaml"
"""The key of the document in the ConfigMap's `data`."""
PROVISIONAL_PRIORITY: Final = "edl-provisional"
"""The PriorityClass of provisional pods, below all others."""
RECONCILER_USER: Final = f"system:serviceaccount:{SYSTEM_NAMESPACE}:edl-reconciler"

# Paths that users' images and commands know (et-operator, Horovod, Open MPI, AIACC).
EDL_DIRECTORY: Final = "/etc/edl"
EDL_HOSTFILE: Final = "/etc/edl/hostfile"
EDL_DISCOVER_HOSTS: Final = "/etc/edl/discover_hosts.sh"
EDL_WORKER_HOSTS: Final = "/etc/edl/worker_hosts"
MPI_DIRECTORY: Final = "/etc/mpi"
MPI_HOSTFILE_PATH: Final = "/etc/mpi/hostfile"
MPI_KUBEXEC: Final = "/etc/mpi/kubexec.sh"
JOB_DIRECTORY: Final = "/job"
JOB_HOSTFILE: Final = "/job/hostfile"
KUBECTL_DIRECTORY: Final = "/opt/kube"
KUBECTL_CONTAINER: Final = "edl-kubectl"
"""The container that copies kubectl there, from an image of the installation."""
SSH_DIRECTORY: Final = "/root/.ssh"

# Environment variables.
COMPLETION_INDEX_ENV: Final = "JOB_COMPLETION_INDEX"
CLUSTER_ENV: Final = "EDL_CLUSTER"
TF_CONFIG_ENV: Final = "TF_CONFIG"

# Pod labels by which v1 images of Paddle list their peers.
PADDLE_TRAINER_LABEL: Final = "paddle-job"
PADDLE_PSERVER_LABEL: Final = "paddle-job-pserver"
PADDLE_MASTER_LABEL: Final = "paddle-job-master"

# Kubernetes' own names.
COMPLETION_INDEX_ANNOTATION: Final = "batch.kubernetes.io/job-completion-index"
JOB_NAME_LABEL: Final = "batch.kubernetes.io/job-name"
JOB_TRACKING: Final = "batch.kubernetes.io/job-tracking"
"""The Job controller's finalizer, which it removes once it has counted the pod."""
KUEUE_QUEUE: Final = "kueue.x-k8s.io/queue-name"
KUEUE_PRIORITY_CLASS: Final = "kueue.x-k8s.io/priority-class"
JOB_CONTROLLER: Final = "kubernetes.io/job-controller"
NAMESPACE_NAME: Final = "kubernetes.io/metadata.name"
LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
DEFAULT_CONTAINER: Final = "kubectl.kubernetes.io/default-container"
REQUIRED_AFFINITY: Final = "requiredDuringSchedulingIgnoredDuringExecution"
HOOKS: Final = ("helm.sh/hook", "argocd.argoproj.io/hook")
"""Annotations of Jobs that an installation waits for."""

# KubeShare 2.0 (labels) and 1.0 (annotations).
SHARED_GPU_LIMIT: Final = "sharedgpu/gpu_limit"
SHARED_GPU_REQUEST: Final = "sharedgpu/gpu_request"
SHARED_GPU_MEMORY: Final = "sharedgpu/gpu_mem"
SHARED_GPU_MODEL: Final = "sharedgpu/gpu_model"
SHARED_GPU_UUID: Final = "sharedgpu/gpu_uuid"
"""Annotation that KubeShare's scheduler writes: the UUIDs of the pod's GPUs, with commas."""
SHARED_GPU_PRIORITY: Final = "sharedgpu/priority"
SHARED_GPU_GROUP: Final = (
    "sharedgpu/group_name",
    "sharedgpu/group_headcount",
    "sharedgpu/group_threshold",
)
SHARED_GPU_NODE: Final = "SharedGPU"
"""Label of the nodes whose GPUs KubeShare 2.0 shares; its value is `true`."""
DEFAULT_SCHEDULER: Final = "default-scheduler"
"""The API server's default for pods (core/v1 PodSpec)."""
KUBESHARE_SCHEDULER: Final = "kubeshare-scheduler"
KUBESHARE_1: Final = {
    "kubeshare/gpu_limit": SHARED_GPU_LIMIT,
    "kubeshare/gpu_request": SHARED_GPU_REQUEST,
    "kubeshare/gpu_mem": SHARED_GPU_MEMORY,
}
KUBESHARE_1_ALONE: Final = (
    "kubeshare/GPUID",
    "kubeshare/sched_affinity",
    "kubeshare/sched_anti-affinity",
    "kubeshare/sched_exclusion",
)
"""Annotations of 1.0 that have no counterpart in 2.0."""
GPU_RESOURCE: Final = "nvidia.com/gpu"
GPU_CLAIM: Final = "edl-gpus"
"""In pods, the name of the ResourceClaim for the GPUs of `edl.dev/gpu`."""


class CleanUp(StrEnum):
    """Which pods are deleted when the deciding role has ended."""

    RUNNING = "Running"
    ALL = "All"
    NONE = "None"


class RestartPolicy(StrEnum):
    """What happens when a pod fails, in the words of the kubeflow operators."""

    ALWAYS = "Always"
    ON_FAILURE = "OnFailure"
    NEVER = "Never"
    EXIT_CODE = "ExitCode"


class Provision(StrEnum):
    """The size for which a queued training job asks an autoscaler for nodes."""

    MINIMUM = "minimum"
    MAXIMUM = "maximum"
    NEVER = "never"


class KubeShare(StrEnum):
    """The KubeShare release whose labels or annotations request a share."""

    ONE = "1"
    TWO = "2"


IMMUTABLE: Final = (
    *(FRAMEWORK, JOB, ROLE, ROLES, MODE, PORT),
    *(PORTS_NUM, PORTS_NUM_FOR_SPARSE, PASSES, ENTRYPOINT, WORKSPACE, ETCD_IMAGE),
    *(GPU, GPU_CLASS, GPU_LIMIT, GPU_MEMORY, KUBESHARE),
)
"""Labels and annotations that never change after creation: the pods were built from them."""


def is_managed(labels: Mapping[str, str]) -> bool:
    """Whether an object with these labels is ours."""
    return labels.get(MANAGED_BY_LABEL) == MANAGED_BY
