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
    INSTALLATION = "installation"


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
{keys.JOB} | a name | the training job that several Jobs form; default: the Job's own name, \
    without this label under `generateName`
{keys.ROLE} | a role of the framework | default: the framework's worker role
{keys.MIN} | whole number from 1 | fewest replicas; default: `spec.parallelism`, but not above max
{keys.MAX} | whole number from min | most replicas; default: `spec.parallelism`, but not below min
{keys.GPU} | `2` or `0.5` | whole GPUs (`{keys.GPU_RESOURCE}`) or a KubeShare share of one
{keys.GPU_MEMORY} | quantity, `3Gi` | memory of the shared GPU; KubeShare 1.0 requires it
[annotation: user]
{keys.ROLES} | `chief=1,ps=2,worker=1..12` | all roles of the training job, the same on each Job
{keys.MODE} | a mode of the framework | how it runs; see the framework's own page
{keys.REPLICAS} | whole number | a manual size, held within min..max until removed
{keys.PAUSED} | `true` | the whole training job is suspended and waits
{keys.SCALE_TIMEOUT} | `60s`, `5m` | a scale-up of a running job that takes longer is reverted
{keys.SCALE_FALLBACK} | whole number | `{keys.REPLICAS}` after that; default: none
{keys.REMOVE} | names of pods | these pods are removed, whatever their index; removed when done
{keys.PROGRESS} | `93` or `93%`, 0..100 | completed part of its work, as its script reports; \
    a nearly finished job keeps its size
{keys.DURATION} | `2h30m`, `90m`, `1d` | expected run time after its start; for \
    estimates only
{keys.COOLDOWN} | `10s` to `1d` | least time between two resizes of a role; default: the \
    framework's, else the reconciler's
{keys.REQUIRED_TOPOLOGY} | `LABEL`, `ROLE=LABEL`, several between commas | all pods of the \
    training job, or of the role, run on nodes with one value of this label
{keys.PREFERRED_TOPOLOGY} | `LABEL[,LABEL…]` | its pods run on nodes with as few values of these \
    labels as possible; the widest first
{keys.PROVISION} | minimum, maximum, never | the size for which a queued job requests nodes \
    from an autoscaler; default: minimum; extras keep the nodes of maximum only with \
    `--growth=any-node`
{keys.SLOTS} | whole number | slots per host; default: whole GPUs, else 1
{keys.PORT} | 1..65535 | the framework's port; default: the framework's own
{keys.RESTART} | Always, OnFailure, Never, ExitCode | what happens when a pod fails; \
    default: the Job's own fields, see docs/concepts/failures.md
{keys.CLEAN_UP} | Running, All, None | which pods end with the completion role; default: Running
{keys.TTL} | whole number | seconds from the end of the whole training job until this Job is \
    deleted; the webhook moves `spec.ttlSecondsAfterFinished` of one Job of several here
{keys.GPU_CLASS} | a DeviceClass | `{keys.GPU}` requests devices of this class, by a \
    ResourceClaim (DRA)
{keys.GPU_LIMIT} | `0.8` | most of the GPU a share may use; default: the share
{keys.KUBESHARE} | 1, 2 | the KubeShare version: labels (2, the default), or annotations \
    for a tool that turns pods into 1.0's SharePods
{keys.PORTS_NUM} | whole number | paddle cloud: a pserver's ports; default: 1
{keys.PORTS_NUM_FOR_SPARSE} | whole number | those for sparse updates; default: 1
{keys.PASSES} | whole number | paddle cloud: passes over the data; default: 1
{keys.ENTRYPOINT} | a command | paddle cloud: what a trainer runs
{keys.WORKSPACE} | a folder | paddle cloud: where a trainer runs it
{keys.ETCD_IMAGE} | an image | paddle cloud: image of the etcd beside the master
{keys.RANK} | whole number from 0 | bare pods: this pod's index in its role
{keys.SIZE} | whole number from 1 | bare pods: how many pods the role has
[annotation: webhook]
{keys.INJECTED_MAX} | whole number | the max that the pods were completed for
{keys.COMPLETED_BY} | a digest | the release that completed the object
{keys.PAUSED_BY} | a ServiceAccount | the controller whose `suspend: true` paused the training job
{keys.DISCOVER_HOSTS} | script | content of `{keys.EDL_DISCOVER_HOSTS}`
{keys.KUBEXEC_SCRIPT} | script | content of `{keys.MPI_KUBEXEC}`
[annotation: reconciler]
{keys.HOSTFILE} | `host:slots` per line | content of `{keys.EDL_HOSTFILE}`
{keys.MPI_HOSTFILE} | `host slots=n` per line | content of `{keys.MPI_HOSTFILE_PATH}`
{keys.WORKER_HOSTS} | a host per line | content of `{keys.EDL_WORKER_HOSTS}`
{keys.NEW_WORKER} | 0, 1 | whether its training began without this worker
{keys.ASSIGNED_NODE} | a node | the planned node of a gated pod
{keys.PLACED_AT} | RFC 3339 time | when the plan assigned that node
{keys.PUBLISHED_AT} | RFC 3339 time | when the host list was last written
{keys.LEAVING} | JSON | workers removed from its host list, whose pods are about to be \
    deleted
{keys.CONFIRMED_AT} | RFC 3339 time | the publication after which the pod was \
    patched again, so that its kubelet syncs
{keys.CLUSTER} | JSON or a list | the addresses at the start
{keys.WORKERS} | whole number | number of workers at the start
{keys.STARTED_AT} | RFC 3339 time | when the training job was last started
{keys.FAILURES_AT_START} | whole number | failed pods at the last start or scale-up: more mean \
    a lost pod
{keys.EARLIER_RESTARTS} | whole number | restarts of training containers in pods that a \
    restart for one of them ended: they count for a `backoffLimit` of the user beside those of \
    present pods
{keys.RAISED_LIMIT} | whole number | the `backoffLimit` that the reconciler last set, once earlier \
    failures and restarts no longer counted
{keys.DELAYED_UNTIL} | RFC 3339 time | pods were missing when it was stopped or scaled \
    down: until then at the latest the Job controller creates none
{keys.ADDED_REQUESTS} | JSON, quantities by resource | requests of containers that webhooks added \
    to its pods when it last ran: the next start counts them; an edit may remove it
{keys.RESIZED_AT} | RFC 3339 time | when the size last changed
{keys.RESUMED_AT} | RFC 3339 time | when its last pause had ended: since then it waits for its start
{keys.REASON} | a code of docs/reference/reason-codes.md | why the size is what it is, or why the \
    job waits; after a reverted scale-up, until a new size is requested
{keys.MESSAGE} | text | the reason, as a sentence; written and removed together with the reason
{keys.LAST_CHANGE} | JSON | the reason of the last change, for decisions
{keys.HISTORY} | an operation per line | see `kubectl edl history`
{keys.SETTINGS} | JSON | on its Lease `{keys.RECONCILER_LEASE}`: the policy and the limits of its \
    decisions
{keys.UNNEEDED_NODES} | JSON | on its Lease `{keys.RECONCILER_LEASE}`: since when only replicas \
    above a minimum need a node, by its uid
{keys.QUEUE_AS_OF} | RFC 3339 time | on its Lease `{keys.RECONCILER_LEASE}`: time at which each \
    ConfigMap `edl-queue` was current
{keys.SCALING} | time, size, size | from when `{keys.SCALE_TIMEOUT}` counts
{keys.ASSIGNED_NODES} | `INDEX:NODE*REPLICAS,NODE,…` | the nodes that the plan has for its \
    replicas from an index on
{keys.BELOW_MIN_SINCE} | RFC 3339 time | since when its minimum, which was raised, exceeds its size
{keys.REMOVED_PODS} | pod names, by commas | pods of its last removal by name, which are deleted \
    after it is recorded
{keys.CLEARED} | JSON | nodes that its replicas were moved off for a pod of few nodes, how often, \
    and when last
{keys.WRITE_REFUSED} | JSON | the start and new sizes that the API server refused: \
    when, why and how often each
{keys.PROVISIONING_FAILED} | JSON | when requested nodes last did not join, how often, \
    and the autoscaler's message
{keys.CONSUMED_REQUEST} | a ProvisioningRequest | the request on whose nodes its pods started; \
    its pod template names it until the next start
