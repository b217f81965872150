"""A real cluster for the tests: the sandbox's own, or the one that EDL_KUBECONFIG names."""

from __future__ import annotations

import contextlib
import itertools
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from xdist.scheduler import LoadFileScheduling

from dev.installation import install
from edl import contract
from edl.kube.cluster import find
from edl.model import ObjectRef
from sandbox import NodeGroup, Sandbox
from sandbox.temporary import ended_with_process, of_test_run
from tests.integration.support.rounds import Rounds
from tests.integration.support.stage import stage
from tests.temporary_namespace import temporary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dev.installation import Installation
    from sandbox.cluster import Cluster
    from tests.integration.support.stage import Stage

TOGETHER: Final = frozenset({"dashboard", "webhook"})
"""Folders of tests that share what takes seconds to start: a browser, a cluster of their own."""
PENDING_LIMIT = 8.0
WAITS = ("--growth-cooldown=3", f"--pending-limit={PENDING_LIMIT:g}")
"""Shorter than the usual ones, which the planner's own tests hold."""
NODES = NodeGroup(count=4, cpu="8", memory="32Gi", gpu=4)
RUN = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))[:12]
WORKER = os.environ.get("PYTEST_XDIST_WORKER", "alone")


class Scheduling(LoadFileScheduling):  # type: ignore[misc]
    """The tests of a file run in one process, those of a folder in TOGETHER, too."""

    def _split_scope(self, nodeid: str) -> str:
        file = Path(str(super()._split_scope(nodeid)))
        return str(file.parent if file.parent.name in TOGETHER else file)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> Scheduling | None:
    return Scheduling(config, log) if config.getoption("dist") == "loadfile" else None


@pytest.fixture(scope="session")
def sandbox_cluster() -> Iterator[Cluster]:
    """One cluster for the whole run of a process: tests count the room of theirs.

    A test that needs what a named cluster cannot do, such as stopping its API server, is skipped.
    """
    with of_test_run(f"{RUN}-{WORKER}", os.environ, pytest.skip, NODES) as cluster:
        yield cluster


@pytest.fixture
def namespace(sandbox_cluster: Cluster) -> Iterator[str]:
    """A fresh namespace of this test alone, deleted afterwards."""
    with temporary(sandbox_cluster) as name:
        yield name


@pytest.fixture(scope="session")
def installation(
    sandbox_cluster: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Installation:
    """Webhook and reconciler on the run's cluster, which ends them with itself."""
    return install(
        sandbox_cluster, tmp_path_factory.mktemp("installation"), ("reconciler",), *WAITS
    )


@pytest.fixture
def installed(installation: Installation) -> Iterator[Stage]:
    """A fresh namespace of a cluster on which kubectl-edl runs, and nobody else."""
    with stage(installation.cluster) as made:
        # The test before may have stopped the reconciler, and just started it again.
        lease = ObjectRef("Lease", made.api.system_namespace, contract.RECONCILER_LEASE)
        made.until(
            lambda: (find(made.api, lease) or {}).get("spec", {}).get("holderIdentity"),
            "the reconciler leads",
        )
        yield made


@pytest.fixture
def rounds(installation: Installation, installed: Stage) -> Iterator[Rounds]:
    """Rounds by a test's clock; the reconciler is stopped meanwhile."""
    installed.cluster.stop("reconciler")
    try:
        yield Rounds(installation, installed)
    finally:
        installed.cluster.start("reconciler")


@pytest.fixture
def own_sandbox() -> Iterator[Callable[[], Sandbox]]:
    """Makes further sandboxes, not up yet, for tests that break theirs."""
    if named := os.environ.get("EDL_KUBECONFIG"):
        pytest.skip(f"needs a control plane of its own to break; EDL_KUBECONFIG={named}")
    numbers = itertools.count()
    with contextlib.ExitStack() as made:

        def make() -> Sandbox:
            sandbox = Sandbox(f"pytest-{os.getpid()}-{next(numbers)}")
            return made.enter_context(ended_with_process(sandbox))

        yield make
