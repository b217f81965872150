"""Two reconcilers, one leader: real processes on a real API server."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from edl.errors import NotFound
from edl.kube.api.client import ApiClient, connect
from edl.model import ObjectRef
from sandbox.cluster import Cluster

pytestmark = pytest.mark.integration

SECONDS = 60
TERMS = ("--lease-duration", "4", "--renew-deadline", "3", "--retry-period", "0.5")

Start = Callable[[str], "subprocess.Popen[str]"]


@pytest.fixture
def api(sandbox_cluster: Cluster) -> ApiClient:
    if named := os.environ.get("EDL_KUBECONFIG"):
        pytest.skip(f"its reconcilers would start the Jobs of others; EDL_KUBECONFIG={named}")
    return connect(str(sandbox_cluster.kubeconfig), None)


@pytest.fixture
def start(sandbox_cluster: Cluster, namespace: str, tmp_path: Path) -> Iterator[Start]:
    """Start a reconciler of some identity; its log is in the test's folder.

    The namespace has a Lease of its own: a reconciler of the run's installation leads beside.
    """
    with ExitStack() as stack:

        def begin(identity: str) -> "subprocess.Popen[str]":
            log = stack.enter_context((tmp_path / identity).open("w"))
            command = [sys.executable, "-m", "reconciler", "--identity", identity, *TERMS]
            command += ["--namespace", namespace, "--metrics-port", "0"]
            command += ["--kubeconfig", str(sandbox_cluster.kubeconfig)]
            process = subprocess.Popen(command, stderr=log, text=True)
            stack.callback(process.wait)
            stack.callback(process.kill)
            return process

        yield begin


def holder(api: ApiClient, namespace: str) -> str:
    """Its `--identity`, without the suffix of the process."""
    try:
        lease = api.get(ObjectRef("Lease", namespace, "edl-reconciler"))
    except NotFound:
        return ""
    return str(lease["spec"]["holderIdentity"]).partition("_")[0]


def seconds_until(condition: Callable[[], bool]) -> float:
    began = time.monotonic()
    while not condition():
        assert time.monotonic() < began + SECONDS, "it did not come to pass"
        time.sleep(0.05)
    return time.monotonic() - began


def test_a_leader_that_ends_hands_over_and_ends_well(
    start: Start, api: ApiClient, namespace: str
) -> None:
    first = start("first")
    seconds_until(lambda: holder(api, namespace) == "first")
    start("second")
    first.send_signal(signal.SIGTERM)
    assert first.wait(SECONDS) == 0
    seconds_until(lambda: holder(api, namespace) == "second")


def test_a_leader_that_is_killed_is_replaced_when_its_lease_ran_out(
    start: Start, api: ApiClient, namespace: str
) -> None:
    first = start("first")
    seconds_until(lambda: holder(api, namespace) == "first")
    start("second")
    first.kill()
    seconds_until(lambda: holder(api, namespace) == "second")
    lease = api.get(ObjectRef("Lease", namespace, "edl-reconciler"))
    assert lease["spec"]["leaseTransitions"] == 1


def test_a_leader_that_was_frozen_wakes_up_as_a_follower(
    start: Start, api: ApiClient, namespace: str, tmp_path: Path
) -> None:
    first = start("first")
    # Its Lease may be stored a moment before it knows that it leads.
    seconds_until(lambda: logged(tmp_path / "first", "became leader"))
    start("second")
    os.kill(first.pid, signal.SIGSTOP)
    seconds_until(lambda: holder(api, namespace) == "second")
    os.kill(first.pid, signal.SIGCONT)
    seconds_until(lambda: logged(tmp_path / "first", "lost the leadership"))
    assert holder(api, namespace) == "second"


def logged(log: Path, event: str) -> bool:
    lines = log.read_text().splitlines()
    messages = [json.loads(line)["message"] for line in lines if line.endswith("}")]
    return any(message.endswith(event) for message in messages)
