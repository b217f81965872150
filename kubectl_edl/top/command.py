from functools import partial
from typing import Final

import click

from kubectl_edl.cli.command_errors import EXIT_CODES_NAMED_HELP, Missing
from kubectl_edl.cli.completion_candidates import job_names
from kubectl_edl.cli.context import CliContext, ClusterConnection, Scope
from kubectl_edl.cli.lazy_group import Listed, command_first
from kubectl_edl.cli.options import (
    OutputOptions,
    all_namespaces_options,
    not_both,
    output_options,
    watch_options,
)
from kubectl_edl.cli.watch_report import printed
from kubectl_edl.client.cluster_view import read_survey, survey_cluster
from kubectl_edl.client.job_lookup import training_job
from kubectl_edl.client.prefetched_lists import jobs_of
from kubectl_edl.client.reconciler_settings import deciding
from kubectl_edl.job_views.training_job_view import view
from kubectl_edl.output.report import Report
from kubectl_edl.top.options import CostOptions, cost_options, serial_cost_options

_HELP: Final = """Show requested, used and idle resources of training jobs, nodes or the cluster.

Usage comes from metrics-server; without it, it is <unknown>.

\b
Examples:
  # Show what training jobs of this namespace request and use
  kubectl edl top
  # Show one training job
  kubectl edl top mnist
  # Show idle capacity by node
  kubectl edl top nodes
  # Show totals
  kubectl edl top cluster
"""
_JOBS_HELP: Final = """Show what training jobs request and use, and their resource-hours.

HOURS are the resource-hours so far, from the history of sizes: GPU-hours, or CPU-hours of a job
without GPUs. ">" before HOURS means that the history does not reach back to the start; before
usage, that not all pods are measured yet.

--serial adds AT-MAX, the resource-hours of a fixed size of max for the same work, including chief
and servers, and VS-MAX, the comparison with HOURS. "15% less" was saved by elastic sizes; "15%
more" is their cost: smaller sizes take longer, while chief and servers keep their pods. PART is the
fraction of the work that more replicas do not speed up (Amdahl's law, 0.05 for 5 %).

\b
Examples:
  # Show all training jobs of this namespace
  kubectl edl top jobs
  # Compare with a fixed size, if 5 % of the work is serial
  kubectl edl top jobs mnist --serial 0.05
  # Print the GPU-hours of all namespaces
  kubectl edl top jobs -A -o json | jq '[.items[].resourceHours|select(.unit=="GPU").used]|add'

-o json prints a TrainingJobUsageList, with JOB a TrainingJobUsage; its fields:
docs/reference/outputs.md
"""
_NODES_HELP: Final = """Show requested, idle and used resources of each node.

It needs the right to list nodes and all pods. STATUS is that of kubectl get nodes.
TRAINING counts pods of training jobs. A node that is cordoned or not ready has no idle resources.
GPUs include KubeShare's GPU shares.

\b
Examples:
  # Show idle capacity by node
  kubectl edl top nodes
  # Add the allocatable resources
  kubectl edl top nodes -o wide

-o json prints a NodeUsageList; its fields: docs/reference/outputs.md
"""
_CLUSTER_HELP: Final = """Show totals of the cluster: offered, requested, idle and used.

It needs the right to list nodes and all pods. Nodes that are not ready count as no capacity, and
the pods on them not as requests. QUEUED is what the pods request that queued jobs start with,
and those that raised minimums lack, less what provisional pods hold for them, which counts as
TRAINING.
Resource-hours are those of kubectl edl top jobs. "Nodes by use" counts what occupies the nodes, in
parts of a node: replicas up to the minimum of their role, extra replicas above it, and pods of
other owners; by GPUs on nodes that have them, else by CPU. --price adds the costs, also of
resource-hours: a GPU, or a CPU, costs its mean price on the nodes that have a price now. --serial
compares these with the costs of fixed sizes of max.

\b
Examples:
  # Show the utilization
  kubectl edl top cluster
  # Watch it
  kubectl edl top cluster -w
  # Show the hourly cost of minimums, extras and idle nodes
  kubectl edl top cluster --price m7i.4xlarge=0.81 --price p5.48xlarge=55
  # Show what elastic sizes have saved so far if 5 % of the work is serial
  kubectl edl top cluster --price m7i.4xlarge=0.81 --serial 0.05

-o json prints a ClusterUsage; its fields: docs/reference/outputs.md
"""
_ALIASES: Final = {"job": "jobs", "node": "nodes"}


