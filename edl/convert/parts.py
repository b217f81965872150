"""A role's part of the training job, from the replicas that the source says."""

from edl.convert import policies, shares, templates
from edl.convert.bounds import Sizes
from edl.convert.policies import RunPolicy
from edl.convert.replicas import Replica
from edl.convert.training import Part
from edl.writes import Json


def of(replica: Replica, sizes: Sizes, failing: tuple[str, Json], policy: RunPolicy) -> Part:
    """`failing`: the pods' restart policy, and what the Job says of failures (`restarts`)."""
    restart, patience = failing
    template = policies.prioritised(policy, replica.fields, replica.template)
    template, share = shares.on_template(template)
    return Part(
        replica.role,
        sizes,
        templates.with_restart(template, restart),
        job=policy.job | patience,
        labels=share.labels,
        annotations=share.annotations,
    )
