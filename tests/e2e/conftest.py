"""A cluster whose pods really run, with kubectl-edl in it as users install it.

That is a sandbox with a real node, or the cluster that EDL_KUBECONFIG names: a kind cluster, or any
other that can pull, or has been given, the images of `dev.images.NAMES`.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from typing import TYPE_CHECKING

import pytest

from dev import in_cluster
from sandbox import Sandbox
from sandbox.real.requirements import missing
from sandbox.temporary import ended_with_process, of_test_run
from tests.e2e.support.install import install
from tests.e2e.support.stalls import Stalls
from tests.e2e.support.training import training_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sandbox.cluster import Cluster
    from tests.e2e.support.training import Training


def require_a_real_node() -> None:
    """Skip where none can run, and say why; fail where nothing may be skipped."""
    if os.environ.get("EDL_KUBECONFIG"):
        return
    if reason := missing(os.environ):
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"no real node here: {reason}")


def require_a_node_to_break() -> None:
    """As `require_a_real_node`; the node of a named cluster is not the test's own."""
    require_a_real_node()
    if named := os.environ.get("EDL_KUBECONFIG"):
        pytest.skip(f"needs a node of its own to break; EDL_KUBECONFIG={named}")


@pytest.fixture(scope="session")
def real_cluster() -> Iterator[Cluster]:
    """One cluster for the whole run, with nothing of ours in it."""
    require_a_real_node()
    with of_test_run(f"{os.getpid()}-real", os.environ, pytest.skip, real=True) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def installed_cluster(real_cluster: Cluster) -> Iterator[Cluster]:
    """The cluster with webhook and reconciler as pods of our own image."""
    install(real_cluster)
    yield real_cluster
    if not isinstance(real_cluster, Sandbox):  # which ends with all that is in it
        in_cluster.delete(real_cluster)


@pytest.fixture
def training(installed_cluster: Cluster) -> Iterator[Training]:
    """A fresh namespace in which launchers may exec, and what tests of training do there."""
    with training_in(installed_cluster) as made:
        yield made


@pytest.fixture
def stalls(request: pytest.FixtureRequest) -> Stalls:
    """Takes rows of the table that the run prints at its end."""
    return Stalls(request.node.user_properties)


@pytest.fixture
def own_real_sandbox() -> Iterator[Callable[[], Sandbox]]:
    """Makes sandboxes, not up yet, for tests that break theirs."""
    require_a_node_to_break()
    with contextlib.ExitStack() as made:

        def make() -> Sandbox:
            sandbox = Sandbox(f"pytest-{os.getpid()}-own-{secrets.token_hex(2)}")
            return made.enter_context(ended_with_process(sandbox))

        yield make
