"""Options of the decisions: the policy, its settings, and the limits of all policies."""

import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from enum import StrEnum
from typing import Any, Final

import click
import msgspec

from edl.kube.option_group import group, option, option_group
from edl.planner.decision_limits import Limits, ProvisionerSettings
from edl.planner.policies import POLICIES
from edl.planner.published_settings import LONGEST, Settings
from reconciler.options.duration_range import DurationRange

_USUAL: Final = Limits()
_SECONDS: Final = DurationRange(0, LONGEST)
_MOST_OF_ITS_WORK: Final = 100.0
_MOST_AT_ONCE: Final = 1000
MOST_WEIGHT: Final = 1e6
_WEIGHT: Final = re.compile(r"(?P<priority>-?[0-9]{1,10})=(?P<weight>[0-9.]{1,24}(e-[0-9]{1,3})?)")


def _weights(
    _context: click.Context, _param: click.Parameter, texts: Sequence[str]
) -> tuple[tuple[int, float], ...]:
    return tuple(_weight(text) for text in texts)


def _weight(text: str) -> tuple[int, float]:
    """A weight, also in the chart's notation: 1000=0.3333333333333333, 1000=1e-07."""
    with suppress(ValueError):
        match = _WEIGHT.fullmatch(text)
        if match and 0 < (weight := float(match["weight"])) <= MOST_WEIGHT:
            return int(match["priority"]), weight
    allowed = f"a PriorityClass's value and a number above 0, at most {MOST_WEIGHT:.0f}"
    raise click.BadParameter(f'"{text}"; {allowed}, such as 1000=2')


def _limit(
    usual: object, text: str, kind: click.ParamType[Any] | None = None, shown: str | None = None
) -> Any:  # noqa: ANN401 - a field of any type
    """The option of a limit; `kind` is needed if its default does not tell its type."""
    if isinstance(usual, timedelta):
        kind, usual = _SECONDS, usual.total_seconds()
    elif isinstance(usual, StrEnum):
        kind, usual = click.Choice([mode.value for mode in type(usual)]), usual.value
    return option(type=kind, default=usual, metavar=shown, help=text)


