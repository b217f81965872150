"""`kubectl edl simulate`: simulates jobs in a scenario, or from the state of the live cluster."""

from typing import Final

import click

from edl.kube.option_group import group
from kubectl_edl.cli.command_errors import EXIT_CODES_NAMED_HELP
from kubectl_edl.cli.context import CliContext, Scope
from kubectl_edl.cli.options import all_namespaces_options
from kubectl_edl.simulate.options import SimulateOptions

_HELP: Final = """Simulate training jobs: a scenario, a trace, or what-if on the live cluster.

The planner is the reconciler's own; the rest is simulated, and nothing is changed. -f runs a
scenario under each --policy, with --plain also without kubectl-edl; --live starts from the cluster,
with and without your changes. Columns: docs/tasks/what-if.md; scenarios and traces:
examples/simulate/README.md

\b
Examples:
  # Run a scenario under two policies and without kubectl-edl
  kubectl edl simulate -f scenario.yaml --policy fair --policy fifo --plain
  # Show which jobs would start with ten more nodes
  kubectl edl simulate --live -A --add-nodes 10 --like gpu-node-1
  # Show the effect of a larger max on this and other jobs
  kubectl edl simulate --live --set job/mnist.max=40
  # Show each job, and write a plot
  kubectl edl simulate -f scenario.yaml -o wide --plot day.png
  # Run jobs of a trace on the nodes of a scenario
  kubectl edl simulate -f nodes.yaml --trace jobs.csv
  # Compare the costs of autoscaled nodes in two growth modes
  kubectl edl simulate -f pools.yaml --growth needed-nodes --growth any-node

-o json prints a SimulationList, with --live a WhatIfList; all times are in seconds. Their fields:
docs/reference/outputs.md
"""


@click.command("simulate", help=_HELP, epilog=EXIT_CODES_NAMED_HELP)
@group(SimulateOptions, "asked")
@all_namespaces_options
@click.pass_obj
def simulate(cli: CliContext, scope: Scope, asked: SimulateOptions) -> None:
    _check(asked)
    if not asked.live and (scope.namespace or scope.all_namespaces):
        raise click.UsageError("-n and -A require --live.")
    from kubectl_edl.simulate import variants

    (variants.live if asked.live else variants.scenario)(cli, scope, asked)


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
