"""Reviews that fail while certificates follow each other: `python -m benchmarks.webhook.rotation`.

A reconciler keeps the webhook's certificate, whose lives are seconds instead of years, and the API
server asks the webhook all the time. Beside it, in the same run: a certificate that stays.
"""

import argparse
import re
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import Final

from benchmarks.control_plane.latency import NAMESPACE, job
from benchmarks.webhook.reviews import percentile
from certs.secrets import usual
from dev.installation import Installation, install
from edl.errors import ClusterError
from edl.kube.api.client import ApiClient, connect
from edl.model import ObjectRef
from sandbox import temporary_sandbox

CLIENTS: Final = 4
SECRETS: Final = (usual().authority, usual().serving)
DAY: Final = 86_400.0
LIVES: Final = {"it stays": (365.0, 3650.0), "every 3 s, authorities every 5 s": (4 / DAY, 8 / DAY)}


@dataclass
class ReviewResults:
    """The results of the reviews."""

    seconds: list[float] = field(default_factory=list)
    failed: int = 0


def ask(api: ApiClient, client: int, ended: Event, results: ReviewResults) -> None:
    number = 0
    while not ended.is_set():
        number += 1
        manifest = job(f"asked-{client}-{number}", {"framework": "none"}, 1)
        begun = time.monotonic()
        try:
            api.create(
                ObjectRef("Job", NAMESPACE, manifest["metadata"]["name"]), manifest, dry_run=True
            )
        except ClusterError:
            results.failed += 1
        else:
            results.seconds.append(time.monotonic() - begun)


@contextmanager
def webhook(installation: Installation, days: tuple[float, float]) -> Iterator[None]:
    """A webhook that uses the certificates of a reconciler instead of the installation's."""
    cluster, folder = installation.cluster, installation.folder
    own = ("--secret", "edl-system/edl-webhook-tls", "--refresh", "0.2")
    where = ("--port", str(installation.webhook_port), "--image", "x")
    probes = ("--probe-port", str(installation.probe_port))
    kubeconfig = ("--kubeconfig", str(folder / "webhook.kubeconfig"))
    lives = ("--certificate-days", str(days[0]), "--authority-days", str(days[1]))
    kept = ("--certificates", "--certificate-name", "127.0.0.1", "--certificate-refresh", "0.4")
    account = ("--kubeconfig", str(folder / "reconciler.kubeconfig"), "--metrics-port", "0")
    cluster.launch("keeping", [sys.executable, "-m", "reconciler", *account, *kept, *lives])
    cluster.launch(
        "rotating", [sys.executable, "-m", "webhook", *own, *where, *probes, *kubeconfig]
    )
    try:
        yield
    finally:
        cluster.stop("rotating")
        cluster.stop("keeping")


def changes(installation: Installation) -> int:
    url = f"http://127.0.0.1:{installation.probe_port}/metrics"
    with urllib.request.urlopen(url) as answer:
        text = answer.read().decode()
    found = re.search(r"^edl_webhook_certificate_loads_total (\S+)$", text, re.MULTILINE)
    return int(float(found[1])) - 1 if found else 0


def measured(
    installation: Installation, api: ApiClient, seconds: float
) -> tuple[ReviewResults, int]:
    ended, results = Event(), ReviewResults()
    threads = [Thread(target=ask, args=(api, client, ended, results)) for client in range(CLIENTS)]
    for thread in threads:
        thread.start()
    time.sleep(seconds)
    found = changes(installation)
    ended.set()
    for thread in threads:
        thread.join()
    return results, found


def await_called(api: ApiClient) -> None:
    """Wait until the API server trusts the certificate that the webhook serves."""
    manifest = job("probe", {"framework": "none"}, 1)
    while True:
        try:
            api.create(ObjectRef("Job", NAMESPACE, "probe"), manifest, dry_run=True)
        except ClusterError:
            time.sleep(0.1)
        else:
            return


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=30)
    seconds = parser.parse_args().seconds
    with temporary_sandbox("bench") as sandbox:
        installation = install(sandbox, sandbox.folder / "edl", ())
        sandbox.stop("webhook")
        api = connect(str(sandbox.kubeconfig))
        print(f"{'new certificates':<36}{'changes':>8}{'reviewed':>10}{'failed':>8}{'p99 ms':>8}")
        for name, days in LIVES.items():
            for secret in SECRETS:  # so that the certificate is issued with these lifetimes
                api.patch(secret, {"data": None})
            with webhook(installation, days):
                await_called(api)
                results, found = measured(installation, api, seconds)
            slowest = percentile(sorted(results.seconds), 0.99)
            reviewed = len(results.seconds)
            print(f"{name:<36}{found:>8}{reviewed:>10}{results.failed:>8}{slowest:>8.0f}")


if __name__ == "__main__":
    main()
