"""From the label to running pods, on the sandbox.

`python -m benchmarks.control_plane.latency [--runs 10]`

Each way is measured beside the same thing done to an ordinary Job in the same run: what we cost is
the difference. 20 simulated nodes whose pods run as soon as they are bound.
"""

import argparse
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median
from typing import Any, Final

from benchmarks.report.processor import memory_mib
from dev.installation import install
from edl import contract
from edl.kube.api.client import ApiClient, connect
from edl.kube.cluster import ListOptions
from edl.model import ObjectRef
from sandbox import NodeGroup, Sandbox, temporary_sandbox

NAMESPACE: Final = "default"
PODS: Final = 10
BURST: Final = 200
LOOK: Final = 0.01
"""The seconds between two reads, which is the resolution of every figure."""


def job(name: str, labels: dict[str, str], pods: int) -> dict[str, Any]:
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "100m"}}}
    named = {contract.PREFIX + word: text for word, text in labels.items()}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "labels": {"bench": name} | named},
        "spec": {
            "parallelism": pods,
            "completions": PODS * 2,
            "template": {
                "metadata": {"labels": {"bench": name}},
                "spec": {"restartPolicy": "Never", "containers": [container]},
            },
        },
    }


def running(api: ApiClient, labels: str) -> int:
    listing = api.list(ListOptions("Pod", NAMESPACE, labels))
    return sum(json.loads(item)["status"].get("phase") == "Running" for item in listing.items)


def seconds_until(holds: Callable[[], bool]) -> float:
    begun = time.monotonic()
    while not holds():
        time.sleep(LOOK)
    return time.monotonic() - begun


def create(api: ApiClient, manifest: dict[str, Any]) -> None:
    api.create(ObjectRef("Job", NAMESPACE, manifest["metadata"]["name"]), manifest)


def start(api: ApiClient, name: str, labels: dict[str, str]) -> float:
    create(api, job(name, labels, PODS))
    return seconds_until(lambda: running(api, f"bench={name}") == PODS)


def resize(api: ApiClient, name: str, body: dict[str, Any], pods: int) -> float:
    api.patch(ObjectRef("Job", NAMESPACE, name), body)
    return seconds_until(lambda: running(api, f"bench={name}") == pods)


def one_run(api: ApiClient, number: int) -> dict[str, float]:
    plain, ours = f"plain-{number}", f"ours-{number}"
    manual = {"metadata": {"annotations": {contract.REPLICAS: str(PODS * 2)}}}
    elastic = {"framework": "none", "min": str(PODS), "max": str(PODS * 2)}
    found = {"start, plain": start(api, plain, {})}
    held = job(ours, elastic, PODS)
    held["metadata"]["annotations"] = {contract.REPLICAS: str(PODS)}
    create(api, held)
    found["start, ours"] = seconds_until(lambda: running(api, f"bench={ours}") == PODS)
    grown = {"spec": {"parallelism": PODS * 2}}
    found["grow 10 → 20, plain"] = resize(api, plain, grown, PODS * 2)
    found["grow 10 → 20, ours"] = resize(api, ours, manual, PODS * 2)
    for name in (plain, ours):
        api.delete(ObjectRef("Job", NAMESPACE, name))
    seconds_until(lambda: not api.list(ListOptions("Pod", NAMESPACE)).items)
    return found


def burst(api: ApiClient, kind: str, labels: dict[str, str]) -> float:
    """The seconds from the first create until each of 200 one-pod Jobs runs."""
    begun = time.monotonic()
    for number in range(BURST):
        create(api, job(f"{kind}-{number}", labels | {"job": f"{kind}-{number}"}, 1))
    selector = f"bench in ({','.join(f'{kind}-{number}' for number in range(BURST))})"
    seconds_until(lambda: running(api, selector) == BURST)
    took = time.monotonic() - begun
    for number in range(BURST):
        api.delete(ObjectRef("Job", NAMESPACE, f"{kind}-{number}"))
    seconds_until(lambda: not api.list(ListOptions("Pod", NAMESPACE)).items)
    return took


@contextmanager
def cluster() -> Iterator[tuple[Sandbox, ApiClient]]:
    with temporary_sandbox("bench", NodeGroup(count=20, cpu="32", memory="128Gi")) as sandbox:
        install(sandbox, sandbox.folder / "edl")
        yield sandbox, connect(str(sandbox.kubeconfig))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    runs = parser.parse_args().runs
    with cluster() as (sandbox, api):
        idle = {name: memory_mib(process=pid) for name, pid in sandbox.running().items()}
        looks = [one_run(api, number) for number in range(runs)]
        print(f"{'label to running pods':<28}{'median s':>10}{'max s':>10}")
        for way in looks[0]:
            seconds = [look[way] for look in looks]
            print(f"{way:<28}{median(seconds):>10.2f}{max(seconds):>10.2f}")
        plain = burst(api, "burst-plain", {})
        ours = burst(api, "burst-ours", {"framework": "none"})
        print(f"{f'{BURST} one-pod Jobs, plain':<28}{plain:>10.1f}{'':>10}")
        print(f"{f'{BURST} one-pod Jobs, ours':<28}{ours:>10.1f}{'':>10}")
        print(f"\n{'resident memory':<28}{'idle MiB':>10}{'after MiB':>10}")
        for name, pid in sandbox.running().items():
            print(f"{name:<28}{idle[name]:>10.0f}{memory_mib(process=pid):>10.0f}")


if __name__ == "__main__":
    main()