[label: reconciler]
{keys.PROVISIONAL} | a training job | a provisional pod, which runs nothing, or a \
    ProvisioningRequest with its PodTemplates: requests nodes for that job
{keys.PROVISIONAL_ROLE} | a role | the role for which it requests a node
[label: installation]
{keys.INSTALLED} | true | an object of kubectl-edl itself, which an upgrade or the uninstallation \
    deletes once it is not needed
[label: webhook]
{keys.HOST} | a host name | bare pods: where kubexec.sh finds them
[namespace label: user]
{keys.KUBEXEC} | {keys.ENABLED} | launchers here may exec into workers
{keys.INJECTION} | {keys.ENABLED}; on a Job: {keys.DISABLED} | Jobs without \
    `{keys.FRAMEWORK}` are managed too; on a Job: opts it out
[namespace annotation: user]
{keys.DEFAULT_FRAMEWORK} | a framework | framework of Jobs that name none; default: none
{keys.DEFAULT_MIN} | whole number from 1 | min of Jobs that set none, in resizable roles
{keys.DEFAULT_MAX} | whole number from 1 | max of Jobs that set none, in resizable roles
{keys.DEFAULT_PRIORITY} | a PriorityClass | priority of Jobs whose template names none
{keys.DEFAULT_GPU_CLASS} | a DeviceClass | `{keys.GPU_CLASS}` of Jobs that request whole GPUs and \
    name none
{keys.DEFAULT_PROVISION} | minimum, maximum, never | `{keys.PROVISION}` of Jobs that set none
{keys.LARGEST_MAX} | whole number from 1 | the largest max of a Job
{keys.GPU_BUDGET} | `8` or `2.5` | most GPUs of all training jobs together, and of one Job \
    at its max
