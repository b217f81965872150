"""`kubectl edl dashboard`: a web page of the cluster, live."""

import os
from socket import gethostname
from typing import Final

import click

from edl.kube.option_group import group
from kubectl_edl.cli.context import CliContext, Scope
from kubectl_edl.cli.options import all_namespaces_options
from kubectl_edl.dashboard.options import DashboardOptions
from kubectl_edl.top.options import cost_options

_HELP: Final = """Serve a live web page of the cluster: nodes, jobs, queue, costs, what-if.

It shows the load of the nodes, the size of each training job over time, queued jobs and their
reasons, the effect of another max (as kubectl edl simulate --live), and what occupies the nodes (as
kubectl edl top cluster); --price adds costs. Each job has a page with its pods, its Events, its
history, and what kubectl edl explain prints. It uses your kubeconfig and runs until Ctrl-C.

It listens on loopback, where other users of this machine can reach it. With --allow-scale, or on
any other --address, it requires a token, which the printed URL contains. Outside of loopback the
token is sent in clear text; an ssh tunnel avoids that: ssh -L 8180:localhost:8180 HOST.

\b
Examples:
  # Open this namespace in your browser
  kubectl edl dashboard
  # Serve all namespaces on a free port, and only print the URL
  kubectl edl dashboard -A --port 0 --no-open
  # Allow resizing from the page
  kubectl edl dashboard -A --allow-scale
  # Show hourly costs
  kubectl edl dashboard -A --price m7i.4xlarge=0.81 --price p5.48xlarge=55
  # Listen on all addresses
  kubectl edl dashboard -A --address 0.0.0.0
"""


_LONG: Final = 3600.0


@click.command("dashboard", help=_HELP)
@cost_options
@group(DashboardOptions, "asked")
@all_namespaces_options
@click.pass_obj
def dashboard(cli: CliContext, scope: Scope, asked: DashboardOptions) -> None:
    import webbrowser

    from kubectl_edl.dashboard import run_dashboard

    server = run_dashboard.started(cli, cli.connect(scope), asked)
    cli.say(f"{server.url}   (Ctrl-C ends it)")
    cli.out.flush()
    if not server.address.loopback:
        cli.warn(
            f"hint: others open it as http://{gethostname()}:{server.address.port}/ with the same "
            "token; the token crosses the network in the clear"
        )
    try:
        if asked.opened and run_dashboard.can_show(os.environ):
            webbrowser.open(server.url)
        while True:
            cli.sleep(_LONG)
    except KeyboardInterrupt:
        cli.warn("ended")
    finally:
        server.stop()
