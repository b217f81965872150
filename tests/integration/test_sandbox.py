"""The control plane's processes: up, down, and every way to lose one."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from sandbox import ComponentDied, NodeGroup, SandboxError, temporary_sandbox
from sandbox.builds.recipe import version
from sandbox.layout import free_ports
from sandbox.processes import ownership
from sandbox.processes.components import ORDER
from sandbox.releases import wanted
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from sandbox import Sandbox

    Make = Callable[[], Sandbox]

pytestmark = [pytest.mark.integration, pytest.mark.sandbox]


WEBHOOK = """
import http.server, json, ssl, sys

class Deny(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        uid = review["request"]["uid"]
        answer = {"uid": uid, "allowed": False, "status": {"message": "not here"}}
        body = json.dumps({**review, "request": None, "response": answer}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

port, certificate, key = sys.argv[1:]
server = http.server.HTTPServer(("127.0.0.1", int(port)), Deny)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate, key)
server.socket = context.wrap_socket(server.socket, server_side=True)
print("ready", flush=True)
server.serve_forever()
"""
RUN = """
import signal, time
from sandbox import Sandbox
from sandbox.temporary import ended_with_process

def test_that_takes_long():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with ended_with_process(Sandbox({name!r})) as sandbox:
        sandbox.up()
        time.sleep(1000)
"""
REGISTRATION = """
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {{name: "no"}}
webhooks:
  - name: no.edl.dev
    clientConfig: {{url: "{url}", caBundle: {authority}}}
    rules: [{{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}}]
    sideEffects: None
    admissionReviewVersions: [v1]
"""


def outcome(sandbox: Sandbox, *args: str) -> str:
    try:
        return sandbox.kubectl(*args)
    except SandboxError as error:
        return str(error)


def kill_everything(sandbox: Sandbox) -> None:
    for component in sandbox.running():
        sandbox.kill(component)


@pytest.fixture(scope="module")
def shared() -> Iterator[Sandbox]:
    """One for all tests that end nothing for good: starting one takes seconds of all processors."""
    if named := os.environ.get("EDL_KUBECONFIG"):
        pytest.skip(f"needs a control plane of its own to break; EDL_KUBECONFIG={named}")
    with temporary_sandbox("shared", NodeGroup(1)) as sandbox:
        yield sandbox


@pytest.fixture
def sandbox(shared: Sandbox) -> Sandbox:
    """The shared one, all of which runs."""
    shared.up()
    return shared


def test_up_starts_real_components_and_unequal_nodes(own_sandbox: Make) -> None:
    sandbox = own_sandbox()
    start = sandbox.up(
        NodeGroup(2, cpu="4"),
        NodeGroup(1, cpu="64", memory="512Gi", gpu=8, labels={"pool": "gpu"}, name_prefix="gpu"),
    )
    assert start.fresh
    assert set(start.started) == set(ORDER) == set(sandbox.running())
    nodes = sandbox.kubectl("get", "nodes", "-o", "jsonpath={.items[*].metadata.name}")
    assert nodes.split() == ["gpu-000", "node-000", "node-001"]
    gpus = "jsonpath={.items[*].status.allocatable['nvidia\\.com/gpu']}"
    assert sandbox.kubectl("get", "nodes", "-l", "pool=gpu", "-o", gpus) == "8"
    assert sandbox.kubectl("get", "--raw", "/readyz") == "ok"
    if not os.environ.get("EDL_BINARIES"):
        assert sandbox.kubernetes == version(wanted(os.environ)), "the release that was asked for"
    sandbox.check()


def test_up_twice_starts_nothing_and_after_a_death_only_what_died(sandbox: Sandbox) -> None:
    before = sandbox.running()
    again = sandbox.up(NodeGroup(5))
    assert not again.fresh
    assert again.started == ()
    assert sandbox.running() == before
    sandbox.kill("kube-scheduler")
    assert sandbox.up().started == ("kube-scheduler",)
    assert sandbox.kubectl("get", "nodes", "-o", "name").split() == ["node/node-000"]


def test_a_component_that_is_killed_is_reported_with_the_end_of_its_log(sandbox: Sandbox) -> None:
    sandbox.kill("kube-controller-manager")
    last = sandbox.log("kube-controller-manager").read_text().splitlines()[-1]
    with pytest.raises(ComponentDied) as caught:
        sandbox.check()
    assert "kube-controller-manager died" in str(caught.value)
    assert last in str(caught.value)


def test_the_api_server_stops_and_starts_on_the_same_port(sandbox: Sandbox) -> None:
    server = sandbox.server
    # kube-controller-manager ends if it cannot reach the API server before its controllers run.
    sandbox.kubectl("create", "namespace", "controlled")
    account = ("get", "serviceaccount", "default", "-n", "controlled", "--ignore-not-found")
    until(lambda: sandbox.kubectl(*account), "its controllers run")
    sandbox.stop("kube-apiserver")
    assert "kube-apiserver" not in sandbox.running()
    sandbox.check()
    with pytest.raises(SandboxError):
        sandbox.kubectl("get", "nodes")
    sandbox.start("kube-apiserver")
    assert sandbox.server == server
    assert sandbox.kubectl("get", "--raw", "/readyz") == "ok"


def test_etcd_keeps_everything_when_all_is_killed_and_started_again(sandbox: Sandbox) -> None:
    sandbox.kubectl("create", "configmap", "kept")
    kill_everything(sandbox)
    start = sandbox.up()
    assert not start.fresh
    assert set(start.started) == set(ORDER)
    assert sandbox.kubectl("get", "configmap", "kept", "-o", "name").split() == ["configmap/kept"]


def test_pods_run_at_once_after_everything_was_killed(sandbox: Sandbox) -> None:
    """A killed kwok holds its nodes by Leases that last."""
    kill_everything(sandbox)
    sandbox.up()
    sandbox.kubectl("create", "deployment", "web", "--image=web")
    available = ("--for=condition=Available", "--timeout=30s")
    assert "condition met" in sandbox.kubectl("wait", "deployment/web", *available)
    sandbox.kubectl("delete", "deployment/web")


def test_down_cleans_up_after_everything_was_killed(own_sandbox: Make) -> None:
    sandbox = own_sandbox()
    sandbox.up()
    kill_everything(sandbox)
    assert sandbox.down()
    assert not sandbox.folder.exists()
    assert not sandbox.down()


def test_down_ends_processes_whose_folder_is_gone(own_sandbox: Make, tmp_path: Path) -> None:
    sandbox = own_sandbox()
    sandbox.up()
    shutil.move(sandbox.folder, tmp_path)
    assert sandbox.running()
    assert sandbox.down()
    assert ownership.of_sandbox(sandbox.folder) == []


def test_what_a_killed_run_left_half_made_is_made_anew(own_sandbox: Make) -> None:
    sandbox = own_sandbox()
    script = f"from sandbox import Sandbox; Sandbox({sandbox.name!r}).up()"
    run = subprocess.Popen([sys.executable, "-c", script])
    while "etcd" not in sandbox.running():
        assert run.poll() is None
    run.kill()
    run.wait()
    assert sandbox.running()
    assert sandbox.up().fresh
    sandbox.check()


def test_a_test_run_whose_master_is_killed_leaves_nothing(
    own_sandbox: Make, tmp_path: Path
) -> None:
    """Workers then have some seconds to end: a sandbox may take longer than these."""
    sandbox = own_sandbox()
    module = tmp_path / "test_run.py"
    module.write_text(RUN.format(name=sandbox.name))
    argv = ("pytest", "-q", "-n", "1", "-p", "no:cacheprovider", "--rootdir", tmp_path, module)
    with subprocess.Popen([sys.executable, "-m", *argv]) as master:
        until(lambda: set(ORDER) <= sandbox.running().keys())
        master.kill()
    until(lambda: not sandbox.exists())


def test_two_sandboxes_live_side_by_side(own_sandbox: Make) -> None:
    one, other = own_sandbox(), own_sandbox()
    one.up(NodeGroup(1))
    other.up(NodeGroup(2))
    assert one.server != other.server
    assert len(other.kubectl("get", "nodes", "-o", "name").split()) == 2
    one.down()
    other.check()
    assert other.kubectl("get", "--raw", "/readyz") == "ok"


def test_a_launched_program_knows_the_cluster_and_ends_with_it(own_sandbox: Make) -> None:
    sandbox = own_sandbox()
    sandbox.up()
    ask = f"{sandbox.kubectl_path} get --raw /readyz; echo $GREETING; sleep 1000"
    pid = sandbox.launch("guest", ["sh", "-c", ask], env={"GREETING": "hello"})
    assert sandbox.running()["guest"] == pid
    while "hello" not in sandbox.log("guest").read_text():
        sandbox.check()
    assert sandbox.log("guest").read_text() == "okhello\n"
    assert {p.component for p in ownership.of_sandbox(sandbox.folder)} == {*ORDER, "guest"}
    sandbox.down()
    assert ownership.of_sandbox(sandbox.folder) == []


def test_up_starts_a_launched_program_that_died_and_none_that_was_stopped(
    sandbox: Sandbox,
) -> None:
    for name in ("guest", "other"):
        sandbox.launch(name, ["sh", "-c", "echo $KUBECONFIG; sleep 1000"])
    sandbox.stop("other")
    sandbox.kill("guest")
    assert sandbox.up().started == ("guest",)
    sandbox.check()
    while sandbox.log("guest").read_text() != f"{sandbox.kubeconfig}\n" * 2:
        sandbox.check()
    sandbox.stop("guest")


def test_a_webhook_is_reached_by_its_loopback_url(sandbox: Sandbox, tmp_path: Path) -> None:
    (port,) = free_ports(1)
    pki = sandbox.folder / "pki"
    program = tmp_path / "webhook.py"
    program.write_text(WEBHOOK)
    argv = [sys.executable, str(program), str(port), f"{pki}/server.crt", f"{pki}/server.key"]
    sandbox.launch("webhook", argv)
    while "ready" not in sandbox.log("webhook").read_text():
        sandbox.check()
    authority = base64.b64encode(sandbox.ca.read_bytes()).decode()
    registration = REGISTRATION.format(url=f"https://127.0.0.1:{port}/", authority=authority)
    sandbox.kubectl("create", "-f", "-", input=registration)
    refused = 'admission webhook "no.edl.dev" denied the request: not here'
    create = ("create", "configmap", "refused", "--dry-run=server")
    while refused not in outcome(sandbox, *create):
        sandbox.check()
    assert refused in outcome(sandbox, *create, "--namespace=kube-system")
    sandbox.kubectl("delete", "validatingwebhookconfiguration", "no")
    sandbox.stop("webhook")


def test_added_nodes_are_numbered_on_and_ready(sandbox: Sandbox) -> None:
    assert sandbox.add_nodes(NodeGroup(2, gpu=1)) == ["node-001", "node-002"]
    assert sandbox.add_nodes(NodeGroup(1, name_prefix="big")) == ["big-000"]
    assert sandbox.kubectl("get", "nodes", "--no-headers").count(" Ready ") == 4
    sandbox.kubectl("delete", "nodes", "node-001", "node-002", "big-000")


def test_service_accounts_may_do_what_rbac_allows_and_no_more(sandbox: Sandbox) -> None:
    sandbox.kubectl("create", "serviceaccount", "reader")
    sandbox.kubectl("create", "role", "reader", "--verb=list", "--resource=pods")
    sandbox.kubectl(
        "create", "rolebinding", "reader", "--role=reader", "--serviceaccount=default:reader"
    )
    token = sandbox.kubectl("create", "token", "reader").strip()
    server = (f"--server={sandbox.server}", f"--certificate-authority={sandbox.ca}")
    as_reader = (*server, f"--token={token}", f"--kubeconfig={os.devnull}")
    sandbox.kubectl(*as_reader, "get", "pods")
    with pytest.raises(SandboxError, match="system:serviceaccount:default:reader"):
        sandbox.kubectl(*as_reader, "get", "secrets")
