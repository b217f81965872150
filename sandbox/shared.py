"""A cluster for one process, or for all processes of a test run; it ends with the last of them."""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from sandbox.cluster import Sandbox
from sandbox.errors import SandboxError
from sandbox.existing import ExistingCluster
from sandbox.files import locked, taken
from sandbox.paths import places

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from sandbox.existing import Cluster
    from sandbox.objects.nodes import NodeGroup


@contextlib.contextmanager
def temporary_sandbox(name: str, *groups: NodeGroup) -> Iterator[Sandbox]:
    """A sandbox of this process alone: its name is the process's besides."""
    sandbox = Sandbox(f"{name}-{os.getpid()}")
    try:
        sandbox.up(*groups)
        yield sandbox
    finally:
        sandbox.down()


@contextlib.contextmanager
def shared(sandbox: Sandbox, *groups: NodeGroup, real: bool = False) -> Iterator[Sandbox]:
    """The first of several processes starts the sandbox, the last one ends it.

    Also if one of them is killed: the kernel counts, as each user holds a lock on one file.
    """
    path = sandbox.folder.parent / ".locks" / f"users-of-{sandbox.name}.lock"
    with locked(path, shared=True) as users:
        try:
            sandbox.up(*groups, real=real)
            yield sandbox
        finally:
            if taken(users, fcntl.LOCK_EX):
                sandbox.down()
                path.unlink(missing_ok=True)


@contextlib.contextmanager
def of_test_run(
    run: str,
    environ: Mapping[str, str],
    refuse: Callable[[str], NoReturn],
    *groups: NodeGroup,
    real: bool = False,
) -> Iterator[Cluster]:
    """The cluster that EDL_KUBECONFIG names, else the sandbox that the processes of this run share.

    run: the same word in each of them. refuse: is told why a named cluster cannot do something.
    real: the sandbox has a real node beside the simulated ones of `groups`.
    Raises SandboxError if EDL_KUBECONFIG names no file.
    """
    named = environ.get("EDL_KUBECONFIG")
    if not named:
        with shared(Sandbox(f"pytest-{run}", environ=environ), *groups, real=real) as sandbox:
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