[scheduling gate: webhook]
{keys.HOSTS_GATE} | | a launcher waits until its workers are ready
{keys.PLACEMENT_GATE} | | a pod waits until the plan assigns it a node
[environment: webhook]
{keys.TF_CONFIG_ENV} | JSON | TensorFlow's cluster and this task
{keys.CLUSTER_ENV} | JSON | the annotation `{keys.CLUSTER}`, for TF_CONFIG
OMPI_MCA_orte_default_hostfile | {keys.MPI_HOSTFILE_PATH} | Open MPI's host list
OMPI_MCA_orte_keep_fqdn_hostnames | true | mode ssh: mpirun passes whole host names to ssh
OMPI_MCA_plm_rsh_agent | {keys.MPI_KUBEXEC} | the launcher starts workers by exec
OMPI_MCA_plm_rsh_no_tree_spawn | 1 | mode kubexec: only the launcher starts workers
PRTE_MCA_prte_default_hostfile | {keys.MPI_HOSTFILE_PATH} | Open MPI's host list, from release 5
PRTE_MCA_prte_keep_fqdn_hostnames | true | mode ssh, from Open MPI 5: the same as for ORTE
PRTE_MCA_plm_ssh_agent | {keys.MPI_KUBEXEC} | the same as plm_rsh_agent, from Open MPI 5
PRTE_MCA_plm_ssh_no_tree_spawn | 1 | the same as plm_rsh_no_tree_spawn, from Open MPI 5
MX_CONFIG | JSON | MXNet's cluster, labels and this task
DMLC_PS_ROOT_URI | host | MXNet's scheduler
DMLC_PS_ROOT_PORT | 1..65535 | its port; default: 9091
DMLC_NUM_SERVER | whole number | servers
DMLC_NUM_WORKER | whole number | the annotation `{keys.WORKERS}`
DMLC_ROLE | a role | this pod's
DMLC_USE_KUBERNETES | 1 | the scheduler listens everywhere
DMLC_WORKER_ID | whole number | on workers: the index
ELASTIC_TRAINING_ENABLED | 1 | mxnet's mode fork
WORKER_HOST_FILE | {keys.EDL_WORKER_HOSTS} | mode fork: the scheduler's
NEW_WORKER | 0, 1 | mode fork: the annotation `{keys.NEW_WORKER}`
DMLC_TUNER_TRACKER_URI | host | mode tune: the tracker
DMLC_TUNER_TRACKER_PORT | 1..65535 | its port
DMLC_TUNER_SERVER_KEY | text | mode tune: the pod's annotation `{keys.TUNER_SERVER_KEY}`
PET_NNODES | `min:max` | number of torchrun agents
PET_NPROC_PER_NODE | whole number | processes per pod: its slots
PET_RDZV_BACKEND | c10d | torchrun's agents meet at a store
PET_RDZV_ENDPOINT | `host:port` | the store: the pod of rendezvous
PET_RDZV_ID | a name | the training job's
PET_RDZV_CONF | `key=value,…` | the pod that is the store, and waits
PET_MAX_RESTARTS | 1000 | a leaving peer costs each agent one restart
PET_MONITOR_INTERVAL | 1 | seconds between checks of the workers
PADDLE_TRAINER_ID | | the index
PADDLE_TRAINERS_NUM | | the annotation `{keys.WORKERS}`
PADDLE_TRAINER_ENDPOINTS | | the annotation `{keys.CLUSTER}`
PADDLE_CURRENT_ENDPOINT | | collective: this trainer's `host:port`
PADDLE_DISTRI_BACKEND | | collective without GPUs or other devices: gloo
FLAGS_selected_gpus | | collective with GPUs: the first
TRAINING_ROLE | | TRAINER or PSERVER
PADDLE_PSERVERS_IP_PORT_LIST | | ps: the servers' `host:port,…`
PADDLE_PORT | | ps: every server's port
POD_IP | | the pod's address; collective, ps: its host name
PADDLE_MASTER | | elastic: `etcd://host:port`; collective: the first trainer's `host:port`
PADDLE_JOB_ID | | elastic, collective: the training job
PADDLE_NNODES | | elastic: number of pods, `1:max`; collective: as PADDLE_TRAINERS_NUM
PADDLE_NPROC_PER_NODE | | elastic: processes per pod, its slots
PADDLE_MAX_RESTART | | elastic: 1000, for each resize costs one
PADDLE_ELASTIC_LEVEL | | elastic: 1, start again
PADDLE_ELASTIC_TIMEOUT | | elastic: seconds without a change before a group forms
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
PADDLE_INIT_TRAINER_COUNT | | cloud: GPUs per trainer, or its CPUs
PADDLE_INIT_PORTS_NUM | | cloud: the annotation `{keys.PORTS_NUM}`
PADDLE_INIT_PORTS_NUM_FOR_SPARSE | | cloud: the annotation `{keys.PORTS_NUM_FOR_SPARSE}`
PADDLE_INIT_NUM_GRADIENT_SERVERS | | cloud: as TRAINERS
PADDLE_INIT_NUM_PASSES | | cloud: the annotation `{keys.PASSES}`
PADDLE_INIT_USE_GPU | | cloud: 1 with a GPU, 0 without any device
LD_LIBRARY_PATH | | cloud: CUDA's libraries
NAMESPACE | | cloud: the pod's namespace
[label: webhook]
{keys.PADDLE_TRAINER_LABEL} | the training job | paddle cloud: finds its peers by it
{keys.PADDLE_PSERVER_LABEL} | the training job | paddle cloud: finds its peers by it
{keys.PADDLE_MASTER_LABEL} | the training job | paddle cloud: finds its peers by it
[file: reconciler]
{keys.EDL_HOSTFILE} | `host:slots` per line | live host list
{keys.EDL_WORKER_HOSTS} | a host per line | mxnet's mode fork
{keys.MPI_HOSTFILE_PATH} | `host slots=n` per line | for Open MPI
{keys.JOB_HOSTFILE} | `host slots=n` per line | for DeepSpeed
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
