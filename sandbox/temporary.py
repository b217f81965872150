"""Clusters that end with the process that started them, even if it is killed."""

import contextlib
import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NoReturn

from sandbox.cluster import Cluster
from sandbox.errors import SandboxError
from sandbox.existing_cluster import ExistingCluster
from sandbox.objects.nodes import NodeGroup
from sandbox.paths import HERE, places
from sandbox.sandbox import Sandbox

# Runs the given command when its standard input is closed. A killed process runs no clean-up code,
# but the kernel closes its pipes, so that `cat` ends. A waiting shell is smaller than Python.
_WHEN_THE_PIPE_CLOSES = 'cat; exec "$@"'


@contextlib.contextmanager
def ended_with_process(sandbox: Sandbox) -> Iterator[Sandbox]:
    """End the sandbox after the block; if this process is killed, a guard process ends it."""
    down = (sys.executable, "-m", "sandbox", "down", "--name", sandbox.name)
    with subprocess.Popen(
        ("sh", "-c", _WHEN_THE_PIPE_CLOSES, "sh", *down),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=dict(sandbox.environ),
        cwd=HERE.parent,
        start_new_session=True,  # signals to our process group do not reach the guard
    ) as guard:
        try:
            yield sandbox
        finally:
            sandbox.down()
            guard.kill()


@contextlib.contextmanager
def temporary_sandbox(name: str, *groups: NodeGroup) -> Iterator[Sandbox]:
    """A started sandbox named `name-PID`, so that only this process uses it."""
    with ended_with_process(Sandbox(f"{name}-{os.getpid()}")) as sandbox:
        sandbox.up(*groups)
        yield sandbox


@contextlib.contextmanager
def of_test_run(
    run: str,
    environ: Mapping[str, str],
    refuse: Callable[[str], NoReturn],
    *groups: NodeGroup,
    real: bool = False,
) -> Iterator[Cluster]:
    """The cluster that EDL_KUBECONFIG names, else a sandbox of this process.

    run: part of the sandbox's name, which no other process may use. refuse: called with the reason
    if a named cluster cannot do something. real: the sandbox has a real node as well as the
    simulated nodes of `groups`. Raises SandboxError if the file of EDL_KUBECONFIG does not exist.
    """
    named = environ.get("EDL_KUBECONFIG")
    if not named:
        with ended_with_process(Sandbox(f"pytest-{run}", environ=environ)) as sandbox:
            sandbox.up(*groups, real=real)
            yield sandbox
        return
    kubeconfig = Path(named).expanduser().absolute()
    if not kubeconfig.is_file():
        raise SandboxError(f"EDL_KUBECONFIG={named}: no such file: name a kubeconfig, or unset it")
    with _named(kubeconfig, environ, refuse) as cluster:
        yield cluster


@contextlib.contextmanager
def _named(
    kubeconfig: Path, environ: Mapping[str, str], refuse: Callable[[str], NoReturn]
) -> Iterator[ExistingCluster]:
    # In the folder of the sandboxes, so that `down --all` ends processes of a killed test run.
    folder = places(environ).sandboxes / f"named-{secrets.token_hex(4)}"
    folder.mkdir(parents=True)
    cluster = ExistingCluster(kubeconfig, folder, environ, refuse)
    try:
        yield cluster
    finally:
        cluster.close()
        shutil.rmtree(folder)
