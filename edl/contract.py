"""Every label, annotation, path and name that users and kubectl-edl agree on: spelled once, here.

`ENTRIES` says of each who sets it and what it means; README's table is generated from it.
"""

from dataclasses import dataclass
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

# Annotations: the user's.
ROLES: Final = "edl.dev/roles"
MODE: Final = "edl.dev/mode"
REPLICAS: Final = "edl.dev/replicas"
PAUSED: Final = "edl.dev/paused"
SCALE_TIMEOUT: Final = "edl.dev/scale-timeout"
SCALE_FALLBACK: Final = "edl.dev/scale-fallback"
REMOVE: Final = "edl.dev/remove"
SLOTS: Final = "edl.dev/slots"
PORT: Final = "edl.dev/port"
CLEAN_UP: Final = "edl.dev/clean-up"
RESTART: Final = "edl.dev/restart"
GPU_LIMIT: Final = "edl.dev/gpu-limit"
KUBESHARE: Final = "edl.dev/kubeshare"
RANK: Final = "edl.dev/rank"
SIZE: Final = "edl.dev/size"

# Annotations of Paddle's mode cloud, by the words of its EDL controller's spec.
PORTS_NUM: Final = "edl.dev/ports-num"
PORTS_NUM_FOR_SPARSE: Final = "edl.dev/ports-num-for-sparse"
PASSES: Final = "edl.dev/passes"
ENTRYPOINT: Final = "edl.dev/entrypoint"
WORKSPACE: Final = "edl.dev/workspace"
ETCD_IMAGE: Final = "edl.dev/etcd-image"

TUNER_SERVER_KEY: Final = "tuner-server-key"
"""training-operator's own name, on a pod template: the label of MXNet's tuning servers."""

# Annotations: ours. Nobody else can write them; the webhook puts them back.
INJECTED_MAX: Final = "edl.dev/injected-max"
STARTED_AT: Final = "edl.dev/started-at"
FAILURES_AT_START: Final = "edl.dev/failures-at-start"
RESIZED_AT: Final = "edl.dev/resized-at"
REASON: Final = "edl.dev/reason"
HISTORY: Final = "edl.dev/history"
SCALING: Final = "edl.dev/scaling"
CLUSTER: Final = "edl.dev/cluster"
WORKERS: Final = "edl.dev/workers"
NEW_WORKER: Final = "edl.dev/new-worker"
WORKER_HOSTS: Final = "edl.dev/worker-hosts"
HOSTFILE: Final = "edl.dev/hostfile"
MPI_HOSTFILE: Final = "edl.dev/mpi-hostfile"
DISCOVER_HOSTS: Final = "edl.dev/discover-hosts"
KUBEXEC_SCRIPT: Final = "edl.dev/kubexec-script"
PUBLISHED_AT: Final = "edl.dev/published-at"
CONFIRMED_AT: Final = "edl.dev/confirmed-at"

# Namespaces: labels, then annotations.
KUBEXEC: Final = "edl.dev/kubexec"
HOST: Final = "edl.dev/host"
"""Label of bare pods: the host name under which kubexec.sh finds them."""
INJECTION: Final = "edl.dev/injection"
DEFAULT_FRAMEWORK: Final = "edl.dev/default-framework"
DEFAULT_MIN: Final = "edl.dev/default-min"
DEFAULT_MAX: Final = "edl.dev/default-max"
DEFAULT_PRIORITY: Final = "edl.dev/default-priority"
LARGEST_MAX: Final = "edl.dev/largest-max"
GPU_BUDGET: Final = "edl.dev/gpu-budget"

HOSTS_GATE: Final = "edl.dev/hosts"
"""Scheduling gate of a launcher's pods; the patch that writes the first host list removes it."""

ENABLED: Final = "enabled"
DISABLED: Final = "disabled"
TRUE: Final = "true"

# Names around a training job.
MANAGED_BY: Final = "kubectl-edl"
SYSTEM_NAMESPACE: Final = "edl-system"
LAUNCHER_CLUSTER_ROLE: Final = "edl-launcher"
PEERS_CLUSTER_ROLE: Final = "edl-peers"
RECONCILER_USER: Final = "system:serviceaccount:edl-system:edl-reconciler"

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
SSH_DIRECTORY: Final = "/root/.ssh"

