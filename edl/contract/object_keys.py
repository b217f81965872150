"""What stands on objects: labels, annotations and a gate, the users' and ours."""

from typing import Final

from edl import contract
from edl.contract.entry import (
    RECONCILER,
    TIME,
    WEBHOOK,
    ContractEntry,
    EntryKind,
    Setter,
    annotation,
    label,
    namespace,
    ours,
)

WRITTEN: Final[tuple[ContractEntry, ...]] = (
    label(
        contract.FRAMEWORK,
        "tensorflow, mxnet, horovod, aiacc, paddle, pytorch, none",
        "opts the object in; required",
    ),
    label(
        contract.JOB,
        "a name",
        "the training job that several Jobs form; default: the Job's own name",
    ),
    label(contract.ROLE, "the framework's own word", "default: the framework's worker role"),
    label(contract.MIN, "whole number from 1", "fewest replicas; default: `spec.parallelism`"),
    label(contract.MAX, "whole number from min", "most replicas; default: `spec.parallelism`"),
    label(
        contract.GPU, "`2` or `0.5`", "whole GPUs (`nvidia.com/gpu`) or a KubeShare share of one"
    ),
    label(contract.GPU_MEMORY, "quantity, `3Gi`", "memory of the shared GPU; default: KubeShare's"),
    annotation(
        contract.ROLES,
        "`chief=1,ps=2,worker=1..12`",
        "all roles of the training job, the same on each Job",
    ),
    annotation(
        contract.MODE, "a mode of the framework", "how it runs; see the framework's own page"
    ),
    annotation(
        contract.REPLICAS, "whole number", "a manual size, held within min..max until removed"
    ),
    annotation(contract.PAUSED, "`true`", "the whole training job is suspended and waits"),
    annotation(
        contract.SCALE_TIMEOUT,
        "`60s`, `5m`",
        f"a growth to `{contract.REPLICAS}` that takes longer is taken back",
    ),
    annotation(
        contract.SCALE_FALLBACK, "whole number", f"`{contract.REPLICAS}` after that; default: none"
    ),
    annotation(
        contract.REMOVE, "names of pods", "these leave, whatever their index; removed when done"
    ),
    annotation(
        contract.PROGRESS,
        "`93` or `93%`, 0..100",
        "how much of its work is done, as its script says; nearly finished, it keeps its size",
    ),
    annotation(
        contract.DURATION,
        "`2h30m`, `90m`, `1d`",
        "how long it is expected to run once started; for estimates only",
    ),
    annotation(
        contract.COOLDOWN,
        "`10s` to `1d`",
        "least time between two resizes of a role; default: the framework's, else the reconciler's",
    ),
    annotation(
        contract.REQUIRED_TOPOLOGY,
        "`LABEL`, `ROLE=LABEL`, several between commas",
        "all pods of the training job, or of the role, run on nodes with one value of this label",
    ),
    annotation(
        contract.PREFERRED_TOPOLOGY,
        "`LABEL[,LABEL…]`",
        "its pods run on nodes with as few values of these labels as possible; the widest first",
    ),
    annotation(
        contract.PROVISION,
        "minimum, maximum, never",
        "for which size an autoscaler is asked for nodes while the job waits; default: minimum",
    ),
    annotation(contract.SLOTS, "whole number", "slots a host; default: whole GPUs, else 1"),
    annotation(contract.PORT, "1..65535", "the framework's port; default: the framework's own"),
    annotation(
        contract.RESTART,
        "Always, OnFailure, Never, ExitCode",
        "when a pod fails; default: as the Job itself says, see docs/concepts/failures.md",
    ),
    annotation(
        contract.CLEAN_UP,
        "Running, All, None",
        "what ends with the deciding role; default: Running",
    ),
    annotation(
        contract.TTL,
        "whole number",
        "`spec.ttlSecondsAfterFinished` of one Job of several: it counts when all have ended",
    ),
    annotation(
        contract.GPU_CLASS,
        "a DeviceClass",
        f"`{contract.GPU}` asks for devices of this class, by a ResourceClaim (DRA)",
    ),
    annotation(contract.GPU_LIMIT, "`0.8`", "most of the GPU a share may use; default: the share"),
    annotation(
        contract.KUBESHARE,
        "1, 2",
        "whose words ask for a share: labels (2, the default), or annotations for what makes 1.0's"
        " SharePods of pods",
    ),
    annotation(contract.PORTS_NUM, "whole number", "paddle cloud: a pserver's ports; default: 1"),
    annotation(
        contract.PORTS_NUM_FOR_SPARSE, "whole number", "those for sparse updates; default: 1"
    ),
    annotation(contract.PASSES, "whole number", "paddle cloud: passes over the data; default: 1"),
    annotation(contract.ENTRYPOINT, "a command", "paddle cloud: what a trainer runs"),
    annotation(contract.WORKSPACE, "a folder", "paddle cloud: where a trainer runs it"),
    annotation(contract.ETCD_IMAGE, "an image", "paddle cloud: of the etcd beside the master"),
    annotation(contract.RANK, "whole number from 0", "bare pods: this pod's index in its role"),
    annotation(contract.SIZE, "whole number from 1", "bare pods: how many pods the role has"),
    ours(
        contract.INJECTED_MAX, WEBHOOK, "whole number", "the max that the pods were completed for"
    ),
    ours(contract.COMPLETED_BY, WEBHOOK, "a digest", "the release that completed the object"),
    ours(contract.DISCOVER_HOSTS, WEBHOOK, "script", f"content of `{contract.EDL_DISCOVER_HOSTS}`"),
    ours(contract.KUBEXEC_SCRIPT, WEBHOOK, "script", f"content of `{contract.MPI_KUBEXEC}`"),
    ours(
        contract.HOSTFILE,
        RECONCILER,
        "`host:slots` a line",
        f"content of `{contract.EDL_HOSTFILE}`",
    ),
    ours(
        contract.MPI_HOSTFILE,
        RECONCILER,
        "`host slots=n` a line",
        f"content of `{contract.MPI_HOSTFILE_PATH}`",
    ),
    ours(
        contract.WORKER_HOSTS,
        RECONCILER,
        "a host a line",
        f"content of `{contract.EDL_WORKER_HOSTS}`",
    ),
    ours(contract.NEW_WORKER, RECONCILER, "0, 1", "whether its training began without this worker"),
    ours(contract.ASSIGNED_NODE, RECONCILER, "a node", "of a gated pod: where the plan places it"),
    ours(contract.PLACED_AT, RECONCILER, TIME, "when it was given that node"),
    ours(contract.PUBLISHED_AT, RECONCILER, TIME, "when the host list was last written"),
    ours(
        contract.LEAVING,
        RECONCILER,
        "JSON",
        "the workers that its host list does not name any more: they leave, and never come back on",
    ),
    ours(
        contract.CONFIRMED_AT,
        RECONCILER,
        TIME,
        "the publication that the kubelet was reminded of",
    ),
    ours(contract.CLUSTER, RECONCILER, "JSON or a list", "the addresses as they were at the start"),
    ours(contract.WORKERS, RECONCILER, "whole number", "how many workers were started"),
    ours(contract.STARTED_AT, RECONCILER, TIME, "when the training job was last started"),
    ours(
        contract.FAILURES_AT_START,
        RECONCILER,
        "whole number",
        "more: a pod was lost since the start",
    ),
    ours(contract.RESIZED_AT, RECONCILER, TIME, "when the size last changed"),
    ours(
        contract.REASON,
        RECONCILER,
        "a code of docs/reference/reason-codes.md",
        "why the size is what it is, or why the job waits",
    ),
    ours(contract.MESSAGE, RECONCILER, "text", "the same for people"),
    ours(contract.LAST_CHANGE, RECONCILER, "JSON", "the reason of the last change, for decisions"),
    ours(contract.HISTORY, RECONCILER, "an operation a line", "see `kubectl edl history`"),
    ours(
        contract.SETTINGS,
        RECONCILER,
        "JSON",
        f"on its Lease `{contract.RECONCILER_LEASE}`: the policy and the limits it decides by",
    ),
    ours(
        contract.UNNEEDED_NODES,
        RECONCILER,
        "JSON",
        f"on its Lease `{contract.RECONCILER_LEASE}`: since when nothing but extras needs a node",
    ),
    ours(
        contract.MISSING_RIGHTS,
        RECONCILER,
        "JSON",
        f"on its Lease `{contract.RECONCILER_LEASE}`: its user name, and the write rights it lacks",
    ),
    ours(
        contract.QUEUE_AS_OF,
        RECONCILER,
        TIME,
        f"on its Lease `{contract.RECONCILER_LEASE}`: each ConfigMap `edl-queue` was right then",
    ),
    ours(
        contract.SCALING,
        RECONCILER,
        "time, size, size",
        f"from when `{contract.SCALE_TIMEOUT}` counts",
    ),
    ours(
        contract.ASSIGNED_NODES,
        RECONCILER,
        "`INDEX:NODE*REPLICAS,NODE,…`",
        "the nodes that the plan has for its replicas from an index on",
    ),
    ours(
        contract.CLEARED,
        RECONCILER,
        "JSON",
        "nodes that its replicas were moved off for a pod of few nodes, how often, and when last",
    ),
    ours(
        contract.START_REFUSED,
        RECONCILER,
        "JSON",
        "when and why the API server last refused a write of its start, and how often",
    ),
    ours(
        contract.PROVISIONING_FAILED,
        RECONCILER,
        "JSON",
        "when nodes that it asked for last did not come, how often, and the autoscaler's words",
    ),
    ContractEntry(
        contract.PROVISIONAL,
        EntryKind.LABEL,
        RECONCILER,
        "a training job",
        "a provisional pod, which runs nothing: it asks an autoscaler for the node of a pod of its",
    ),
    ContractEntry(
        contract.PROVISIONAL_ROLE, EntryKind.LABEL, RECONCILER, "a role", "whose pod it asks for"
    ),
    ContractEntry(
        contract.HOST,
        EntryKind.LABEL,
        WEBHOOK,
        "a host name",
        "bare pods: where kubexec.sh finds them",
    ),
    ContractEntry(
        contract.KUBEXEC,
        EntryKind.NAMESPACE,
        Setter.USER,
        contract.ENABLED,
        "launchers here may exec into workers",
    ),
    ContractEntry(
        contract.INJECTION,
        EntryKind.NAMESPACE,
        Setter.USER,
        f"{contract.ENABLED}; on a Job: {contract.DISABLED}",
        f"Jobs here without `{contract.FRAMEWORK}` are ours too; on a Job: not this one",
    ),
    namespace(contract.DEFAULT_FRAMEWORK, "a framework", "of Jobs that name none; default: none"),
    namespace(
        contract.DEFAULT_MIN, "whole number from 1", "of Jobs that say no min, in roles that resize"
    ),
    namespace(
        contract.DEFAULT_MAX, "whole number from 1", "of Jobs that say no max, in roles that resize"
    ),
    namespace(contract.DEFAULT_PRIORITY, "a PriorityClass", "of Jobs whose template names none"),
    namespace(
        contract.DEFAULT_GPU_CLASS,
        "a DeviceClass",
        f"`{contract.GPU_CLASS}` of Jobs that ask for whole GPUs and name none",
    ),
    namespace(
        contract.DEFAULT_PROVISION,
        "minimum, maximum, never",
        f"`{contract.PROVISION}` of Jobs that say none",
    ),
    namespace(contract.LARGEST_MAX, "whole number from 1", "no Job here may have a larger max"),
    namespace(
        contract.GPU_BUDGET,
        "`8` or `2.5`",
        "most GPUs of all training jobs here together, and of one Job at its max",
    ),
    ContractEntry(
        contract.HOSTS_GATE,
        EntryKind.GATE,
        WEBHOOK,
        "",
        "a launcher waits until its workers are ready",
    ),
    ContractEntry(
        contract.PLACEMENT_GATE,
        EntryKind.GATE,
        WEBHOOK,
        "",
        "a pod waits until the plan gives it a node",
    ),
)
