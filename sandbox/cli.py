"""The commands of `python -m sandbox`."""

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from sandbox import status
from sandbox.autoscaler import add_karpenter
from sandbox.builds import binaries
from sandbox.builds.progress import elapsed
from sandbox.errors import SandboxError
from sandbox.objects.node_pools import SETTINGS, NodePool, parsed
from sandbox.objects.nodes import NodeGroup, quantity
from sandbox.paths import places
from sandbox.releases import DEFAULT, RELEASES, VARIABLE
from sandbox.sandbox import Sandbox


def _examples(*commands: str) -> str:
    """Examples for click, which keeps line breaks in a paragraph that starts with a backspace."""
    return "\n".join(("\b", "Examples:", *(f"  python -m sandbox {line}" for line in commands)))


ENVIRONMENT = """\b
Environment:
  EDL_BINARIES    directory with Kubernetes binaries to use instead of building them
  EDL_CACHE       directory for built binaries (~/.cache/kubectl-edl)
  EDL_KUBERNETES  default of --kubernetes, and the release that tests run on
  EDL_STATE       directory for sandboxes (~/.local/state/kubectl-edl)
  EDL_SANDBOX     default of --name
"""


class SandboxGroup(click.Group):
    """Prints a SandboxError as a message, without a traceback."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except SandboxError as error:
            click.echo(f"error: {error}", err=True)
            sys.exit(1)


EPILOG = _examples("up", "kubectl get nodes", "down") + "\n\n" + ENVIRONMENT


@click.group(
    cls=SandboxGroup, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]}
)
def main() -> None:
    """A real Kubernetes control plane with simulated nodes, as plain processes of this machine.

    etcd, kube-apiserver, kube-controller-manager and kube-scheduler are the real ones; kwok
    simulates the kubelets. The first `up` builds them, which takes some minutes; later ones take
    seconds. --real adds one real node, on which pods run (Linux, root).
    """


_name = click.option(
    "--name", default="default", show_default=True, envvar="EDL_SANDBOX", help="Sandbox to use."
)


_kubernetes = click.option(
    "--kubernetes",
    type=click.Choice(RELEASES),
    envvar=VARIABLE,
    help=f"Kubernetes release. Default: the sandbox's own, {DEFAULT} for a new sandbox.",
)


def _checked(what: str, examples: str) -> Callable[[click.Context, click.Parameter, str], str]:
    def check(_context: click.Context, _parameter: click.Parameter, value: str) -> str:
        try:
            return quantity(what, value, examples)
        except SandboxError as error:
            raise click.BadParameter(str(error)) from None

    return check


def _node_pool(_context: click.Context, _option: click.Parameter, said: Sequence[str]) -> NodePool:
    try:
        return parsed(said)
    except SandboxError as error:
        raise click.BadParameter(str(error)) from None


@main.command(
    epilog=_examples(
        "up --nodes 20 --cpu 16 --memory 64Gi --gpu 8",
        "up --kubernetes 1.35 --name old",
        "up --real --nodes 0",
        "up --karpenter --nodes 0 --node-pool sizes=8,16 --node-pool node-delay=20s",
    )
)
@_name
@click.option(
    "--nodes",
    "count",
    default=4,
    show_default=True,
    type=click.IntRange(0),
    help="Number of nodes of a new sandbox; more can be added with kubectl.",
)
@click.option(
    "--cpu",
    default="8",
    show_default=True,
    help="CPUs of each node.",
    callback=_checked("cpu", "8 or 500m"),
)
@click.option(
    "--memory",
    default="32Gi",
    show_default=True,
    help="Memory of each node.",
    callback=_checked("memory", "32Gi or 500M"),
)
@click.option(
    "--gpu", default=0, show_default=True, type=click.IntRange(0), help="GPUs of each node."
)
@_kubernetes
@click.option("--real", is_flag=True, help="Add one node on which pods really run; needs root.")
@click.option("--karpenter", is_flag=True, help="Run Karpenter, with a node pool `default`.")
@click.option(
    "--node-pool",
    "pool",
    multiple=True,
    metavar="SETTING=VALUE",
    callback=_node_pool,
    help=f"Setting of Karpenter's node pool: {', '.join(SETTINGS)}. Repeatable.",
)
def up(name: str, kubernetes: str | None, karpenter: bool, pool: NodePool, **shape: Any) -> None:  # noqa: ANN401, FBT001 - click's
    """Start a sandbox, or restart its stopped components, also the demo's webhook and reconciler.

    Nodes are created with the sandbox; later their number and shape stay as they are. The last
    --node-pool options apply.
    """
    count, real = shape["count"], shape.pop("real")
    sandbox = Sandbox(name, environ=_choosing(kubernetes), say=_say)
    start = sandbox.up(NodeGroup(**shape), real=real)
    if karpenter:
        add_karpenter(sandbox, pool, say=_say)
    took = f"after {elapsed(start.seconds)}"
    if start.fresh:
        nodes = f"{count} simulated nodes and a real one" if real else f"{count} simulated nodes"
        click.echo(f"sandbox {name} is ready {took}: Kubernetes {sandbox.kubernetes}, {nodes}")
    elif start.started:
        again = ", ".join(start.started)
        click.echo(
            f"sandbox {name} is ready {took}: started {again} again; its nodes stay as they are"
        )
    else:
        click.echo(f"sandbox {name} runs already; its nodes stay as they are")
    click.echo(f"export KUBECONFIG={sandbox.kubeconfig}")


@main.command(epilog=_examples("down --name other", "down --checkout", "down --all"))
@_name
@click.option("--checkout", is_flag=True, help="Stop all that this checkout started.")
@click.option("--all", "every", is_flag=True, help="Stop every sandbox in EDL_STATE.")
def down(name: str, checkout: bool, every: bool) -> None:  # noqa: FBT001 - click passes flags so
    """Stop a sandbox and remove its files, in whatever state it is."""
    several = checkout or every
    found = status.names(_root()) if several else [name]
    kept = {} if every or not several else status.of_other_checkouts(_root(), found)
    for each, origin in kept.items():
        click.echo(f"sandbox {each} stays: {origin}; --all ends it, too")
    names = [each for each in found if each not in kept]
    if several and names:
        click.echo(f"ending {', '.join(names)}")
    for each in names:
        done = "is down" if _sandbox(each).down() else "was not up"
        click.echo(f"sandbox {each} {done}")
    if not found:
        click.echo("no sandbox is up")


@main.command("status")
@click.option("--name", help="Only show this sandbox.")
def show_status(name: str | None) -> None:
    """List sandboxes and their processes, with the end of the log of those that exited."""
    sandboxes = [_sandbox(each) for each in status.names(_root()) if name in (None, each)]
    click.echo("\n".join(status.describe(sandbox) for sandbox in sandboxes) or "no sandbox is up")
    if any(sandbox.dead() for sandbox in sandboxes):
        sys.exit(1)


@main.command(
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    add_help_option=False,
)
@_name
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def kubectl(name: str, args: tuple[str, ...]) -> None:
    """Run kubectl against a sandbox: kubectl [--name NAME] get pods."""
    sandbox = _sandbox(name)
    if not sandbox.kubeconfig.exists():
        raise SandboxError(f"sandbox {name} is not up: run python -m sandbox up --name {name}")
    program = str(sandbox.kubectl_path)
    os.execve(program, [program, *args], sandbox.kubectl_environment())  # noqa: S606 - no shell


@main.command()
@click.option("--real", is_flag=True, help="Include those of a real node.")
@click.option("--all", "every", is_flag=True, help="Include all that the tests run.")
@_kubernetes
def build(real: bool, every: bool, kubernetes: str | None) -> None:  # noqa: FBT001 - as in down
    """Build the binaries if they are missing, and print their directories."""
    environ = _choosing(kubernetes)
    where = places(environ)
    if every:
        folders = binaries.prepare(where, environ, _say)
    else:
        found = binaries.find(where, environ, _say, real=real)
        folders = sorted({path.parent for path in found.values()})
    for folder in folders:
        click.echo(folder)


@main.command(epilog=_examples("logs kube-apiserver -n 20", "logs kwok -f"))
@_name
@click.argument("component")
@click.option(
    "-n",
    "--lines",
    default=100,
    show_default=True,
    type=click.IntRange(1),
    help="Number of last lines to print.",
)
@click.option("-f", "--follow", is_flag=True, help="Follow the log.")
def logs(name: str, component: str, lines: int, follow: bool) -> None:  # noqa: FBT001 - as in down
    """Print the log of a component, also of one that exited."""
    sandbox = _sandbox(name)
    log = sandbox.log(component)
    if not log.is_file():
        known = ", ".join(status.logged(sandbox)) or "none: the sandbox is not up"
        raise SandboxError(f"{component} has no log in sandbox {name}; there are: {known}")
    sys.stdout.flush()
    argv = ["tail", "-n", str(lines), *(["-F"] if follow else []), str(log)]
    os.execvp(argv[0], argv)  # noqa: S606 - no shell


def _sandbox(name: str) -> Sandbox:
    return Sandbox(name, say=_say)


def _choosing(release: str | None) -> dict[str, str]:
    return {**os.environ, VARIABLE: release or ""}


def _root() -> Path:
    return places(os.environ).sandboxes


def _say(line: str) -> None:
    click.echo(line, err=True)
