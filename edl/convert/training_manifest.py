"""A training job read from a source, and the labelled Jobs that express it."""

import copy
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from edl import contract
from edl.convert.parts import gpu_share_labels, pod_templates, restart_policy, run_policy
from edl.convert.parts.object_metadata import SourceMetadata
from edl.convert.parts.replica_bounds import Sizes
from edl.convert.parts.replica_specs import RendezvousPort, Replica
from edl.convert.parts.run_policy import RunPolicy
from edl.convert.tracked_object import Fields
from edl.frameworks import FRAMEWORKS
from edl.spec.job_spec import RoleBounds
from edl.writes import Json


class RoleManifest(msgspec.Struct, frozen=True):
    """One role. `job` are fields of its Job's spec other than the size and the template.

    `labels` and `annotations` are added to the Job's.
    """

    role: str
    sizes: Sizes
    template: Json
    job: Json = msgspec.field(default_factory=dict)
    labels: Mapping[str, str] = msgspec.field(default_factory=dict)
    annotations: Mapping[str, str] = msgspec.field(default_factory=dict)

    @property
    def entry(self) -> str:
        """`worker=1..12`: the role's entry in the annotation `edl.dev/roles`."""
        return RoleBounds(self.role, self.sizes.least, self.sizes.most).entry


class TrainingManifest(msgspec.Struct, frozen=True):
    """All roles of a training job. `annotations` are set on each of its Jobs."""

    metadata: SourceMetadata
    framework: str
    parts: tuple[RoleManifest, ...]
    annotations: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Keyed by our annotation names."""


_NAMES: Final = {"apiVersion": "batch/v1", "kind": "Job"}


def manifests(training: TrainingManifest) -> tuple[Json, ...]:
    """One Job per role; a single role's Job has the training job's name. They share no values.

    Empty if several roles have no common name, which is reported.
    """
    if len(training.parts) > 1 and not training.metadata.name:
        _miss_name(training.metadata.fields)
        return ()
    all_roles = ",".join(part.entry for part in training.parts)
    return tuple(copy.deepcopy(_job(training, part, all_roles)) for part in training.parts)


def _miss_name(metadata: Fields) -> None:
    """Report the missing name once, not once per Job."""
    name, what = "", "has no name"
    if metadata.has("generateName"):
        name, what = "generateName", "gives no address"
    metadata.wrong(name, what, "peers find each other by name: set metadata.name")


def _job(training: TrainingManifest, part: RoleManifest, all_roles: str) -> Json:
    alone = len(training.parts) == 1
    name = training.metadata.name
    annotations = {} if alone else {contract.ROLES: all_roles}
    return _NAMES | {
        "metadata": training.metadata.of(
            name if alone else f"{name}-{part.role}",
            {**_labels(training, part, alone=alone), **part.labels},
            {**annotations, **training.annotations, **part.annotations},
        ),
        "spec": {"parallelism": part.sizes.begin, **part.job, "template": part.template},
    }


def _labels(training: TrainingManifest, part: RoleManifest, *, alone: bool) -> Mapping[str, str]:
    labels = {contract.FRAMEWORK: training.framework}
    if not alone:
        labels |= {contract.JOB: training.metadata.name}
    if not alone or part.role != FRAMEWORKS[training.framework].worker:
        labels |= {contract.ROLE: part.role}
    if not part.sizes.fixed:
        labels |= {contract.MIN: str(part.sizes.least), contract.MAX: str(part.sizes.most)}
    return labels


def named(parts: Sequence[RoleManifest], role: str) -> RoleManifest | None:
    return next((part for part in parts if part.role == role), None)


def saying(part: RoleManifest, job: Json) -> RoleManifest:
    """The part with more fields in its Job's spec."""
    return replace(part, job=part.job | job)


def failing(
    replica: Replica, policy: RunPolicy, port: RendezvousPort, *, serves: bool = False
) -> tuple[str, Json]:
    """The restart policy and failure fields of a role of Kubeflow's, reported where they differ."""
    restart_policy.remark_on(replica.fields, replica.restart, serves=serves)
    main = pod_templates.main_container(replica.template, port.container)
    return restart_policy.restarted(replica.restart, policy.retries, main.get("name", ""))


def role(
    replica: Replica,
    sizes: Sizes,
    failing: tuple[str, Json],
    policy: RunPolicy,
    port: RendezvousPort | None = None,
) -> RoleManifest:
    """`failing`: the pods' restart policy, and the Job's failure fields (`restart_policy`)."""
    restart, patience = failing
    template = run_policy.prioritised(policy, replica.fields, replica.template)
    if port:
        template = pod_templates.training_in(replica.fields, template, port.container)
    template, share = gpu_share_labels.on_template(template)
    return RoleManifest(
        replica.role,
        sizes,
        pod_templates.with_restart(template, restart),
        job=policy.job | patience,
        labels=share.labels,
        annotations=share.annotations,
    )
