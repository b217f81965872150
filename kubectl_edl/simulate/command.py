"""`kubectl edl simulate`: simulates jobs in a scenario, or from the state of the live cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from kubectl_edl.cli.command_errors import EXIT_CODES_HELP
from kubectl_edl.cli.options import everywhere, group
from kubectl_edl.simulate.options import SimulateOptions

if TYPE_CHECKING:
    from kubectl_edl.cli.context import CliContext, Scope

_HELP: Final = """Simulate training jobs: a scenario, a trace, or what-if on the live cluster.

The planner and the steps are the reconciler's own; simulated are the Job controller, the
scheduler, the kubelets and the time. Nothing is changed anywhere.

With -f a scenario is played under each --policy, and with --plain also without kubectl-edl: Jobs
run from their arrival at their max, and the scheduler takes pod by pod.
With --live the cluster is simulated from now on, as it is and with what you ask for:
more nodes, other bounds, another policy. Jobs end there as edl.dev/duration says, else never.

\b
Examples:
  # A scenario under two policies and without kubectl-edl
  kubectl edl simulate -f examples/simulate/mixed.yaml --policy fair --policy fifo --plain
  # Each job of it, and a picture
  kubectl edl simulate -f scenario.yaml -o wide --plot day.png
  # Jobs of a log on the nodes of a scenario
  kubectl edl simulate -f nodes.yaml --trace jobs.csv
  # What nodes that come and go cost, in two ways to grow
  kubectl edl simulate -f autoscaled.yaml --growth needed-nodes --growth any-node
  # Which jobs would start if there were ten more nodes
  kubectl edl simulate --live -A --add-nodes 10 --like gpu-node-1
  # What a larger max would bring, and which jobs get less
  kubectl edl simulate --live --set job/mnist.max=40

\b
Scenarios: examples/simulate/README.md says every field. Traces are CSV, one line per job:
  submit,name,min,max,cpu,memory,gpu,length|work,serial,priority,framework
  (times in seconds or as 5m, 2h30m; work: seconds of one replica; all but submit may be left out)

\b
Columns: WAIT until the minimum is ready: > where some never ran, which count until the end of the
simulation, never where none ran; COMPLETION from arrival to end; MAKESPAN from the first arrival
to the last end; CPU, MEMORY, … the part of all nodes that bound pods asked for, on
average; BELOW-MIN the time in which jobs held nodes for less than their minimum; RESTARTS jobs
that were stopped as a whole; POD-STOPS pods that ended before their job; with node pools,
NODE-HOURS of all nodes and COST of those of pools, in the unit of their prices; DOMAINS, with -o
wide, where the pods of a job with a topology first ran. With --live its jobs keep theirs.

-o json prints a SimulationList, with --live a WhatIfList; all times are in seconds. Their fields:
docs/reference/outputs.md
"""


@click.command("simulate", help=_HELP, epilog=EXIT_CODES_HELP)
@group(SimulateOptions, "asked")
@everywhere
@click.pass_obj
def simulate(world: CliContext, scope: Scope, asked: SimulateOptions) -> None:
    _check(asked)
    if not asked.live and (scope.namespace or scope.all_namespaces):
        raise click.UsageError("-n and -A are of a cluster, a scenario has none: add --live.")
    from kubectl_edl.simulate import variants  # noqa: PLC0415 (numpy, YAML)

    (variants.live if asked.live else variants.scenario)(world, scope, asked)


def _check(asked: SimulateOptions) -> None:
    changes = asked.add_nodes or asked.like or asked.set
    if asked.live and (asked.filename or asked.trace):
        raise click.UsageError("--live is the cluster, -f and --trace are not: choose one.")
    if asked.live and asked.growth:
        raise click.UsageError("--growth compares modes where node pools are: add -f.")
    if not asked.live and changes:
        raise click.UsageError("--add-nodes, --like and --set change the cluster: add --live.")
    if not asked.live and not asked.filename:
        raise click.UsageError("Specify -f FILE or --live.")
    if asked.like and not asked.add_nodes:
        raise click.UsageError("--like says which nodes: add --add-nodes COUNT.")
