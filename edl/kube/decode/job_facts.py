"""Decodes a labelled Job, once per version."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final, cast

import msgspec

from edl import contract, device_templates, frameworks
from edl.annotations import added_requests, role_record
from edl.annotations.failed_attempts import read_failure
from edl.contract.manifest_parts import annotations as annotations_of
from edl.contract.manifest_parts import labels as labels_of
from edl.contract.manifest_parts import namespace_option
from edl.errors import Denied
from edl.inject import peer_counts
from edl.kube.cluster import ObjectKey
from edl.kube.decode import gpu_sharing, job_status, volume_claims
from edl.kube.decode.admission_inputs import admission_inputs
from edl.kube.decode.pod_shapes import ShapeInterner
from edl.kube.decode.runtime_classes import RuntimeReference
from edl.kube.decode.schemas import JobObject
from edl.model import (
    DeviceTemplate,
    FailedAttempt,
    JobKey,
    PodTemplate,
    Role,
    RoleRequest,
    RoleSpec,
    RoleStatus,
    ScaleDeadline,
    Shape,
    Topology,
)
from edl.model.role_specs import DEFAULT_GRACE
from edl.parsing.parser import parse
from edl.parsing.yaml_values import timestamp, whole
from edl.quantities import Resources
from edl.spec.failure_policy import failure_rules
from edl.spec.job_spec import HELD_TTL, JobSpec
from edl.writes import Json

_jobs: Final = msgspec.json.Decoder(JobObject)
_WISHES: Final = frozenset(
    {contract.REPLICAS, contract.SCALE_TIMEOUT, contract.SCALE_FALLBACK, contract.REMOVE}
    | {contract.COOLDOWN, contract.DURATION, contract.PROGRESS, contract.TTL}
)
_LONGEST_GRACE: Final = timedelta(days=1)
_TOO_LATE: Final = (
    "its topology only takes effect if its Job was created with it and names no node itself: "
    "recreate the Job"
)


class JobFacts(msgspec.Struct, frozen=True, gc=False):
    """One Job. `spec` and `role` (without pods at first) are None if its labels are invalid."""

    key: JobKey
    """The training job that the Job belongs to."""
    name: str
    uid: str
    created_at: datetime
    leaving: bool
    framework: str
    problem: str = ""
    """The findings about its labels and annotations, or that the webhook has not completed it."""
    spec: JobSpec | None = None
    role: Role | None = None
    priority_class: str = ""
    runtime: RuntimeReference = RuntimeReference()
    paused: bool = False
    started_at: datetime | None = None
    template: bytes = b""
    """The part of its pod template that admission depends on (`admission_inputs`)."""
    unprovisioned: FailedAttempt | None = None
    """The last time that requested nodes did not arrive."""
    claims: tuple[ObjectKey, ...] = ()
    """The PersistentVolumeClaims that its pod template names."""
    execs: bool = False
    """Its pods run commands in workers' pods, which its namespace must allow."""

    @property
    def has_ended(self) -> bool:
        return self.role is not None and self.role.status.ending is not None

    @property
    def awaits_start(self) -> bool:
        return self.role is None or (self.role.status.suspended and not self.has_ended)

    @property
    def has_started(self) -> bool:
        """Whether it was started, however it stands now: no user can write `edl.dev/started-at`."""
        return self.started_at is not None or not self.awaits_start


def job(raw: bytes, shapes: ShapeInterner) -> JobFacts:
    """The facts of a whole Job that carries `edl.dev/framework`."""
    manifest = cast("Json", _jobs.decode(raw))
    metadata = manifest["metadata"]
    labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
    spec, problem = _read(manifest)
    return JobFacts(
        key=JobKey(metadata["namespace"], labels.get(contract.JOB) or metadata["name"]),
        name=metadata["name"],
        uid=metadata["uid"],
        created_at=datetime.fromisoformat(metadata["creationTimestamp"]),
        leaving="deletionTimestamp" in metadata,
        framework=labels.get(contract.FRAMEWORK, ""),
        problem=_uncompleted(manifest) if spec else problem,
        spec=spec,
        role=_role(manifest, spec, problem, shapes) if spec else None,
        priority_class=_pod_spec(manifest).get("priorityClassName") or "",
        runtime=_runtime(manifest),
        template=admission_inputs(_pod_spec(manifest)),
        paused=annotations.get(contract.PAUSED) == contract.TRUE,
        started_at=timestamp(annotations.get(contract.STARTED_AT, "")),
        unprovisioned=read_failure(annotations.get(contract.PROVISIONING_FAILED, "")),
        claims=volume_claims.of_template(metadata["namespace"], _pod_spec(manifest)),
        execs=bool(spec and frameworks.execs(spec)),
    )


