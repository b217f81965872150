"""Time without a leader: `python -m benchmarks.control_plane.failover [--runs 3]`.

Two reconcilers at their default terms; the leader is killed, told to end, or paused. A job is
submitted at that moment: what counts is when the other starts it.
"""

import argparse
import os
import signal
import time
from functools import partial
from statistics import median
from typing import Final

from benchmarks.control_plane.latency import NAMESPACE, create, job, seconds_until
from dev.installation import install, start_reconciler
from edl import contract
from edl.kube.api.client import ApiClient, connect
from edl.model import ObjectRef
from sandbox import NodeGroup, Sandbox, temporary_sandbox

LEASE: Final = ObjectRef("Lease", contract.SYSTEM_NAMESPACE, contract.RECONCILER_LEASE)
WAYS: Final = {
    "told to end (SIGTERM)": signal.SIGTERM,
    "killed (SIGKILL)": signal.SIGKILL,
    "paused (SIGSTOP)": signal.SIGSTOP,
}


def holder(api: ApiClient) -> str:
    """Its `--identity`, without the suffix of the process."""
    return str(api.get(LEASE)["spec"]["holderIdentity"]).partition("_")[0]


def started(api: ApiClient, name: str) -> bool:
    return not api.get(ObjectRef("Job", NAMESPACE, name))["spec"]["suspend"]


def is_down(sandbox: Sandbox, program: str) -> bool:
    return program not in sandbox.running()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    runs = parser.parse_args().runs
    with temporary_sandbox("bench", NodeGroup(count=4, cpu="32", memory="128Gi")) as sandbox:
        api = connect(str(sandbox.kubeconfig))
        names = ("one", "two")
        installation = install(sandbox, sandbox.folder / "edl", names)
        print(f"{'the leader is':<28}{'median s':>10}{'max s':>10}")
        for way, number in WAYS.items():
            seconds = []
            for run in range(runs):
                seconds_until(lambda: holder(api) in names)
                leader, name = holder(api), f"{number.name.lower()}-{run}"
                if number is signal.SIGTERM:
                    os.kill(sandbox.running()[leader], number)
                else:
                    sandbox.kill(leader, number)
                begun = time.monotonic()
                create(api, job(name, {"framework": "none"}, 1))
                seconds_until(partial(started, api, name))
                seconds.append(time.monotonic() - begun)
                if leader in sandbox.running():
                    sandbox.kill(leader)
                seconds_until(partial(is_down, sandbox, leader))
                sandbox.stop(leader)  # so that the sandbox does not report its death
                start_reconciler(installation, leader)
            print(f"{way:<28}{median(seconds):>10.1f}{max(seconds):>10.1f}")


if __name__ == "__main__":
    main()
