"""`python -m sandbox.on_kind COMMAND…`: a kind cluster for the duration of one command.

The command finds it in EDL_KUBECONFIG. Its own node takes no pods; simulated nodes are added,
because tests rely on their capacity. Requires a container engine that can pull a node image.
"""

import contextlib
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import click
import yaml

from sandbox.builds import binaries
from sandbox.builds.build import BuildEnvironment, built
from sandbox.builds.recipe import KIND
from sandbox.errors import SandboxError
from sandbox.existing_cluster import ExistingCluster
from sandbox.objects import nodes
from sandbox.paths import places
from sandbox.processes.components import KWOK, kwok_flags

ENGINES: Final = ("docker", "podman", "nerdctl")
NODES: Final = nodes.NodeGroup(count=4, cpu="8", memory="32Gi", gpu=4)
"""The same as in the tests' own sandbox."""
_PATIENCE: Final = 30  # seconds to wait for an engine's response


def engine(environ: Mapping[str, str]) -> str:
    """The first container engine that responds. Raises SandboxError with what is missing."""
    found = [name for name in ENGINES if shutil.which(name, path=environ.get("PATH"))]
    said = {}
    for name in found:
        said[name] = _silence(name, environ)
        if not said[name]:
            return name
    if not found:
        raise SandboxError(
            f"kind needs a container engine, and none is on PATH ({', '.join(ENGINES)}): install "
            "one, or name a cluster of yours: EDL_KUBECONFIG=… make integration"
        )
    problems = "; ".join(f"{name}: {problem}" for name, problem in said.items())
    raise SandboxError(f"kind needs a container engine, and none answers ({problems}): start it")


def _silence(name: str, environ: Mapping[str, str]) -> str:
    """Why an engine does not respond; empty if it does."""
    try:
        done = subprocess.run(
            [name, "info"],
            env=dict(environ),
            capture_output=True,
            text=True,
            check=False,
            timeout=_PATIENCE,
        )
    except subprocess.TimeoutExpired:
        return f"no answer within {_PATIENCE} s"
    lines = (done.stderr or done.stdout).strip().splitlines()
    return "" if not done.returncode else (lines or ["no reason given"])[-1]


@contextlib.contextmanager
def cluster(environ: Mapping[str, str], folder: Path) -> Iterator[dict[str, str]]:
    """The environment for tests on a kind cluster, which is always deleted. Raises SandboxError."""
    provider = {**environ, "KIND_EXPERIMENTAL_PROVIDER": engine(environ)}
    kind = str(built(KIND, BuildEnvironment(places(environ).cache, environ), _say) / "kind")
    name, kubeconfig = f"edl-{secrets.token_hex(3)}", folder / "kubeconfig"
    place = ("--name", name, "--kubeconfig", str(kubeconfig))
    try:
        _run([kind, "create", "cluster", *place, "--wait", "180s"], provider)
        with _simulated(kubeconfig, environ, folder) as address:
            yield {**environ, "EDL_KUBECONFIG": str(kubeconfig), "EDL_ADDRESS": address}
    finally:
        _run([kind, "delete", "cluster", *place], provider)


@contextlib.contextmanager
def _simulated(kubeconfig: Path, environ: Mapping[str, str], folder: Path) -> Iterator[str]:
    """Add simulated nodes and cordon real ones; yields this machine's address for kind's node."""
    programs = binaries.find(places(environ), environ, _say)
    named = ExistingCluster(kubeconfig, folder, environ)
    try:
        named.kubectl("cordon", "--selector", "kubernetes.io/os=linux")
        node = "{.items[0].status.addresses[?(@.type=='InternalIP')].address}"
        address = _ours(named.kubectl("get", "nodes", "-o", f"jsonpath={node}"))
        named.launch(KWOK, [str(programs[KWOK]), *kwok_flags(kubeconfig)])
        made = yaml.safe_dump_all(nodes.manifests(NODES))
        named.kubectl("create", "-f", "-", input=made)
        named.kubectl("wait", "--for=condition=Ready", "nodes", "--all", "--timeout=60s")
        yield address
    finally:
        named.close()


def _ours(theirs: str) -> str:
    """This machine's address on the network of another one; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((theirs, 9))
        address: str = probe.getsockname()[0]
    return address


def _run(command: Sequence[str], environ: Mapping[str, str]) -> None:
    done = subprocess.run(command, env=dict(environ), check=False)
    if done.returncode:
        raise SandboxError(f"{' '.join(command)}: exit code {done.returncode}")


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def on_kind(command: tuple[str, ...]) -> None:
    """Run COMMAND with a kind cluster in EDL_KUBECONFIG."""
    with tempfile.TemporaryDirectory(prefix="edl-kind-") as folder:
        try:
            with cluster(os.environ, Path(folder)) as environ:
                code = subprocess.run(command, env=environ, check=False).returncode
        except SandboxError as error:
            raise click.ClickException(str(error)) from error
    sys.exit(code)


def _say(line: str) -> None:
    click.echo(line, err=True)


if __name__ == "__main__":
    on_kind(prog_name="python -m sandbox.on_kind")
