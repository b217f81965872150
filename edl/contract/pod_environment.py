"""What containers get: variables and files."""

from typing import Final

from edl import contract
from edl.contract.entry import RECONCILER, WEBHOOK, ContractEntry, EntryKind

PADDLE_ENV: Final = (
    ("PADDLE_TRAINER_ID", "the index"),
    ("PADDLE_TRAINERS_NUM", f"the annotation `{contract.WORKERS}`"),
    ("PADDLE_TRAINER_ENDPOINTS", f"the annotation `{contract.CLUSTER}`"),
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
    ("TRAINERS", f"cloud: trainers' min; without a master, the annotation `{contract.WORKERS}`"),
    ("PSERVERS", "cloud: pservers"),
    ("ENTRY", f"cloud: the annotation `{contract.ENTRYPOINT}`"),
    ("TOPOLOGY", f"cloud: the annotation `{contract.ENTRYPOINT}`"),
    ("TRAINER_PACKAGE", f"cloud: the annotation `{contract.WORKSPACE}`"),
    ("PADDLE_INIT_PORT", f"cloud: the annotation `{contract.PORT}`, 7164"),
    ("PADDLE_INIT_TRAINER_COUNT", "cloud: GPUs a trainer, or its CPUs"),
    ("PADDLE_INIT_PORTS_NUM", f"cloud: the annotation `{contract.PORTS_NUM}`"),
    (
        "PADDLE_INIT_PORTS_NUM_FOR_SPARSE",
        f"cloud: the annotation `{contract.PORTS_NUM_FOR_SPARSE}`",
    ),
    ("PADDLE_INIT_NUM_GRADIENT_SERVERS", "cloud: as TRAINERS"),
    ("PADDLE_INIT_NUM_PASSES", f"cloud: the annotation `{contract.PASSES}`"),
    ("PADDLE_INIT_USE_GPU", "cloud: 1 with a GPU"),
    ("LD_LIBRARY_PATH", "cloud: CUDA's libraries"),
    ("NAMESPACE", "cloud: the pod's namespace"),
)
"""Paddle's variables by its modes, and what each is."""

