"""A role's part of the training job, from the source's replica spec."""

from edl.convert.parts import gpu_share_labels, pod_templates, run_policy
from edl.convert.parts.replica_bounds import Sizes
from edl.convert.parts.replica_specs import Replica
from edl.convert.parts.run_policy import RunPolicy
from edl.convert.training_manifest import RoleManifest
from edl.writes import Json


def of(
    replica: Replica, sizes: Sizes, failing: tuple[str, Json], policy: RunPolicy
) -> RoleManifest:
    """`failing`: the pods' restart policy, and the Job's failure fields (`restart_policy`)."""
    restart, patience = failing
    template = run_policy.prioritised(policy, replica.fields, replica.template)
    template, share = gpu_share_labels.on_template(template)
    return RoleManifest(
        replica.role,
        sizes,
        pod_templates.with_restart(template, restart),
        job=policy.job | patience,
        labels=share.labels,
        annotations=share.annotations,
    )
