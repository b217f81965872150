"""Options of the decisions: the policy, its settings, and the limits of all policies."""

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from enum import StrEnum
from typing import Any, Final

import click
import msgspec

from edl.planner.decision_limits import Limits, ProvisionerSettings
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
    """A weight, also in the chart's notation: 1000=0.3333333333333333, 1000=1e-07."""
    with suppress(ValueError):
        match = _WEIGHT.fullmatch(text)
        if match and 0 < (weight := float(match["weight"])) <= MOST_WEIGHT:
            return int(match["priority"]), weight
    allowed = f"a PriorityClass's value and a number above 0, at most {MOST_WEIGHT:.0f}"
    raise click.BadParameter(f'"{text}"; {allowed}, such as 1000=2')


def _limit(
    flag: str, text: str, kind: click.ParamType[Any] | None = None, shown: str | None = None
) -> Callable[[Command], Command]:
    """The option of the limit with this name.

    `kind` is needed if its default does not tell its type.
    """
    name = flag.replace("-", "_")
    usual = getattr(_USUAL if name in Limits.__struct_fields__ else _USUAL.asks, name)
    if isinstance(usual, timedelta):
        kind, usual = _SECONDS, usual.total_seconds()
    elif isinstance(usual, StrEnum):
        kind, usual = click.Choice([mode.value for mode in type(usual)]), usual.value
    return click.option(f"--{flag}", type=kind, default=usual, metavar=shown, help=text)


_OPTIONS: Final = (
    click.option(
        "--policy",
        type=click.Choice(list(POLICIES)),
        default=Settings().policy,
        help="Policy that chooses which jobs are scaled up and down.",
    ),
    click.option(
        "--priority-weight",
        multiple=True,
        metavar="PRIORITY=WEIGHT",
        callback=_weights,
        help="Weight of jobs from a priority (a PriorityClass's value) up: 1000=2 doubles their"
        " share.",
    ),
    click.option(
        "--patience",
        type=_SECONDS,
        help="How long a job queues before running jobs of equal priority are scaled down for it."
        " Default: the policy's (throughput: 30, others: 0).",
    ),
    click.option(
        "--idle",
        type=_SECONDS,
        help="Quiet period without starts or resizes before jobs are scaled up."
        " Default: the policy's (throughput: 60, others: 0).",
    ),
    _limit(
        "load-ceiling",
        "Fraction of the nodes' CPU and memory up to which jobs are scaled up.",
        click.FloatRange(0, 1, min_open=True),
    ),
    _limit(
        "nearly-done",
        "Progress from which a job keeps its size, as a fraction; above 1 disables this.",
        click.FloatRange(0, _MOST_OF_ITS_WORK, min_open=True),
    ),
    click.option(
        "--preempt/--no-preempt",
        default=_USUAL.preempt,
        help="Suspend jobs of lower priority if scaling them down to their minimum does not free"
        " enough.",
    ),
    _limit("growth-cooldown", "Time after a start or resize of a job before it is scaled up."),
    _limit(
        "pending-limit",
        "How long a replica above the minimum may stay unscheduled before it is removed.",
    ),
    _limit(
        "restart-cooldown",
        "Time between restarts that resize a job which cannot resize live.",
    ),
    _limit(
        "gang-limit",
        "How long the minimum of a started job may stay unscheduled before the job is requeued.",
    ),
    _limit(
        "autoscaler",
        "Whether an autoscaler adds nodes for pending pods. detect: if the API server serves"
        " Karpenter's NodePools or ProvisioningRequests.",
    ),
    _limit(
        "provisioning-timeout",
        "How long to wait for requested nodes before the job requests them again later.",
    ),
    _limit(
        "provisioning-parallelism",
        "Number of queued jobs that may request nodes at the same time.",
        click.IntRange(1, _MOST_AT_ONCE),
    ),
    _limit(
        "provisioner",
        "How nodes are requested: by provisional pods, which run nothing, or by a"
        " ProvisioningRequest to cluster-autoscaler.",
    ),
    _limit("provisioning-class", "Class of ProvisioningRequests."),
    _limit(
        "provisioning-parameters",
        "Parameters of that class, such as maxRunDurationSeconds=86400.",
        shown="NAME=VALUE,…",
    ),
    _limit(
        "provisional-image",
        "Image of provisional pods; it need not start, because they are deleted once bound.",
    ),
    _limit(
        "growth",
        "Nodes for replicas above the minimum: any-node, or only needed-nodes, which run other"
        " pods anyway, so that an autoscaler can remove the rest. autoscaler: needed-nodes if the"
        " cluster has an autoscaler.",
    ),
    _limit(
        "idle-node-after",
        "How long replicas above the minimum alone may keep a node before they are moved off it.",
    ),
)


def declared() -> tuple[click.Option, ...]:
    """The options themselves, from which the chart's values are generated."""

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
    """The settings of these options, which are removed from `given`. Raises ValueError."""
    waits = {name: given.pop(name) for name in ("patience", "idle")}
    return Settings(
        policy=given.pop("policy"),
        limits=Limits(
            **_values(given, _USUAL), asks=ProvisionerSettings(**_values(given, _USUAL.asks))
        ),
        weights=tuple(given.pop("priority_weight")),
        waits=tuple(
            (name, timedelta(seconds=wait)) for name, wait in waits.items() if wait is not None
        ),
    )


def _values(given: dict[str, Any], usual: msgspec.Struct) -> dict[str, Any]:
    """The fields of a struct that are options, converted to the types of its defaults."""
    names = [name for name in usual.__struct_fields__ if name in given]
    return {name: _typed(given.pop(name), getattr(usual, name)) for name in names}


def _typed(value: Any, usual: object) -> Any:  # noqa: ANN401 (any field of the limits)
    if isinstance(usual, timedelta):
        return timedelta(seconds=value)
    return type(usual)(value) if isinstance(usual, StrEnum) else value