INJECTED: Final[tuple[ContractEntry, ...]] = (
    ContractEntry(
        contract.TF_CONFIG_ENV, EntryKind.ENV, WEBHOOK, "JSON", "TensorFlow's cluster and this task"
    ),
    ContractEntry(
        contract.CLUSTER_ENV,
        EntryKind.ENV,
        WEBHOOK,
        "JSON",
        f"the annotation `{contract.CLUSTER}`, for TF_CONFIG",
    ),
    ContractEntry(
        contract.DEFAULT_HOSTFILE_ENV,
        EntryKind.ENV,
        WEBHOOK,
        contract.MPI_HOSTFILE_PATH,
        "Open MPI's host list",
    ),
    ContractEntry(
        contract.RSH_AGENT_ENV,
        EntryKind.ENV,
        WEBHOOK,
        contract.MPI_KUBEXEC,
        "the launcher starts workers by exec",
    ),
    ContractEntry(
        contract.MX_CONFIG_ENV,
        EntryKind.ENV,
        WEBHOOK,
        "JSON",
        "MXNet's cluster, labels and this task",
    ),
    ContractEntry(
        contract.DMLC_PS_ROOT_URI_ENV, EntryKind.ENV, WEBHOOK, "host", "MXNet's scheduler"
    ),
    ContractEntry(
        contract.DMLC_PS_ROOT_PORT_ENV,
        EntryKind.ENV,
        WEBHOOK,
        "1..65535",
        "its port; default: 9091",
    ),
    ContractEntry(contract.DMLC_NUM_SERVER_ENV, EntryKind.ENV, WEBHOOK, "whole number", "servers"),
    ContractEntry(
        contract.DMLC_NUM_WORKER_ENV,
        EntryKind.ENV,
        WEBHOOK,
        "whole number",
        f"the annotation `{contract.WORKERS}`",
    ),
    ContractEntry(contract.DMLC_ROLE_ENV, EntryKind.ENV, WEBHOOK, "a role", "this pod's"),
    ContractEntry(
        contract.DMLC_USE_KUBERNETES_ENV,
        EntryKind.ENV,
        WEBHOOK,
        "1",
        "the scheduler listens everywhere",
    ),
    ContractEntry(
        contract.DMLC_WORKER_ID_ENV, EntryKind.ENV, WEBHOOK, "whole number", "on workers: the index"
    ),
    ContractEntry(contract.ELASTIC_TRAINING_ENV, EntryKind.ENV, WEBHOOK, "1", "mxnet's mode fork"),
    ContractEntry(
        contract.WORKER_HOST_FILE_ENV,
        EntryKind.ENV,
        WEBHOOK,
        contract.EDL_WORKER_HOSTS,
        "mode fork: the scheduler's",
    ),
    ContractEntry(
        contract.NEW_WORKER_ENV,
        EntryKind.ENV,
        WEBHOOK,
        "0, 1",
        f"mode fork: the annotation `{contract.NEW_WORKER}`",
    ),
    ContractEntry(
        contract.DMLC_TUNER_TRACKER_URI_ENV,
        EntryKind.ENV,
        WEBHOOK,
        "host",
        "mode tune: the tracker",
    ),
    ContractEntry(
        contract.DMLC_TUNER_TRACKER_PORT_ENV, EntryKind.ENV, WEBHOOK, "1..65535", "its port"
    ),
    ContractEntry(
        contract.DMLC_TUNER_SERVER_KEY_ENV,
        EntryKind.ENV,
        WEBHOOK,
        "text",
        f"mode tune: the pod's annotation `{contract.TUNER_SERVER_KEY}`",
    ),
    ContractEntry(
        contract.PET_NNODES_ENV,
        EntryKind.ENV,
        WEBHOOK,
        "`min:max`",
        "how many torchrun agents make a world",
    ),
    ContractEntry(
        contract.PET_NPROC_PER_NODE_ENV,
        EntryKind.ENV,
        WEBHOOK,
        "whole number",
        "processes a pod: its slots",
    ),
    ContractEntry(
        contract.PET_RDZV_BACKEND_ENV,
        EntryKind.ENV,
        WEBHOOK,
        "c10d",
        "torchrun's agents meet at a store",
    ),
    ContractEntry(
        contract.PET_RDZV_ENDPOINT_ENV,
        EntryKind.ENV,
        WEBHOOK,
        "`host:port`",
        "the store: rendezvous' pod",
    ),
    ContractEntry(contract.PET_RDZV_ID_ENV, EntryKind.ENV, WEBHOOK, "a name", "the training job's"),
    ContractEntry(
        contract.PET_RDZV_CONF_ENV,
        EntryKind.ENV,
        WEBHOOK,
        "`key=value,…`",
        "the pod that is the store, and waits",
    ),
    ContractEntry(
        contract.PET_MAX_RESTARTS_ENV,
        EntryKind.ENV,
        WEBHOOK,
        "1000",
        "a leaving peer costs each one restart",
    ),
    ContractEntry(
        contract.PET_MONITOR_INTERVAL_ENV,
        EntryKind.ENV,
        WEBHOOK,
        "1",
        "seconds between looks at the world",
    ),
    *(ContractEntry(name, EntryKind.ENV, WEBHOOK, "", meaning) for name, meaning in PADDLE_ENV),
    *(
        ContractEntry(
            name,
            EntryKind.LABEL,
            WEBHOOK,
            "the training job",
            "paddle cloud: finds its peers by it",
        )
        for name in (
            contract.PADDLE_TRAINER_LABEL,
            contract.PADDLE_PSERVER_LABEL,
            contract.PADDLE_MASTER_LABEL,
        )
    ),
    ContractEntry(
        contract.EDL_HOSTFILE, EntryKind.PATH, RECONCILER, "`host:slots` a line", "live host list"
    ),
    ContractEntry(
        contract.EDL_DISCOVER_HOSTS, EntryKind.PATH, WEBHOOK, "script", "prints the live host list"
    ),
    ContractEntry(
        contract.EDL_WORKER_HOSTS, EntryKind.PATH, RECONCILER, "a host a line", "mxnet's mode fork"
    ),
    ContractEntry(
        contract.MPI_HOSTFILE_PATH,
        EntryKind.PATH,
        RECONCILER,
        "`host slots=n` a line",
        "for Open MPI",
    ),
    ContractEntry(
        contract.JOB_HOSTFILE, EntryKind.PATH, RECONCILER, "`host slots=n` a line", "for DeepSpeed"
    ),
    ContractEntry(
        contract.SSH_DIRECTORY,
        EntryKind.PATH,
        WEBHOOK,
        "a key pair",
        "mode ssh: the training job's own",
    ),
    ContractEntry(
        contract.MPI_KUBEXEC, EntryKind.PATH, WEBHOOK, "script", "runs a command in a worker's pod"
    ),
)
