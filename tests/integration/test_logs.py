"""What is logged, at its most talkative: every line is one object, and none tells a secret."""

import base64
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dev.installation import install
from edl import contract
from edl.kube.api.client import connect
from edl.kube.cluster import ListOptions
from edl.writes import Json
from sandbox import NodeGroup, Sandbox
from tests.integration.support.stage import Stage
from tests.integration.support.webhook import as_account
from tests.waiting import until

pytestmark = pytest.mark.integration

PASSWORD = "hunter2-correct-horse"
ROLES = "launcher=1,worker=1..3"


def job(name: str, **labels: str) -> Json:
    """A Job whose environment holds a password, as people's do."""
    named = {contract.PREFIX + label.replace("_", "-"): text for label, text in labels.items()}
    container = {
        "name": "main",
        "image": "none",
        "command": ["train"],
        "env": [{"name": "PASSWORD", "value": PASSWORD}],
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "labels": named},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [container]}}},
    }


def by_ssh(role: str) -> Json:
    """One of two Jobs between which keys are made."""
    found = job(f"keyed-{role}", framework="horovod", job="keyed", role=role)
    notes = {contract.ROLES: ROLES, contract.MODE: "ssh"}
    found["metadata"]["annotations"] = notes
    return found


@pytest.fixture
def sandbox(own_sandbox: Callable[[], Sandbox], tmp_path: Path) -> Sandbox:
    """Both processes say all they can, and the reconciler keeps the cluster's certificate."""
    sandbox = own_sandbox()
    sandbox.up(NodeGroup(count=2, cpu="8", memory="32Gi"))
    installation = install(
        *(sandbox, tmp_path, ("reconciler",), "--log-level", "debug"),
        *("--certificates", "--certificate-name", "127.0.0.1"),
    )
    sandbox.stop("webhook")
    own = ("--secret", "edl-system/edl-webhook-tls", "--log-level", "debug", "--image", "x")
    kubeconfig = as_account(sandbox, "edl-webhook", tmp_path)
    where = ("--kubeconfig", str(kubeconfig), "--port", str(installation.webhook_port))
    probes = ("--probe-port", str(installation.probe_port))
    sandbox.launch("talkative", [sys.executable, "-m", "webhook", *own, *where, *probes])
    return sandbox


def secrets(sandbox: Sandbox, folder: Path) -> set[str]:
    """What nobody may read in a log: as it is, and as the API spells it."""
    api = connect(str(sandbox.kubeconfig))
    kept = (json.loads(item).get("data") or {} for item in api.list(ListOptions("Secret")).items)
    encoded = {text for data in kept for text in data.values()}
    keys = {
        line
        for text in encoded
        for line in base64.b64decode(text).decode(errors="replace").splitlines()
        if len(line) > 40
    }
    tokens = {
        found
        for path in folder.glob("*.kubeconfig")
        for found in re.findall(r"eyJ[\w.-]{100,}", path.read_text())
    }
    assert len(keys) > 10
    assert len(tokens) >= 2
    return {PASSWORD, "PRIVATE KEY", *encoded, *keys, *tokens}


def test_logs_are_one_object_a_line_and_tell_no_secret(sandbox: Sandbox, tmp_path: Path) -> None:
    stage = Stage(sandbox, "default")
    until(lambda: "suspend: true" in tried(stage, job("probe", framework="none")))
    stage.apply(job("sweep", framework="none"), by_ssh("launcher"), by_ssh("worker"))
    until(lambda: stage.running("sweep") == 1)
    until(lambda: has_keys(stage))
    stage.refused(job("bad", framework="none", min="9", max="2"))
    stage.kubectl("patch", "secret", "edl-webhook-tls", "-n", "edl-system", "-p", '{"data":null}')
    until(lambda: {"default/sweep", "default/keyed"} <= {line["job"] for line in admitted(sandbox)})
    lines = {name: logged(sandbox, name) for name in ("reconciler", "talkative")}
    until(lambda: any(line.get("reason") for line in logged(sandbox, "talkative")))
    text = "".join(sandbox.log(name).read_text() for name in lines)
    leaked = [secret for secret in secrets(sandbox, tmp_path) if secret in text]
    assert leaked == []
    assert all(line["reason"] for line in admitted(sandbox))
    (refused,) = [line for line in logged(sandbox, "talkative") if line.get("job") == "default/bad"]
    assert "min" in refused["reason"]
    assert len(text) < 200_000, "no whole manifests"


def has_keys(stage: Stage) -> bool:
    return any("keyed" in secret["metadata"]["name"] for secret in stage.all("Secret"))


def tried(stage: Stage, manifest: Json) -> str:
    done = subprocess.run(
        [stage.cluster.kubectl_path, "create", "--dry-run=server", "-o", "yaml", "-f", "-"],
        env=stage.cluster.kubectl_environment(),
        input=json.dumps(manifest),
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout


def admitted(sandbox: Sandbox) -> list[Json]:
    """What the reconciler says of the jobs that it has let start."""
    return [line for line in logged(sandbox, "reconciler") if line["message"] == "admitted"]


def logged(sandbox: Sandbox, name: str) -> list[Json]:
    """Every line but one that is still being written."""
    return [json.loads(line) for line in sandbox.log(name).read_text().split("\n")[:-1]]
