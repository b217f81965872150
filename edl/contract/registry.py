"""Each entry of the contract: its kind, its setter, its values and its meaning.

The tables of docs/reference/labels.md are generated from it.
"""

from collections.abc import Iterator
from enum import StrEnum
from typing import Final

import msgspec

from edl import contract as keys


class EntryKind(StrEnum):
    """Where an entry of the contract is set."""

    LABEL = "label"
    ANNOTATION = "annotation"
    NAMESPACE = "namespace label"
    NAMESPACE_ANNOTATION = "namespace annotation"
    ENV = "environment"
    PATH = "file"
    GATE = "scheduling gate"


class Setter(StrEnum):
    """The component, or user, that sets an entry."""

    USER = "user"
    WEBHOOK = "webhook"
    RECONCILER = "reconciler"


class ContractEntry(msgspec.Struct, frozen=True):
    """One entry of the contract: where it is set, by what, its values and its meaning."""

    name: str
    kind: EntryKind
    setter: Setter
    values: str
    meaning: str


_TABLE: Final = f"""
[label: user]
{keys.FRAMEWORK} | tensorflow, mxnet, horovod, aiacc, paddle, pytorch, none | opts the object in; \
    required
{keys.JOB} | a name | the training job that several Jobs form; default: the Job's own name
{keys.ROLE} | the framework's own word | default: the framework's worker role
{keys.MIN} | whole number from 1 | fewest replicas; default: `spec.parallelism`, but not above max
{keys.MAX} | whole number from min | most replicas; default: `spec.parallelism`, but not below min
{keys.GPU} | `2` or `0.5` | whole GPUs (`{keys.GPU_RESOURCE}`) or a KubeShare share of one
{keys.GPU_MEMORY} | quantity, `3Gi` | memory of the shared GPU; default: KubeShare's
[annotation: user]
{keys.ROLES} | `chief=1,ps=2,worker=1..12` | all roles of the training job, the same on each Job
{keys.MODE} | a mode of the framework | how it runs; see the framework's own page
{keys.REPLICAS} | whole number | a manual size, held within min..max until removed
{keys.PAUSED} | `true` | the whole training job is suspended and waits
{keys.SCALE_TIMEOUT} | `60s`, `5m` | a growth to `{keys.REPLICAS}` that takes longer is taken back
{keys.SCALE_FALLBACK} | whole number | `{keys.REPLICAS}` after that; default: none
{keys.REMOVE} | names of pods | these leave, whatever their index; removed when done
{keys.PROGRESS} | `93` or `93%`, 0..100 | how much of its work is done, as its script says; \
    nearly finished, it keeps its size
{keys.DURATION} | `2h30m`, `90m`, `1d` | how long it is expected to run once started; for \
    estimates only
{keys.COOLDOWN} | `10s` to `1d` | least time between two resizes of a role; default: the \
    framework's, else the reconciler's
{keys.REQUIRED_TOPOLOGY} | `LABEL`, `ROLE=LABEL`, several between commas | all pods of the \
    training job, or of the role, run on nodes with one value of this label
{keys.PREFERRED_TOPOLOGY} | `LABEL[,LABEL…]` | its pods run on nodes with as few values of these \
    labels as possible; the widest first
{keys.PROVISION} | minimum, maximum, never | for which size an autoscaler is asked for nodes \
    while the job waits; default: minimum
{keys.SLOTS} | whole number | slots a host; default: whole GPUs, else 1
{keys.PORT} | 1..65535 | the framework's port; default: the framework's own
{keys.RESTART} | Always, OnFailure, Never, ExitCode | when a pod fails; default: as the Job \
    itself says, see docs/concepts/failures.md
{keys.CLEAN_UP} | Running, All, None | what ends with the deciding role; default: Running
{keys.TTL} | whole number | `spec.ttlSecondsAfterFinished` of one Job of several: it counts when \
    all have ended
{keys.GPU_CLASS} | a DeviceClass | `{keys.GPU}` asks for devices of this class, by a \
    ResourceClaim (DRA)
{keys.GPU_LIMIT} | `0.8` | most of the GPU a share may use; default: the share
{keys.KUBESHARE} | 1, 2 | whose words ask for a share: labels (2, the default), or annotations \
    for what makes 1.0's SharePods of pods
{keys.PORTS_NUM} | whole number | paddle cloud: a pserver's ports; default: 1
{keys.PORTS_NUM_FOR_SPARSE} | whole number | those for sparse updates; default: 1
{keys.PASSES} | whole number | paddle cloud: passes over the data; default: 1
{keys.ENTRYPOINT} | a command | paddle cloud: what a trainer runs
{keys.WORKSPACE} | a folder | paddle cloud: where a trainer runs it
{keys.ETCD_IMAGE} | an image | paddle cloud: of the etcd beside the master
{keys.RANK} | whole number from 0 | bare pods: this pod's index in its role
{keys.SIZE} | whole number from 1 | bare pods: how many pods the role has
[annotation: webhook]
{keys.INJECTED_MAX} | whole number | the max that the pods were completed for
{keys.COMPLETED_BY} | a digest | the release that completed the object
{keys.DISCOVER_HOSTS} | script | content of `{keys.EDL_DISCOVER_HOSTS}`
{keys.KUBEXEC_SCRIPT} | script | content of `{keys.MPI_KUBEXEC}`
[annotation: reconciler]
{keys.HOSTFILE} | `host:slots` a line | content of `{keys.EDL_HOSTFILE}`
{keys.MPI_HOSTFILE} | `host slots=n` a line | content of `{keys.MPI_HOSTFILE_PATH}`
{keys.WORKER_HOSTS} | a host a line | content of `{keys.EDL_WORKER_HOSTS}`
{keys.NEW_WORKER} | 0, 1 | whether its training began without this worker
{keys.ASSIGNED_NODE} | a node | of a gated pod: where the plan places it
{keys.PLACED_AT} | RFC 3339 time | when it was given that node
{keys.PUBLISHED_AT} | RFC 3339 time | when the host list was last written
{keys.LEAVING} | JSON | the workers that its host list does not name any more: they leave, and \
    never come back on
{keys.CONFIRMED_AT} | RFC 3339 time | the publication that the kubelet was reminded of
{keys.CLUSTER} | JSON or a list | the addresses as they were at the start
{keys.WORKERS} | whole number | how many workers were started
{keys.STARTED_AT} | RFC 3339 time | when the training job was last started
{keys.FAILURES_AT_START} | whole number | more: a pod was lost since the start
{keys.RESIZED_AT} | RFC 3339 time | when the size last changed
{keys.REASON} | a code of docs/reference/reason-codes.md | why the size is what it is, or why the \
    job waits
{keys.MESSAGE} | text | the same for people
{keys.LAST_CHANGE} | JSON | the reason of the last change, for decisions
{keys.HISTORY} | an operation a line | see `kubectl edl history`
{keys.SETTINGS} | JSON | on its Lease `{keys.RECONCILER_LEASE}`: the policy and the limits it \
    decides by
{keys.UNNEEDED_NODES} | JSON | on its Lease `{keys.RECONCILER_LEASE}`: since when nothing but \
    extras needs a node
{keys.MISSING_RIGHTS} | JSON | on its Lease `{keys.RECONCILER_LEASE}`: its user name, and the \
    write rights it lacks
{keys.QUEUE_AS_OF} | RFC 3339 time | on its Lease `{keys.RECONCILER_LEASE}`: each ConfigMap \
    `edl-queue` was right then
{keys.SCALING} | time, size, size | from when `{keys.SCALE_TIMEOUT}` counts
{keys.ASSIGNED_NODES} | `INDEX:NODE*REPLICAS,NODE,…` | the nodes that the plan has for its \
    replicas from an index on
{keys.CLEARED} | JSON | nodes that its replicas were moved off for a pod of few nodes, how often, \
    and when last
{keys.START_REFUSED} | JSON | when and why the API server last refused a write of its start, and \
    how often
{keys.PROVISIONING_FAILED} | JSON | when nodes that it asked for last did not come, how often, \
    and the autoscaler's words
{keys.CONSUMED_REQUEST} | a ProvisioningRequest | on whose nodes its pods were started: its pod \
    template names it until the next start
[label: reconciler]
{keys.PROVISIONAL} | a training job | a provisional pod, which runs nothing, or a \
    ProvisioningRequest with its PodTemplates: it asks an autoscaler for nodes for it
{keys.PROVISIONAL_ROLE} | a role | whose pod it asks for
[label: webhook]
{keys.HOST} | a host name | bare pods: where kubexec.sh finds them
[namespace label: user]
{keys.KUBEXEC} | {keys.ENABLED} | launchers here may exec into workers
{keys.INJECTION} | {keys.ENABLED}; on a Job: {keys.DISABLED} | Jobs here without \
    `{keys.FRAMEWORK}` are ours too; on a Job: not this one
[namespace annotation: user]
{keys.DEFAULT_FRAMEWORK} | a framework | of Jobs that name none; default: none
{keys.DEFAULT_MIN} | whole number from 1 | of Jobs that say no min, in roles that resize
{keys.DEFAULT_MAX} | whole number from 1 | of Jobs that say no max, in roles that resize
{keys.DEFAULT_PRIORITY} | a PriorityClass | of Jobs whose template names none
{keys.DEFAULT_GPU_CLASS} | a DeviceClass | `{keys.GPU_CLASS}` of Jobs that ask for whole GPUs and \
    name none
{keys.DEFAULT_PROVISION} | minimum, maximum, never | `{keys.PROVISION}` of Jobs that say none
{keys.LARGEST_MAX} | whole number from 1 | no Job here may have a larger max
{keys.GPU_BUDGET} | `8` or `2.5` | most GPUs of all training jobs here together, and of one Job \
    at its max
[scheduling gate: webhook]
{keys.HOSTS_GATE} | | a launcher waits until its workers are ready
{keys.PLACEMENT_GATE} | | a pod waits until the plan gives it a node
[environment: webhook]
{keys.TF_CONFIG_ENV} | JSON | TensorFlow's cluster and this task
{keys.CLUSTER_ENV} | JSON | the annotation `{keys.CLUSTER}`, for TF_CONFIG
{keys.DEFAULT_HOSTFILE_ENV} | {keys.MPI_HOSTFILE_PATH} | Open MPI's host list
{keys.RSH_AGENT_ENV} | {keys.MPI_KUBEXEC} | the launcher starts workers by exec
{keys.MX_CONFIG_ENV} | JSON | MXNet's cluster, labels and this task
{keys.DMLC_PS_ROOT_URI_ENV} | host | MXNet's scheduler
{keys.DMLC_PS_ROOT_PORT_ENV} | 1..65535 | its port; default: 9091
{keys.DMLC_NUM_SERVER_ENV} | whole number | servers
{keys.DMLC_NUM_WORKER_ENV} | whole number | the annotation `{keys.WORKERS}`
{keys.DMLC_ROLE_ENV} | a role | this pod's
{keys.DMLC_USE_KUBERNETES_ENV} | 1 | the scheduler listens everywhere
{keys.DMLC_WORKER_ID_ENV} | whole number | on workers: the index
{keys.ELASTIC_TRAINING_ENV} | 1 | mxnet's mode fork
{keys.WORKER_HOST_FILE_ENV} | {keys.EDL_WORKER_HOSTS} | mode fork: the scheduler's
{keys.NEW_WORKER_ENV} | 0, 1 | mode fork: the annotation `{keys.NEW_WORKER}`
{keys.DMLC_TUNER_TRACKER_URI_ENV} | host | mode tune: the tracker
{keys.DMLC_TUNER_TRACKER_PORT_ENV} | 1..65535 | its port
{keys.DMLC_TUNER_SERVER_KEY_ENV} | text | mode tune: the pod's annotation `{keys.TUNER_SERVER_KEY}`
{keys.PET_NNODES_ENV} | `min:max` | how many torchrun agents make a world
{keys.PET_NPROC_PER_NODE_ENV} | whole number | processes a pod: its slots
{keys.PET_RDZV_BACKEND_ENV} | c10d | torchrun's agents meet at a store
{keys.PET_RDZV_ENDPOINT_ENV} | `host:port` | the store: rendezvous' pod
{keys.PET_RDZV_ID_ENV} | a name | the training job's
{keys.PET_RDZV_CONF_ENV} | `key=value,…` | the pod that is the store, and waits
{keys.PET_MAX_RESTARTS_ENV} | 1000 | a leaving peer costs each one restart
{keys.PET_MONITOR_INTERVAL_ENV} | 1 | seconds between looks at the world
PADDLE_TRAINER_ID | | the index
PADDLE_TRAINERS_NUM | | the annotation `{keys.WORKERS}`
PADDLE_TRAINER_ENDPOINTS | | the annotation `{keys.CLUSTER}`
PADDLE_CURRENT_ENDPOINT | | collective: this trainer's `host:port`
PADDLE_DISTRI_BACKEND | | collective without GPUs: gloo
FLAGS_selected_gpus | | collective with GPUs: the first
TRAINING_ROLE | | TRAINER or PSERVER
PADDLE_PSERVERS_IP_PORT_LIST | | ps: the servers' `host:port,…`
PADDLE_PORT | | ps: every server's port
POD_IP | | the pod's address; ps: its host name
PADDLE_MASTER | | elastic: `etcd://host:port`
PADDLE_JOB_ID | | elastic: the training job
PADDLE_NNODES | | elastic: how many pods make a world, `1:max`
PADDLE_NPROC_PER_NODE | | elastic: processes a pod, its slots
PADDLE_MAX_RESTART | | elastic: 1000, for each resize costs one
PADDLE_ELASTIC_LEVEL | | elastic: 1, start again
PADDLE_ELASTIC_TIMEOUT | | elastic: seconds without a change that make a world
PADDLE_ELASTIC_SERVER | | elastic, older releases: the etcd
PADDLE_ELASTIC_JOB_ID | | elastic, older releases: the training job
PADDLE_ELASTIC_NP | | elastic, older releases: `min:max`
PADDLE_JOB_NAME | | cloud: the training job
TRAINERS | | cloud: trainers' min; without a master, the annotation `{keys.WORKERS}`
PSERVERS | | cloud: pservers
ENTRY | | cloud: the annotation `{keys.ENTRYPOINT}`
TOPOLOGY | | cloud: the annotation `{keys.ENTRYPOINT}`
TRAINER_PACKAGE | | cloud: the annotation `{keys.WORKSPACE}`
PADDLE_INIT_PORT | | cloud: the annotation `{keys.PORT}`, 7164
PADDLE_INIT_TRAINER_COUNT | | cloud: GPUs a trainer, or its CPUs
PADDLE_INIT_PORTS_NUM | | cloud: the annotation `{keys.PORTS_NUM}`
PADDLE_INIT_PORTS_NUM_FOR_SPARSE | | cloud: the annotation `{keys.PORTS_NUM_FOR_SPARSE}`
PADDLE_INIT_NUM_GRADIENT_SERVERS | | cloud: as TRAINERS
PADDLE_INIT_NUM_PASSES | | cloud: the annotation `{keys.PASSES}`
PADDLE_INIT_USE_GPU | | cloud: 1 with a GPU
LD_LIBRARY_PATH | | cloud: CUDA's libraries
NAMESPACE | | cloud: the pod's namespace
[label: webhook]
{keys.PADDLE_TRAINER_LABEL} | the training job | paddle cloud: finds its peers by it
{keys.PADDLE_PSERVER_LABEL} | the training job | paddle cloud: finds its peers by it
{keys.PADDLE_MASTER_LABEL} | the training job | paddle cloud: finds its peers by it
[file: reconciler]
{keys.EDL_HOSTFILE} | `host:slots` a line | live host list
{keys.EDL_WORKER_HOSTS} | a host a line | mxnet's mode fork
{keys.MPI_HOSTFILE_PATH} | `host slots=n` a line | for Open MPI
{keys.JOB_HOSTFILE} | `host slots=n` a line | for DeepSpeed
[file: webhook]
{keys.EDL_DISCOVER_HOSTS} | script | prints the live host list
{keys.SSH_DIRECTORY} | a key pair | mode ssh: the training job's own
{keys.MPI_KUBEXEC} | script | runs a command in a worker's pod
"""
"""Sections `[kind: setter]` with one entry per line: `name | values | meaning`."""


def _entries(table: str) -> Iterator[ContractEntry]:
    kind, setter = EntryKind.LABEL, Setter.USER
    for line in table.strip().splitlines():
        if line.startswith("["):
            where, _, writer = line.strip("[]").partition(": ")
            kind, setter = EntryKind(where), Setter(writer)
        else:
            name, values, meaning = (" ".join(cell.split()) for cell in line.split("|"))
            yield ContractEntry(name, kind, setter, values, meaning)


ENTRIES: Final = tuple(_entries(_TABLE))

OWNED_ANNOTATIONS: Final = frozenset(
    entry.name
    for entry in ENTRIES
    if entry.kind is EntryKind.ANNOTATION and entry.setter is not Setter.USER
)
"""Annotations that only the webhook and the reconciler may write."""
