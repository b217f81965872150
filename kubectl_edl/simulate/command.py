"""`kubectl edl simulate`: simulates jobs in a scenario, or from the state of the live cluster."""

from typing import Final

import click

from edl.kube.option_group import group
from kubectl_edl.cli.command_errors import EXIT_CODES_NAMED_HELP
from kubectl_edl.cli.context import CliContext, Scope
from kubectl_edl.cli.options import all_namespaces_options
from kubectl_edl.simulate.options import SimulateOptions

_HELP: Final = """Simulate training jobs: a scenario, a trace, or what-if on the live cluster.

Planner and steps are the reconciler's own; the Job controller, kube-scheduler, kubelets and time
are simulated. Nothing is changed anywhere.

With -f, a scenario is run under each --policy, and with --plain also without kubectl-edl: then Jobs
run at their max from their arrival, and kube-scheduler places pod after pod.
With --live, the current cluster is simulated, unchanged and with your changes: more nodes, other
limits, another policy. Jobs end after edl.dev/duration, or never if they do not set it.

\b
Examples:
  # Run a scenario under two policies and without kubectl-edl
  kubectl edl simulate -f examples/simulate/mixed.yaml --policy fair --policy fifo --plain
  # Show each job, and write a plot
  kubectl edl simulate -f scenario.yaml -o wide --plot day.png
  # Run jobs of a trace on the nodes of a scenario
  kubectl edl simulate -f nodes.yaml --trace jobs.csv
  # Compare the costs of autoscaled nodes in two growth modes
  kubectl edl simulate -f autoscaled.yaml --growth needed-nodes --growth any-node
  # Show which jobs would start with ten more nodes
  kubectl edl simulate --live -A --add-nodes 10 --like gpu-node-1
  # Show the effect of a larger max on this and other jobs
  kubectl edl simulate --live --set job/mnist.max=40

\b
Scenarios: examples/simulate/README.md documents all fields. Traces are CSV, one line per job:
  submit,name,min,max,cpu,memory,gpu,length|work,serial,priority,framework
  (times in seconds or as 5m, 2h30m; work: seconds of one replica; only submit is required)

\b
Columns: WAIT is the time until the minimum is ready; > if some jobs never ran, which count until
the end of the simulation; never if none ran. COMPLETION is from arrival to end, MAKESPAN from the
first arrival to the last end. CPU, MEMORY, … are the average share of all nodes that pods
requested. BELOW-MIN is the time for which jobs had nodes for less than their minimum, RESTARTS
counts jobs that were stopped, POD-STOPS pods that ended before their job. With node pools,
NODE-HOURS are those of all nodes, COST that of pools in the unit of their prices. DOMAINS, with
-o wide, shows where pods of a job with a topology first ran; with --live jobs keep theirs. NOW
is the present size, AS-IS and WHAT-IF are the sizes at the end without and with your changes,
and the columns -STARTS show when all roles of the job have last started.

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
