"""`kubectl edl dashboard`: a web page of the cluster, live."""

from __future__ import annotations

import os
from socket import gethostname
from typing import TYPE_CHECKING, Final

import click

from kubectl_edl.cli.command_errors import EXIT_CODES_HELP
from kubectl_edl.cli.options import everywhere, group
from kubectl_edl.dashboard.options import DashboardOptions
from kubectl_edl.top.options import costing

if TYPE_CHECKING:
    from kubectl_edl.cli.context import CliContext, Scope
    from kubectl_edl.dashboard.http_server import DashboardAddress

_HELP: Final = """Show the cluster on a web page, live: nodes, jobs, queue, and what if.

Load by node, each training job's size over time, which jobs wait and why, a slider that says what
another max of a job would change, by the engine of kubectl edl simulate --live, and what takes the
nodes in an hour, as kubectl edl top cluster says it; --price adds what that costs. It reads with
your own kubeconfig, as long as it runs; Ctrl-C ends it.

It listens on loopback, where other users of this machine reach it, too. With --allow-scale, and
on any other --address, it asks for a token: the address that is printed carries it. Elsewhere than
on loopback the token goes over the network in the clear; better stay on loopback and let ssh carry
it: ssh -L 8180:localhost:8180 HOST.

\b
Examples:
  # This namespace, in your browser
  kubectl edl dashboard
  # All namespaces, on a free port; only print the address
  kubectl edl dashboard -A --port 0 --no-open
  # Sizes can be set from the page, as by kubectl edl scale
  kubectl edl dashboard -A --allow-scale
  # With what minimums, extras and idle nodes cost in an hour
  kubectl edl dashboard -A --price m7i.4xlarge=0.81 --price p5.48xlarge=55
  # Reachable from other machines
  kubectl edl dashboard -A --address 0.0.0.0
"""


_LONG: Final = 3600.0


@click.command("dashboard", help=_HELP, epilog=EXIT_CODES_HELP)
@costing
@group(DashboardOptions, "asked")
@everywhere
@click.pass_obj
def dashboard(world: CliContext, scope: Scope, asked: DashboardOptions) -> None:
    from kubectl_edl.dashboard import run_dashboard  # noqa: PLC0415 (Flask, numpy)

    found = run_dashboard.started(world, world.connect(scope), asked)
    world.say(f"{found.url}   (Ctrl-C ends it)")
    world.out.flush()
    _caution(world, found.address)
    try:
        if asked.opened and run_dashboard.can_show(os.environ):
            run_dashboard.show(found.url)
        while True:
            world.sleep(_LONG)
    except KeyboardInterrupt:
        world.warn("ended")
    finally:
        found.stop()


def _caution(world: CliContext, address: DashboardAddress) -> None:
    if not address.loopback:
        world.warn(
            f"hint: others open it as http://{gethostname()}:{address.port}/ with the same token; "
            "the token crosses the network in the clear"
        )
