"""What a Job specifies of its role: bounds, resize policy and pod template."""

from datetime import timedelta
from enum import StrEnum
from typing import Final

import msgspec

from edl.contract import CleanUp
from edl.model.devices import Caveat, DeviceTemplate
from edl.model.failures import FailureRules
from edl.model.nodes import Shape, Topology
from edl.model.quotas import QuotaCharge
from edl.model.selectors import Labels
from edl.quantities import Resources

DEFAULT_GRACE: Final = timedelta(seconds=30)
"""Kubernetes' `terminationGracePeriodSeconds` of pods that name none."""


class ResizePolicy(StrEnum):
    """How a role takes a new size."""

    FIXED = "fixed"
    LIVE = "live"
    ITEMS = "items"
    """Indexes are work items: only `parallelism` changes."""
    RESTART = "restart"
    """The whole training job is suspended and starts again at the new size, from its checkpoint."""


class RoleSpec(msgspec.Struct, frozen=True):
    """The role as its Job specifies it. `indexed`: `completions` changes with `parallelism`."""

    min: int
    max: int
    resizing: ResizePolicy
    is_leader: bool
    """Whether this is the completion role: its end is the end of the training job."""
    is_service: bool
    """Whether it never ends by itself and runs as long as the training job (a parameter server)."""
    indexed: bool
    is_queue: bool = False
    """A work queue, without `completions`: its pods take items until none is left."""
    slots: int = 1
    port: int = 0
    topology: Topology = Topology()
    """Used only if the pods are gated."""
    failure_rules: FailureRules = FailureRules()
    backoff_limit: int = 0
    """The Job's `backoffLimit`: more failed pods fail the Job."""
    retries: int = 0
    """The retries that our `backoffLimit` grants a role without failures; 0 if a user set it."""
    held_ttl: int | None = None
    """`edl.dev/ttl-seconds-after-finished`: the user's TTL, applied once all Jobs have ended."""
    clean_up: CleanUp = CleanUp.RUNNING


class AddedRequests(msgspec.Struct, frozen=True):
    """The requests of containers that webhooks add to the pods of a template."""

    amounts: Resources = Resources()
    """As the newest pod shows it; while there is none, as recorded."""
    recorded: Resources = Resources()
    """What the Job's annotation says of its last run."""


class PodTemplate(msgspec.Struct, frozen=True):
    """The facts of a role's pod template that decisions use."""

    shape: Shape
    account: str = ""
    """The pods' ServiceAccount; empty for the namespace's default."""
    labels: Labels = ()
    gated: bool = False
    """Whether the pods have the scheduling gate `edl.dev/placement` until a plan chooses a node."""
    charges: tuple[QuotaCharge, ...] = ()
    """The usage of one pod in the quotas of its namespace."""
    added: AddedRequests = AddedRequests()
    """The part of the shape's requests that the template does not show."""
    limits: Resources = Resources()
    """The limits of one pod; set only where its namespace has ResourceQuotas or LimitRanges."""
    pod_refusals: tuple[str, ...] = ()
    """Why rules of its namespace refuse any further pod."""
    missing_class: str = ""
    """The PriorityClass of the pods if it does not exist."""
    caveats: tuple[Caveat, ...] = ()
    """Why kube-scheduler may allocate other devices than the plan has counted."""
    device_template: DeviceTemplate | None = None
    """The ResourceClaimTemplate that the reconciler creates for the pods' claims, if any."""
    sizes: tuple[int, int | None] = (0, None)
    """The fewest pods, and the most, for which it was completed; other sizes need a new Job."""
    preempts: bool = True
    """Whether the `preemptionPolicy` of the pods' PriorityClass lets others be evicted for them."""
    restarts_in_place: bool = False
    """Its `restartPolicy` is OnFailure: restarts of containers, too, count for `backoffLimit`."""
    grace_period: timedelta = DEFAULT_GRACE
    """How long a pod may take to end once it is deleted (`terminationGracePeriodSeconds`)."""
