"""What containers get: variables and files."""

from typing import Final

from edl import contract
from edl.contract.entry import RECONCILER, WEBHOOK, Entry, Kind

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

INJECTED: Final[tuple[Entry, ...]] = (
    Entry(contract.TF_CONFIG_ENV, Kind.ENV, WEBHOOK, "JSON", "TensorFlow's cluster and this task"),
    Entry(
        contract.CLUSTER_ENV,
        Kind.ENV,
        WEBHOOK,
        "JSON",
        f"the annotation `{contract.CLUSTER}`, for TF_CONFIG",
    ),
    Entry(
        contract.DEFAULT_HOSTFILE_ENV,
        Kind.ENV,
        WEBHOOK,
        contract.MPI_HOSTFILE_PATH,
        "Open MPI's host list",
    ),
    Entry(
        contract.RSH_AGENT_ENV,
        Kind.ENV,
        WEBHOOK,
        contract.MPI_KUBEXEC,
        "the launcher starts workers by exec",
    ),
    Entry(
        contract.MX_CONFIG_ENV, Kind.ENV, WEBHOOK, "JSON", "MXNet's cluster, labels and this task"
    ),
    Entry(contract.DMLC_PS_ROOT_URI_ENV, Kind.ENV, WEBHOOK, "host", "MXNet's scheduler"),
    Entry(contract.DMLC_PS_ROOT_PORT_ENV, Kind.ENV, WEBHOOK, "1..65535", "its port; default: 9091"),
    Entry(contract.DMLC_NUM_SERVER_ENV, Kind.ENV, WEBHOOK, "whole number", "servers"),
    Entry(
        contract.DMLC_NUM_WORKER_ENV,
        Kind.ENV,
        WEBHOOK,
        "whole number",
        f"the annotation `{contract.WORKERS}`",
    ),
    Entry(contract.DMLC_ROLE_ENV, Kind.ENV, WEBHOOK, "a role", "this pod's"),
    Entry(
        contract.DMLC_USE_KUBERNETES_ENV,
        Kind.ENV,
        WEBHOOK,
        "1",
        "the scheduler listens everywhere",
    ),
    Entry(contract.DMLC_WORKER_ID_ENV, Kind.ENV, WEBHOOK, "whole number", "on workers: the index"),
    Entry(contract.ELASTIC_TRAINING_ENV, Kind.ENV, WEBHOOK, "1", "mxnet's mode fork"),
    Entry(
        contract.WORKER_HOST_FILE_ENV,
        Kind.ENV,
        WEBHOOK,
        contract.EDL_WORKER_HOSTS,
        "mode fork: the scheduler's",
    ),
    Entry(
        contract.NEW_WORKER_ENV,
        Kind.ENV,
        WEBHOOK,
        "0, 1",
        f"mode fork: the annotation `{contract.NEW_WORKER}`",
    ),
    Entry(contract.DMLC_TUNER_TRACKER_URI_ENV, Kind.ENV, WEBHOOK, "host", "mode tune: the tracker"),
    Entry(contract.DMLC_TUNER_TRACKER_PORT_ENV, Kind.ENV, WEBHOOK, "1..65535", "its port"),
    Entry(
        contract.DMLC_TUNER_SERVER_KEY_ENV,
        Kind.ENV,
        WEBHOOK,
        "text",
        f"mode tune: the pod's annotation `{contract.TUNER_SERVER_KEY}`",
    ),
    Entry(
        contract.PET_NNODES_ENV,
        Kind.ENV,
        WEBHOOK,
        "`min:max`",
        "how many torchrun agents make a world",
    ),
    Entry(
        contract.PET_NPROC_PER_NODE_ENV,
        Kind.ENV,
        WEBHOOK,
        "whole number",
        "processes a pod: its slots",
    ),
    Entry(
        contract.PET_RDZV_BACKEND_ENV,
        Kind.ENV,
        WEBHOOK,
        "c10d",
        "torchrun's agents meet at a store",
    ),
    Entry(
        contract.PET_RDZV_ENDPOINT_ENV,
        Kind.ENV,
        WEBHOOK,
        "`host:port`",
        "the store: rendezvous' pod",
    ),
    Entry(contract.PET_RDZV_ID_ENV, Kind.ENV, WEBHOOK, "a name", "the training job's"),
    Entry(
        contract.PET_RDZV_CONF_ENV,
        Kind.ENV,
        WEBHOOK,
        "`key=value,…`",
        "the pod that is the store, and waits",
    ),
    Entry(
        contract.PET_MAX_RESTARTS_ENV,
        Kind.ENV,
        WEBHOOK,
        "1000",
        "a leaving peer costs each one restart",
    ),
    Entry(
        contract.PET_MONITOR_INTERVAL_ENV,
        Kind.ENV,
        WEBHOOK,
        "1",
        "seconds between looks at the world",
    ),
    *(Entry(name, Kind.ENV, WEBHOOK, "", meaning) for name, meaning in PADDLE_ENV),
    *(
        Entry(name, Kind.LABEL, WEBHOOK, "the training job", "paddle cloud: finds its peers by it")
        for name in (
            contract.PADDLE_TRAINER_LABEL,
            contract.PADDLE_PSERVER_LABEL,
            contract.PADDLE_MASTER_LABEL,
        )
    ),
    Entry(contract.EDL_HOSTFILE, Kind.PATH, RECONCILER, "`host:slots` a line", "live host list"),
    Entry(contract.EDL_DISCOVER_HOSTS, Kind.PATH, WEBHOOK, "script", "prints the live host list"),
    Entry(contract.EDL_WORKER_HOSTS, Kind.PATH, RECONCILER, "a host a line", "mxnet's mode fork"),
    Entry(
        contract.MPI_HOSTFILE_PATH, Kind.PATH, RECONCILER, "`host slots=n` a line", "for Open MPI"
    ),
    Entry(contract.JOB_HOSTFILE, Kind.PATH, RECONCILER, "`host slots=n` a line", "for DeepSpeed"),
    Entry(
        contract.SSH_DIRECTORY,
        Kind.PATH,
        WEBHOOK,
        "a key pair",
        "mode ssh: the training job's own",
    ),
    Entry(contract.MPI_KUBEXEC, Kind.PATH, WEBHOOK, "script", "runs a command in a worker's pod"),
)
