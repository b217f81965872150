"""Clusters that end with the process that brought them up, however it ends."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from sandbox.cluster import Sandbox
from sandbox.errors import SandboxError
from sandbox.existing import ExistingCluster
from sandbox.paths import HERE, places

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from sandbox.existing import Cluster
    from sandbox.objects.nodes import NodeGroup

# A shell, not Python, as long as it waits. A killed process runs no code of its own: the kernel
# closes its pipe, and `cat` ends.
_WHEN_THE_PIPE_CLOSES = 'cat; exec "$@"'


@contextlib.contextmanager
def ended_with_process(sandbox: Sandbox) -> Iterator[Sandbox]:
    """End the sandbox afterwards; if this process is killed before, another process ends it."""
    down = (sys.executable, "-m", "sandbox", "down", "--name", sandbox.name)
    with subprocess.Popen(
        ("sh", "-c", _WHEN_THE_PIPE_CLOSES, "sh", *down),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=dict(sandbox.environ),
        cwd=HERE.parent,
        start_new_session=True,  # a signal to our process group is not for it
    ) as guard:
        try:
            yield sandbox
        finally:
            sandbox.down()
            guard.kill()


@contextlib.contextmanager
def temporary_sandbox(name: str, *groups: NodeGroup) -> Iterator[Sandbox]:
    """A sandbox of this process alone: its name is the process's besides."""
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

    run: names the sandbox, which no other process may use. refuse: is told why a named cluster
    cannot do something. real: the sandbox has a real node beside the simulated ones of `groups`.
    Raises SandboxError if EDL_KUBECONFIG names no file.
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
    # Among the sandboxes, so that `down --all` ends what a killed test run launched there.
    folder = places(environ).sandboxes / f"named-{secrets.token_hex(4)}"
    folder.mkdir(parents=True)
    cluster = ExistingCluster(kubeconfig, folder, environ, refuse)
    try:
        yield cluster
    finally:
        cluster.close()
        shutil.rmtree(folder)