def _runtime(manifest: Json) -> RuntimeReference:
    spec = _pod_spec(manifest)
    overhead = Resources.parse(spec.get("overhead"))
    return RuntimeReference(spec.get("runtimeClassName") or "", overhead)


def _uncompleted(manifest: Json) -> str:
    """The problem of a Job that was created while no webhook reviewed it.

    Its pods lack addresses and gates, and without Indexed mode no write of its size is accepted.
    """
    if contract.INJECTED_MAX in annotations_of(manifest) or job_status.ending(manifest) is not None:
        return ""
    metadata = manifest["metadata"]
    owned = any(owner.get("controller") for owner in metadata.get("ownerReferences") or ())
    name, there = metadata["name"], namespace_option(manifest)
    adopt = f"recreate it: kubectl edl adopt {name}{there} --recreate"
    anew = "delete it" if owned else adopt
    return f"{name} was created while no webhook completed it: once one runs, {anew}"


def _read(manifest: Json) -> tuple[JobSpec | None, str]:
    """The spec, and the findings.

    Invalid manual settings, such as a size, are ignored with a finding: the job can run without
    them.
    """
    try:
        return parse(manifest), ""
    except Denied as denied:
        problem, annotations = str(denied), annotations_of(manifest)
    if not _WISHES & annotations.keys():
        return None, problem
    rest = {name: value for name, value in annotations.items() if name not in _WISHES}
    spec, other = _read(manifest | {"metadata": manifest["metadata"] | {"annotations": rest}})
    return (spec, problem) if spec else (None, other)


def _role(manifest: Json, spec: JobSpec, problem: str, shapes: ShapeInterner) -> Role:
    """The role with its spec, the annotations of earlier decisions, and its status."""
    metadata, template = manifest["metadata"], _template(manifest, spec, shapes)
    return Role(
        name=spec.role,
        job=spec.name,
        uid=metadata["uid"],
        version=metadata["resourceVersion"],
        fingerprint=job_status.fingerprint(manifest),
        spec=_role_spec(manifest, spec, gated=template.gated),
        template=template,
        status=_status(manifest, spec),
        request=_request(manifest, spec, problem, gated=template.gated),
        record=role_record.read(annotations_of(manifest)),
        created_at=datetime.fromisoformat(metadata["creationTimestamp"]),
        reported_at=job_status.reported_at(manifest),
    )


def _role_spec(manifest: Json, spec: JobSpec, *, gated: bool) -> RoleSpec:
    # The user may have written the annotation instead of the field.
    held = manifest["spec"].get("ttlSecondsAfterFinished") in (None, HELD_TTL)
    return RoleSpec(
        min=spec.scaling.min,
        max=spec.scaling.max,
        resizing=spec.scaling.resizing,
        is_leader=frameworks.is_leader(spec),
        is_service=frameworks.is_service(spec),
        indexed=spec.indexed,
        is_queue=not spec.indexed and manifest["spec"].get("completions") is None,
        slots=spec.resources.slots,
        port=spec.port,
        backoff_limit=job_status.backoff_limit(manifest),
        retries=job_status.retries(manifest),
        failure_rules=failure_rules(manifest["spec"]),
        topology=spec.scheduling.topology if gated else Topology(),
        held_ttl=spec.lifecycle.ttl if held else None,
        clean_up=spec.lifecycle.clean_up,
    )