@option_group
class PlanningOptions:
    """The reconciler's options about its decisions. The chart's values are generated from them."""

    policy: str = option(
        type=click.Choice(list(POLICIES)),
        default=Settings().policy,
        help="Policy that chooses which jobs are scaled up and down.",
    )
    priority_weight: tuple[tuple[int, float], ...] = option(
        metavar="PRIORITY=WEIGHT",
        callback=_weights,
        help="Weight of jobs from a priority (a PriorityClass's value) up: 1000=2 doubles their"
        " share.",
    )
    patience: float | None = option(
        type=_SECONDS,
        help="How long a job queues before running jobs of equal priority are scaled down for it."
        " Default: the policy's (throughput: 30, others: 0).",
    )
    idle: float | None = option(
        type=_SECONDS,
        help="Quiet period without starts or resizes before jobs are scaled up."
        " Default: the policy's (throughput: 60, others: 0).",
    )
    load_ceiling: float = _limit(
        _USUAL.load_ceiling,
        "Fraction of the nodes' CPU and memory up to which jobs are scaled up.",
        click.FloatRange(0, 1, min_open=True),
    )
    nearly_done: float = _limit(
        _USUAL.nearly_done,
        "Progress from which a job keeps its size, as a fraction; above 1 disables this.",
        click.FloatRange(0, _MOST_OF_ITS_WORK, min_open=True),
    )
    preempt: bool = option(
        default=_USUAL.preempt,
        help="Suspend jobs of lower priority if scaling them down to their minimum does not free"
        " enough.",
    )
    growth_cooldown: float = _limit(
        _USUAL.growth_cooldown,
        "Time after a start or resize of a job before it is scaled up; 30 % of it between two"
        " scale-ups that stall no replica (tensorflow with parameter servers, none).",
    )
    pending_limit: float = _limit(
        _USUAL.pending_limit,
        "How long a replica above the minimum may stay unscheduled before it is removed.",
    )
    restart_cooldown: float = _limit(
        _USUAL.restart_cooldown, "Time between restarts that resize a job which cannot resize live."
    )
    gang_limit: float = _limit(
        _USUAL.gang_limit,
        "How long the minimum of a started job may stay unscheduled before the job is requeued.",
    )
    autoscaler: str = _limit(
        _USUAL.autoscaler,
        "Whether an autoscaler adds nodes for pending pods. detect: if the API server serves"
        " Karpenter's NodePools or ProvisioningRequests.",
    )
    provisioning_timeout: float = _limit(
        _USUAL.provisioning.provisioning_timeout,
        "How long to wait for requested nodes before the job requests them again later.",
    )
    provisioning_parallelism: int = _limit(
        _USUAL.provisioning.provisioning_parallelism,
        "Number of queued jobs that may request nodes at the same time.",
        click.IntRange(1, _MOST_AT_ONCE),
    )
    provisioner: str = _limit(
        _USUAL.provisioning.provisioner,
        "How nodes are requested: by provisional pods, which run nothing, or by a"
        " ProvisioningRequest to cluster-autoscaler.",
    )
    provisioning_class: str = _limit(
        _USUAL.provisioning.provisioning_class, "Class of ProvisioningRequests."
    )
    provisioning_parameters: str = _limit(
        _USUAL.provisioning.provisioning_parameters,
        "Parameters of that class, such as maxRunDurationSeconds=86400.",
        shown="NAME=VALUE,…",
    )
    provisional_image: str = _limit(
        _USUAL.provisioning.provisional_image,
        "Image of provisional pods; it need not start, because they are deleted once bound.",
    )
    growth: str = _limit(
        _USUAL.growth,
        "Nodes for replicas above the minimum: any-node, or only needed-nodes, which run other"
        " pods anyway, so that an autoscaler can remove the rest. autoscaler: needed-nodes if the"
        " cluster has an autoscaler.",
    )
    idle_node_after: float = _limit(
        _USUAL.idle_node_after,
        "How long replicas above the minimum alone may keep a node before they are moved off it.",
    )
    drain_patience: float = _limit(
        _USUAL.drain_patience,
        "How long a node may be cordoned before pods that cannot move off it lose their"
        " PodDisruptionBudgets, so that a drain or a node upgrade ends and their jobs restart"
        " elsewhere; 0: never.",
    )
    queueing_schedulers: str = _limit(
        _USUAL.queueing_schedulers,
        "Schedulers with queues of their own: no job scales down for their pending pods, which"
        " often wait for a quota of their queue instead of capacity.",
        shown="NAME,…",
    )

    def settings(self) -> Settings:
        """Raises ValueError."""
        waits = {"patience": self.patience, "idle": self.idle}
        return Settings(
            policy=self.policy,
            limits=Limits(
                **self._values(_USUAL),
                provisioning=ProvisionerSettings(**self._values(_USUAL.provisioning)),
            ),
            weights=self.priority_weight,
            waits=tuple(
                (name, timedelta(seconds=wait)) for name, wait in waits.items() if wait is not None
            ),
        )

    def _values(self, usual: msgspec.Struct) -> dict[str, Any]:
        """The fields of a struct that are options, converted to the types of its defaults."""
        names = [name for name in usual.__struct_fields__ if hasattr(self, name)]
        return {name: _typed(getattr(self, name), getattr(usual, name)) for name in names}


def _typed(value: Any, usual: object) -> Any:  # noqa: ANN401 - any field of the limits
    if isinstance(usual, timedelta):
        return timedelta(seconds=value)
    return type(usual)(value) if isinstance(usual, StrEnum) else value


planning_options: Final = group(PlanningOptions, "planning")
