"""A role's part of the training job, from the source's replica spec."""

from edl.convert.parts import gpu_share_labels, pod_templates, restart_policy, run_policy
from edl.convert.parts.replica_bounds import Sizes
from edl.convert.parts.replica_specs import RendezvousPort, Replica
from edl.convert.parts.run_policy import RunPolicy
from edl.convert.training_manifest import RoleManifest
from edl.writes import Json


def failing(
    replica: Replica, policy: RunPolicy, port: RendezvousPort, *, serves: bool = False
) -> tuple[str, Json]:
    """The restart policy and failure fields of a role of Kubeflow's, reported where they differ."""
    restart_policy.remark_on(replica.fields, replica.restart, serves=serves)
    main = pod_templates.main_container(replica.template, port.container)
    return restart_policy.restarted(replica.restart, policy.retries, main.get("name", ""))


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
