"""What users write: labels and annotations of objects and of namespaces; and the gates."""

from typing import Final

from edl import contract
from edl.contract.entry import (
    WEBHOOK,
    ContractEntry,
    EntryKind,
    Setter,
    annotation,
    label,
    namespace,
)

OBJECT_KEYS: Final[tuple[ContractEntry, ...]] = (
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
)

NAMESPACE_KEYS: Final[tuple[ContractEntry, ...]] = (
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