@click.command(
    "jobs",
    short_help="Show what training jobs request and use, and their resource-hours.",
    help=_JOBS_HELP,
    epilog=EXIT_CODES_NAMED_HELP,
)
@click.argument("job", required=False, shell_complete=job_names)
@serial_cost_options
@all_namespaces_options
@output_options
@click.pass_obj
def jobs(
    cli: CliContext, job: str | None, scope: Scope, output: OutputOptions, costs: CostOptions
) -> None:
    not_both(job, output)
    connection = cli.connect(scope)
    read = partial(_jobs, cli, connection, job, output, costs)
    printed(cli, output, read, connection.cluster, jobs_of(connection))


@click.command(
    "nodes",
    short_help="Show requested, idle and used resources of each node.",
    help=_NODES_HELP,
    epilog=EXIT_CODES_NAMED_HELP,
)
@click.argument("node", required=False)
@all_namespaces_options
@watch_options
@click.pass_obj
def nodes(cli: CliContext, node: str | None, scope: Scope, output: OutputOptions) -> None:
    connection = cli.connect(scope)
    read = partial(_nodes, cli, connection, node)
    printed(cli, output, read, connection.cluster, jobs_of(connection))


@click.command("cluster", short_help="Show totals of the whole cluster.", help=_CLUSTER_HELP)
@cost_options
@all_namespaces_options
@watch_options
@click.pass_obj
def cluster(cli: CliContext, scope: Scope, output: OutputOptions, costs: CostOptions) -> None:
    connection = cli.connect(scope)
    read = partial(_cluster, cli, connection, costs)
    printed(cli, output, read, connection.cluster, jobs_of(connection))


def _order(args: list[str]) -> list[str]:
    """`top`, `top -A` and `top mnist` become `top jobs …`."""
    ordered = command_first(args, cost_options)
    if not ordered or ordered[0] in ("-h", "--help", "jobs", "nodes", "cluster"):
        return ordered or ["jobs"]
    if ordered[0] in _ALIASES:
        return [_ALIASES[ordered[0]], *ordered[1:]]
    return ["jobs", *ordered]


top: Final = Listed(
    commands=(jobs, nodes, cluster),
    noun="view",
    order=_order,
    name="top",
    help=_HELP,
    epilog=EXIT_CODES_NAMED_HELP,
)


def _jobs(
    cli: CliContext,
    connection: ClusterConnection,
    job: str | None,
    output: OutputOptions,
    costs: CostOptions,
) -> Report:
    from kubectl_edl.top.resource_hours import hours
    from kubectl_edl.top.usage import job_usage, read_usage
    from kubectl_edl.top.view import job_report, jobs_report

    now = cli.now()
    survey = read_survey(connection, now, selector="" if job else output.selector)
    jobs = [training_job(job, survey, connection)] if job else list(survey.jobs)
    used, hints = (
        read_usage(connection.cluster, "PodMetrics", connection.namespace) if jobs else (None, ())
    )
    rows = [job_usage(view(one), used, hours(one, now, costs.serial)) for one in jobs]
    report = job_report(rows[0], now) if job else jobs_report(rows, now, connection.namespace)
    return report.with_hints((*survey.hints_but_priorities, *hints))


def _nodes(cli: CliContext, connection: ClusterConnection, name: str | None) -> Report:
    from kubectl_edl.top.usage import node_usage, read_usage
    from kubectl_edl.top.view import nodes_report

    now = cli.now()
    state, hints = survey_cluster(connection.cluster, now, deciding(connection, now).settings)
    used, unknown = read_usage(connection.cluster, "NodeMetrics")
    nodes = node_usage(state, used)
    if name is not None:
        nodes = tuple(usage for usage in nodes if usage.node.name == name.removeprefix("node/"))
        if not nodes:
            flags = connection.scope.cluster_flags
            raise Missing(f'no node "{name}"; all of them: kubectl get nodes{flags}')
    return nodes_report(nodes).with_hints((*hints, *unknown))


def _cluster(cli: CliContext, connection: ClusterConnection, asked: CostOptions) -> Report:
    from kubectl_edl.top.cluster_costs import cluster_costs, unpriced
    from kubectl_edl.top.usage import ClusterUsage, cluster_usage, node_usage, phases, read_usage
    from kubectl_edl.top.view import cluster_report

    now = cli.now()
    state, hints = survey_cluster(connection.cluster, now, deciding(connection, now).settings)
    used, unknown = read_usage(connection.cluster, "NodeMetrics")
    nodes = node_usage(state, used)
    costs = cluster_costs(state, asked)
    usage = ClusterUsage(cluster_usage(state, nodes), nodes, phases(state), costs)
    prices = [f"hint: {missing}"] if (missing := unpriced(costs.nodes)) else []
    return cluster_report(usage).with_hints((*hints, *unknown, *prices))