# Environment variables.
COMPLETION_INDEX_ENV: Final = "JOB_COMPLETION_INDEX"
CLUSTER_ENV: Final = "EDL_CLUSTER"
TF_CONFIG_ENV: Final = "TF_CONFIG"
RSH_AGENT_ENV: Final = "OMPI_MCA_plm_rsh_agent"
DEFAULT_HOSTFILE_ENV: Final = "OMPI_MCA_orte_default_hostfile"
MX_CONFIG_ENV: Final = "MX_CONFIG"
DMLC_PS_ROOT_URI_ENV: Final = "DMLC_PS_ROOT_URI"
DMLC_PS_ROOT_PORT_ENV: Final = "DMLC_PS_ROOT_PORT"
DMLC_NUM_SERVER_ENV: Final = "DMLC_NUM_SERVER"
DMLC_NUM_WORKER_ENV: Final = "DMLC_NUM_WORKER"
DMLC_ROLE_ENV: Final = "DMLC_ROLE"
DMLC_USE_KUBERNETES_ENV: Final = "DMLC_USE_KUBERNETES"
DMLC_WORKER_ID_ENV: Final = "DMLC_WORKER_ID"
ELASTIC_TRAINING_ENV: Final = "ELASTIC_TRAINING_ENABLED"
WORKER_HOST_FILE_ENV: Final = "WORKER_HOST_FILE"
NEW_WORKER_ENV: Final = "NEW_WORKER"
DMLC_TUNER_TRACKER_URI_ENV: Final = "DMLC_TUNER_TRACKER_URI"
DMLC_TUNER_TRACKER_PORT_ENV: Final = "DMLC_TUNER_TRACKER_PORT"
DMLC_TUNER_SERVER_KEY_ENV: Final = "DMLC_TUNER_SERVER_KEY"
PET_NNODES_ENV: Final = "PET_NNODES"
PET_NPROC_PER_NODE_ENV: Final = "PET_NPROC_PER_NODE"
PET_RDZV_BACKEND_ENV: Final = "PET_RDZV_BACKEND"
PET_RDZV_ENDPOINT_ENV: Final = "PET_RDZV_ENDPOINT"
PET_RDZV_ID_ENV: Final = "PET_RDZV_ID"
PET_RDZV_CONF_ENV: Final = "PET_RDZV_CONF"
PET_MAX_RESTARTS_ENV: Final = "PET_MAX_RESTARTS"
PET_MONITOR_INTERVAL_ENV: Final = "PET_MONITOR_INTERVAL"

PADDLE_ENV: Final = (
    ("PADDLE_TRAINER_ID", "the index"),
    ("PADDLE_TRAINERS_NUM", f"the annotation `{WORKERS}`"),
    ("PADDLE_TRAINER_ENDPOINTS", f"the annotation `{CLUSTER}`"),
    ("PADDLE_CURRENT_ENDPOINT", "collective: this trainer's `host:port`"),
    ("PADDLE_DISTRI_BACKEND", "collective without GPUs: gloo"),
    ("FLAGS_selected_gpus", "collective with GPUs: the first"),
    ("TRAINING_ROLE", "TRAINER or PSERVER"),
    ("PADDLE_PSERVERS_IP_PORT_LIST", "ps: the servers' `host:port,…`"),
    ("PADDLE_PORT", "ps: every server's port"),
    ("POD_IP", "the pod's address; ps: its host name"),
    ("PADDLE_MASTER", "elastic: `etcd://host:port`"),
    ("PADDLE_JOB_ID", "elastic: the training job"),
    ("PADDLE_NNODES", "elastic: how many pods make a world, `1:max`"),
    ("PADDLE_NPROC_PER_NODE", "elastic: processes a pod, its slots"),
    ("PADDLE_MAX_RESTART", "elastic: 1000, for each resize costs one"),
    ("PADDLE_ELASTIC_LEVEL", "elastic: 1, start again"),
    ("PADDLE_ELASTIC_TIMEOUT", "elastic: seconds without a change that make a world"),
    ("PADDLE_ELASTIC_SERVER", "elastic, older releases: the etcd"),
    ("PADDLE_ELASTIC_JOB_ID", "elastic, older releases: the training job"),
    ("PADDLE_ELASTIC_NP", "elastic, older releases: `min:max`"),
    ("PADDLE_JOB_NAME", "cloud: the training job"),
    ("TRAINERS", f"cloud: trainers' min; without a master, the annotation `{WORKERS}`"),
    ("PSERVERS", "cloud: pservers"),
    ("ENTRY", f"cloud: the annotation `{ENTRYPOINT}`"),
    ("TOPOLOGY", f"cloud: the annotation `{ENTRYPOINT}`"),
    ("TRAINER_PACKAGE", f"cloud: the annotation `{WORKSPACE}`"),
    ("PADDLE_INIT_PORT", f"cloud: the annotation `{PORT}`, 7164"),
    ("PADDLE_INIT_TRAINER_COUNT", "cloud: GPUs a trainer, or its CPUs"),
    ("PADDLE_INIT_PORTS_NUM", f"cloud: the annotation `{PORTS_NUM}`"),
    ("PADDLE_INIT_PORTS_NUM_FOR_SPARSE", f"cloud: the annotation `{PORTS_NUM_FOR_SPARSE}`"),
    ("PADDLE_INIT_NUM_GRADIENT_SERVERS", "cloud: as TRAINERS"),
    ("PADDLE_INIT_NUM_PASSES", f"cloud: the annotation `{PASSES}`"),
    ("PADDLE_INIT_USE_GPU", "cloud: 1 with a GPU"),
    ("LD_LIBRARY_PATH", "cloud: CUDA's libraries"),
    ("NAMESPACE", "cloud: the pod's namespace"),
)
"""Paddle's variables by its modes, and what each is."""

