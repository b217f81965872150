"""A leader that is paused while it writes, and wakes up when another leads, changes nothing.

It may still publish an Event of what it had done before."""

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml

from edl.errors import Forbidden, NotFound, Unreachable
from edl.inject.handlers import AdmissionRequest, Context, mutate
from edl.kube.api.client import ApiClient, connect
from edl.kube.cluster import ListOptions
from edl.model import ObjectRef
from edl.writes import Json
from sandbox import NodeGroup, Sandbox
from sandbox.layout import free_ports
from tests.waiting import until

pytestmark = pytest.mark.integration

SECONDS = 90
NAMESPACE = "default"
SYSTEM = "edl-system"
"""Of the reconcilers; no job of the installation's own namespace is managed."""
JOBS = 80
TERMS = ("--lease-duration", "4", "--renew-deadline", "3", "--retry-period", "0.5")
_REVIEWS = ("authentication", "authorization")
POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        # Access reviews store nothing.
        {"level": "None", "resources": [{"group": f"{name}.k8s.io"} for name in _REVIEWS]},
        {"level": "Request", "verbs": ["create", "update", "patch", "delete"]},
    ],
}


class Audited:
    """A second API server of the same cluster, which notes who writes what, and when."""

    def __init__(self, sandbox: Sandbox, folder: Path) -> None:
        self._sandbox = sandbox
        self._log = folder / "audit.log"
        policy = folder / "policy.yaml"
        policy.write_text(yaml.safe_dump(POLICY))
        (port,) = free_ports(1)
        self.server = f"https://127.0.0.1:{port}"
        line = Path(f"/proc/{sandbox.running()['kube-apiserver']}/cmdline").read_bytes()
        argv = [word.decode() for word in line.split(b"\0") if word]
        own = [word for word in argv if not word.startswith("--secure-port=")]
        audit = (f"--audit-policy-file={policy}", f"--audit-log-path={self._log}")
        sandbox.launch("audited", [*own, f"--secure-port={port}", *audit])

    def api(self, user: str, folder: Path) -> tuple[Path, ApiClient]:
        """A kubeconfig of somebody who may do everything, and whom the log names."""
        kubectl = self._sandbox.kubectl
        kubectl("create", "serviceaccount", user, "-n", NAMESPACE)
        account = f"--serviceaccount={NAMESPACE}:{user}"
        kubectl("create", "clusterrolebinding", user, "--clusterrole=cluster-admin", account)
        token = kubectl("create", "token", user, "-n", NAMESPACE).strip()
        cluster = {"server": self.server, "certificate-authority": str(self._sandbox.ca)}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "it", "cluster": cluster}],
            "users": [{"name": "it", "user": {"token": token}}],
            "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
            "current-context": "it",
        }
        path = folder / f"{user}.kubeconfig"
        path.write_text(json.dumps(config))
        return path, connect(str(path))

    def writes(self, user: str, since: datetime) -> list[Json]:
        """What this user has asked to be written since then, also in vain."""
        lines = map(json.loads, self._log.read_text().splitlines())
        name = f"system:serviceaccount:{NAMESPACE}:{user}"
        mine = (line for line in lines if line["user"]["username"] == name)
        return [line for line in mine if _received(line) > since]


def _received(line: Json) -> datetime:
    return datetime.fromisoformat(line["requestReceivedTimestamp"])


@pytest.fixture
def sandbox(own_sandbox: Callable[[], Sandbox]) -> Sandbox:
    sandbox = own_sandbox()
    sandbox.up(NodeGroup(count=4, cpu="100", memory="100Gi"))
    sandbox.kubectl("create", "namespace", SYSTEM)
    return sandbox


@pytest.fixture
def audited(sandbox: Sandbox, tmp_path: Path) -> Audited:
    return Audited(sandbox, tmp_path)


