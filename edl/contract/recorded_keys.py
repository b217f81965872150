"""What the webhook and the reconciler write on objects, for later decisions and for users."""

from typing import Final

from edl import contract
from edl.contract.entry import (
    RECONCILER,
    TIME,
    WEBHOOK,
    ContractEntry,
    EntryKind,
    ours,
)

RECORDED_KEYS: Final[tuple[ContractEntry, ...]] = (
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
)
