"""Kueue beside a sandbox, built from its Go module, without webhooks: Jobs start suspended."""

import json
import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from string import Template
from typing import Final

from sandbox import Sandbox
from sandbox.builds import toolchain
from sandbox.builds.build import BuildEnvironment, built
from sandbox.builds.recipe import Recipe
from sandbox.errors import SandboxError
from sandbox.layout import free_ports
from sandbox.paths import places
from sandbox.processes import readiness

HERE: Final = Path(__file__).parent
MODULE: Final = "sigs.k8s.io/kueue"
RECIPE: Final = Recipe(
    name="kueue",
    folder=HERE,
    packages=(f"{MODULE}/cmd/kueue",),
    programs=("kueue",),
    version_of=MODULE,
    says_version=False,
)
QUEUE: Final = "all-jobs"
QUEUES: Final = "queues.yaml"
TOPOLOGY: Final = "topology.yaml"
"""The manifest of the queue: a plain one, or one for nodes in racks."""
LABELS: Final = {"kueue.x-k8s.io/queue-name": QUEUE}
PATIENCE: Final = 60.0
"""The seconds within which Kueue must become ready."""
_GATES: Final = "VisibilityOnDemand=false"
# It reads the certificate of its metrics from /etc, whatever it is told: in a mount namespace of
# its own, /etc is a folder of the sandbox.
_WITH_ETC: Final = ("unshare", "--mount", "--map-root-user", "sh", "-c")
_SCRIPT: Final = 'mount --bind "$0" /etc && exec "$@"'


def program() -> Path:
    """The path of Kueue's binary, built first if it is not in the cache. Raises BuildError."""
    build_env = BuildEnvironment(places(os.environ).cache, os.environ)
    folder = built(RECIPE, build_env, lambda line: print(line, file=sys.stderr))
    return folder / RECIPE.programs[0]


def install(sandbox: Sandbox, namespace: str, queues: str = QUEUES) -> None:
    """Start Kueue and create one queue that holds all Jobs; returns when it is ready."""
    start(sandbox)
    text = Template((HERE / queues).read_text()).substitute(queue=QUEUE, namespace=namespace)
    sandbox.kubectl("apply", "--server-side", "-f", "-", input=text)


def start(sandbox: Sandbox, settings: str = "") -> None:
    """Install Kueue's CRDs and start it; `settings` are lines added to its configuration."""
    kueue = program()
    crds = _module() / "config" / "components" / "crd" / "bases"
    sandbox.kubectl("apply", "--server-side", "-f", str(crds))
    sandbox.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
    sandbox.kubectl("create", "namespace", "kueue-system")
    etc, config, port = _configured(sandbox, settings)
    flags = (f"--config={config}", f"--feature-gates={_GATES}", "--zap-log-level=error")
    sandbox.launch("kueue", [*_WITH_ETC, _SCRIPT, str(etc), str(kueue), *flags])
    gap = partial(readiness.http_gap, "Kueue", port)
    readiness.wait_for(gap, sandbox.check, PATIENCE)


def workloads(sandbox: Sandbox, namespace: str) -> int:
    """The number of Jobs for which Kueue has created Workloads."""
    found = sandbox.kubectl("get", "workloads.kueue.x-k8s.io", "-n", namespace, "-o", "name")
    return len(found.splitlines())


def open_queue(sandbox: Sandbox) -> None:
    """Open the queue, which releases all Jobs."""
    body = json.dumps({"spec": {"stopPolicy": "None"}})
    sandbox.kubectl("patch", "clusterqueue", QUEUE, "--type=merge", "-p", body)


def _module() -> Path:
    """The folder of the module's source, which contains the manifests of this version."""
    done = subprocess.run(
        [toolchain.go(os.environ, HERE), "mod", "download", "-json", MODULE],
        cwd=HERE,
        env=toolchain.environment(os.environ),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SandboxError(f"no source of {MODULE}: {(done.stdout + done.stderr).strip()}")
    return Path(json.loads(done.stdout)["Dir"])


def _configured(sandbox: Sandbox, settings: str) -> tuple[Path, Path, int]:
    """Write its /etc and its configuration; returns (etc, configuration, health port)."""
    folder = sandbox.folder / "kueue"
    certificates = folder / "etc" / "kueue" / "metrics" / "certs"
    certificates.mkdir(parents=True)
    for kind in ("crt", "key"):
        shutil.copy(sandbox.folder / "pki" / f"server.{kind}", certificates / f"tls.{kind}")
    (folder / "etc" / "hosts").write_text("127.0.0.1 localhost\n")
    health, metrics, webhook = free_ports(3)
    text = Template((HERE / "configuration.yaml").read_text()).substitute(
        health=health,
        metrics=metrics,
        webhook=webhook,
        # A path as it is seen from inside.
        certificates="/etc/kueue/metrics/certs",
    )
    config = folder / "configuration.yaml"
    config.write_text(text + settings)
    return folder / "etc", config, health
