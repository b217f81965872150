"""Options of the decisions: the policy, its settings, and the limits of all policies."""

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any, Final

import click

from edl.planner.decision_limits import (
    Autoscaler,
    GrowthMode,
    Limits,
    Provisioner,
    ProvisionerSettings,
)
from edl.planner.policies import POLICIES
from edl.planner.published_settings import LONGEST, Settings
from reconciler.options.duration_range import DurationRange

Command = Callable[..., None]
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
    """As a chart's value is written, too: 1000=0.3333333333333333, 1000=1e-07."""
    with suppress(ValueError):
        match = _WEIGHT.fullmatch(text)
        if match and 0 < (weight := float(match["weight"])) <= MOST_WEIGHT:
            return int(match["priority"]), weight
    allowed = f"a PriorityClass's value and a number above 0, at most {MOST_WEIGHT:.0f}"
    raise click.BadParameter(f'"{text}"; {allowed}, such as 1000=2')


_OPTIONS: Final = (
    click.option(
        "--policy",
        type=click.Choice(list(POLICIES)),
        default=Settings().policy,
        help="Which jobs scale up, and which scale down.",
    ),
    click.option(
        "--priority-weight",
        multiple=True,
        metavar="PRIORITY=WEIGHT",
        callback=_weights,
        help="1000=2: from this priority (a PriorityClass's value) on a job's share counts twice.",
    ),
    click.option(
        "--patience",
        type=_SECONDS,
        help="Time in the queue before running jobs of its priority shrink for a job."
        " Default: the policy's (throughput: 30, others: 0).",
    ),
    click.option(
        "--idle",
        type=_SECONDS,
        help="Time without a start or a new size before jobs grow."
        " Default: the policy's (throughput: 60, others: 0).",
    ),
    click.option(
        "--load-ceiling",
        type=click.FloatRange(0, 1, min_open=True),
        default=_USUAL.load_ceiling,
        help="The part of CPU and memory that growth may fill.",
    ),
    click.option(
        "--nearly-done",
        type=click.FloatRange(0, _MOST_OF_ITS_WORK, min_open=True),
        default=_USUAL.nearly_done,
        help="From this part of its work on a job keeps its size; above 1: never.",
    ),
    click.option(
        "--preempt/--no-preempt",
        default=_USUAL.preempt,
        help="Suspend whole jobs of a lower priority where extras do not suffice.",
    ),
    click.option(
        "--growth-cooldown",
        type=_SECONDS,
        default=_USUAL.growth_cooldown.total_seconds(),
        help="Time between a start or a new size of a job and its next growth.",
    ),
    click.option(
        "--pending-limit",
        type=_SECONDS,
        default=_USUAL.pending_limit.total_seconds(),
        help="Time in which a replica beyond the minimum must be on a node: else it is given back.",
    ),
    click.option(
        "--restart-cooldown",
        type=_SECONDS,
        default=_USUAL.restart_cooldown.total_seconds(),
        help="Time between restarts that give a job which cannot resize live another size.",
    ),
    click.option(
        "--gang-limit",
        type=_SECONDS,
        default=_USUAL.gang_limit.total_seconds(),
        help="Time in which the minimum of a started job must be on nodes: else it queues again.",
    ),
    click.option(
        "--autoscaler",
        type=click.Choice([mode.value for mode in Autoscaler]),
        default=_USUAL.autoscaler.value,
        help="Whether something adds nodes for pending pods. detect: where the API server serves"
        " Karpenter's NodePools or ProvisioningRequests.",
    ),
    click.option(
        "--provisioning-timeout",
        type=_SECONDS,
        default=_USUAL.provisioning_timeout.total_seconds(),
        help="Time in which nodes must come that a queued job asks for: else it asks again later.",
    ),
    click.option(
        "--provisioning-parallelism",
        type=click.IntRange(1, _MOST_AT_ONCE),
        default=_USUAL.provisioning_parallelism,
        help="Queued jobs that ask for nodes at once.",
    ),
    click.option(
        "--provisioner",
        type=click.Choice([mode.value for mode in Provisioner]),
        default=_USUAL.asks.provisioner.value,
        help="How nodes are asked for: by pods that run nothing, or by a ProvisioningRequest of"
        " cluster-autoscaler.",
    ),
    click.option(
        "--provisioning-class",
        default=_USUAL.asks.provisioning_class,
        help="The class of ProvisioningRequests.",
    ),
    click.option(
        "--provisioning-parameters",
        default=_USUAL.asks.provisioning_parameters,
        metavar="NAME=VALUE,…",
        help="What the class takes besides, as maxRunDurationSeconds=86400.",
    ),
    click.option(
        "--provisional-image",
        default=_USUAL.asks.provisional_image,
        help="Image of the pods that ask for nodes; it need not start: bound ones are deleted.",
    ),
    click.option(
        "--growth",
        type=click.Choice([mode.value for mode in GrowthMode]),
        default=_USUAL.growth.value,
        help="Nodes of replicas above the minimum: only those that are needed anyway, so that an"
        " autoscaler may remove others, or any. autoscaler: needed-nodes where there is one.",
    ),
    click.option(
        "--idle-node-after",
        type=_SECONDS,
        default=_USUAL.idle_node_after.total_seconds(),
        help="Time until replicas above the minimum leave a node that nothing else needs.",
    ),
)


def declared() -> tuple[click.Option, ...]:
    """The options themselves: the chart's values are made of them."""

    @options
    def empty() -> None: ...

    found: list[click.Option] = empty.__click_params__  # type: ignore[attr-defined]
    return tuple(reversed(found))


def options(command: Command) -> Command:
    """The command with these options, in this order."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def take(given: dict[str, Any]) -> Settings:
    """What these options say; they leave `given`. Raises ValueError for an invalid limit."""
    waits = {name: given.pop(name) for name in ("patience", "idle")}
    return Settings(
        policy=given.pop("policy"),
        limits=Limits(
            load_ceiling=given.pop("load_ceiling"),
            nearly_done=given.pop("nearly_done"),
            preempt=given.pop("preempt"),
            growth_cooldown=timedelta(seconds=given.pop("growth_cooldown")),
            pending_limit=timedelta(seconds=given.pop("pending_limit")),
            restart_cooldown=timedelta(seconds=given.pop("restart_cooldown")),
            gang_limit=timedelta(seconds=given.pop("gang_limit")),
            autoscaler=Autoscaler(given.pop("autoscaler")),
            provisioning_timeout=timedelta(seconds=given.pop("provisioning_timeout")),
            provisioning_parallelism=given.pop("provisioning_parallelism"),
            asks=ProvisionerSettings(
                Provisioner(given.pop("provisioner")),
                given.pop("provisioning_class"),
                given.pop("provisioning_parameters"),
                given.pop("provisional_image"),
            ),
            growth=GrowthMode(given.pop("growth")),
            idle_node_after=timedelta(seconds=given.pop("idle_node_after")),
        ),
        weights=tuple(given.pop("priority_weight")),
        waits=tuple(
            (name, timedelta(seconds=wait)) for name, wait in waits.items() if wait is not None
        ),
    )