def _template(manifest: Json, spec: JobSpec, shapes: ShapeInterner) -> PodTemplate:
    pod_spec, pod_labels = _pod_spec(manifest), labels_of(manifest["spec"]["template"])
    identity = shapes.identity(manifest["metadata"]["namespace"], pod_labels)
    shape = shapes.of_json(pod_spec, gpu_sharing.share(pod_labels), identity)
    gates = (gate["name"] for gate in pod_spec.get("schedulingGates") or ())
    return PodTemplate(
        shape=shape,
        account=pod_spec.get("serviceAccountName") or "",
        labels=identity.labels,
        device_template=_device_template(spec, shape),
        gated=contract.PLACEMENT_GATE in gates,
        sizes=_sizes(manifest, spec),
        added=added_requests.read(annotations_of(manifest)),
        restarts_in_place=pod_spec.get("restartPolicy") == "OnFailure",
        grace_period=_grace_period(pod_spec),
    )


def _grace_period(pod_spec: Json) -> timedelta:
    """Its `terminationGracePeriodSeconds`: any int64, of which more than a day counts as a day."""
    seconds = pod_spec.get("terminationGracePeriodSeconds")
    if seconds is None:
        return DEFAULT_GRACE
    return timedelta(seconds=min(max(seconds, 0), _LONGEST_GRACE.total_seconds()))


def _sizes(manifest: Json, spec: JobSpec) -> tuple[int, int | None]:
    """The sizes that the role may have without a new Job: one if its framework never resizes it."""
    if not frameworks.FRAMEWORKS[spec.framework].kinds[spec.role].resizable:
        return spec.scaling.min, spec.scaling.max
    return peer_counts.sizes(manifest, spec.framework)


def _status(manifest: Json, spec: JobSpec) -> RoleStatus:
    return RoleStatus(
        size=manifest["spec"].get("parallelism", 1),
        suspended=bool(manifest["spec"].get("suspend")),
        ending=job_status.ending(manifest),
        end_condition=job_status.end_condition(manifest),
        end_unrecorded=job_status.is_end_unrecorded(manifest),
        deadline_passed=job_status.has_passed_its_deadline(manifest),
        has_success_policy=bool(manifest["spec"].get("successPolicy")),
        remaining=None if spec.indexed else job_status.remaining(manifest),
        finished_indexes=job_status.finished_indexes(manifest) if spec.indexed else frozenset(),
        failed_indexes=job_status.failed_indexes(manifest) if spec.indexed else frozenset(),
        failures=job_status.failures(manifest),
        ignores=job_status.ignores(manifest),
        suspended_at=job_status.suspended_at(manifest),
        settled=job_status.is_settled(manifest),
    )


def _request(manifest: Json, spec: JobSpec, problem: str, *, gated: bool) -> RoleRequest:
    return RoleRequest(
        replicas=spec.scaling.replicas,
        problem=problem or ("" if gated or not spec.scheduling.topology else _TOO_LATE),
        removing=frozenset(spec.scaling.removing),
        duration=spec.scheduling.duration,
        cooldown=spec.scaling.cooldown,
        progress=_progress(manifest, spec),
        paused_by=annotations_of(manifest).get(contract.PAUSED_BY, ""),
        scaling=_scaling(spec, annotations_of(manifest)),
    )


def _device_template(spec: JobSpec, shape: Shape) -> DeviceTemplate | None:
    """The template that kubectl-edl creates, if the pods name it."""
    template = device_templates.template(spec.job, spec.resources.gpu)
    named = {claim.name for claim in shape.claims if claim.template}
    return template if template and template.name in named else None


def _scaling(spec: JobSpec, annotations: Mapping[str, str]) -> ScaleDeadline | None:
    """The time limit of a manual size, and since when it counts: `TIME BEFORE WANTED`."""
    since, before, wanted = [*annotations.get(contract.SCALING, "").split(" "), "", "", ""][:3]
    size = whole(before)
    timeout = spec.scaling.timeout if spec.scaling.replicas is not None else None
    if timeout is None and size is None:
        return None
    counts = size is not None and wanted == str(spec.scaling.replicas)
    return ScaleDeadline(timeout, spec.scaling.fallback, timestamp(since) if counts else None, size)


def _progress(manifest: Mapping[str, Any], spec: JobSpec) -> float | None:
    """The progress that its user reports, else the fraction of completed work items."""
    completions: int | None = manifest["spec"].get("completions")
    if spec.scheduling.progress is not None or spec.indexed or not completions:
        return spec.scheduling.progress
    return 1 - (job_status.remaining(manifest) or 0) / completions


def _pod_spec(manifest: Mapping[str, Any]) -> Json:
    return cast("Json", manifest["spec"]["template"]["spec"])