# Pod labels by which v1 images of Paddle list their peers.
PADDLE_TRAINER_LABEL: Final = "paddle-job"
PADDLE_PSERVER_LABEL: Final = "paddle-job-pserver"
PADDLE_MASTER_LABEL: Final = "paddle-job-master"

# Kubernetes' own names.
COMPLETION_INDEX_ANNOTATION: Final = "batch.kubernetes.io/job-completion-index"
JOB_NAME_LABEL: Final = "batch.kubernetes.io/job-name"
JOB_TRACKING: Final = "batch.kubernetes.io/job-tracking"
"""The Job controller's finalizer: it takes it off once it has counted the pod."""
KUEUE_QUEUE: Final = "kueue.x-k8s.io/queue-name"
JOB_CONTROLLER: Final = "kubernetes.io/job-controller"
HOOKS: Final = ("helm.sh/hook", "argocd.argoproj.io/hook")
"""Annotations of Jobs for which an installation waits."""

# KubeShare 2.0 (labels) and 1.0 (annotations).
SHARED_GPU_LIMIT: Final = "sharedgpu/gpu_limit"
SHARED_GPU_REQUEST: Final = "sharedgpu/gpu_request"
SHARED_GPU_MEMORY: Final = "sharedgpu/gpu_mem"
SHARED_GPU_PRIORITY: Final = "sharedgpu/priority"
SHARED_GPU_GROUP: Final = (
    "sharedgpu/group_name",
    "sharedgpu/group_headcount",
    "sharedgpu/group_threshold",
)
SHARED_GPU_NODE: Final = "SharedGPU"
"""Label of the nodes whose GPUs KubeShare 2.0 hands out, with the value `true`."""
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
"""1.0's annotations that 2.0 has no word for."""
GPU_RESOURCE: Final = "nvidia.com/gpu"


class CleanUp(StrEnum):
    """What happens to the pods that still run when the deciding role has ended."""

    RUNNING = "Running"
    ALL = "All"
    NONE = "None"


class Restart(StrEnum):
    """What happens when a pod fails, in the words of the kubeflow operators."""

    ALWAYS = "Always"
    ON_FAILURE = "OnFailure"
    NEVER = "Never"
    EXIT_CODE = "ExitCode"


class KubeShare(StrEnum):
    """In which KubeShare's words a share is asked for."""

    ONE = "1"
    TWO = "2"


class Kind(StrEnum):
    """Where an entry of the contract stands."""

    LABEL = "label"
    ANNOTATION = "annotation"
    NAMESPACE = "namespace label"
    NAMESPACE_ANNOTATION = "namespace annotation"
    ENV = "environment"
    PATH = "file"
    GATE = "scheduling gate"


