"""et-operator's TrainingJob: kai.alibabacloud.com/v1alpha1, as Horovod or AIACC.

Fields: AliyunContainerService/et-operator api/v1alpha1.
"""

from collections.abc import Iterator, Mapping, Sequence
from shlex import quote
from typing import Final

from edl import contract
from edl.convert import training_manifest
from edl.convert.parts import (
    launcher_and_workers,
    object_metadata,
    pod_templates,
    replica_bounds,
    replica_specs,
    restart_policy,
    run_policy,
    sshd_workers,
)
from edl.convert.parts.object_metadata import SourceMetadata
from edl.convert.parts.replica_specs import Replica
from edl.convert.parts.run_policy import RunPolicy
from edl.convert.source_kind import SourceKind
from edl.convert.tracked_object import Fields
from edl.convert.training_manifest import RoleManifest, TrainingManifest
from edl.writes import Json

API: Final = "kai.alibabacloud.com"
_SUSPENDED: Final = "job-supervisor.kube-ai.io/job-suspended"
_SUPERVISOR: Final = "job-supervisor.kube-ai.io/job-status"
_SSH_SECRET: Final = "arena.kubeflow.org/ssh-secret"  # noqa: S105 - an annotation's name
_RETRIES: Final = 6
_AIACC: Final = ("aiacc", "perseus")
"""Names in images and commands that tell AIACC from Horovod: the API has no field for it."""


def read(document: Fields) -> Sequence[Json]:
    meta = object_metadata.read(document, interpreted=(_SUSPENDED, _SUPERVISOR, _SSH_SECRET))
    spec = document.fields("spec")
    policy = run_policy.read(spec)
    mode = spec.choice("launcherAttachMode", ("ssh", "kubexec")) or "ssh"
    replicas = sshd_workers.replaced(
        replica_specs.read(spec.fields("etReplicaSpecs"), launcher_and_workers.ROLES, ""), mode
    )
    again = spec.choice("restartPolicy", ("Never", "OnFailure"))
    all_roles = tuple(
        _launcher(replica, again, policy)
        if replica.role == "launcher"
        else _workers(replica, policy)
        for replica in replicas
    )
    framework = _framework(replicas)
    annotations = {
        **policy.annotations,
        **_annotations(meta),
        **launcher_and_workers.attached(document, meta, framework, mode),
        **_slots(spec),
    }
    return training_manifest.manifests(TrainingManifest(meta, framework, all_roles, annotations))


def _annotations(meta: SourceMetadata) -> Mapping[str, str]:
    """Annotations for the Jobs, from the operator's own: suspension; its ssh keys are reported."""
    if _SSH_SECRET in meta.interpreted:
        what = "the launcher and its workers get a key pair of their own"
        way_out = f"mount your Secret at {contract.SSH_DIRECTORY} to keep its keys"
        meta.annotated.lose(_SSH_SECRET, what, way_out)
    if _SUPERVISOR in meta.interpreted:
        meta.annotated.note(_SUPERVISOR, "written by the job supervisor: left out")
    suspended = meta.interpreted.get(_SUSPENDED) == contract.TRUE
    return {contract.PAUSED: contract.TRUE} if suspended else {}


def _launcher(replica: Replica, again: str, policy: RunPolicy) -> RoleManifest:
    """The launcher restarts if either policy is OnFailure; without a limit, at most 6 times."""
    restart_policy.remark_on(replica.fields, replica.restart, serves=False)
    limit = _RETRIES if policy.retries is None else policy.retries
    wanted = again if again == "OnFailure" else replica.restart or "Never"
    return launcher_and_workers.launcher(replica, restart_policy.restarted(wanted, limit), policy)


def _workers(replica: Replica, policy: RunPolicy) -> RoleManifest:
    limits = replica_bounds.read(replica.fields, "minReplicas", "maxReplicas")
    if limits.most is None:
        what = "maxReplicas was absent, and growth by ScaleOut without an end"
        replica.fields.note("", what, f"it is {contract.MAX} here: raise it before creating")
    return launcher_and_workers.workers(
        replica, limits.around(replica.fields, replica.size), policy
    )


def _slots(spec: Fields) -> Mapping[str, str]:
    """Slots per worker; if unset, et-operator and kubectl-edl both count GPUs, or else use 1."""
    slots = spec.whole("slotsPerWorker", least=1)
    return {} if slots is None else {contract.SLOTS: str(slots)}


def _framework(replicas: Sequence[Replica]) -> str:
    texts = (text for replica in replicas for text in pod_templates.texts(replica.template))
    if any(word in text.lower() for text in texts for word in _AIACC):
        return "aiacc"
    return "horovod"


# et-operator's ScaleIn and ScaleOut are operations: each becomes a command to run.

_USUAL_TIMEOUT: Final = 60
"""Seconds; et-operator's default."""
_ENDS: Final = frozenset({"scalesucceeded", "scalefailed"})
"""A TrainingJob that runs on has these conditions, too."""


def read_in(document: Fields) -> Sequence[Json]:
    spec = document.fields("spec")
    timeout = spec.whole("timeout")
    # The time limit concerns the script only: the workers are removed immediately.
    limit = "" if timeout is None or not spec.peek_text("script") else f" --timeout {timeout}s"
    gone = spec.fields("toDelete")
    names = gone.shaped("podNames", [str])
    count = gone.whole("count", least=1)
    if names:
        _say(document, spec, f" --remove {','.join(map(quote, names))}{limit}", "")
    else:
        how = f"where SIZE is {count or 1} less than it has now"
        _say(document, spec, f" SIZE{limit}", how)
    return ()


def read_out(document: Fields) -> Sequence[Json]:
    spec = document.fields("spec")
    count = spec.fields("toAdd").whole("count", least=1)
    timeout = spec.whole("timeout")
    seconds = _USUAL_TIMEOUT if timeout is None else timeout
    how = f"where SIZE is {count or 1} more than it has now"
    _say(document, spec, f" SIZE --timeout {seconds}s", how)
    return ()


def _say(document: Fields, spec: Fields, flags: str, how: str) -> None:
    """Report the command for an operation that has not ended; it leaves nothing to apply."""
    meta = object_metadata.read(document)
    job = spec.fields("selector").text("name") or "JOB"
    namespace = f" -n {quote(meta.namespace)}" if meta.namespace else ""
    script = "".join(_script(spec))
    command = f"kubectl edl scale {quote(job)}{namespace}{flags}{script}"
    spec.value("backoffLimit")  # retries of the operation itself: a failed command can be run again
    way_out = f"run: {command}"
    way_out += f" ({how}: kubectl edl status {quote(job)}{namespace})" if how else ""
    if ended := object_metadata.end(document.value("status"), _ENDS):
        document.note("", f"an operation that has ended ({ended}): nothing to apply or to run")
    else:
        document.lose("", "an operation, nothing to apply", way_out)


def _script(spec: Fields) -> Iterator[str]:
    script = spec.text("script")
    if script:
        yield f" --script {quote(script)}"
    for entry in spec.entries("env"):
        name, value = entry.text("name"), entry.text("value")
        yield f" --env {quote(f'{name}={value}')}"


IN: Final = SourceKind(apis=((API, "ScaleIn"),), versions=("v1alpha1",), read=read_in)
OUT: Final = SourceKind(apis=((API, "ScaleOut"),), versions=("v1alpha1",), read=read_out)
SOURCE: Final = SourceKind(apis=((API, "TrainingJob"),), versions=("v1alpha1",), read=read)