class Reconciler:
    """One candidate, under its own name."""

    def __init__(self, kubeconfig: Path, name: str, stack: ExitStack) -> None:
        (self._port,) = free_ports(1)
        command = [sys.executable, "-m", "reconciler", "--identity", name, *TERMS]
        command += ["--namespace", SYSTEM, "--metrics-port", str(self._port)]
        command += ["--kubeconfig", str(kubeconfig)]
        log = stack.enter_context((kubeconfig.parent / f"{name}.log").open("w"))
        self.process = subprocess.Popen(command, stderr=log, text=True)
        stack.callback(self.process.wait)
        stack.callback(self.process.kill)

    def page(self, path: str) -> str:
        try:
            url = f"http://127.0.0.1:{self._port}{path}"
            with urllib.request.urlopen(url, timeout=5) as answer:
                text: str = answer.read().decode()
                return text
        except OSError:
            return ""


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def submit(api: ApiClient, name: str) -> None:
    """A Job of nine work items, one at a time, as the webhook completes it."""
    labels = {"edl.dev/framework": "none", "edl.dev/min": "1", "edl.dev/max": "1"}
    requests = {"requests": {"cpu": "100m"}}
    container = {"name": "main", "image": "none", "resources": requests}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    manifest = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels},
        "spec": {"parallelism": 1, "completions": 9, "template": template},
    }
    verdict = mutate(
        AdmissionRequest("CREATE", manifest, None, "ann"), Context(frozenset(), "image")
    )
    api.create(ObjectRef("Job", NAMESPACE, name), verdict.manifest)


def started(api: ApiClient) -> int:
    jobs = (json.loads(item) for item in api.list(ListOptions("Job", NAMESPACE)).items)
    return sum(not job["spec"]["suspend"] for job in jobs)


def answers(api: ApiClient) -> bool:
    try:
        api.list(ListOptions("Node"))
    except (Forbidden, Unreachable):  # it has yet to read the rules
        return False
    return True


def holder(api: ApiClient) -> str:
    """Its `--identity`, without the suffix of the process."""
    try:
        lease = api.get(ObjectRef("Lease", SYSTEM, "edl-reconciler"))
    except NotFound:
        return ""
    return str(lease["spec"]["holderIdentity"]).partition("_")[0]


def test_a_leader_that_was_paused_in_the_midst_of_its_writes_wakes_up_and_changes_nothing(
    sandbox: Sandbox, audited: Audited, tmp_path: Path, stack: ExitStack
) -> None:
    of_first, api = audited.api("first", tmp_path)
    of_second, _ = audited.api("second", tmp_path)
    until(lambda: answers(api))
    admin = connect(str(sandbox.kubeconfig))
    for number in range(JOBS):
        submit(admin, f"items-{number:03}")
    begun = datetime.now(UTC)
    first = Reconciler(of_first, "first", stack)
    until(lambda: started(admin) > 5)
    os.kill(first.process.pid, signal.SIGSTOP)
    left = JOBS - started(admin)
    assert left > 0, "it was in the midst of starting them"
    second = Reconciler(of_second, "second", stack)
    until(lambda: holder(admin) == "second")
    until(lambda: started(admin) == JOBS)
    woken = datetime.now(UTC)
    os.kill(first.process.pid, signal.SIGCONT)
    until(lambda: first.page("/readyz") == "standby\n")
    until(lambda: "edl_leading 0.0" in first.page("/metrics"))
    assert second.page("/readyz") == "leader\n"
    first.process.send_signal(signal.SIGTERM)
    assert first.process.wait(SECONDS) == 0
    late = [line for line in audited.writes("first", woken) if line["responseStatus"]["code"] < 300]
    changes = [line for line in late if not tells_of_before(line, woken)]
    assert changes == [], "nothing that it asked for after it woke up was granted"
    assert [line for line in audited.writes("first", begun) if _received(line) < woken]
    assert holder(admin) == "second"
    both = [*audited.writes("first", begun), *audited.writes("second", begun)]
    assert [line["requestURI"] for line in both if not conditional(line)] == []
    assert {line["verb"] for line in both} >= {"create", "patch"}


def tells_of_before(line: Json, woken: datetime) -> bool:
    """Whether it is an Event of a change that was made before; the pause lasted for seconds."""
    if line["verb"] != "create" or line["objectRef"]["resource"] != "events":
        return False
    happened = datetime.fromisoformat(line["requestObject"]["lastTimestamp"])
    return happened < woken - timedelta(seconds=2)


def conditional(line: Json) -> bool:
    """Whether what was asked for is refused when the object is another than was decided about."""
    asked = line.get("requestObject") or {}
    if line["verb"] == "create":
        return True  # refused when it exists
    if line["verb"] == "delete":
        return bool(asked.get("preconditions", {}).get("resourceVersion"))
    return bool(asked.get("metadata", {}).get("resourceVersion"))