class Setter(StrEnum):
    """Who may write an entry."""

    USER = "user"
    WEBHOOK = "webhook"
    RECONCILER = "reconciler"


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the contract: where it stands, who sets it, its values and its meaning."""

    name: str
    kind: Kind
    setter: Setter
    values: str
    meaning: str


def _label(name: str, values: str, meaning: str) -> Entry:
    return Entry(name, Kind.LABEL, Setter.USER, values, meaning)


def _annotation(name: str, values: str, meaning: str) -> Entry:
    return Entry(name, Kind.ANNOTATION, Setter.USER, values, meaning)


def _namespace(name: str, values: str, meaning: str) -> Entry:
    return Entry(name, Kind.NAMESPACE_ANNOTATION, Setter.USER, values, meaning)


def _ours(name: str, setter: Setter, values: str, meaning: str) -> Entry:
    return Entry(name, Kind.ANNOTATION, setter, values, meaning)


_TIME: Final = "RFC 3339 time"
_WEBHOOK: Final = Setter.WEBHOOK
_RECONCILER: Final = Setter.RECONCILER

ENTRIES: Final[tuple[Entry, ...]] = (
    _label(
        FRAMEWORK,
        "tensorflow, mxnet, horovod, aiacc, paddle, pytorch, none",
        "opts the object in; required",
    ),
    _label(JOB, "a name", "the training job that several Jobs form; default: the Job's own name"),
    _label(ROLE, "the framework's own word", "default: the framework's worker role"),
    _label(MIN, "whole number from 1", "fewest replicas; default: `spec.parallelism`"),
    _label(MAX, "whole number from min", "most replicas; default: `spec.parallelism`"),
    _label(GPU, "`2` or `0.5`", "whole GPUs (`nvidia.com/gpu`) or a KubeShare share of one"),
    _label(GPU_MEMORY, "quantity, `3Gi`", "memory of the shared GPU; default: KubeShare's"),
    _annotation(ROLES, "`chief=1,ps=2,worker=1..12`", "the whole cast, the same on each Job"),
    _annotation(MODE, "a mode of the framework", "how it runs; see the framework's own page"),
    _annotation(REPLICAS, "whole number", "a manual size, held within min..max until removed"),
    _annotation(PAUSED, "`true`", "the whole training job is suspended and waits"),
    _annotation(
        SCALE_TIMEOUT, "`60s`, `5m`", f"a growth to `{REPLICAS}` that takes longer is taken back"
    ),
    _annotation(SCALE_FALLBACK, "whole number", f"`{REPLICAS}` after that; default: none"),
    _annotation(REMOVE, "names of pods", "these leave, whatever their index; removed when done"),
    _annotation(SLOTS, "whole number", "slots a host; default: whole GPUs, else 1"),
    _annotation(PORT, "1..65535", "the framework's port; default: the framework's own"),
    _annotation(
        RESTART,
        "Always, OnFailure, Never, ExitCode",
        "when a pod fails; default: as the Job itself says, see docs/failures.md",
    ),
    _annotation(
        CLEAN_UP, "Running, All, None", "what ends with the deciding role; default: Running"
    ),
    _annotation(GPU_LIMIT, "`0.8`", "most of the GPU a share may use; default: the share"),
    _annotation(KUBESHARE, "1, 2", "whose words ask for a share: annotations, labels; default: 2"),
    _annotation(PORTS_NUM, "whole number", "paddle cloud: a pserver's ports; default: 1"),
    _annotation(PORTS_NUM_FOR_SPARSE, "whole number", "those for sparse updates; default: 1"),
    _annotation(PASSES, "whole number", "paddle cloud: passes over the data; default: 1"),
    _annotation(ENTRYPOINT, "a command", "paddle cloud: what a trainer runs"),
    _annotation(WORKSPACE, "a folder", "paddle cloud: where a trainer runs it"),
    _annotation(ETCD_IMAGE, "an image", "paddle cloud: of the etcd beside the master"),
    _annotation(RANK, "whole number from 0", "bare pods: this pod's index in its role"),
    _annotation(SIZE, "whole number from 1", "bare pods: how many pods the role has"),
    _ours(INJECTED_MAX, _WEBHOOK, "whole number", "the max that the pods were completed for"),
    _ours(DISCOVER_HOSTS, _WEBHOOK, "script", f"content of `{EDL_DISCOVER_HOSTS}`"),
    _ours(KUBEXEC_SCRIPT, _WEBHOOK, "script", f"content of `{MPI_KUBEXEC}`"),
    _ours(HOSTFILE, _RECONCILER, "`host:slots` a line", f"content of `{EDL_HOSTFILE}`"),
    _ours(MPI_HOSTFILE, _RECONCILER, "`host slots=n` a line", f"content of `{MPI_HOSTFILE_PATH}`"),
    _ours(WORKER_HOSTS, _RECONCILER, "a host a line", f"content of `{EDL_WORKER_HOSTS}`"),
    _ours(NEW_WORKER, _RECONCILER, "0, 1", "whether its training began without this worker"),
    _ours(PUBLISHED_AT, _RECONCILER, _TIME, "when the host list was last written"),
    _ours(CONFIRMED_AT, _RECONCILER, _TIME, "the publication that the kubelet was reminded of"),
    _ours(CLUSTER, _RECONCILER, "JSON or a list", "the addresses as they were at the start"),
    _ours(WORKERS, _RECONCILER, "whole number", "how many workers were started"),
    _ours(STARTED_AT, _RECONCILER, _TIME, "when the training job was last started"),
    _ours(FAILURES_AT_START, _RECONCILER, "whole number", "more: a pod was lost since the start"),
    _ours(RESIZED_AT, _RECONCILER, _TIME, "when the size last changed"),
    _ours(REASON, _RECONCILER, "text", "why the size is what it is"),
    _ours(HISTORY, _RECONCILER, "an operation a line", "see `kubectl edl history`"),
    _ours(SCALING, _RECONCILER, "time, size, size", f"from when `{SCALE_TIMEOUT}` counts"),
    Entry(HOST, Kind.LABEL, _WEBHOOK, "a host name", "bare pods: where kubexec.sh finds them"),
    Entry(KUBEXEC, Kind.NAMESPACE, Setter.USER, ENABLED, "launchers here may exec into workers"),
    Entry(
        INJECTION,
        Kind.NAMESPACE,
        Setter.USER,
        f"{ENABLED}; on a Job: {DISABLED}",
        f"Jobs here without `{FRAMEWORK}` are ours too; on a Job of such a namespace: not this one",
    ),
    _namespace(DEFAULT_FRAMEWORK, "a framework", "of Jobs that name none; default: none"),
    _namespace(DEFAULT_MIN, "whole number from 1", "of Jobs that say no min, in roles that resize"),
    _namespace(DEFAULT_MAX, "whole number from 1", "of Jobs that say no max, in roles that resize"),
    _namespace(DEFAULT_PRIORITY, "a PriorityClass", "of Jobs whose template names none"),
    _namespace(LARGEST_MAX, "whole number from 1", "no Job here may have a larger max"),
    _namespace(GPU_BUDGET, "`8` or `2.5`", "most GPUs of one Job here: its max × a pod's GPUs"),
    Entry(HOSTS_GATE, Kind.GATE, _WEBHOOK, "", "a launcher waits until its workers are ready"),
    Entry(TF_CONFIG_ENV, Kind.ENV, _WEBHOOK, "JSON", "TensorFlow's cluster and this task"),
    Entry(CLUSTER_ENV, Kind.ENV, _WEBHOOK, "JSON", f"the annotation `{CLUSTER}`, for TF_CONFIG"),
    Entry(DEFAULT_HOSTFILE_ENV, Kind.ENV, _WEBHOOK, MPI_HOSTFILE_PATH, "Open MPI's host list"),
    Entry(RSH_AGENT_ENV, Kind.ENV, _WEBHOOK, MPI_KUBEXEC, "the launcher starts workers by exec"),
    Entry(MX_CONFIG_ENV, Kind.ENV, _WEBHOOK, "JSON", "MXNet's cluster, labels and this task"),
    Entry(DMLC_PS_ROOT_URI_ENV, Kind.ENV, _WEBHOOK, "host", "MXNet's scheduler"),
    Entry(DMLC_PS_ROOT_PORT_ENV, Kind.ENV, _WEBHOOK, "1..65535", "its port, 9091 unless told"),
    Entry(DMLC_NUM_SERVER_ENV, Kind.ENV, _WEBHOOK, "whole number", "servers"),
    Entry(DMLC_NUM_WORKER_ENV, Kind.ENV, _WEBHOOK, "whole number", f"the annotation `{WORKERS}`"),
    Entry(DMLC_ROLE_ENV, Kind.ENV, _WEBHOOK, "a role", "this pod's"),
    Entry(DMLC_USE_KUBERNETES_ENV, Kind.ENV, _WEBHOOK, "1", "the scheduler listens everywhere"),
    Entry(DMLC_WORKER_ID_ENV, Kind.ENV, _WEBHOOK, "whole number", "on workers: the index"),
    Entry(ELASTIC_TRAINING_ENV, Kind.ENV, _WEBHOOK, "1", "mxnet's mode fork"),
    Entry(WORKER_HOST_FILE_ENV, Kind.ENV, _WEBHOOK, EDL_WORKER_HOSTS, "mode fork: the scheduler's"),
    Entry(NEW_WORKER_ENV, Kind.ENV, _WEBHOOK, "0, 1", f"mode fork: the annotation `{NEW_WORKER}`"),
    Entry(DMLC_TUNER_TRACKER_URI_ENV, Kind.ENV, _WEBHOOK, "host", "mode tune: the tracker"),
    Entry(DMLC_TUNER_TRACKER_PORT_ENV, Kind.ENV, _WEBHOOK, "1..65535", "its port"),
    Entry(
        DMLC_TUNER_SERVER_KEY_ENV,
        Kind.ENV,
        _WEBHOOK,
        "text",
        f"mode tune: the pod's annotation `{TUNER_SERVER_KEY}`",
    ),
    Entry(PET_NNODES_ENV, Kind.ENV, _WEBHOOK, "`min:max`", "how many torchrun agents make a world"),
    Entry(PET_NPROC_PER_NODE_ENV, Kind.ENV, _WEBHOOK, "whole number", "processes a pod: its slots"),
    Entry(PET_RDZV_BACKEND_ENV, Kind.ENV, _WEBHOOK, "c10d", "torchrun's agents meet at a store"),
    Entry(PET_RDZV_ENDPOINT_ENV, Kind.ENV, _WEBHOOK, "`host:port`", "the store: rendezvous' pod"),
    Entry(PET_RDZV_ID_ENV, Kind.ENV, _WEBHOOK, "a name", "the training job's"),
    Entry(PET_RDZV_CONF_ENV, Kind.ENV, _WEBHOOK, "`key=value,…`", "who is the store, and waits"),
    Entry(
        PET_MAX_RESTARTS_ENV, Kind.ENV, _WEBHOOK, "1000", "a leaving peer costs each one restart"
    ),
    Entry(PET_MONITOR_INTERVAL_ENV, Kind.ENV, _WEBHOOK, "1", "seconds between looks at the world"),
    *(Entry(name, Kind.ENV, _WEBHOOK, "", meaning) for name, meaning in PADDLE_ENV),
    *(
        Entry(name, Kind.LABEL, _WEBHOOK, "the training job", "paddle cloud: finds its peers by it")
        for name in (PADDLE_TRAINER_LABEL, PADDLE_PSERVER_LABEL, PADDLE_MASTER_LABEL)
    ),
    Entry(EDL_HOSTFILE, Kind.PATH, _RECONCILER, "`host:slots` a line", "live host list"),
    Entry(EDL_DISCOVER_HOSTS, Kind.PATH, _WEBHOOK, "script", "prints the live host list"),
    Entry(EDL_WORKER_HOSTS, Kind.PATH, _RECONCILER, "a host a line", "mxnet's mode fork"),
    Entry(MPI_HOSTFILE_PATH, Kind.PATH, _RECONCILER, "`host slots=n` a line", "for Open MPI"),
    Entry(JOB_HOSTFILE, Kind.PATH, _RECONCILER, "`host slots=n` a line", "for DeepSpeed"),
    Entry(SSH_DIRECTORY, Kind.PATH, _WEBHOOK, "a key pair", "mode ssh: the training job's own"),
    Entry(MPI_KUBEXEC, Kind.PATH, _WEBHOOK, "script", "runs a command in a worker's pod"),
)

OWNED_ANNOTATIONS: Final = frozenset(
    entry.name
    for entry in ENTRIES
    if entry.kind is Kind.ANNOTATION and entry.setter is not Setter.USER
)
"""Annotations that only the webhook and the reconciler may write."""

IMMUTABLE: Final = (FRAMEWORK, JOB, ROLE, ROLES, MODE)
"""Labels and annotations that never change after creation: the pods were made from them."""
